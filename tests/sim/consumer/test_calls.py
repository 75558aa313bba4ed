"""Consumer calls other than their deadlines: lag, client instance id, the old poll, and invalid arguments."""

import math
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any, get_args
from uuid import UUID

import pytest

from kctl.client.broker_errors import ErrorCode
from kctl.client.cluster import TopicPartition
from kctl.client.consumer.consumer import Consumer
from kctl.client.consumer.events import NetworkFailed, ToApplication
from kctl.client.errors import ApiTimeout, IllegalStateError, UnsupportedVersionError
from kctl.client.protocol.api.telemetry import (
    GetTelemetrySubscriptionsRequest,
    GetTelemetrySubscriptionsResponse,
)
from kctl.sandbox import Fault
from kctl.sandbox.apis import HANDLERS, api_versions
from kctl.sandbox.call import Call, Handler
from tests.sim.kit.groups import GROUP, GroupCluster
from tests.sim.virtual import Hub

T0 = TopicPartition("t", 0)
WAITING: dict[str, Callable[[Consumer, Any], object]] = {
    "beginning_offsets": lambda consumer, timeout: consumer.beginning_offsets([T0], timeout),
    "client_instance_id": lambda consumer, timeout: consumer.client_instance_id(timeout),
    "close": lambda consumer, timeout: consumer.close(timeout),
    "commit_sync": lambda consumer, timeout: consumer.commit_sync({T0: 1}, timeout),
    "committed": lambda consumer, timeout: consumer.committed([T0], timeout),
    "end_offsets": lambda consumer, timeout: consumer.end_offsets([T0], timeout),
    "list_topics": lambda consumer, timeout: consumer.list_topics(timeout),
    "offsets_for_times": lambda consumer, timeout: consumer.offsets_for_times({T0: 1}, timeout),
    "partitions_for": lambda consumer, timeout: consumer.partitions_for("t", timeout),
    "poll": lambda consumer, timeout: consumer.poll(timeout),
    "poll_chunk": lambda consumer, timeout: consumer.poll_chunk(timeout),
    "position": lambda consumer, timeout: consumer.position(T0, timeout),
}


@pytest.fixture
def cluster() -> Iterator[GroupCluster]:
    with Hub(seed=43) as hub:
        yield GroupCluster(hub, topics={"t": 2})


@pytest.fixture
def telemetry(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[bytes]]:
    """Fail the first GetTelemetrySubscriptions with a temporary error; yield the returned client IDs."""
    given: list[bytes] = []
    codes = [ErrorCode.REQUEST_TIMED_OUT, ErrorCode.NONE]

    def answer(call: Call, request: GetTelemetrySubscriptionsRequest) -> GetTelemetrySubscriptionsResponse:
        assert request.client_instance_id == bytes(16), "the null id: the broker shall choose"
        given.append(bytes([7] * 15 + [len(given)]))
        return GetTelemetrySubscriptionsResponse(client_instance_id=given[-1], error_code=codes[len(given) - 1])

    key = GetTelemetrySubscriptionsRequest.API_KEY
    monkeypatch.setitem(HANDLERS, key, Handler(GetTelemetrySubscriptionsRequest, 0, 0, answer))
    api_versions.offer(HANDLERS.values())
    yield given
    monkeypatch.undo()
    api_versions.offer(HANDLERS.values())


# --- arguments --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("call", WAITING)
def test_a_negative_timeout_is_refused_and_changes_nothing(cluster: GroupCluster, call: str) -> None:
    def body() -> None:
        consumer = cluster.consumer(group_id=GROUP)
        consumer.assign([T0])
        for timeout in (-0.001, -math.inf, timedelta(seconds=-1), math.nan, True, "1"):
            with pytest.raises(ValueError, match="timeout must"):
                WAITING[call](consumer, timeout)
        assert consumer.end_offsets([T0]) == {T0: 0}
        consumer.close()

    cluster.run(body)


@pytest.mark.parametrize("call", sorted(WAITING.keys() - {"close"}))
def test_a_timedelta_is_a_timeout_everywhere(cluster: GroupCluster, call: str) -> None:
    def body() -> None:
        consumer = cluster.consumer(group_id=GROUP)
        consumer.assign([T0])
        for node_id in (1, 2, 3):
            cluster.sandbox.start_fault(node_id, Fault.BLACKHOLE)
        before_ms = cluster.hub.now_ms
        try:
            WAITING[call](consumer, timedelta(milliseconds=1234))
        except ApiTimeout:
            assert not call.startswith("poll")
        else:
            assert call.startswith("poll")
        assert cluster.hub.now_ms - before_ms == 1234
        consumer.close(timedelta(0))
        cluster.sandbox.heal()
        cluster.hub.sleep_ms(20)

    cluster.run(body)


@pytest.mark.parametrize("call", sorted(WAITING.keys() - {"close"}))
def test_every_call_after_close_is_an_illegal_state(cluster: GroupCluster, call: str) -> None:
    def body() -> None:
        consumer = cluster.consumer(group_id=GROUP)
        consumer.assign([T0])
        consumer.close()
        with pytest.raises(IllegalStateError, match="closed"):
            WAITING[call](consumer, 1)

    cluster.run(body)


def test_poll_without_subscription_or_assignment_is_an_error(cluster: GroupCluster) -> None:
    def body() -> None:
        consumer = cluster.consumer(group_id=GROUP)
        for call in ("poll", "poll_chunk"):
            with pytest.raises(IllegalStateError, match=r"cannot poll: call subscribe\(\) or assign\(\) first"):
                WAITING[call](consumer, 1)
        consumer.assign([T0])
        consumer.poll(0)
        consumer.unsubscribe()
        with pytest.raises(IllegalStateError, match=r"cannot poll: call subscribe\(\) or assign\(\) first"):
            consumer.poll(1)
        consumer.subscribe(["t"])
        consumer.poll(0)
        consumer.close()
        cluster.hub.sleep_ms(20)

    cluster.run(body)


def test_a_negative_offset_and_a_negative_time_are_refused(cluster: GroupCluster) -> None:
    def body() -> None:
        with cluster.consumer(group_id=GROUP) as consumer:
            consumer.assign([T0])
            for call in (
                lambda: consumer.seek(T0, -1),
                lambda: consumer.commit_sync({T0: -1}),
                lambda: consumer.commit_async({T0: -1}),
                lambda: consumer.offsets_for_times({T0: -1}),
            ):
                with pytest.raises(ValueError, match=r"(not|negative:) -1$"):
                    call()
            assert consumer.committed([T0]) == {T0: None}

    cluster.run(body)


# --- current_lag ------------------------------------------------------------------------------------------------------


def test_the_lag_is_told_without_asking_anybody(cluster: GroupCluster) -> None:
    def body() -> None:
        cluster.write(0, 10)
        with cluster.consumer(max_poll_records=4) as consumer:
            with pytest.raises(IllegalStateError, match="not assigned"):
                consumer.current_lag(T0)
            consumer.assign([T0])
            assert consumer.current_lag(T0) is None, "neither position nor end"
            assert len(consumer.poll(5)) == 4
            assert consumer.current_lag(T0) == 6
            assert [len(consumer.poll(5)), len(consumer.poll(5))] == [4, 2]
            assert consumer.current_lag(T0) == 0
            consumer.poll(1)
            cluster.write(0, 5, first=10)
            assert consumer.current_lag(T0) == 0, "nobody has told of them yet"
            consumer.end_offsets([T0])
            assert consumer.current_lag(T0) == 5
            consumer.seek(T0, 3)
            assert consumer.current_lag(T0) == 12
            assert cluster.elapsed_ms(lambda: consumer.current_lag(T0)) == 0

    cluster.run(body)


def test_the_lag_is_the_old_one_when_every_broker_is_gone(cluster: GroupCluster) -> None:
    def body() -> None:
        cluster.write(0, 10)
        with cluster.consumer(max_poll_records=4) as consumer:
            consumer.assign([T0])
            consumer.poll(5)
            for node_id in (1, 2, 3):
                cluster.sandbox.start_fault(node_id, Fault.FREEZE)
            assert cluster.elapsed_ms(lambda: consumer.current_lag(T0)) == 0
            assert consumer.current_lag(T0) == 6

    cluster.run(body)


# --- client_instance_id -----------------------------------------------------------------------------------------------


def test_the_client_instance_id_is_asked_once(cluster: GroupCluster, telemetry: list[bytes]) -> None:
    def body() -> None:
        with cluster.consumer() as consumer:
            first = consumer.client_instance_id(5)
            assert first == UUID(bytes=telemetry[1])
            assert cluster.elapsed_ms(lambda: consumer.client_instance_id(5)) == 0
            for node_id in (1, 2, 3):
                cluster.sandbox.start_fault(node_id, Fault.FREEZE)
            assert consumer.client_instance_id(0.5) == first
            cluster.sandbox.heal()
        assert len(telemetry) == 2, "one was refused"

    cluster.run(body)


def test_each_client_has_an_id_of_its_own(cluster: GroupCluster) -> None:
    def body() -> None:
        with cluster.consumer() as one, cluster.consumer() as other:
            ids = {one.client_instance_id(5), other.client_instance_id(5)}
            assert len(ids) == 2
            assert UUID(int=0) not in ids

    cluster.run(body)


def test_a_broker_without_client_metrics_is_an_unsupported_version(cluster: GroupCluster) -> None:
    def body() -> None:
        key = GetTelemetrySubscriptionsRequest.API_KEY
        handler = HANDLERS.pop(key, None)
        api_versions.offer(HANDLERS.values())
        try:
            with cluster.consumer() as consumer, pytest.raises(UnsupportedVersionError, match="GetTelemetrySubscr"):
                consumer.client_instance_id(5)
        finally:
            if handler is not None:
                HANDLERS[key] = handler
                api_versions.offer(HANDLERS.values())

    cluster.run(body)


def test_without_metrics_there_is_no_client_instance_id(cluster: GroupCluster) -> None:
    def body() -> None:
        no_id = pytest.raises(IllegalStateError, match=r"enable\.metrics\.push")
        with cluster.consumer(enable_metrics_push=False) as consumer, no_id:
            consumer.client_instance_id(5)

    cluster.run(body)


# --- positions --------------------------------------------------------------------------------------------------------


def test_a_group_without_subscription_starts_by_the_reset_policy_where_nothing_is_committed(
    cluster: GroupCluster,
) -> None:
    def body() -> None:
        cluster.write(0, 4)
        with cluster.consumer(group_id=GROUP) as consumer:
            consumer.assign([T0])
            assert len(consumer.poll(2)) == 4

    cluster.run(body)


def test_every_type_of_report_has_one_handler_on_the_application_thread(cluster: GroupCluster) -> None:
    def body() -> None:
        with cluster.consumer(group_id=GROUP) as consumer:
            assert set(consumer._side._handlers) == set(get_args(ToApplication)) - {NetworkFailed}

    cluster.run(body)
