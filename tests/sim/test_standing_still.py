"""A process that was not scheduled around its deadline uses the bytes that arrived by then."""

from contextlib import suppress

import pytest

from kctl.cli.exit_codes import ExitCode
from kctl.cli.failures import exit_code
from kctl.client.admin import Admin
from kctl.client.cluster import TopicPartition
from kctl.client.consumer.consumer import Consumer
from kctl.client.errors import ApiTimeout, ConnectionRefused, DeliveryTimeout, UndeliveredError
from kctl.client.producer import Producer
from kctl.client.runtime import Address, IoEvent, Runtime, SocketOptions
from kctl.sandbox import Fault
from tests.sim.kit.cluster import SimCluster, run
from tests.sim.virtual import Hub, SimNetwork, sim_runtime
from tests.sim.virtual.network import LinkProfile
from tests.sim.virtual.selector import SimSelector

STANDS_STILL_MS = 5_000
NAME = "app"


class SlowSelector(SimSelector):
    """A selector whose process is not scheduled for a while, once: after a `connect`, or after a `poll` without I/O."""

    def __init__(self, hub: Hub, network: SimNetwork, after: str) -> None:
        super().__init__(hub, network, NAME)
        self.hub = hub
        self.after = after

    def connect(self, channel: int, address: Address) -> None:
        super().connect(channel, address)
        self._stand_still("connect")

    def poll(self, until_ms: int) -> list[IoEvent]:
        events = super().poll(until_ms)
        if self.open_channels and not events:
            self._stand_still("poll")
        return events

    def _stand_still(self, after: str) -> None:
        if self.after == after:
            self.after = ""
            self.hub.stall(NAME, STANDS_STILL_MS)
            self.hub.sleep_ms(0)


def slow_runtime(cluster: SimCluster, after: str) -> Runtime:
    def make_selector(_: SocketOptions) -> SimSelector:
        return SlowSelector(cluster.hub, cluster.network, after)

    return sim_runtime(cluster.hub, NAME, cluster.network)._replace(make_selector=make_selector)


def bootstrap_of(cluster: SimCluster) -> dict[str, object]:
    return {"bootstrap.servers": cluster.bootstrap}


@pytest.mark.parametrize("after", ["connect", "poll"])
def test_admin_call_reports_a_refusal_that_arrived_while_the_process_stood_still(after: str) -> None:
    def app(cluster: SimCluster) -> None:
        cluster.network.profile = LinkProfile(latency_ms=400)
        cluster.break_all(Fault.REFUSE)
        with Admin(bootstrap_of(cluster), slow_runtime(cluster, after)) as admin, pytest.raises(ApiTimeout) as caught:
            admin.list_groups(timeout=0.3)
        assert isinstance(caught.value.cause, ConnectionRefused)
        assert exit_code(caught.value) is ExitCode.REFUSED

    run(app)


def test_consumer_call_reports_a_refusal_that_arrived_while_the_process_stood_still() -> None:
    def app(cluster: SimCluster) -> None:
        cluster.network.profile = LinkProfile(latency_ms=400)
        cluster.break_all(Fault.REFUSE)
        runtime = slow_runtime(cluster, "poll")
        with Consumer(bootstrap_of(cluster), runtime) as consumer, pytest.raises(ApiTimeout) as caught:
            consumer.end_offsets([TopicPartition("t", 0)], timeout=0.6)
        assert isinstance(caught.value.cause, ConnectionRefused)
        assert exit_code(caught.value) is ExitCode.REFUSED

    run(app)


def test_record_acknowledged_while_the_process_stood_still_is_delivered() -> None:
    def app(cluster: SimCluster) -> None:
        selector = SlowSelector(cluster.hub, cluster.network, "")
        runtime = slow_runtime(cluster, "")._replace(make_selector=lambda _: selector)
        limits = {"delivery.timeout.ms": 3_000, "request.timeout.ms": 2_000, "linger.ms": 0}
        with suppress(UndeliveredError), Producer(bootstrap_of(cluster) | limits, runtime) as producer:
            producer.send("t", b"first").result(5)
            cluster.break_all(Fault.DELAY, ms=400)
            second = producer.send("t", b"second")
            cluster.hub.sleep_ms(100)
            selector.after = "poll"
            third = producer.send("t", b"third")  # ends the poll before the response, and is too late then
            assert second.result(60).offset == 1
            with pytest.raises(DeliveryTimeout, match="waiting to send the batch"):
                third.result(60)
        assert selector.after == ""

    run(app)
