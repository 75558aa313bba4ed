"""Whole consumers with group.protocol=consumer (KIP-848): the sharing and the silence that test_sharing.py shows."""

from collections.abc import Iterator

import pytest

from kctl.client.consumer.consumer import Consumer
from tests.sim.kit.groups import GROUP, GroupCluster, Noting
from tests.sim.virtual import Hub


@pytest.fixture
def scene() -> Iterator[GroupCluster]:
    with Hub(seed=4) as hub:
        yield GroupCluster(hub)


def member(scene: GroupCluster, name: str, **properties: object) -> Consumer:
    consumer = scene.consumer(group_id=GROUP, group_protocol="consumer", **properties)
    consumer.subscribe(["t"], Noting(scene.journal, name))
    return consumer


def test_three_members_come_and_go_and_every_record_is_read_once(scene: GroupCluster) -> None:
    for i in range(6):
        scene.write(i, 20)
    shares: dict[str, int] = {}

    def actor(name: str, start: float, seconds: float) -> None:
        scene.hub.sleep_ms(round(start * 1000))
        with member(scene, name) as consumer:
            scene.read(consumer, seconds)
            shares[name] = len(consumer.assignment)
        assert consumer.close().left_group is True
        scene.hub.sleep_ms(10)

    def writer() -> None:
        for round_number in range(1, 20):
            scene.hub.sleep_ms(2000)
            for i in range(6):
                scene.write(i, 5, first=15 + 5 * round_number)

    scene.play(
        lambda: actor("a", 0, 60), lambda: actor("b", 10, 30), lambda: actor("c", 20, 30), writer,
    )  # fmt: skip
    assert shares == {"b": 2, "c": 3, "a": 6}
    assert len(scene.seen) == 6 * (20 + 19 * 5)
    assert set(scene.seen.values()) == {1}, "handed over exactly where the one before had stopped"
    assert len(scene.journal.of("a", "revoked")[0][2]) == 3, "only what moves is given up"


def test_a_member_that_does_not_poll_goes_by_itself_and_comes_back(scene: GroupCluster) -> None:
    def stuck() -> None:
        with member(scene, "b", max_poll_interval_ms=8000) as consumer:
            scene.read(consumer, 15)
            assert len(consumer.assignment) == 3
            scene.journal.ended.add("b")
            scene.hub.sleep_ms(16_000)
            scene.journal.ended.remove("b")
            scene.read(consumer, 18)
            assert len(scene.journal.of("b", "lost")) == 1
            assert len(consumer.assignment) == 3
        scene.hub.sleep_ms(10)

    def other() -> None:
        with member(scene, "a") as consumer:
            scene.read(consumer, 30)
            assert len(consumer.assignment) == 6, "had after max.poll.interval.ms, long before the session ended"
            scene.read(consumer, 25)
        scene.hub.sleep_ms(10)

    scene.play(other, stuck)
