"""The corpus of producers and some seeds: no rule is broken; one seed is equal in another process."""

import pytest

from tests.sim.chaos.commands import CORPUS, ROOT, failure_line, plan_of, run, trace_hash_elsewhere
from tests.sim.chaos_producer.plan import ProducerPlan

SEEDS = 3
PATHS = [path for path in sorted(CORPUS.glob("*.json")) if isinstance(plan_of(str(path)), ProducerPlan)]
WORDS = [*(str(path.relative_to(ROOT)) for path in PATHS), *(f"producer:{seed}" for seed in range(SEEDS))]


@pytest.mark.parametrize("word", WORDS)
def test_no_rule_is_broken(word: str) -> None:
    outcome = run(plan_of(str(ROOT / word) if word.endswith(".json") else word))
    assert not outcome.violations, failure_line(outcome, word)


def test_a_run_is_the_same_in_another_process_with_other_hashes() -> None:
    assert run(plan_of("producer:1")).trace_hash == trace_hash_elsewhere("producer:1", "99")
