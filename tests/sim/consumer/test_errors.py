"""Every error that the documents list for a call, raised by a real call; the consumer is usable and closable then."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from kctl.client.broker_errors import ErrorCode
from kctl.client.cluster import TopicPartition
from kctl.client.consumer.consumer import Consumer
from kctl.client.errors import (
    ApiTimeout,
    AuthenticationError,
    BrokerError,
    CommitFailedError,
    InvalidOffsetError,
    KafkaError,
    UnsupportedVersionError,
    WakeupError,
)
from kctl.client.protocol.schema import Request, Response
from kctl.client.runtime import Task, Waiter
from kctl.sandbox import Fault
from kctl.sandbox.apis import HANDLERS, api_versions
from kctl.sandbox.call import Call
from kctl.sandbox.identity import SaslUsers
from kctl.sandbox.node import ListenerSecurity
from tests.sim.kit.groups import GROUP, GroupCluster
from tests.sim.virtual import Hub

T0 = TopicPartition("t", 0)
Calls = dict[str, Callable[[Consumer], object]]
LOOKUPS: Calls = {
    "beginning_offsets": lambda consumer: consumer.beginning_offsets([T0], 60),
    "end_offsets": lambda consumer: consumer.end_offsets([T0], 60),
    "offsets_for_times": lambda consumer: consumer.offsets_for_times({T0: 1}, 60),
}
WAITING: Calls = {
    **LOOKUPS,
    "partitions_for": lambda consumer: consumer.partitions_for("t", 60),
    "list_topics": lambda consumer: consumer.list_topics(60),
    "client_instance_id": lambda consumer: consumer.client_instance_id(60),
    "position": lambda consumer: consumer.position(T0, 60),
    "committed": lambda consumer: consumer.committed([T0], 60),
    "commit_sync": lambda consumer: consumer.commit_sync({T0: 1}, 60),
    "poll": lambda consumer: consumer.poll(60),
    "poll_chunk": lambda consumer: consumer.poll_chunk(60),
}
API_KEYS = {"Fetch": 1, "ListOffsets": 2, "Metadata": 3, "OffsetCommit": 8, "OffsetFetch": 9, "FindCoordinator": 10}


@pytest.fixture
def cluster() -> Iterator[GroupCluster]:
    with Hub(seed=67) as hub:
        yield GroupCluster(hub, topics={"t": 1})


@contextmanager
def refusing(api: str, code: ErrorCode) -> Iterator[None]:
    """Replace every successful error code in responses of an API."""
    handler = HANDLERS[API_KEYS[api]]

    def handle(call: Call, request: Request) -> Response | None:
        answer = handler.handle(call, request)
        if answer is not None:  # a fetch without data responds later, without this function
            put(answer, code, api)
        return answer

    HANDLERS[API_KEYS[api]] = handler._replace(handle=handle)
    try:
        yield
    finally:
        HANDLERS[API_KEYS[api]] = handler


def put(message: Any, code: ErrorCode, api: str) -> None:
    """Put the code into the innermost structs that have one."""
    inner = [
        each
        for name in ("topics", "partitions", "responses", "coordinators", "groups")
        for each in getattr(message, name, None) or []
    ]
    if not inner or (api == "Metadata" and hasattr(message, "partitions")):
        message.error_code = int(code)
        return
    for each in inner:
        put(each, code, api)


@contextmanager
def lacking(api: str) -> Iterator[None]:
    """Remove an API from the brokers, as before it existed."""
    handler = HANDLERS.pop(API_KEYS[api])
    api_versions.offer(HANDLERS.values())
    try:
        yield
    finally:
        HANDLERS[API_KEYS[api]] = handler
        api_versions.offer(HANDLERS.values())


def usable(cluster: GroupCluster, consumer: Consumer) -> None:
    """Check that the consumer still works and closes."""
    cluster.sandbox.heal()
    assert list(consumer.end_offsets([T0], 60)) == [T0]
    consumer.close()
    cluster.hub.sleep_ms(50)


# --- wakeup -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", WAITING)
def test_wakeup_before_or_while_the_call_is_made_ends_it(cluster: GroupCluster, name: str) -> None:
    def body() -> None:
        consumer = cluster.consumer(group_id=GROUP)
        consumer.assign([T0])
        for node_id in (1, 2, 3):
            cluster.sandbox.start_fault(node_id, Fault.FREEZE)
        for delay_ms in (0, 1234):
            before_ms = cluster.hub.now_ms
            if delay_ms:
                cluster.hub.call_later_ms(delay_ms, "waker", consumer.wakeup)
            else:
                consumer.wakeup()
            with pytest.raises(WakeupError):
                WAITING[name](consumer)
            assert cluster.hub.now_ms - before_ms == delay_ms
        usable(cluster, consumer)

    cluster.play(body)


# --- interrupt --------------------------------------------------------------------------------------------------------


class Interrupted:
    """A driver that lets the application be interrupted in its next wait, as Ctrl-C does."""

    def __init__(self, consumer: Consumer) -> None:
        self._inner = consumer._side.mailbox.driver
        self.is_due = False
        consumer._side.mailbox.driver = self  # type: ignore[assignment]  # only these two are used from now on

    def wait(self, waiter: Waiter, deadline_at_ms: int) -> bool:
        if self.is_due:
            self.is_due = False
            raise KeyboardInterrupt
        return self._inner.wait(waiter, deadline_at_ms)

    def join(self, task: Task, deadline_at_ms: int) -> bool:
        return self._inner.join(task, deadline_at_ms)


@pytest.mark.parametrize("name", WAITING)
def test_an_interrupt_in_the_wait_goes_through_and_leaves_the_consumer_usable(cluster: GroupCluster, name: str) -> None:
    def body() -> None:
        consumer = cluster.consumer(group_id=GROUP)
        consumer.assign([T0])
        driver = Interrupted(consumer)
        driver.is_due = True
        with pytest.raises(KeyboardInterrupt):
            WAITING[name](consumer)
        if not name.startswith("poll"):
            WAITING[name](consumer)
        usable(cluster, consumer)

    cluster.play(body)


# --- invalid offset ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["position", "poll", "poll_chunk"])
def test_no_position_and_no_reset_policy_is_an_invalid_offset(cluster: GroupCluster, name: str) -> None:
    def body() -> None:
        consumer = cluster.consumer(auto_offset_reset="none")
        consumer.assign([T0])
        with pytest.raises(InvalidOffsetError, match="no position for t-0") as caught:
            WAITING[name](consumer)
        assert caught.value.partitions == (T0,)
        consumer.seek(T0, 0)
        assert consumer.poll(1) == []
        usable(cluster, consumer)

    cluster.play(body)


@pytest.mark.parametrize("name", ["poll", "poll_chunk"])
def test_a_position_out_of_range_and_no_reset_policy_is_an_invalid_offset(cluster: GroupCluster, name: str) -> None:
    def body() -> None:
        consumer = cluster.consumer(auto_offset_reset="none")
        consumer.assign([T0])
        consumer.seek(T0, 77)
        with pytest.raises(InvalidOffsetError, match="t-0 has no offset 77"):
            WAITING[name](consumer)
        usable(cluster, consumer)

    cluster.play(body)


# --- authentication ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", WAITING)
def test_a_wrong_password_ends_the_call_at_once(name: str) -> None:
    with Hub(seed=71) as hub:
        users = SaslUsers({"alice": "secret"})
        cluster = GroupCluster(hub, nodes=1, topics={"t": 1}, security=ListenerSecurity(users=users))

        def body() -> None:
            consumer = cluster.consumer(
                group_id=GROUP,
                security_protocol="SASL_PLAINTEXT",
                sasl_mechanism="PLAIN",
                sasl_jaas_config="org.apache.kafka.common.security.plain.PlainLoginModule required "
                'username="alice" password="wrong";',
            )
            consumer.assign([T0])
            for _ in range(2):  # a new call is a new chance
                before_ms = hub.now_ms
                with pytest.raises(AuthenticationError) as caught:
                    WAITING[name](consumer)
                assert not caught.value.retriable
                assert hub.now_ms - before_ms < 5000
            consumer.close(1)
            hub.sleep_ms(50)

        cluster.play(body)


# --- authorization ----------------------------------------------------------------------------------------------------

DENIED = [
    *((name, "ListOffsets", ErrorCode.TOPIC_AUTHORIZATION_FAILED) for name in (*LOOKUPS, "position", "poll")),
    ("poll", "Fetch", ErrorCode.TOPIC_AUTHORIZATION_FAILED),
    ("poll_chunk", "Fetch", ErrorCode.TOPIC_AUTHORIZATION_FAILED),
    ("partitions_for", "Metadata", ErrorCode.TOPIC_AUTHORIZATION_FAILED),
    ("commit_sync", "OffsetCommit", ErrorCode.TOPIC_AUTHORIZATION_FAILED),
    ("commit_sync", "OffsetCommit", ErrorCode.GROUP_AUTHORIZATION_FAILED),
    ("committed", "OffsetFetch", ErrorCode.GROUP_AUTHORIZATION_FAILED),
    *(
        (name, "FindCoordinator", ErrorCode.GROUP_AUTHORIZATION_FAILED)
        for name in ("commit_sync", "committed", "position", "poll")
    ),
]


@pytest.mark.parametrize(("name", "api", "code"), DENIED)
def test_a_denial_of_topic_or_group_ends_the_call_at_once(
    cluster: GroupCluster, name: str, api: str, code: ErrorCode
) -> None:
    def body() -> None:
        cluster.write(0, 1)
        consumer = cluster.consumer(group_id=GROUP)
        consumer.assign([T0])
        before_ms = cluster.hub.now_ms
        with refusing(api, code), pytest.raises(BrokerError, match=code.name) as caught:
            WAITING[name](consumer)
        assert (caught.value.code, caught.value.retriable) == (code, False)
        assert cluster.hub.now_ms - before_ms < 1000
        usable(cluster, consumer)

    cluster.play(body)


# --- commits ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("code", [ErrorCode.OFFSET_METADATA_TOO_LARGE, ErrorCode.INVALID_COMMIT_OFFSET_SIZE])
def test_a_commit_that_can_never_succeed_is_an_error_at_once(cluster: GroupCluster, code: ErrorCode) -> None:
    def body() -> None:
        consumer = cluster.consumer(group_id=GROUP)
        with refusing("OffsetCommit", code), pytest.raises(BrokerError, match=code.name):
            consumer.commit_sync({T0: 1}, 60)
        usable(cluster, consumer)

    cluster.play(body)


@pytest.mark.parametrize("code", [ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.ILLEGAL_GENERATION])
def test_a_commit_of_partitions_that_the_group_gave_away_has_failed(cluster: GroupCluster, code: ErrorCode) -> None:
    def body() -> None:
        consumer = cluster.member("a", enable_auto_commit=False)
        while not consumer.assignment:
            consumer.poll(1)
        with refusing("OffsetCommit", code), pytest.raises(CommitFailedError) as caught:
            consumer.commit_sync({T0: 1}, 60)
        assert not caught.value.retriable
        assert isinstance(caught.value.cause, BrokerError)
        usable(cluster, consumer)

    cluster.play(body)


def test_a_member_whose_instance_id_another_uses_is_fenced(cluster: GroupCluster) -> None:
    def body() -> None:
        consumer = cluster.member("a", group_instance_id="one", enable_auto_commit=False)
        while not consumer.assignment:
            consumer.poll(1)
        with refusing("OffsetCommit", ErrorCode.FENCED_INSTANCE_ID), pytest.raises(BrokerError) as caught:
            consumer.commit_sync({T0: 1}, 60)
        assert caught.value.code == ErrorCode.FENCED_INSTANCE_ID
        with pytest.raises(BrokerError, match="FENCED_INSTANCE_ID"):
            consumer.poll(60)
        usable(cluster, consumer)

    cluster.play(body)


def test_a_retriable_failure_is_tried_again_by_commit_sync_and_told_by_commit_async(cluster: GroupCluster) -> None:
    def body() -> None:
        heard: list[KafkaError | None] = []
        consumer = cluster.consumer(group_id=GROUP)
        with refusing("OffsetCommit", ErrorCode.COORDINATOR_LOAD_IN_PROGRESS):
            consumer.commit_async({T0: 1}, lambda _, error: heard.append(error))
            before_ms = cluster.hub.now_ms
            with pytest.raises(ApiTimeout) as caught:
                consumer.commit_sync({T0: 1}, 3)
            assert cluster.hub.now_ms - before_ms == 3000
        assert isinstance(caught.value.cause, BrokerError)
        assert caught.value.cause.code == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
        consumer.commit_sync({T0: 1}, 3)
        [error] = heard
        assert isinstance(error, BrokerError)
        assert error.retriable
        usable(cluster, consumer)

    cluster.play(body)


def test_callbacks_of_earlier_async_commits_have_run_before_commit_sync_returns(cluster: GroupCluster) -> None:
    def body() -> None:
        heard: list[tuple[int, str]] = []
        consumer = cluster.consumer(group_id=GROUP)

        def note(number: int) -> Callable[[object, KafkaError | None], None]:
            return lambda _, error: heard.append((number, type(error).__name__))

        consumer.commit_async({T0: 1}, note(1))
        consumer.commit_async({TopicPartition("no-such-topic", 0): 1}, note(2))
        consumer.commit_async({T0: 3}, note(3))
        assert heard == []
        consumer.commit_sync({T0: 4}, 60)
        assert heard == [(1, "NoneType"), (2, "UnknownTopicOrPartitionError"), (3, "NoneType")]
        committed = consumer.committed([T0])[T0]
        assert committed is not None
        assert committed.offset == 4
        usable(cluster, consumer)

    cluster.play(body)


# --- what an older broker lacks ---------------------------------------------------------------------------------------

LACKED = [
    *((name, "ListOffsets") for name in (*LOOKUPS, "position")),
    ("committed", "OffsetFetch"),
    ("commit_sync", "OffsetCommit"),
    ("committed", "FindCoordinator"),
]


@pytest.mark.parametrize(("name", "api"), LACKED)
def test_a_broker_without_the_api_is_an_unsupported_version(cluster: GroupCluster, name: str, api: str) -> None:
    def body() -> None:
        with lacking(api):
            consumer = cluster.consumer(group_id=GROUP if name.startswith("commit") else None)
            consumer.assign([T0])
            before_ms = cluster.hub.now_ms
            with pytest.raises(UnsupportedVersionError, match=api) as caught:
                WAITING[name](consumer)
            assert caught.value.api == api
            assert cluster.hub.now_ms - before_ms < 1000
            consumer.close(1)
            cluster.hub.sleep_ms(50)

    cluster.play(body)
