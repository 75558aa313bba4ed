"""Responses to JoinGroup that come late: commits on the other connection learn of the next generation first."""

from collections.abc import Iterator
from contextlib import suppress

import pytest

from kctl.client.consumer.consumer import Consumer
from kctl.client.errors import CommitFailedError
from tests.sim.chaos.replies import Replies
from tests.sim.kit.groups import GroupCluster
from tests.sim.virtual import Hub

LATE_MS = 700
ROUNDS = 4


@pytest.fixture
def cluster() -> Iterator[GroupCluster]:
    with Hub(seed=4) as hub:
        yield GroupCluster(hub)


@pytest.mark.slow
@pytest.mark.parametrize("commits", ["blocking", "automatic"])
def test_member_that_commits_while_its_join_is_answered_keeps_its_partitions(
    cluster: GroupCluster, commits: str
) -> None:
    replies = Replies()
    replies.late_ms["JoinGroup"] = LATE_MS
    failed: list[CommitFailedError] = []
    given = {
        "partition_assignment_strategy": "cooperative-sticky",
        "auto_commit_interval_ms": 50,
    }

    def read(consumer: Consumer, seconds: float) -> None:
        end_ms = cluster.hub.now_ms + round(seconds * 1000)
        while cluster.hub.now_ms < end_ms:
            cluster.read(consumer, 0.05, step=0.05)
            if commits == "blocking":
                try:
                    consumer.commit_sync(timeout=5)
                except CommitFailedError as error:
                    failed.append(error)

    def staying() -> None:
        with cluster.member("a", enable_auto_commit=commits == "automatic", **given) as consumer:
            read(consumer, 10 + ROUNDS * 10)
        cluster.hub.sleep_ms(10)

    def coming_and_going() -> None:
        cluster.hub.sleep_ms(5000)
        for number in range(ROUNDS):
            with cluster.member(f"b{number}", **given) as consumer:
                cluster.read(consumer, 5)
            cluster.hub.sleep_ms(5000)

    def writer() -> None:
        for number in range(500):
            with suppress(ValueError):
                cluster.write(number % 6, 1, first=number // 6)
            cluster.hub.sleep_ms(100)

    with replies.installed():
        cluster.play(staying, coming_and_going, writer)
    assert cluster.journal.of("a", "lost") == []
    assert failed == []
    assert len(cluster.journal.of("a", "revoked")) >= ROUNDS, "it took part in each rebalance"
    assert set(cluster.seen.values()) == {1}
