"""One thread at a time: a second one is refused by every call, and only wakeup() comes through."""

import inspect
from collections.abc import Callable, Iterator

import pytest

from kctl.client.cluster import TopicPartition
from kctl.client.consumer.consumer import Consumer
from kctl.client.consumer.group.application_side import RebalanceListener
from kctl.client.errors import ConcurrentModificationError, WakeupError
from tests.sim.kit.groups import GROUP, GroupCluster
from tests.sim.virtual import Hub

T0 = TopicPartition("t", 0)

CALLS: dict[str, Callable[[Consumer], object]] = {
    "assign": lambda consumer: consumer.assign([T0]),
    "assignment": lambda consumer: consumer.assignment,
    "unassign": lambda consumer: consumer.unassign([T0]),
    "beginning_offsets": lambda consumer: consumer.beginning_offsets([T0]),
    "client_instance_id": lambda consumer: consumer.client_instance_id(1),
    "close": lambda consumer: consumer.close(),
    "commit_async": lambda consumer: consumer.commit_async({T0: 1}),
    "commit_sync": lambda consumer: consumer.commit_sync({T0: 1}),
    "committed": lambda consumer: consumer.committed([T0]),
    "current_lag": lambda consumer: consumer.current_lag(T0),
    "end_offsets": lambda consumer: consumer.end_offsets([T0]),
    "enforce_rebalance": lambda consumer: consumer.enforce_rebalance(),
    "group_metadata": lambda consumer: consumer.group_metadata(),
    "lag": lambda consumer: consumer.lag(),
    "list_topics": lambda consumer: consumer.list_topics(),
    "look_up_offsets": lambda consumer: consumer.look_up_offsets({T0: 1}),
    "offsets_for_times": lambda consumer: consumer.offsets_for_times({T0: 1}),
    "partitions_for": lambda consumer: consumer.partitions_for("t"),
    "pause": lambda consumer: consumer.pause([T0]),
    "paused": lambda consumer: consumer.paused,
    "poll": lambda consumer: consumer.poll(0),
    "poll_chunk": lambda consumer: consumer.poll_chunk(0),
    "position": lambda consumer: consumer.position(T0),
    "positions": lambda consumer: consumer.positions(),
    "resume": lambda consumer: consumer.resume([T0]),
    "seek": lambda consumer: consumer.seek(T0, 0),
    "seek_to_beginning": lambda consumer: consumer.seek_to_beginning(),
    "seek_to_committed": lambda consumer: consumer.seek_to_committed(),
    "seek_to_end": lambda consumer: consumer.seek_to_end(),
    "store_offsets": lambda consumer: consumer.store_offsets({T0: 1}),
    "subscribe": lambda consumer: consumer.subscribe(["t"]),
    "subscription": lambda consumer: consumer.subscription,
    "unsubscribe": lambda consumer: consumer.unsubscribe(),
    "waiting_for": lambda consumer: consumer.waiting_for(),
    "waiting_for_group": lambda consumer: consumer.waiting_for_group(),
}


@pytest.fixture
def cluster() -> Iterator[GroupCluster]:
    with Hub(seed=41) as hub:
        yield GroupCluster(hub, topics={"t": 1})


FOR_ANY_THREAD = {"wakeup", "metrics"}


def test_table_has_every_public_name_of_one_user() -> None:
    public = {name for name, _ in inspect.getmembers(Consumer) if not name.startswith("_")}
    assert public - FOR_ANY_THREAD == set(CALLS)


@pytest.mark.parametrize("call", CALLS)
def test_a_second_user_is_refused_while_the_first_polls(cluster: GroupCluster, call: str) -> None:
    refused: list[str] = []
    made: list[Consumer] = []

    def first() -> None:
        consumer = cluster.consumer(group_id=GROUP)
        made.append(consumer)
        consumer.assign([T0])
        assert consumer.poll(2) == []
        assert cluster.hub.now_ms >= 2000
        consumer.close()
        cluster.hub.sleep_ms(20)

    def second() -> None:
        cluster.hub.sleep_ms(1000)
        with pytest.raises(ConcurrentModificationError, match=rf"^{call}\(\) failed: another thread") as caught:
            CALLS[call](made[0])
        refused.append(str(caught.value))

    cluster.play(first, second)
    assert len(refused) == 1


def test_wakeup_comes_through_and_the_consumer_may_be_handed_on_between_calls(cluster: GroupCluster) -> None:
    made: list[Consumer] = []

    def first() -> None:
        made.append(cluster.consumer())
        made[0].assign([T0])
        with pytest.raises(WakeupError):
            made[0].poll(10)
        assert cluster.hub.now_ms == 1000

    def second() -> None:
        cluster.hub.sleep_ms(1000)
        made[0].wakeup()
        cluster.hub.sleep_ms(1000)
        assert made[0].poll(1) == []
        made[0].close()
        cluster.hub.sleep_ms(20)

    cluster.play(first, second)


def test_a_listener_inside_of_poll_is_the_same_user(cluster: GroupCluster) -> None:
    seen: list[int] = []
    consumer: Consumer

    class Asking(RebalanceListener):
        def on_partitions_assigned(self, topic_partitions: object) -> None:
            seen.append(consumer.position(T0, 5))

    def body() -> None:
        nonlocal consumer
        consumer = cluster.consumer(group_id=GROUP)
        consumer.subscribe(["t"], Asking())
        consumer.poll(5)
        consumer.close()
        cluster.hub.sleep_ms(20)

    cluster.play(body)
    assert seen == [0]
