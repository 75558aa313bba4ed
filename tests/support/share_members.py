"""Members of share and streams groups, as raw heartbeats, and a broker that knows them.

Enough for a group to exist, on the sandbox and on Kafka.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from kctl.client.admin import Admin
from tests.support.kafka.cluster import KafkaCluster
from tests.support.kafka.requirements import have
from tests.support.kafka.toolchain import NEWEST_KAFKA

MEMBER_ID = "AAAAAAAAAAAAAAAAAAAAAQ"


def share_heartbeat(admin: Admin, group_id: str, topic: str, epoch: int = 0) -> int:
    """Join, or leave with -1; return the member's epoch."""
    fields: dict[str, object] = {"groupId": group_id, "memberId": MEMBER_ID, "memberEpoch": epoch}
    if epoch == 0:
        fields["subscribedTopicNames"] = [topic]
    return _epoch(admin, "ShareGroupHeartbeat", fields)


def streams_heartbeat(admin: Admin, group_id: str, topic: str, epoch: int = 0) -> int:
    """Join with a topology that reads a topic, send a heartbeat, or leave with -1; return the member's epoch."""
    fields: dict[str, object] = {
        "groupId": group_id,
        "memberId": MEMBER_ID,
        "memberEpoch": epoch,
        "endpointInformationEpoch": 0,
    }
    if epoch == 0:
        part = {
            "subtopologyId": "0",
            "sourceTopics": [topic],
            "sourceTopicRegex": [],
            "stateChangelogTopics": [],
            "repartitionSinkTopics": [],
            "repartitionSourceTopics": [],
            "copartitionGroups": [],
        }
        fields |= {
            "rebalanceTimeoutMs": 10_000,
            "processId": "p",
            "topology": {"epoch": 0, "subtopologies": [part]},
            "activeTasks": [],
            "standbyTasks": [],
            "warmupTasks": [],
            "clientTags": [],
        }
    return _epoch(admin, "StreamsGroupHeartbeat", fields)


def _epoch(admin: Admin, api: str, fields: dict[str, object]) -> int:
    response = admin.request_api(api, fields)
    for error in response.errors:
        raise error
    epoch = response.fields["memberEpoch"]
    assert isinstance(epoch, int)
    return epoch


@contextmanager
def broker_for_new_groups() -> Iterator[KafkaCluster]:
    """Run one broker of the newest Kafka that keeps share groups, and gives streams groups their tasks at once."""
    properties = {
        "share.coordinator.state.topic.replication.factor": "1",
        "share.coordinator.state.topic.min.isr": "1",
        "share.coordinator.state.topic.num.partitions": "2",
        "group.streams.initial.rebalance.delay.ms": "0",
    }
    with have(lambda: KafkaCluster(NEWEST_KAFKA, 1, properties)) as cluster:
        yield cluster
