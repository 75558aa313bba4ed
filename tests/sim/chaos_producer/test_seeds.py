"""Some seeds of producers: no rule is broken; one seed is equal in another process.

The corpus of producers is played with that of consumers, in tests/sim/chaos/test_seeds.py.
"""

import pytest

from tests.sim.chaos.commands import failure_line, plan_of, run, trace_hash_elsewhere

SEEDS = [pytest.param(f"producer:{seed}", marks=[pytest.mark.slow] if seed else []) for seed in range(3)]
"""`make sim-seeds` plays these and 21 others."""


@pytest.mark.parametrize("word", SEEDS)
def test_no_rule_is_broken(word: str) -> None:
    outcome = run(plan_of(word))
    assert not outcome.violations, failure_line(outcome, word)


@pytest.mark.slow
def test_a_run_is_the_same_in_another_process_with_other_hashes() -> None:
    assert run(plan_of("producer:1")).trace_hash == trace_hash_elsewhere("producer:1", "99")
