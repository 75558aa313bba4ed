"""A group that refuses a member: polls raise it once per back-off, and the coordinator gets no more joins than that."""

from collections.abc import Iterator

import pytest

from kctl.client.broker_errors import ErrorCode
from kctl.client.consumer.consumer import Consumer
from kctl.client.errors import BrokerError
from tests.sim.chaos.replies import Replies
from tests.sim.kit.groups import GroupCluster
from tests.sim.virtual import Hub

SECONDS = 10
MOST = 20
"""100 ms, 200 ms, ... then once a second, with what the first second brings."""


@pytest.fixture
def cluster() -> Iterator[GroupCluster]:
    with Hub(seed=5) as hub:
        yield GroupCluster(hub)


def raised_in(cluster: GroupCluster, consumer: Consumer) -> list[int]:
    """Poll as `except: continue` does, and return the codes of all errors."""
    codes: list[int] = []
    end_ms = cluster.hub.now_ms + 1000 * SECONDS
    while cluster.hub.now_ms < end_ms:
        try:
            consumer.poll(0.2)
        except BrokerError as error:
            codes.append(error.code)
    return codes


@pytest.mark.parametrize(
    ("api", "protocol", "code"),
    [
        ("JoinGroup", "classic", ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
        ("JoinGroup", "classic", ErrorCode.FENCED_INSTANCE_ID),
        ("SyncGroup", "classic", ErrorCode.GROUP_AUTHORIZATION_FAILED),
        ("ConsumerGroupHeartbeat", "consumer", ErrorCode.UNSUPPORTED_ASSIGNOR),
        ("ConsumerGroupHeartbeat", "consumer", ErrorCode.UNRELEASED_INSTANCE_ID),
        ("ConsumerGroupHeartbeat", "consumer", ErrorCode.FENCED_INSTANCE_ID),
        ("FindCoordinator", "classic", ErrorCode.GROUP_AUTHORIZATION_FAILED),
        ("FindCoordinator", "consumer", ErrorCode.GROUP_AUTHORIZATION_FAILED),
    ],
)
def test_a_refused_join_is_repeated_with_back_off(
    cluster: GroupCluster, api: str, protocol: str, code: ErrorCode
) -> None:
    replies = Replies()

    def actor() -> None:
        properties: dict[str, object] = {"group_protocol": protocol}
        if "INSTANCE" in code.name:
            properties["group_instance_id"] = "i"
        consumer = cluster.consumer(group_id="g", **properties)
        consumer.subscribe(["t"])
        replies.refuse(api, code, 100_000)
        codes = raised_in(cluster, consumer)
        assert set(codes) == {code}
        assert 5 <= len(codes) <= MOST
        assert 1 <= len(cluster.sent(api)) <= MOST
        replies.heal()
        consumer.close()
        cluster.hub.sleep_ms(10)

    with replies.installed():
        cluster.play(actor)


@pytest.mark.parametrize("api", ["JoinGroup", "SyncGroup", "Heartbeat"])
@pytest.mark.parametrize("code", [ErrorCode.REBALANCE_IN_PROGRESS, ErrorCode.MEMBER_ID_REQUIRED])
def test_member_that_is_always_asked_to_join_again_does_so_with_back_off(
    cluster: GroupCluster, api: str, code: ErrorCode
) -> None:
    replies = Replies()

    def actor() -> None:
        consumer = cluster.consumer(group_id="g")
        consumer.subscribe(["t"])
        replies.refuse(api, code, 100_000)
        raised_in(cluster, consumer)
        assert 1 <= len(cluster.sent("JoinGroup")) <= MOST
        assert len(cluster.sent(api)) <= MOST
        replies.heal()
        cluster.read(consumer, 4)
        assert len(consumer.assignment) == 6
        consumer.close()
        cluster.hub.sleep_ms(10)

    with replies.installed():
        cluster.play(actor)


def test_member_joins_again_at_once_when_another_one_arrives_before_its_assignment(cluster: GroupCluster) -> None:
    replies = Replies()

    def actor() -> None:
        consumer = cluster.consumer(group_id="g")
        consumer.subscribe(["t"])
        replies.refuse("SyncGroup", ErrorCode.REBALANCE_IN_PROGRESS, 100_000)
        while len(cluster.sent("SyncGroup")) < 2:
            consumer.poll(0)
            cluster.hub.sleep_ms(1)
        first, second = cluster.sent("SyncGroup")
        assert second.at_ms - first.at_ms < 50
        replies.heal()
        consumer.close()
        cluster.hub.sleep_ms(10)

    with replies.installed():
        cluster.play(actor)
