"""Coordinator that returns GROUP_ID_NOT_FOUND for OffsetFetch, as Kafka-like servers do for a new group."""

from collections.abc import Iterator

import pytest

from kctl.client.admin import Admin, OffsetAndMetadata
from kctl.client.admin.call import Results
from kctl.client.broker_errors import ErrorCode
from kctl.client.cluster import TopicPartition
from tests.sim.chaos.replies import Replies
from tests.sim.kit import drain
from tests.sim.kit.groups import GroupCluster
from tests.sim.virtual import Hub, sim_runtime

TP = TopicPartition("t", 0)


@pytest.fixture
def cluster() -> Iterator[GroupCluster]:
    replies = Replies()
    replies.refuse("OffsetFetch", ErrorCode.GROUP_ID_NOT_FOUND, 1000)
    with Hub(1) as hub, replies.installed():
        yield GroupCluster(hub, nodes=1, topics={"t": 1})


def test_consumer_of_an_unknown_group_starts_by_the_reset_policy(
    cluster: GroupCluster,
) -> None:
    cluster.write(0, 3)

    def body() -> int:
        consumer = cluster.consumer(group_id="g")
        assert consumer.committed([TP]) == {TP: None}
        consumer.subscribe(["t"])
        count = len(drain(consumer, 3))
        consumer.close()
        return count

    assert cluster.run(body) == 3


def test_admin_finds_nothing_committed_for_an_unknown_group(cluster: GroupCluster) -> None:
    def body() -> Results[TopicPartition, OffsetAndMetadata | None]:
        with Admin({"bootstrap.servers": cluster.bootstrap}, sim_runtime(cluster.hub, "a", cluster.network)) as admin:
            return admin.list_group_offsets("g", [TP])

    assert cluster.run(body).done == {TP: None}
