"""Causes of common broker errors and their fixes, by Kafka's name. advice.py has other errors."""

from typing import NamedTuple


class BrokerCause(NamedTuple):
    """Causes of a broker error, and fixes."""

    causes: str
    try_: tuple[str, ...]


BROKER_CAUSES: dict[str, BrokerCause] = {
    "UNKNOWN_SERVER_ERROR": BrokerCause(
        "The broker failed in a way that it has no code for: a bug, a plug-in, or a full disk.",
        ("Look into that broker's log at the time of the call.",),
    ),
    "OFFSET_OUT_OF_RANGE": BrokerCause(
        "The records were deleted by retention before they were read, the topic was recreated, or the offset was "
        "written by hand.",
        ("kctl consume -o start reads the records that exist.", "Longer retention.ms, or a consumer that keeps up."),
    ),
    "UNKNOWN_TOPIC_OR_PARTITION": BrokerCause(
        "A typing mistake, another cluster than was meant, auto.create.topics.enable=false, a topic that is new or "
        "just deleted, or one that this principal may not see.",
        ("kctl topics list shows the topics that this principal may see.", "kctl topics create creates a topic."),
    ),
    "LEADER_NOT_AVAILABLE": BrokerCause(
        "All replicas in sync are down, or the topic was made a moment ago and its leaders are not elected yet.",
        (
            "kctl topics describe TOPIC shows which replicas are offline.",
            "Start one of the brokers in sync.",
        ),
    ),
    "NOT_LEADER_OR_FOLLOWER": BrokerCause(
        "Leadership moved and the metadata here is older than that; it is fetched again "
        "automatically. If it persists, brokers disagree about the leader.",
        ("kctl probe compares the brokers' metadata.",),
    ),
    "REQUEST_TIMED_OUT": BrokerCause(
        "The broker waited without success for others: followers for acks=all, or the controller for a topic.",
        ("kctl topics describe shows replicas that lag.", "Allow more time with --request-timeout."),
    ),
    "MESSAGE_TOO_LARGE": BrokerCause(
        "A batch is larger than max.message.bytes of the topic, or message.max.bytes of the broker.",
        (
            "kctl configs set topic NAME max.message.bytes=BYTES raises the limit. Or lower -X batch.size.",
            "-X compression.type=zstd makes it smaller.",
        ),
    ),
    "COORDINATOR_LOAD_IN_PROGRESS": BrokerCause(
        "The coordinator has just taken over and still reads its groups or transactions from its log.",
        ("Wait: the broker finishes loading automatically. Large logs take minutes.",),
    ),
    "COORDINATOR_NOT_AVAILABLE": BrokerCause(
        "The partition of __consumer_offsets or __transaction_state that the group or producer belongs to has no "
        "leader, or cannot be created: a new cluster with fewer brokers than offsets.topic.replication.factor.",
        (
            "kctl topics describe __consumer_offsets shows its replicas.",
            "On a small cluster set offsets.topic.replication.factor to the number of brokers.",
        ),
    ),
    "NOT_COORDINATOR": BrokerCause(
        "The group moved to another broker; it is looked up again automatically.",
        ("If the error persists, run kctl probe --group GROUP to compare the responses of all brokers.",),
    ),
    "INVALID_TOPIC_EXCEPTION": BrokerCause(
        "The name is empty, longer than 249 characters, '.', '..', or an internal topic, or contains "
        "characters other than a-z A-Z 0-9 . _ -",
        ("Use up to 249 of a-z, A-Z, 0-9, '.', '_' and '-'. Internal topics are read-only.",),
    ),
    "NOT_ENOUGH_REPLICAS": BrokerCause(
        "acks=all requires min.insync.replicas replicas in sync, and there are fewer: brokers are down or lag.",
        (
            "kctl topics describe TOPIC shows which replicas are in sync.",
            "Bring brokers back before lowering min.insync.replicas.",
        ),
    ),
    "NOT_ENOUGH_REPLICAS_AFTER_APPEND": BrokerCause(
        "The leader wrote the records, but too few replicas copied them. The client sends the records again.",
        ("kctl topics describe TOPIC shows which replicas are in sync.",),
    ),
    "ILLEGAL_GENERATION": BrokerCause(
        "The group continued without this member: it was away for longer than session.timeout.ms or "
        "max.poll.interval.ms.",
        ("Process fewer records a poll (max.poll.records), or raise max.poll.interval.ms.",),
    ),
    "UNKNOWN_MEMBER_ID": BrokerCause(
        "The coordinator has forgotten this member: its session timed out, or the group was deleted or moved.",
        ("A consumer joins again automatically. Its earlier commits are rejected.",),
    ),
    "REBALANCE_IN_PROGRESS": BrokerCause(
        "Members join or leave, and partitions are assigned again. No action is needed.",
        ("If it persists: kctl groups members GROUP shows which members keep joining.",),
    ),
    "TOPIC_AUTHORIZATION_FAILED": BrokerCause(
        "No ACL allows this principal to read, write or describe the topic.",
        ("The principal of this connection needs an ACL for the operation on that topic.",),
    ),
    "GROUP_AUTHORIZATION_FAILED": BrokerCause(
        "No ACL allows this principal to read the group; consuming needs Read on the group as well as on the topic.",
        ("The principal needs Read on the group.",),
    ),
    "CLUSTER_AUTHORIZATION_FAILED": BrokerCause(
        "No ACL allows this principal a cluster operation: creating topics, or IdempotentWrite before Kafka 3.0.",
        ("The principal needs Create, Alter or IdempotentWrite on the cluster.",),
    ),
    "UNSUPPORTED_SASL_MECHANISM": BrokerCause(
        "This listener does not offer the mechanism of sasl.mechanism.",
        ("The message lists what the broker offers: set sasl.mechanism to one of them.",),
    ),
    "ILLEGAL_SASL_STATE": BrokerCause(
        "Credentials were sent to a listener that does not expect credentials, or in the wrong order.",
        ("Set security.protocol to the protocol of the listener. kctl probe shows the protocol.",),
    ),
    "SASL_AUTHENTICATION_FAILED": BrokerCause(
        "The user name or password is wrong, the token has expired, or the user exists for another mechanism only.",
        ("Check the credentials and sasl.mechanism.", "For tokens: compare the clocks of both machines."),
    ),
    "UNSUPPORTED_VERSION": BrokerCause(
        "The broker is too old or too new for this request.",
        ("kctl probe shows the versions that each broker has.",),
    ),
    "TOPIC_ALREADY_EXISTS": BrokerCause(
        "A topic of that name exists, perhaps one that is being deleted.",
        ("kctl topics create --if-not-exists accepts an existing topic.", "kctl topics alter changes it."),
    ),
    "INVALID_REPLICATION_FACTOR": BrokerCause(
        "The replication factor exceeds the number of live brokers.",
        ("kctl probe shows the number of brokers; --replication-factor must not exceed it.",),
    ),
    "NOT_CONTROLLER": BrokerCause(
        "The controller moved; it is looked up again automatically.",
        ("If it persists: kctl probe shows which broker is the controller.",),
    ),
    "POLICY_VIOLATION": BrokerCause(
        "A policy of the cluster for topics or configs forbids it.",
        ("The message comes from a policy of the cluster. Contact its operators.",),
    ),
    "OUT_OF_ORDER_SEQUENCE_NUMBER": BrokerCause(
        "Records before these are missing in the log: it was cut, or an earlier batch expired.",
        ("The report at the end lists the records that are not delivered: send those again.",),
    ),
    "PRODUCER_FENCED": BrokerCause(
        "Another producer with the same transactional.id has started since.",
        ("Give each process its own transactional.id.",),
    ),
    "INVALID_PRODUCER_EPOCH": BrokerCause(
        "The transaction was aborted by the coordinator (transaction.timeout.ms), or a newer producer took its id.",
        ("Raise -X transaction.timeout.ms, or give each process its own transactional.id.",),
    ),
    "KAFKA_STORAGE_ERROR": BrokerCause(
        "A disk of the broker failed or is full, and the log on it is offline.",
        ("Look at the disks and the log of that broker.",),
    ),
    "OFFSET_NOT_AVAILABLE": BrokerCause(
        "A new leader does not know the offsets of its followers yet. The client retries.",
        ("Wait, or call again with a longer --api-timeout.",),
    ),
    "FENCED_INSTANCE_ID": BrokerCause(
        "Another member with the same group.instance.id has joined since.",
        ("Give each process its own group.instance.id.",),
    ),
    "NON_EMPTY_GROUP": BrokerCause(
        "The group has members, but the request needs an empty group.",
        ("Stop its consumers; kctl groups members GROUP shows the members.",),
    ),
    "GROUP_ID_NOT_FOUND": BrokerCause(
        "The group does not exist: a typing mistake, another cluster, or its offsets have expired.",
        (
            "List groups with: kctl groups list",
            "Brokers delete a group that had no members for offsets.retention.minutes. Create it again with: "
            "kctl groups reset-offsets GROUP --topic TOPIC --to-earliest --create --execute",
        ),
    ),
    "GROUP_MAX_SIZE_REACHED": BrokerCause(
        "The group has as many members as group.max.size of the brokers allows.",
        ("Run fewer consumers, or raise group.max.size.",),
    ),
    "THROTTLING_QUOTA_EXCEEDED": BrokerCause(
        "The quota for creating and deleting topics is used up for now.",
        ("Wait; the response contains the time to wait.", "Create fewer topics per call."),
    ),
    "INCONSISTENT_CLUSTER_ID": BrokerCause(
        "The bootstrap addresses belong to two clusters.",
        ("kctl probe shows which address belongs to which cluster.",),
    ),
}
