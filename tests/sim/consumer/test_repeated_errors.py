"""An application that catches each error of poll and polls again: errors are paced by retry.backoff.ms."""

from collections.abc import Callable, Iterator

import pytest

from kctl.client.broker_errors import ErrorCode
from kctl.client.cluster import TopicPartition
from kctl.client.consumer.consumer import Consumer
from kctl.client.errors import CorruptBatchError, KafkaError, TopicAuthorizationFailedError
from kctl.sandbox.batches import StoredBatch
from tests.sim.consumer.test_errors import refusing
from tests.sim.kit import drain
from tests.sim.kit.groups import GROUP, GroupCluster
from tests.sim.virtual import Hub

PARTITIONS = 40
SECONDS = 10
MOST = 30
"""Errors in that time, with pauses from retry.backoff.ms (100 ms) to retry.backoff.max.ms (1 s)."""


@pytest.fixture
def cluster() -> Iterator[GroupCluster]:
    with Hub(seed=69) as hub:
        yield GroupCluster(hub, topics={"t": PARTITIONS})


ALL = [TopicPartition("t", partition) for partition in range(PARTITIONS)]


def assign(consumer: Consumer) -> None:
    consumer.assign(ALL)


def seek(consumer: Consumer) -> None:
    consumer.assign(ALL)
    for tp in ALL:
        consumer.seek(tp, 0)


def subscribe(consumer: Consumer) -> None:
    consumer.subscribe(["t"])


CASES: dict[str, tuple[str, ErrorCode, Callable[[Consumer], None]]] = {
    "position of a topic that may not be described": ("Metadata", ErrorCode.TOPIC_AUTHORIZATION_FAILED, assign),
    "position of an invalid topic": ("Metadata", ErrorCode.INVALID_TOPIC_EXCEPTION, assign),
    "fetch of a topic that may not be described": ("Metadata", ErrorCode.TOPIC_AUTHORIZATION_FAILED, seek),
    "committed offset that is denied": ("OffsetFetch", ErrorCode.GROUP_AUTHORIZATION_FAILED, assign),
    "coordinator that is denied": ("FindCoordinator", ErrorCode.GROUP_AUTHORIZATION_FAILED, assign),
    "group that is denied": ("FindCoordinator", ErrorCode.GROUP_AUTHORIZATION_FAILED, subscribe),
}


def caught(cluster: GroupCluster, consumer: Consumer, timeout: float) -> list[KafkaError]:
    """Poll again and again whatever happens, and return the errors."""
    errors: list[KafkaError] = []
    end_ms = cluster.hub.now_ms + 1000 * SECONDS
    while cluster.hub.now_ms < end_ms and len(errors) < 10 * MOST:
        try:
            consumer.poll(timeout)
        except KafkaError as error:
            errors.append(error)
    return errors


@pytest.mark.parametrize("timeout", [0.02, 5])
@pytest.mark.parametrize("case", CASES)
def test_an_error_of_all_partitions_is_raised_once_for_each_back_off(
    cluster: GroupCluster, case: str, timeout: float
) -> None:
    api, code, start = CASES[case]

    def body() -> None:
        consumer = cluster.consumer(group_id=GROUP)
        start(consumer)
        before = len(cluster.sent(api))
        errors = caught(cluster, consumer, timeout)
        assert 5 <= len(errors) <= MOST
        assert len(cluster.sent(api)) - before <= 2 * MOST
        consumer.close(1)
        cluster.hub.sleep_ms(50)

    with refusing(api, code):
        cluster.play(body)


@pytest.mark.parametrize("start", [assign, seek])
def test_a_permission_that_is_granted_ends_the_errors_without_a_wait_for_the_age_of_metadata(
    cluster: GroupCluster, start: Callable[[Consumer], None]
) -> None:
    def body() -> None:
        cluster.write(0, 5)
        consumer = cluster.consumer(group_id=GROUP, metadata_max_age_ms=3_600_000)
        start(consumer)
        with refusing("Metadata", ErrorCode.TOPIC_AUTHORIZATION_FAILED), pytest.raises(TopicAuthorizationFailedError):
            consumer.poll(60)
        assert len(drain(consumer, 5)) == 5
        consumer.close(1)
        cluster.hub.sleep_ms(50)

    cluster.play(body)


def test_damage_that_the_application_meets_again_is_raised_after_a_back_off(cluster: GroupCluster) -> None:
    def body() -> None:
        cluster.write(0, 5)
        log = cluster.log(0)
        stored = log.batches[0]
        data = bytearray(stored.data)
        data[-1] ^= 0x55
        log._batches[0] = StoredBatch(stored.header, bytes(data))
        consumer = cluster.consumer(retry_backoff_ms=500)
        consumer.assign(ALL[:1])
        before = len(cluster.sent("Fetch"))
        errors = caught(cluster, consumer, 1)
        assert all(isinstance(error, CorruptBatchError) for error in errors)
        assert 10 <= len(errors) <= 25
        assert len(cluster.sent("Fetch")) - before <= 2 * len(errors) + 2
        consumer.close(1)
        cluster.hub.sleep_ms(50)

    cluster.play(body)
