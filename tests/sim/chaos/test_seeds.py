"""The corpus, whose plans have found bugs, and a seed: no rule is broken; the seed is equal in another process.

`make sim-seeds` plays more seeds.
"""

import pytest

from tests.sim.chaos.commands import CORPUS, ROOT, failure_line, plan_of, run, trace_hash_elsewhere

QUICK = {
    "a-join-with-a-new-member-id-that-waits.json",
    "an-old-goodbye.json",
    "a-flush-of-a-stopped-process.json",
    "a-refused-commit.json",
}
"""A part of `make check`."""
PLANS = [
    pytest.param(str(path.relative_to(ROOT)), marks=[] if path.name in QUICK else [pytest.mark.slow])
    for path in sorted(CORPUS.glob("*.json"))
]


@pytest.mark.parametrize("word", [*PLANS, "1", "aio:1"])
def test_no_rule_is_broken(word: str) -> None:
    outcome = run(plan_of(str(ROOT / word) if word.endswith(".json") else word))
    assert not outcome.violations, failure_line(outcome, word)


@pytest.mark.slow
@pytest.mark.parametrize("word", ["1", "aio:1"])
def test_a_run_is_the_same_in_another_process_with_other_hashes(word: str) -> None:
    assert run(plan_of(word)).trace_hash == trace_hash_elsewhere(word, "99")
