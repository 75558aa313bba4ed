"""A seed of producers breaks no rule, and a seed is equal in another process.

tests/sim/chaos/test_seeds.py plays the corpus of producers and consumers; `make sim-seeds` plays more seeds.
"""

import pytest

from tests.sim.chaos.commands import failure_line, plan_of, run, trace_hash_elsewhere


@pytest.mark.parametrize("word", ["producer:0", "aio:producer:0"])
def test_no_rule_is_broken(word: str) -> None:
    outcome = run(plan_of(word))
    assert not outcome.violations, failure_line(outcome, word)


@pytest.mark.slow
@pytest.mark.parametrize("word", ["producer:1", "aio:producer:1"])
def test_a_run_is_the_same_in_another_process_with_other_hashes(word: str) -> None:
    assert run(plan_of(word)).trace_hash == trace_hash_elsewhere(word, "99")
