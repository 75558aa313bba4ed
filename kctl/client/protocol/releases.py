"""First release of Kafka that has an API, for messages about brokers that lack it.

Only of APIs that brokers from 2.8 on may lack. Shown by tests/unit/protocol/test_versions.py.
"""

from typing import Final

FIRST_RELEASE: Final = {
    "DescribeQuorum": "3.0",
    "DescribeTransactions": "3.0",
    "ListTransactions": "3.0",
    "GetTelemetrySubscriptions": "3.7",
    "PushTelemetry": "3.7",
    "ListConfigResources": "3.7",
    "ConsumerGroupHeartbeat": "4.0",
    "ConsumerGroupDescribe": "4.0",
    "DescribeTopicPartitions": "3.8",
    "AddRaftVoter": "3.9",
    "RemoveRaftVoter": "3.9",
    "ShareGroupHeartbeat": "4.1",
    "ShareGroupDescribe": "4.1",
    "ShareFetch": "4.1",
    "ShareAcknowledge": "4.1",
    "DescribeShareGroupOffsets": "4.1",
    "AlterShareGroupOffsets": "4.1",
    "DeleteShareGroupOffsets": "4.1",
    "StreamsGroupHeartbeat": "4.1",
    "StreamsGroupDescribe": "4.1",
}
"""By Kafka's name of the API: the release from which on clients can rely on it."""
