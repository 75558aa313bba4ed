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
        "The topic name is misspelled, the topic is on another cluster, or it was just created or deleted. Other "
        "causes are auto.create.topics.enable=false, and a principal without permission to describe the topic.",
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
        "The partition has a new leader, and the metadata of the client is outdated. The client refreshes its "
        "metadata automatically. If the error persists, brokers disagree about the leader.",
        ("Compare the metadata of the brokers with: kctl probe",),
    ),
    "REQUEST_TIMED_OUT": BrokerCause(
        "The broker waited too long for followers (acks=all) or for the controller (topic changes).",
        ("List replicas that lag with: kctl topics describe TOPIC", "Raise --request-timeout."),
    ),
    "MESSAGE_TOO_LARGE": BrokerCause(
        "A batch is larger than max.message.bytes of the topic, or message.max.bytes of the broker.",
        (
            "Raise the limit with: kctl configs set topic NAME max.message.bytes=BYTES",
            "Otherwise, lower -X batch.size, or compress batches with -X compression.type=zstd.",
        ),
    ),
    "COORDINATOR_LOAD_IN_PROGRESS": BrokerCause(
        "The coordinator has just started, and is still loading groups or transactions from its log.",
        ("Wait until the coordinator has finished loading. Large logs can need several minutes.",),
    ),
    "COORDINATOR_NOT_AVAILABLE": BrokerCause(
        "The partition of __consumer_offsets (groups) or __transaction_state (transactions) has no leader. On a new "
        "cluster, the topic cannot be created if offsets.topic.replication.factor exceeds the number of brokers.",
        (
            "List the replicas with: kctl topics describe __consumer_offsets",
            "On a small cluster, set offsets.topic.replication.factor to the number of brokers.",
        ),
    ),
    "NOT_COORDINATOR": BrokerCause(
        "The group has a new coordinator, which the client looks up automatically.",
        ("If the error persists, run kctl probe --group GROUP to compare the responses of all brokers.",),
    ),
    "INVALID_TOPIC_EXCEPTION": BrokerCause(
        "The topic name is empty, '.', '..', or longer than 249 characters, it contains invalid characters, or the "
        "topic is internal.",
        ("Use a name of up to 249 characters from a-z, A-Z, 0-9, '.', '_', and '-'. Internal topics are read-only.",),
    ),
    "NOT_ENOUGH_REPLICAS": BrokerCause(
        "Fewer replicas are in sync than acks=all requires (min.insync.replicas), because brokers are down or lag.",
        (
            "List the in-sync replicas with: kctl topics describe TOPIC",
            "Restart brokers before you lower min.insync.replicas.",
        ),
    ),
    "NOT_ENOUGH_REPLICAS_AFTER_APPEND": BrokerCause(
        "The leader wrote the records, but too few in-sync replicas copied them. The client sends the records again.",
        ("List the in-sync replicas with: kctl topics describe TOPIC",),
    ),
    "ILLEGAL_GENERATION": BrokerCause(
        "The group removed this member, because the member exceeded session.timeout.ms or max.poll.interval.ms.",
        ("Process fewer records in each poll (max.poll.records), or raise max.poll.interval.ms.",),
    ),
    "UNKNOWN_MEMBER_ID": BrokerCause(
        "The coordinator does not know this member: its session timed out, or the group was deleted or moved.",
        ("No action needed: the consumer rejoins the group. Commits with its old member id are rejected.",),
    ),
    "REBALANCE_IN_PROGRESS": BrokerCause(
        "Members are joining or leaving the group, and its partitions are being reassigned. No action is needed.",
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
        "The client sent credentials to a listener that does not expect them, or sent SASL requests in the wrong "
        "order.",
        ("Set security.protocol to the protocol of the listener. Find the protocol with: kctl probe",),
    ),
    "SASL_AUTHENTICATION_FAILED": BrokerCause(
        "The user name or password is wrong, the token has expired, or the user exists only for another mechanism.",
        (
            "Check the credentials and sasl.mechanism.",
            ("If you use tokens, compare the clocks of this machine and the broker."),
        ),
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
        "The cluster has a new controller, which the client looks up automatically.",
        ("If the error persists, run kctl probe to find the controller.",),
    ),
    "POLICY_VIOLATION": BrokerCause(
        "The request violates a topic or config policy of the cluster.",
        ("Contact the operators of the cluster about the policy in the message.",),
    ),
    "OUT_OF_ORDER_SEQUENCE_NUMBER": BrokerCause(
        "Earlier records of this producer are missing in the log: the log was truncated, or an earlier batch expired.",
        ("Send the undelivered records again: kctl lists them at the end.",),
    ),
    "PRODUCER_FENCED": BrokerCause(
        "A newer producer uses the same transactional.id.",
        ("Give each process its own transactional.id.",),
    ),
    "INVALID_PRODUCER_EPOCH": BrokerCause(
        "The coordinator aborted the transaction after transaction.timeout.ms, or a newer producer uses the same "
        "transactional.id.",
        ("Raise -X transaction.timeout.ms, or give each process its own transactional.id.",),
    ),
    "KAFKA_STORAGE_ERROR": BrokerCause(
        "A disk of the broker failed or is full, and the log on it is offline.",
        ("Check the disks and the log of the broker.",),
    ),
    "OFFSET_NOT_AVAILABLE": BrokerCause(
        "The new leader does not know the high watermark of the partition yet. The client retries automatically.",
        ("Wait, or run the command again with a longer --api-timeout.",),
    ),
    "FENCED_INSTANCE_ID": BrokerCause(
        "A newer member uses the same group.instance.id.",
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
        "The group has reached the maximum number of members (group.max.size of the brokers).",
        ("Run fewer consumers in the group, or raise group.max.size of the brokers.",),
    ),
    "THROTTLING_QUOTA_EXCEEDED": BrokerCause(
        "The client exceeded the quota for creating and deleting topics.",
        ("Wait for the throttle time in the response, then retry.", "Create fewer topics in each call."),
    ),
    "INCONSISTENT_CLUSTER_ID": BrokerCause(
        "The bootstrap servers belong to different clusters.",
        ("Show the cluster of each bootstrap server with: kctl probe",),
    ),
}
