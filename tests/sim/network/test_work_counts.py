"""Work of a loop iteration counts as waiting: a wait ends at its deadline, regardless of the work before it."""

from collections.abc import Callable
from typing import Any, cast

import pytest

from kctl.client.clock import Clock
from kctl.client.consumer.consumer import Consumer
from kctl.client.consumer.network_loop import NetworkLoop
from kctl.client.errors import FlushTimeout
from kctl.client.loop.close import CLOSE_MARGIN_MS
from kctl.client.producer import Producer
from kctl.client.runtime import Runtime, Selectable, SocketOptions
from kctl.sandbox import Fault
from tests.sim.kit import SimCluster, run

WORK_MS = 3


class WorkingClock:
    """The cluster's clock, with the time that work has taken: in virtual time nothing else takes any."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.worked_ms = 0

    def now_ms(self) -> int:
        return self._clock.now_ms() + self.worked_ms

    start_ms = now_ms

    def wall_ms(self) -> int:
        return self._clock.wall_ms() + self.worked_ms

    def runtime(self, runtime: Runtime) -> Runtime:
        """Return the same surroundings by this clock, whose instants the hub reaches earlier by the work done."""

        def make_selector(options: SocketOptions) -> Selectable:
            selector: Any = runtime.make_selector(options)
            poll = selector.poll
            selector.poll = lambda until_ms: poll(until_ms - self.worked_ms)
            return cast(Selectable, selector)

        return runtime._replace(clock=self, make_selector=make_selector)

    def slowed(self, do: Callable[..., Any]) -> Callable[..., Any]:
        """Return the same, which takes `WORK_MS` each time."""

        def slowed(*arguments: Any) -> Any:
            self.worked_ms += WORK_MS
            return do(*arguments)

        return slowed


@pytest.mark.parametrize(
    "part",
    [
        lambda producer: (producer._sender._batches, "run"),
        lambda producer: (producer._client._updater, "run"),
        lambda producer: (producer._client.network, "next_deadline_at_ms"),
    ],
    ids=["batches", "metadata", "network"],
)
def test_a_flush_with_slow_acknowledgements_ends_on_time(part: Callable[[Producer], tuple[Any, str]]) -> None:
    def app(cluster: SimCluster) -> None:
        clock = WorkingClock(cluster.clock)
        producer = Producer({"bootstrap.servers": cluster.bootstrap}, clock.runtime(cluster.runtime))
        producer.send("t", b"a").result()
        for node_id in (1, 2, 3):
            cluster.sandbox.start_fault(node_id, Fault.FREEZE)
        producer.send("t", b"b")
        owner, name = part(producer)
        setattr(owner, name, clock.slowed(getattr(owner, name)))
        with pytest.raises(FlushTimeout) as raised:
            producer.flush(0.1)
        assert raised.value.elapsed_ms == 100
        producer.close(0)

    run(app)


def test_a_close_of_a_consumer_whose_coordinator_is_silent_gives_up_on_time(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def app(cluster: SimCluster) -> None:
        clock = WorkingClock(cluster.clock)
        properties = {"bootstrap.servers": cluster.bootstrap, "group.id": "g"}
        consumer = Consumer(properties, clock.runtime(cluster.runtime))
        consumer.subscribe(["t"])
        while not consumer.assignment:
            consumer.poll(0.1)
        for node_id in (1, 2, 3):
            cluster.sandbox.start_fault(node_id, Fault.FREEZE)
        monkeypatch.setattr(NetworkLoop, "_use_topics", clock.slowed(NetworkLoop._use_topics))
        consumer.close(0.1)

    run(app)
    assert f"timed out after {100 - CLOSE_MARGIN_MS}ms (close(timeout) 100ms) while committing offsets" in caplog.text
