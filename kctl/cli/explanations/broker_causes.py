"""Causes of common broker errors and their fixes, by Kafka's name. advice.py has other errors."""

from typing import NamedTuple


class BrokerCause(NamedTuple):
    """Causes of a broker error, and fixes."""

    causes: str
    try_: tuple[str, ...]


BROKER_CAUSES: dict[str, BrokerCause] = {
    "UNKNOWN_SERVER_ERROR": BrokerCause(
        "The broker failed with an error that has no code: a bug, a plugin, or a full disk.",
        ("Check the log of the broker at the time of the call.",),
    ),
    "OFFSET_OUT_OF_RANGE": BrokerCause(
        "Retention deleted the records before they were read, the topic was recreated, or the offset was set manually.",
        (
            ("Read the existing records with: kctl consume TOPIC -o start"),
            "Raise retention.ms, or speed up the consumer.",
        ),
    ),
    "UNKNOWN_TOPIC_OR_PARTITION": BrokerCause(
        "The name is misspelled, the topic is on another cluster, or it was just created or deleted. Or this "
        "principal may not describe it, or auto.create.topics.enable=false.",
        (
            "List the topics that this principal may see with: kctl topics list",
            ("Create the topic with: kctl topics create"),
        ),
    ),
    "LEADER_NOT_AVAILABLE": BrokerCause(
        "All in-sync replicas are down, or the topic was just created and its leaders are not elected yet.",
        (
            "List the offline replicas with: kctl topics describe TOPIC",
            "Start one of the brokers whose replica was in sync.",
        ),
    ),
    "NOT_LEADER_OR_FOLLOWER": BrokerCause(
        "Another broker has become leader, and the metadata of the client is outdated. The client refreshes it "
        "automatically. If the error persists, brokers disagree about the leader.",
        ("Compare the metadata of the brokers with: kctl probe",),
    ),
    "REQUEST_TIMED_OUT": BrokerCause(
        "The broker waited too long for followers (acks=all) or for the controller (topic changes).",
        ("List replicas that lag with: kctl topics describe TOPIC", "Raise --request-timeout."),
    ),
    "MESSAGE_TOO_LARGE": BrokerCause(
        "A batch is larger than max.message.bytes of the topic, or message.max.bytes of the broker.",
        (
            "Raise the limit with: kctl configs set topic NAME max.message.bytes=BYTES. Or lower -X batch.size.",
            "Compress batches with -X compression.type=zstd.",
        ),
    ),
    "COORDINATOR_LOAD_IN_PROGRESS": BrokerCause(
        "The coordinator has just started, and is still loading groups or transactions from its log.",
        ("Wait: the broker finishes loading automatically. Large logs take minutes.",),
    ),
    "COORDINATOR_NOT_AVAILABLE": BrokerCause(
        "The __consumer_offsets or __transaction_state partition of the group or producer has no leader. Or a new "
        "cluster has fewer brokers than offsets.topic.replication.factor, so the topic cannot be created.",
        (
            "List the replicas with: kctl topics describe __consumer_offsets",
            "On a small cluster, set offsets.topic.replication.factor to the number of brokers.",
        ),
    ),
    "NOT_COORDINATOR": BrokerCause(
        "The group has moved to another broker. The client looks up the new coordinator automatically.",
        ("If the error persists, run kctl probe --group GROUP to compare the responses of all brokers.",),
    ),
    "INVALID_TOPIC_EXCEPTION": BrokerCause(
        "The name is empty, longer than 249 characters, '.', '..', or an internal topic. Or it contains "
        "characters other than a-z A-Z 0-9 . _ -",
        ("Use up to 249 of a-z, A-Z, 0-9, '.', '_' and '-'. Internal topics are read-only.",),
    ),
    "NOT_ENOUGH_REPLICAS": BrokerCause(
        "acks=all needs min.insync.replicas replicas in sync, but fewer are in sync: brokers are down or lag.",
        (
            "List the in-sync replicas with: kctl topics describe TOPIC",
            "Restart brokers before you lower min.insync.replicas.",
        ),
    ),
    "NOT_ENOUGH_REPLICAS_AFTER_APPEND": BrokerCause(
        "The leader wrote the records, but too few replicas copied them. The client sends the records again.",
        ("List the in-sync replicas with: kctl topics describe TOPIC",),
    ),
    "ILLEGAL_GENERATION": BrokerCause(
        "The group removed this member, because it was away for longer than session.timeout.ms or "
        "max.poll.interval.ms.",
        ("Process fewer records in each poll (max.poll.records), or raise max.poll.interval.ms.",),
    ),
    "UNKNOWN_MEMBER_ID": BrokerCause(
        "The coordinator does not know this member: its session timed out, or the group was deleted or moved.",
        ("A consumer joins again automatically. Its earlier commits are rejected.",),
    ),
    "REBALANCE_IN_PROGRESS": BrokerCause(
        "Members join or leave, and the partitions are reassigned. No action is needed.",
        ("If the error persists, run kctl groups members GROUP to find members that keep joining.",),
    ),
    "TOPIC_AUTHORIZATION_FAILED": BrokerCause(
        "No ACL allows this principal to read, write or describe the topic.",
        ("Create an ACL for the operation on the topic with: kctl acls create",),
    ),
    "GROUP_AUTHORIZATION_FAILED": BrokerCause(
        "No ACL allows this principal to read the group. Consumers need Read on the group and on the topic.",
        ("Allow Read on the group with: kctl acls create",),
    ),
    "CLUSTER_AUTHORIZATION_FAILED": BrokerCause(
        "No ACL allows this principal to perform a cluster operation, such as creating topics. Before Kafka 3.0, "
        "idempotent producers need IdempotentWrite on the cluster.",
        ("Allow Create, Alter, or IdempotentWrite on the cluster with: kctl acls create",),
    ),
    "UNSUPPORTED_SASL_MECHANISM": BrokerCause(
        "This listener does not offer the mechanism of sasl.mechanism.",
        ("Set sasl.mechanism to one of the mechanisms in the message.",),
    ),
    "ILLEGAL_SASL_STATE": BrokerCause(
        "The client sent credentials to a listener that does not expect them, or in the wrong order.",
        ("Set security.protocol to the protocol of the listener. kctl probe shows the protocol.",),
    ),
    "SASL_AUTHENTICATION_FAILED": BrokerCause(
        "The user name or password is wrong, the token has expired, or the user exists only for another mechanism.",
        ("Check the credentials and sasl.mechanism.", "If you use tokens, compare the clocks of both machines."),
    ),
    "UNSUPPORTED_VERSION": BrokerCause(
        "The broker is too old or too new for this request.",
        ("Compare the versions of the brokers with: kctl probe",),
    ),
    "TOPIC_ALREADY_EXISTS": BrokerCause(
        "The topic was created earlier, or it is being deleted.",
        (
            ("Accept an existing topic with: kctl topics create --if-not-exists"),
            "Change the topic with: kctl topics alter",
        ),
    ),
    "INVALID_REPLICATION_FACTOR": BrokerCause(
        "The replication factor exceeds the number of live brokers.",
        ("Lower --replication-factor to the number of brokers: kctl cluster describe",),
    ),
    "NOT_CONTROLLER": BrokerCause(
        "Another broker has become the controller. The client looks up the controller automatically.",
        ("If the error persists, run kctl probe to find the controller.",),
    ),
    "POLICY_VIOLATION": BrokerCause(
        "A policy of the cluster for topics or configs rejects the request.",
        ("Contact the operators of the cluster about the policy in the message.",),
    ),
    "OUT_OF_ORDER_SEQUENCE_NUMBER": BrokerCause(
        "Earlier records of this producer are missing in the log: the log was truncated, or an earlier batch expired.",
        ("Send the undelivered records again: kctl lists them at the end.",),
    ),
    "PRODUCER_FENCED": BrokerCause(
        "A newer producer uses this transactional.id.",
        ("Give each process its own transactional.id.",),
    ),
    "INVALID_PRODUCER_EPOCH": BrokerCause(
        "The coordinator aborted the transaction (transaction.timeout.ms), or a newer producer uses its "
        "transactional.id.",
        ("Raise -X transaction.timeout.ms, or give each process its own transactional.id.",),
    ),
    "KAFKA_STORAGE_ERROR": BrokerCause(
        "A disk of the broker failed or is full, and the log on it is offline.",
        ("Check the disks and the log of the broker.",),
    ),
    "OFFSET_NOT_AVAILABLE": BrokerCause(
        "A new leader does not know the high watermark yet. The client retries.",
        ("Wait, or run the command again with a longer --api-timeout.",),
    ),
    "FENCED_INSTANCE_ID": BrokerCause(
        "A newer member uses this group.instance.id.",
        ("Give each process its own group.instance.id.",),
    ),
    "NON_EMPTY_GROUP": BrokerCause(
        "The group has members, but the request needs an empty group.",
        ("Stop the consumers of the group: kctl groups members GROUP",),
    ),
    "GROUP_ID_NOT_FOUND": BrokerCause(
        "The group does not exist: its name is misspelled, it is on another cluster, or its offsets have expired.",
        (
            "List groups with: kctl groups list",
            "Brokers delete groups that have no members for offsets.retention.minutes. Create the group again "
            "with: kctl groups reset-offsets GROUP --topic TOPIC --to-earliest --create --execute",
        ),
    ),
    "GROUP_MAX_SIZE_REACHED": BrokerCause(
        "The group has as many members as group.max.size of the brokers allows.",
        ("Run fewer consumers, or raise group.max.size.",),
    ),
    "THROTTLING_QUOTA_EXCEEDED": BrokerCause(
        "The quota for creating and deleting topics is used up for now.",
        ("Wait for the time in the response, and retry.", "Create fewer topics in a call."),
    ),
    "INCONSISTENT_CLUSTER_ID": BrokerCause(
        "The bootstrap addresses belong to two clusters.",
        ("Show the cluster of each address with: kctl probe",),
    ),
}
