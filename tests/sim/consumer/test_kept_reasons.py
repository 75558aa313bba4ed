"""A broker that never responds to one API: the reason for the wait is known at each moment, also between attempts."""

import re
from collections.abc import Callable, Iterator

import pytest

from kctl.client.admin import EARLIEST, Admin
from kctl.client.cluster import TopicPartition
from kctl.client.consumer import WaitKind, WaitReason
from kctl.client.consumer.consumer import Consumer
from kctl.client.errors import KafkaError, KafkaTimeoutError, RequestTimeout
from kctl.client.producer import Producer
from tests.sim.chaos.replies import Replies
from tests.sim.kit.groups import GroupCluster
from tests.sim.virtual import Hub

T0 = TopicPartition("t", 0)
REQUEST_MS = 1000
ATTEMPTS = 3
STEP_MS = 50
LIMITS = {"request_timeout_ms": REQUEST_MS, "socket_connection_setup_timeout_ms": REQUEST_MS}
DOTTED = {name.replace("_", "."): value for name, value in LIMITS.items()}
HEAD_START_MS = 100
"""Time to connect, and to back off after an attempt."""


@pytest.fixture
def cluster() -> Iterator[GroupCluster]:
    with Hub(seed=34) as hub:
        yield GroupCluster(hub, topics={"t": 1})


def reason_of(consumer: Consumer) -> WaitReason:
    """Return why no record comes."""
    return consumer.waiting_for_group() or consumer.waiting_for()[T0]


def subscribe(consumer: Consumer) -> None:
    consumer.subscribe(["t"])


def assign(consumer: Consumer) -> None:
    consumer.assign([T0])


def seek(consumer: Consumer) -> None:
    consumer.assign([T0])
    consumer.seek(T0, 0)


@pytest.mark.parametrize(
    ("api", "start", "properties"),
    [
        ("Metadata", seek, {}),
        ("ListOffsets", assign, {}),
        ("Fetch", seek, {"fetch_max_wait_ms": 100}),
        ("FindCoordinator", subscribe, {"group_id": "g"}),
        ("FindCoordinator", assign, {"group_id": "g"}),
        ("OffsetFetch", assign, {"group_id": "g"}),
        ("OffsetFetch", subscribe, {"group_id": "g"}),
        ("SyncGroup", subscribe, {"group_id": "g"}),
        ("ConsumerGroupHeartbeat", subscribe, {"group_id": "g", "group_protocol": "consumer"}),
    ],
)
def test_reason_of_a_wait_is_kept_between_two_attempts(
    cluster: GroupCluster, api: str, start: Callable[[Consumer], None], properties: dict[str, object]
) -> None:
    replies = Replies()
    replies.unanswered.add(api)

    def body() -> None:
        with cluster.consumer(**LIMITS, **properties) as consumer:
            start(consumer)
            began_ms = cluster.hub.now_ms
            while cluster.hub.now_ms - began_ms < ATTEMPTS * (REQUEST_MS + HEAD_START_MS):
                assert consumer.poll(STEP_MS / 1000) == []
                elapsed_ms, reason = cluster.hub.now_ms - began_ms, reason_of(consumer)
                assert reason.kind not in (WaitKind.AT_END, WaitKind.NO_SHARE, WaitKind.NOT_STARTED)
                assert reason.text
                assert reason.started_at_ms is not None or elapsed_ms <= REQUEST_MS, f"{elapsed_ms}: {reason!r}"
                if elapsed_ms > REQUEST_MS + 2 * HEAD_START_MS:
                    assert isinstance(reason.cause, RequestTimeout), f"{elapsed_ms} ms: {reason!r}"
                    assert api in str(reason.cause)

    with replies.installed():
        cluster.run(body)


def test_background_look_up_keeps_its_reason_and_its_beginning(cluster: GroupCluster) -> None:
    replies = Replies()
    replies.unanswered.add("ListOffsets")

    def body() -> None:
        with cluster.consumer(**LIMITS) as consumer:
            lookup = consumer.look_up_offsets({T0: EARLIEST})
            began_ms = cluster.hub.now_ms
            started: set[int | None] = set()
            while cluster.hub.now_ms - began_ms < ATTEMPTS * (REQUEST_MS + HEAD_START_MS):
                consumer.poll(STEP_MS / 1000)
                reason, elapsed_ms = lookup.waiting[T0], cluster.hub.now_ms - began_ms
                started.add(reason.started_at_ms)
                if elapsed_ms > REQUEST_MS + HEAD_START_MS:
                    assert isinstance(reason.cause, RequestTimeout), f"{elapsed_ms} ms: {reason!r}"
                    assert "ListOffsets" in str(reason)
            assert len(started) == 1

    with replies.installed():
        cluster.run(body)


def send(producer: Producer, timeout_s: float) -> None:
    producer.partitions_for("t", timeout_s)


def flush(producer: Producer, timeout_s: float) -> None:
    producer.send("t", b"x")
    producer.flush(timeout_s)


def in_group(cluster: GroupCluster) -> Consumer:
    return cluster.consumer(group_id="g", **LIMITS)


def operator(cluster: GroupCluster) -> Admin:
    return cluster.admin(**LIMITS)


Client = Consumer | Producer | Admin
CALLS: dict[str, tuple[str, Callable[[GroupCluster], Client], Callable[..., object]]] = {
    "position": ("ListOffsets", lambda at: at.consumer(**LIMITS), lambda c, s: (c.assign([T0]), c.position(T0, s))),
    "end_offsets": ("ListOffsets", lambda at: at.consumer(**LIMITS), lambda c, s: c.end_offsets([T0], s)),
    "committed": ("OffsetFetch", in_group, lambda c, s: c.committed([T0], s)),
    "commit": ("OffsetCommit", in_group, lambda c, s: c.commit_sync({T0: 1}, s)),
    "coordinator": ("FindCoordinator", in_group, lambda c, s: c.committed([T0], s)),
    "topics": ("Metadata", lambda at: at.consumer(**LIMITS), lambda c, s: c.list_topics(s)),
    "send": ("Metadata", lambda at: at.producer(DOTTED), send),
    "flush": ("Produce", lambda at: at.producer(DOTTED), flush),
    "admin topics": ("Metadata", operator, lambda a, s: a.list_topics(timeout=s)),
    "admin offsets": ("ListOffsets", operator, lambda a, s: a.list_offsets({T0: EARLIEST}, timeout=s)[T0]),
    "admin groups": ("FindCoordinator", operator, lambda a, s: a.describe_groups(["g"], timeout=s)["g"]),
}  # fmt: skip
"""The API that is silent, the client, and the call."""
LIMIT = re.compile(r"\(request\.timeout\.ms|\(the rest of default\.api\.timeout\.ms")
"""The limit of a request, if the call had more time, and otherwise the rest of the call's."""


@pytest.mark.parametrize("call", CALLS)
def test_call_that_times_out_names_the_last_failed_attempt(cluster: GroupCluster, call: str) -> None:
    api, make, do = CALLS[call]
    replies = Replies()

    def body() -> None:
        replies.unanswered.add(api)
        for timeout_ms in range(REQUEST_MS + 3 * HEAD_START_MS, ATTEMPTS * REQUEST_MS, 250):
            client = make(cluster)
            with pytest.raises(KafkaTimeoutError) as raised:
                do(client, timeout_ms / 1000)
            if isinstance(client, Admin):
                client.close()
            else:
                client.close(0)
            cluster.hub.sleep_ms(STEP_MS)
            error: KafkaError | None = raised.value
            texts = []
            while error is not None:
                texts.append(str(error))
                error = getattr(error, "cause", None)
            assert any(LIMIT.search(text) and api in text for text in texts), f"{timeout_ms} ms: {texts}"
            replies.unanswered.add(api)

    with replies.installed():
        cluster.run(body)
