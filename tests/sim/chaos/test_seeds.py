"""The corpus, whose plans have found bugs, and some seeds: no rule is broken; one seed is equal in another process."""

import pytest

from tests.sim.chaos.commands import CORPUS, ROOT, failure_line, plan_of, run, trace_hash_elsewhere

SEEDS = [pytest.param(str(seed), marks=[pytest.mark.slow] if seed != 1 else []) for seed in range(6)]
"""`make sim-seeds` plays these and 74 others."""
LONG = {"a-leader-that-steps-down.json", "servers-that-are-no-brokers.json"}
PLANS = [
    pytest.param(str(path.relative_to(ROOT)), marks=[pytest.mark.slow] if path.name in LONG else [])
    for path in sorted(CORPUS.glob("*.json"))
]


@pytest.mark.parametrize("word", [*PLANS, *SEEDS])
def test_no_rule_is_broken(word: str) -> None:
    outcome = run(plan_of(str(ROOT / word) if word.endswith(".json") else word))
    assert not outcome.violations, failure_line(outcome, word)


def test_a_run_is_the_same_in_another_process_with_other_hashes() -> None:
    assert run(plan_of("1")).trace_hash == trace_hash_elsewhere("1", "99")
