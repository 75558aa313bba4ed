"""Whole consumers with group.protocol=consumer (KIP-848): the sharing and the silence that test_sharing.py shows."""

from collections.abc import Iterator

import pytest

from kctl.client.consumer.consumer import Consumer
from tests.sim.kit.groups import GROUP, GroupCluster, Noting
from tests.sim.virtual import Hub


@pytest.fixture
def cluster() -> Iterator[GroupCluster]:
    with Hub(seed=4) as hub:
        yield GroupCluster(hub)


def member(cluster: GroupCluster, name: str, **properties: object) -> Consumer:
    consumer = cluster.consumer(group_id=GROUP, group_protocol="consumer", **properties)
    consumer.subscribe(["t"], Noting(cluster.journal, name))
    return consumer


def test_three_members_come_and_go_and_every_record_is_read_once(cluster: GroupCluster) -> None:
    for i in range(6):
        cluster.write(i, 20)
    shares: dict[str, int] = {}

    def actor(name: str, start: float, seconds: float) -> None:
        cluster.hub.sleep_ms(round(start * 1000))
        with member(cluster, name) as consumer:
            cluster.read(consumer, seconds)
            shares[name] = len(consumer.assignment)
        assert consumer.close().left_group is True
        cluster.hub.sleep_ms(10)

    def writer() -> None:
        for round_number in range(1, 20):
            cluster.hub.sleep_ms(2000)
            for i in range(6):
                cluster.write(i, 5, first=15 + 5 * round_number)

    cluster.play(
        lambda: actor("a", 0, 60), lambda: actor("b", 10, 30), lambda: actor("c", 20, 30), writer,
    )  # fmt: skip
    assert shares == {"b": 2, "c": 3, "a": 6}
    assert len(cluster.seen) == 6 * (20 + 19 * 5)
    assert set(cluster.seen.values()) == {1}, "handed over exactly where the one before had stopped"
    assert len(cluster.journal.of("a", "revoked")[0][2]) == 3, "only what moves is given up"


def test_a_member_that_does_not_poll_goes_by_itself_and_comes_back(cluster: GroupCluster) -> None:
    def stuck() -> None:
        with member(cluster, "b", max_poll_interval_ms=8000) as consumer:
            cluster.read(consumer, 15)
            assert len(consumer.assignment) == 3
            cluster.journal.ended.add("b")
            cluster.hub.sleep_ms(16_000)
            cluster.journal.ended.remove("b")
            cluster.read(consumer, 18)
            assert len(cluster.journal.of("b", "lost")) == 1
            assert len(consumer.assignment) == 3
        cluster.hub.sleep_ms(10)

    def other() -> None:
        with member(cluster, "a") as consumer:
            cluster.read(consumer, 30)
            assert len(consumer.assignment) == 6, "had after max.poll.interval.ms, long before the session ended"
            cluster.read(consumer, 25)
        cluster.hub.sleep_ms(10)

    cluster.play(other, stuck)
