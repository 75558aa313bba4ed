"""A look-up stays on the wire until request.timeout.ms: a short call ends at its deadline without its connection."""

from collections.abc import Callable, Iterator

import pytest

from kctl.client.cluster import TopicPartition
from kctl.client.consumer.consumer import Consumer
from kctl.client.errors import ApiTimeout
from kctl.client.events import Closed, Event, Lost, RequestAbandoned, RequestExpired, RequestSent
from kctl.sandbox import Fault
from tests.sim.kit.groups import GROUP, GroupCluster
from tests.sim.virtual import Hub, sim_runtime

T0 = TopicPartition("t", 0)
CALLS: dict[str, tuple[Callable[[Consumer], object], str]] = {
    "end_offsets": (lambda consumer: consumer.end_offsets([T0], 0.1), "ListOffsets"),
    "offsets_for_times": (lambda consumer: consumer.offsets_for_times({T0: 1}, 0.1), "ListOffsets"),
    "partitions_for": (lambda consumer: consumer.partitions_for("t", 0.1), "Metadata"),
    "client_instance_id": (lambda consumer: consumer.client_instance_id(0.1), "GetTelemetrySubscriptions"),
    "committed": (lambda consumer: consumer.committed([T0], 0.1), "OffsetFetch"),
}


class Watched:
    """A consumer of t-0, on a cluster of one node, with everything that happens on its connections."""

    def __init__(self, cluster: GroupCluster) -> None:
        self.events: list[Event] = []
        config = {
            "bootstrap.servers": cluster.bootstrap,
            "group.id": GROUP,
            "auto.offset.reset": "earliest",
            "request.timeout.ms": 5000,
        }
        self.consumer = Consumer(
            config, sim_runtime(cluster.hub, "watched", cluster.network), events=self.events.append
        )

    def of(self, *kinds: type[Event]) -> list[Event]:
        return [event for event in self.events if isinstance(event, kinds)]


@pytest.fixture
def cluster() -> Iterator[GroupCluster]:
    with Hub(seed=47) as hub:
        yield GroupCluster(hub, topics={"t": 1}, nodes=1)


@pytest.mark.parametrize("call", CALLS)
def test_a_short_call_to_a_silent_broker_loses_no_connection(cluster: GroupCluster, call: str) -> None:
    ask, api = CALLS[call]

    def body() -> None:
        watched = Watched(cluster)
        with watched.consumer as consumer:
            consumer.assign([T0])
            consumer.poll(1)
            consumer.committed([T0])
            cluster.sandbox.start_fault(1, Fault.FREEZE)
            watched.events.clear()
            before_ms = cluster.hub.now_ms
            with pytest.raises(ApiTimeout) as caught:
                ask(consumer)
            assert cluster.hub.now_ms - before_ms == 100
            assert caught.value.retriable
            assert caught.value.waiting_for
            assert [event.api for event in watched.events if isinstance(event, RequestSent)] == [api]
            consumer.poll(2)
            abandoned = [event for event in watched.events if isinstance(event, RequestAbandoned)]
            assert [(event.api, event.at_ms - before_ms, event.limit_ms) for event in abandoned] == [(api, 100, 100)]
            assert watched.of(Closed, Lost, RequestExpired) == [], "it is still asked, and so is the fetch"
            cluster.write(0, 3)
            cluster.sandbox.heal()
            assert len(consumer.poll(1)) == 3, "by the fetch that was in flight"
            assert watched.of(Closed, Lost, RequestExpired) == []
            assert consumer.end_offsets([T0], 1) == {T0: 3}

    cluster.run(body)


def test_the_request_expires_after_its_own_limit(cluster: GroupCluster) -> None:
    def body() -> None:
        watched = Watched(cluster)
        with watched.consumer as consumer:
            consumer.end_offsets([T0])
            cluster.sandbox.start_fault(1, Fault.FREEZE)
            watched.events.clear()
            before_ms = cluster.hub.now_ms
            with pytest.raises(ApiTimeout):
                consumer.end_offsets([T0], 0.1)
            cluster.hub.sleep_ms(8000)
            expired = [event for event in watched.events if isinstance(event, RequestExpired)]
            assert [(event.api, event.at_ms - before_ms, event.limit_ms) for event in expired] == [
                ("ListOffsets", 5000, 5000)
            ]
            cluster.sandbox.heal()

    cluster.run(body)


def test_a_commit_waits_for_what_is_left_of_its_call_or_the_request_timeout_whichever_is_less(
    cluster: GroupCluster,
) -> None:
    def body() -> None:
        watched = Watched(cluster)
        with watched.consumer as consumer:
            for timeout_ms, limit_ms in ((1000, 1000), (9000, 5000)):
                consumer.commit_sync({T0: 1})
                cluster.sandbox.start_fault(1, Fault.FREEZE)
                watched.events.clear()
                before_ms = cluster.hub.now_ms
                with pytest.raises(ApiTimeout):
                    consumer.commit_sync({T0: 2}, timeout_ms / 1000)
                assert cluster.hub.now_ms - before_ms == timeout_ms
                cluster.hub.sleep_ms(1)
                first = next(event for event in watched.events if isinstance(event, RequestExpired))
                assert (first.api, first.limit_ms, first.at_ms - before_ms) == ("OffsetCommit", limit_ms, limit_ms)
                cluster.sandbox.heal()

    cluster.run(body)
