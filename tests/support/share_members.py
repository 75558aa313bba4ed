"""Members of share and streams groups, as raw heartbeats.

Enough for a group to exist, on the sandbox and on Kafka.
"""

from kctl.client.admin import Admin

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
