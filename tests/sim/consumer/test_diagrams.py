"""The two diagrams of the document on consumer timeouts: request timeouts and the API timeout of one call."""

from collections.abc import Callable, Iterator

import pytest

from kctl.client.cluster import TopicPartition
from kctl.client.consumer.consumer import Consumer
from kctl.client.errors import ApiTimeout
from kctl.client.events import Closed, Event, Expired, Lost, RequestAbandoned, RequestExpired, RequestSent
from kctl.sandbox import Fault
from tests.sim.chaos.replies import Replies
from tests.sim.kit.groups import GROUP, GroupCluster
from tests.sim.virtual import Hub, sim_runtime

T0 = TopicPartition("t", 0)
REQUEST_MS = 4000
SOON_MS = 500
"""Two back-offs, and reconnecting."""
CALLS: dict[str, tuple[str, Callable[[Consumer, float | None], object]]] = {
    "commit_sync": ("OffsetCommit", lambda consumer, timeout: consumer.commit_sync({T0: 1}, timeout)),
    "committed": ("OffsetFetch", lambda consumer, timeout: consumer.committed([T0], timeout)),
    "end_offsets": ("ListOffsets", lambda consumer, timeout: consumer.end_offsets([T0], timeout)),
    "offsets_for_times": ("ListOffsets", lambda consumer, timeout: consumer.offsets_for_times({T0: 1}, timeout)),
    "partitions_for": ("Metadata", lambda consumer, timeout: consumer.partitions_for("t", timeout)),
}


class Watched:
    """A consumer whose connections to a cluster of one node are open, and what happens on them in one call."""

    def __init__(self, cluster: GroupCluster, call: str) -> None:
        self.api, self._call = CALLS[call]
        self._hub = cluster.hub
        self._events: list[Event] = []
        config = {"bootstrap.servers": cluster.bootstrap, "group.id": GROUP, "request.timeout.ms": REQUEST_MS}
        self.consumer = Consumer(
            config, sim_runtime(cluster.hub, "watched", cluster.network), events=self._events.append
        )
        for _, each in CALLS.values():
            each(self.consumer, 10)
        self.started_at_ms = cluster.hub.now_ms
        self._events.clear()

    def call(self, timeout_ms: int | None) -> int:
        """Make the call, and return how long it took."""
        self._call(self.consumer, None if timeout_ms is None else timeout_ms / 1000)
        return self._hub.now_ms - self.started_at_ms

    def sent_at_ms(self) -> list[int]:
        """Return when requests of the API were sent, since the call."""
        sent = [event for event in self._events if isinstance(event, RequestSent) and event.api == self.api]
        return [event.at_ms - self.started_at_ms for event in sent]

    def ends(self, *kinds: type[Event]) -> list[tuple[int, int]]:
        """Return times and limits of requests of the API that ended without a response, since the call."""
        return [
            (event.at_ms - self.started_at_ms, event.limit_ms)
            for event in self._events
            if isinstance(event, RequestExpired | RequestAbandoned) and isinstance(event, kinds)
            if event.api == self.api
        ]

    def expiries(self) -> list[tuple[int, int]]:
        """Return times and limits of requests and connection attempts that expired, since the call."""
        expired = [event for event in self._events if isinstance(event, Expired | RequestExpired)]
        return [(event.at_ms - self.started_at_ms, event.limit_ms) for event in expired]

    def losses_after(self, at_ms: int) -> list[Event]:
        """Return the connections that ended from an instant on, which counts from the call."""
        return [e for e in self._events if isinstance(e, Closed | Lost) and e.at_ms >= self.started_at_ms + at_ms]


@pytest.fixture
def cluster() -> Iterator[GroupCluster]:
    with Hub(seed=4) as hub:
        yield GroupCluster(hub, topics={"t": 1}, nodes=1)


@pytest.mark.parametrize("call", CALLS)
def test_two_request_timeouts_and_an_answer_to_the_third_request(cluster: GroupCluster, call: str) -> None:
    """Diagram 1: the API timeout is generous."""

    def body() -> None:
        watched = Watched(cluster, call)
        with Replies.silent(watched.api, lambda: cluster.hub.now_ms < watched.started_at_ms + 2 * REQUEST_MS):
            elapsed_ms = watched.call(30_000)
        assert [limit_ms for _, limit_ms in watched.ends(RequestExpired)] == [REQUEST_MS, REQUEST_MS]
        assert 2 * REQUEST_MS < elapsed_ms <= 2 * REQUEST_MS + SOON_MS
        watched.consumer.close()

    cluster.run(body)


@pytest.mark.parametrize("call", CALLS)
def test_the_third_request_gets_what_is_left_of_the_api_timeout(cluster: GroupCluster, call: str) -> None:
    """Diagram 2: min(remaining time of the call, request.timeout.ms). A lookup then keeps its connection open."""

    def body() -> None:
        watched = Watched(cluster, call)
        timeout_ms = 2 * REQUEST_MS + 1500
        with Replies.silent(watched.api, lambda: True):
            with pytest.raises(ApiTimeout):
                watched.call(timeout_ms)
            assert cluster.hub.now_ms - watched.started_at_ms == timeout_ms
            cluster.hub.sleep_ms(100)
            cut = RequestExpired if call == "commit_sync" else RequestAbandoned
            ends = watched.ends(RequestExpired, RequestAbandoned)
            cut_ms = ends[-1][1]
            assert [limit_ms for _, limit_ms in ends] == [REQUEST_MS, REQUEST_MS, cut_ms]
            assert timeout_ms - cut_ms in watched.sent_at_ms()
            assert watched.ends(cut)[-1] == (timeout_ms, cut_ms)
            assert cut_ms < 1500
            assert bool(watched.losses_after(timeout_ms)) == (call == "commit_sync")
        watched.consumer.close()

    cluster.run(body)


@pytest.mark.parametrize("call", CALLS)
def test_a_call_without_a_timeout_has_the_default_api_timeout(cluster: GroupCluster, call: str) -> None:
    def body() -> None:
        watched = Watched(cluster, call)
        cluster.sandbox.start_fault(1, Fault.SILENCE)
        with pytest.raises(ApiTimeout):
            watched.call(None)
        assert cluster.hub.now_ms - watched.started_at_ms == 60_000
        watched.consumer.close()

    cluster.run(body)


@pytest.mark.parametrize("fault", [Fault.SILENCE, Fault.FREEZE])
@pytest.mark.parametrize("call", CALLS)
def test_no_request_of_reconnecting_outlasts_the_request_timeout(
    cluster: GroupCluster, call: str, fault: Fault
) -> None:
    """Diagram 1 with a broker that never responds: the second round is ApiVersions on a new connection."""

    def body() -> None:
        watched = Watched(cluster, call)
        cluster.sandbox.start_fault(1, fault)
        healed_ms = 2 * REQUEST_MS + SOON_MS

        def heal_later() -> None:
            cluster.hub.sleep_ms(healed_ms)
            cluster.sandbox.heal()

        cluster.hub.spawn("healer", heal_later)
        elapsed_ms = watched.call(30_000)
        expiries = watched.expiries()
        assert {limit_ms for _, limit_ms in expiries} == {REQUEST_MS}
        assert {(at_ms + SOON_MS) // REQUEST_MS for at_ms, _ in expiries} >= {1, 2}, "one after the other"
        bound_ms = 3 * REQUEST_MS if fault is Fault.SILENCE else healed_ms  # FREEZE delays responses
        assert elapsed_ms <= bound_ms + SOON_MS
        watched.consumer.close()

    cluster.run(body)
