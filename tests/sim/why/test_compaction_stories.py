"""Compacted topics: a log cleaner that has not come is found by the oldest keys; one that comes is not."""

import pytest

from kctl.client.admin import Admin
from kctl.sandbox import ClusterSettings
from kctl.why import Finding
from tests.sim.kit import SimCluster, run_with_admin
from tests.sim.why.story import Story

SEGMENT_BYTES = 20_000
BACKOFF_MS = {"healthy": 15_000, "stalled": 1 << 40}
NOTES = {"preferred-leader-not-leading", "leader-skew"}


def found_of(cleaner: str, *, wait_ms: int = 3 * 3_600_000, keys: int = 10, **properties: str) -> dict[str, Finding]:
    """Return the findings about a compacted topic with 600 records, some hours after they were written."""
    found: dict[str, Finding] = {}
    settings = ClusterSettings(log_cleaner_backoff_ms=BACKOFF_MS[cleaner])

    def body(sim: SimCluster, admin: Admin) -> None:
        story = Story(sim, admin)
        configs = {"cleanup.policy": "compact", "segment.bytes": str(SEGMENT_BYTES), **properties}
        sim.sandbox.cluster.create_topic("c", 1, 3, configs)
        with sim.producer({"linger.ms": "5"}) as producer:
            for number in range(600):
                producer.send("c", b"x" * 200, key=f"k{number % keys}".encode(), partition=0)
                if number % 50 == 0:
                    producer.flush(timeout=5)
        sim.runtime.driver.wait(sim.runtime.driver.waiter(), sim.clock.now_ms() + wait_ms)
        found.update(story.cluster())

    run_with_admin(body, settings=settings)
    return {name: each for name, each in found.items() if name not in NOTES}


def test_log_that_the_cleaner_has_not_reached_for_hours_is_found() -> None:
    found = found_of("stalled")
    assert found.keys() == {"compaction-stalled"}
    sentence = found["compaction-stalled"].sentence
    assert sentence.startswith("c-0 is not being compacted (cleanup.policy=compact): ")
    assert "These records start at offset 0 and are more than 1h old. " in sentence


@pytest.mark.parametrize(
    ("cleaner", "options"),
    [
        ("healthy", {}),
        ("stalled", {"keys": 600}),
        ("stalled", {"wait_ms": 600_000}),
        ("stalled", {"min.compaction.lag.ms": "86400000"}),
        ("stalled", {"segment.bytes": "1073741824"}),
        ("stalled", {"cleanup.policy": "delete"}),
    ],
)
def test_log_that_is_compacted_or_need_not_be_is_no_finding(cleaner: str, options: dict[str, object]) -> None:
    assert found_of(cleaner, **options) == {}  # type: ignore[arg-type]
