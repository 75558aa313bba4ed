"""Every error code a broker can answer with: its name, whether trying again can help, and what it means.

One table. Codes, names, `retriable` and STALE_METADATA are facts of Kafka 4.3 that `tools/check_broker_errors.py`
compares with the released jar; the texts are our own. The classes are in broker_error_classes.py. Knows nothing of
who asks. Shown by tests/unit/test_broker_errors.py.
"""

from enum import IntEnum

from kctl.client.errors import BrokerError

YES, NO = True, False


class ErrorCode(IntEnum):
    """An error code by Kafka's name, with `retriable` and a `text` for people."""

    retriable: bool
    text: str

    def __new__(cls, code: int, retriable: bool, text: str) -> "ErrorCode":
        member = int.__new__(cls, code)
        member._value_ = code
        member.retriable = retriable
        member.text = text
        return member

    # fmt: off
    UNKNOWN_SERVER_ERROR = -1, NO, "The broker met a fault it has no code for; its log says more."
    NONE = 0, NO, "No error."
    OFFSET_OUT_OF_RANGE = 1, NO, "The partition has no such offset, or no longer."
    CORRUPT_MESSAGE = 2, YES, "The records did not match their checksum, or were otherwise damaged on the way."
    UNKNOWN_TOPIC_OR_PARTITION = 3, YES, "This broker knows no such topic or partition."
    INVALID_FETCH_SIZE = 4, NO, "The number of bytes to fetch makes no sense."
    LEADER_NOT_AVAILABLE = 5, YES, "The partition has no leader at the moment."
    NOT_LEADER_OR_FOLLOWER = 6, YES, "The broker asked no longer leads or follows this partition."
    REQUEST_TIMED_OUT = 7, YES, "The broker could not finish in the time the request allowed."
    BROKER_NOT_AVAILABLE = 8, NO, "The broker is not there."
    REPLICA_NOT_AVAILABLE = 9, YES, "The replica is not there for this partition."
    MESSAGE_TOO_LARGE = 10, NO, "A batch is larger than the topic takes (max.message.bytes)."
    STALE_CONTROLLER_EPOCH = 11, NO, "The controller has moved on."
    OFFSET_METADATA_TOO_LARGE = 12, NO, "The text committed beside an offset is too long."
    NETWORK_EXCEPTION = 13, YES, "The broker lost a connection before it had an answer."
    COORDINATOR_LOAD_IN_PROGRESS = 14, YES, "The coordinator is still reading its log and cannot answer yet."
    COORDINATOR_NOT_AVAILABLE = 15, YES, "No coordinator: the internal topic behind it has no leader yet."
    NOT_COORDINATOR = 16, YES, "The broker asked is not the coordinator."
    INVALID_TOPIC_EXCEPTION = 17, NO, "The topic's name is not allowed, or nobody may write to it."
    RECORD_LIST_TOO_LARGE = 18, NO, "The batch does not fit into one segment of the log."
    NOT_ENOUGH_REPLICAS = 19, YES, "Fewer replicas are in sync than min.insync.replicas; nothing was written."
    NOT_ENOUGH_REPLICAS_AFTER_APPEND = 20, YES, "Written, but then fewer replicas were in sync than required."
    INVALID_REQUIRED_ACKS = 21, NO, "acks must be -1, 0 or 1."
    ILLEGAL_GENERATION = 22, NO, "The group has rebalanced since: this generation is over."
    INCONSISTENT_GROUP_PROTOCOL = 23, NO, "The group's members have no assignor or protocol in common with this one."
    INVALID_GROUP_ID = 24, NO, "The group id is not allowed."
    UNKNOWN_MEMBER_ID = 25, NO, "The group does not know this member, or has removed it."
    INVALID_SESSION_TIMEOUT = 26, NO, "session.timeout.ms is outside of what the broker allows."
    REBALANCE_IN_PROGRESS = 27, NO, "The group is rebalancing: join again."
    INVALID_COMMIT_OFFSET_SIZE = 28, NO, "The offset commit does not fit into one record."
    TOPIC_AUTHORIZATION_FAILED = 29, NO, "Not allowed on this topic."
    GROUP_AUTHORIZATION_FAILED = 30, NO, "Not allowed on this group."
    CLUSTER_AUTHORIZATION_FAILED = 31, NO, "Not allowed on this cluster."
    INVALID_TIMESTAMP = 32, NO, "A record's timestamp is outside of what the topic takes."
    UNSUPPORTED_SASL_MECHANISM = 33, NO, "The listener does not offer this SASL mechanism."
    ILLEGAL_SASL_STATE = 34, NO, "This request does not belong at this point of the authentication."
    UNSUPPORTED_VERSION = 35, NO, "The broker does not speak this version of the API."
    TOPIC_ALREADY_EXISTS = 36, NO, "A topic of this name exists already."
    INVALID_PARTITIONS = 37, NO, "This number of partitions is not possible."
    INVALID_REPLICATION_FACTOR = 38, NO, "The replication factor is below 1 or above the number of brokers."
    INVALID_REPLICA_ASSIGNMENT = 39, NO, "The replicas are not laid out in a possible way."
    INVALID_CONFIG = 40, NO, "A setting is not valid."
    NOT_CONTROLLER = 41, YES, "The broker asked is not the controller."
    INVALID_REQUEST = 42, NO, "The request contradicts itself or the protocol."
    UNSUPPORTED_FOR_MESSAGE_FORMAT = 43, NO, "The topic's record format is too old for this."
    POLICY_VIOLATION = 44, NO, "A policy of the cluster forbids this."
    OUT_OF_ORDER_SEQUENCE_NUMBER = 45, NO, "A batch is missing before this one: its sequence number does not follow."
    DUPLICATE_SEQUENCE_NUMBER = 46, NO, "The broker has this batch already."
    INVALID_PRODUCER_EPOCH = 47, NO, "A newer producer has taken over this producer id."
    INVALID_TXN_STATE = 48, NO, "The transaction is not in a state that allows this."
    INVALID_PRODUCER_ID_MAPPING = 49, NO, "The producer id does not belong to this transactional id."
    INVALID_TRANSACTION_TIMEOUT = 50, NO, "transaction.timeout.ms is above the broker's transaction.max.timeout.ms."
    CONCURRENT_TRANSACTIONS = 51, YES, "The transaction before this one has not ended yet."
    TRANSACTION_COORDINATOR_FENCED = 52, NO, "A newer transaction coordinator has taken over."
    TRANSACTIONAL_ID_AUTHORIZATION_FAILED = 53, NO, "Not allowed to use this transactional id."
    SECURITY_DISABLED = 54, NO, "The broker has no authoriser."
    OPERATION_NOT_ATTEMPTED = 55, NO, "Not tried, because something else in the same request failed."
    KAFKA_STORAGE_ERROR = 56, YES, "The broker cannot read or write its disk."
    LOG_DIR_NOT_FOUND = 57, NO, "The broker has no such log directory."
    SASL_AUTHENTICATION_FAILED = 58, NO, "The credentials were refused."
    UNKNOWN_PRODUCER_ID = 59, NO, "The broker has forgotten this producer: its records have expired."
    REASSIGNMENT_IN_PROGRESS = 60, NO, "The partitions are being moved already."
    DELEGATION_TOKEN_AUTH_DISABLED = 61, NO, "Delegation tokens are switched off."
    DELEGATION_TOKEN_NOT_FOUND = 62, NO, "The broker has no such delegation token."
    DELEGATION_TOKEN_OWNER_MISMATCH = 63, NO, "The delegation token belongs to somebody else."
    DELEGATION_TOKEN_REQUEST_NOT_ALLOWED = 64, NO, "Delegation tokens cannot be asked for over this connection."
    DELEGATION_TOKEN_AUTHORIZATION_FAILED = 65, NO, "Not allowed on this delegation token."
    DELEGATION_TOKEN_EXPIRED = 66, NO, "The delegation token has expired."
    INVALID_PRINCIPAL_TYPE = 67, NO, "This type of principal is not supported."
    NON_EMPTY_GROUP = 68, NO, "The group still has members."
    GROUP_ID_NOT_FOUND = 69, NO, "There is no such group."
    FETCH_SESSION_ID_NOT_FOUND = 70, YES, "The broker has dropped this fetch session."
    INVALID_FETCH_SESSION_EPOCH = 71, YES, "The fetch session is out of step."
    LISTENER_NOT_FOUND = 72, YES, "The partition's leader lacks the listener that this request came in by."
    TOPIC_DELETION_DISABLED = 73, NO, "Deleting topics is switched off."
    FENCED_LEADER_EPOCH = 74, YES, "The partition has a newer leader than the request knows of."
    UNKNOWN_LEADER_EPOCH = 75, YES, "The request knows of a newer leader than the broker does."
    UNSUPPORTED_COMPRESSION_TYPE = 76, NO, "The other side cannot read this compression."
    STALE_BROKER_EPOCH = 77, NO, "The broker has restarted since."
    OFFSET_NOT_AVAILABLE = 78, YES, "The new leader has not caught up to where its high watermark is certain."
    MEMBER_ID_REQUIRED = 79, NO, "Join again with the member id that this answer brings."
    PREFERRED_LEADER_NOT_AVAILABLE = 80, YES, "The preferred leader is not there."
    GROUP_MAX_SIZE_REACHED = 81, NO, "The group is full (group.max.size)."
    FENCED_INSTANCE_ID = 82, NO, "Another member uses the same group.instance.id."
    ELIGIBLE_LEADERS_NOT_AVAILABLE = 83, YES, "None of the replicas that could lead is there."
    ELECTION_NOT_NEEDED = 84, YES, "The partition has the leader that was asked for."
    NO_REASSIGNMENT_IN_PROGRESS = 85, NO, "The partition is not being moved."
    GROUP_SUBSCRIBED_TO_TOPIC = 86, NO, "The group is subscribed to the topic: its offsets are in use."
    INVALID_RECORD = 87, NO, "The broker refused a record, for example one without a key on a compacted topic."
    UNSTABLE_OFFSET_COMMIT = 88, YES, "A transaction that commits these offsets is still open."
    THROTTLING_QUOTA_EXCEEDED = 89, YES, "Too many such changes for the quota."
    PRODUCER_FENCED = 90, NO, "A newer producer with the same transactional id has taken over."
    RESOURCE_NOT_FOUND = 91, NO, "What the request names does not exist."
    DUPLICATE_RESOURCE = 92, NO, "The request names the same thing twice."
    UNACCEPTABLE_CREDENTIAL = 93, NO, "The new credential does not meet the rules."
    INCONSISTENT_VOTER_SET = 94, NO, "Candidate or sender is not among the voters as this controller knows them."
    INVALID_UPDATE_VERSION = 95, NO, "The version of the update does not follow the one before."
    FEATURE_UPDATE_FAILED = 96, NO, "The features could not be changed."
    PRINCIPAL_DESERIALIZATION_FAILURE = 97, NO, "The forwarded principal could not be read."
    SNAPSHOT_NOT_FOUND = 98, NO, "The snapshot is not there."
    POSITION_OUT_OF_RANGE = 99, NO, "The position lies outside of the snapshot."
    UNKNOWN_TOPIC_ID = 100, YES, "This broker knows no topic with this id."
    DUPLICATE_BROKER_REGISTRATION = 101, NO, "A live broker has this id already."
    BROKER_ID_NOT_REGISTERED = 102, NO, "No broker with this id has registered."
    INCONSISTENT_TOPIC_ID = 103, YES, "The topic was made anew: its id differs from the one in the log."
    INCONSISTENT_CLUSTER_ID = 104, NO, "The request was meant for another cluster."
    TRANSACTIONAL_ID_NOT_FOUND = 105, NO, "There is no such transactional id."
    FETCH_SESSION_TOPIC_ID_ERROR = 106, YES, "The fetch session mixed requests with and without topic ids."
    INELIGIBLE_REPLICA = 107, NO, "The replica may not join those in sync."
    NEW_LEADER_ELECTED = 108, NO, "The change itself made another replica the leader."
    OFFSET_MOVED_TO_TIERED_STORAGE = 109, NO, "The offset is only in remote storage."
    FENCED_MEMBER_EPOCH = 110, NO, "The group has fenced this member: it must rejoin."
    UNRELEASED_INSTANCE_ID = 111, NO, "Another live member of the group uses this group.instance.id."
    UNSUPPORTED_ASSIGNOR = 112, NO, "The broker does not have this assignor."
    STALE_MEMBER_EPOCH = 113, NO, "The member's epoch is behind the group's."
    MISMATCHED_ENDPOINT_TYPE = 114, NO, "A broker was asked as a controller, or the other way round."
    UNSUPPORTED_ENDPOINT_TYPE = 115, NO, "This type of endpoint is not supported."
    UNKNOWN_CONTROLLER_ID = 116, NO, "There is no controller with this id."
    UNKNOWN_SUBSCRIPTION_ID = 117, NO, "The telemetry subscription is out of date."
    TELEMETRY_TOO_LARGE = 118, NO, "The telemetry is larger than the broker takes."
    INVALID_REGISTRATION = 119, NO, "The controller refuses the broker's registration."
    TRANSACTION_ABORTABLE = 120, NO, "The transaction cannot commit; it can be aborted."
    INVALID_RECORD_STATE = 121, NO, "A shared record is not in a state that allows this acknowledgement."
    SHARE_SESSION_NOT_FOUND = 122, YES, "The broker has dropped this share session."
    INVALID_SHARE_SESSION_EPOCH = 123, YES, "The share session is out of step."
    FENCED_STATE_EPOCH = 124, NO, "The share coordinator knows a newer epoch of this state."
    INVALID_VOTER_KEY = 125, NO, "The voter's key does not match the one of the receiver."
    DUPLICATE_VOTER = 126, NO, "The voter is among the voters already."
    VOTER_NOT_FOUND = 127, NO, "The voter is not among the voters."
    INVALID_REGULAR_EXPRESSION = 128, NO, "The broker cannot read the regular expression."
    REBOOTSTRAP_REQUIRED = 129, NO, "The client's view is stale: start again from bootstrap.servers."
    STREAMS_INVALID_TOPOLOGY = 130, NO, "The Streams topology is not valid."
    STREAMS_INVALID_TOPOLOGY_EPOCH = 131, NO, "The epoch of the Streams topology is not valid."
    STREAMS_TOPOLOGY_FENCED = 132, NO, "The group has a newer Streams topology."
    SHARE_SESSION_LIMIT_REACHED = 133, YES, "The broker has no room for another share session."
    # fmt: on


STALE_METADATA = frozenset(
    {
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.LEADER_NOT_AVAILABLE,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.REPLICA_NOT_AVAILABLE,
        ErrorCode.NETWORK_EXCEPTION,
        ErrorCode.KAFKA_STORAGE_ERROR,
        ErrorCode.LISTENER_NOT_FOUND,
        ErrorCode.FENCED_LEADER_EPOCH,
        ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE,
        ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE,
        ErrorCode.ELECTION_NOT_NEEDED,
        ErrorCode.UNKNOWN_TOPIC_ID,
        ErrorCode.INCONSISTENT_TOPIC_ID,
    }
)
"""Codes that mean that what we know of topics and leaders is out of date: fetch metadata before trying again."""

AUTHORIZATION_FAILED = frozenset(
    {
        ErrorCode.TOPIC_AUTHORIZATION_FAILED,
        ErrorCode.GROUP_AUTHORIZATION_FAILED,
        ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
        ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
        ErrorCode.DELEGATION_TOKEN_AUTHORIZATION_FAILED,
    }
)
"""Codes that mean that we are known, but not allowed."""

BY_NUMBER: dict[int, ErrorCode] = {int(code): code for code in ErrorCode}
"""The table by what is on the wire."""


def broker_error(code: int, what: str, text: str | None = None) -> BrokerError:
    """Return the error to raise for a code.

    Args:
        code: as on the wire; one that is newer than the table keeps its number.
        what: what was asked, of whom: `Produce to t-0 on node 2`.
        text: the broker's own words, where it sent any; they replace ours.
    """
    from kctl.client.broker_error_classes import BY_CODE, UnknownBrokerError  # only once a broker has refused something

    code = int(code)
    words = text or (BY_NUMBER[code].text if code in BY_NUMBER else "a code newer than this client; not retried")
    message = f"{what}: {error_name(code)} ({code}): {words}"
    kind = BY_CODE.get(code)
    return UnknownBrokerError(message, code=code, text=text) if kind is None else kind(message, text=text)


def error_class(code: int) -> type[BrokerError]:
    """Return the subclass of BrokerError for a code: `NotCoordinatorError` for 16; UnknownBrokerError for others."""
    from kctl.client.broker_error_classes import BY_CODE, UnknownBrokerError  # see broker_error

    return BY_CODE.get(int(code), UnknownBrokerError)


def error_name(code: int) -> str:
    """Return how Kafka spells a code: `NOT_COORDINATOR` for 16, `ERROR_4711` for one that is not in the table."""
    return BY_NUMBER[code].name if code in BY_NUMBER else f"ERROR_{code}"
