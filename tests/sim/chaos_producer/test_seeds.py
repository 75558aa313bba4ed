"""A seed of producers breaks no rule, and a seed is equal in another process.

tests/sim/chaos/test_seeds.py plays the corpus of producers and consumers; `make sim-seeds` plays more seeds.
"""

import pytest

from tests.sim.chaos.commands import failure_line, plan_of, run, trace_hash_elsewhere


def test_no_rule_is_broken() -> None:
    outcome = run(plan_of("producer:0"))
    assert not outcome.violations, failure_line(outcome, "producer:0")


@pytest.mark.slow
def test_a_run_is_the_same_in_another_process_with_other_hashes() -> None:
    assert run(plan_of("producer:1")).trace_hash == trace_hash_elsewhere("producer:1", "99")
