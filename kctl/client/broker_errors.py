"""Kafka's error codes with name, text, and `retriable`, and an exception class for each.

    from kctl.client.broker_errors import NotLeaderOrFollowerError

Codes, names, `retriable`, and STALE_METADATA are as in Kafka 4.3 (`tools/check_broker_errors.py`); the texts are
kctl's.
"""

from enum import IntEnum

from kctl.client.errors import AuthorizationError, BrokerError, ErrorKind, UnsupportedVersionError
from kctl.client.wording import one_line

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
    UNKNOWN_SERVER_ERROR = -1, NO, "The broker failed with an unexpected error (see the broker log)."
    NONE = 0, NO, "No error."
    OFFSET_OUT_OF_RANGE = 1, NO, "The offset is outside the range of offsets in the partition."
    CORRUPT_MESSAGE = 2, YES, "The records are corrupt or do not match their checksum."
    UNKNOWN_TOPIC_OR_PARTITION = 3, YES, "The broker does not know this topic or partition."
    INVALID_FETCH_SIZE = 4, NO, "The requested fetch size is invalid."
    LEADER_NOT_AVAILABLE = 5, YES, "The partition currently has no leader."
    NOT_LEADER_OR_FOLLOWER = 6, YES, "The broker is not the leader or a follower of the partition."
    REQUEST_TIMED_OUT = 7, YES, "The broker did not complete the request in time."
    BROKER_NOT_AVAILABLE = 8, NO, "The broker is not available."
    REPLICA_NOT_AVAILABLE = 9, YES, "The requested replica is not available."
    MESSAGE_TOO_LARGE = 10, NO, "A record batch is larger than the topic allows (max.message.bytes)."
    STALE_CONTROLLER_EPOCH = 11, NO, "The controller has moved to another broker."
    OFFSET_METADATA_TOO_LARGE = 12, NO, "The metadata of the committed offset is too long."
    NETWORK_EXCEPTION = 13, YES, "The connection was lost before a response was received."
    COORDINATOR_LOAD_IN_PROGRESS = 14, YES, "The coordinator is still loading its state and cannot respond yet."
    COORDINATOR_NOT_AVAILABLE = 15, YES, "The coordinator is not available: its internal topic has no leader yet."
    NOT_COORDINATOR = 16, YES, "The broker is not the coordinator."
    INVALID_TOPIC_EXCEPTION = 17, NO, "The topic name is invalid, or the topic is read-only."
    RECORD_LIST_TOO_LARGE = 18, NO, "The record batch is larger than a log segment."
    NOT_ENOUGH_REPLICAS = 19, YES, "Too few replicas are in sync (min.insync.replicas), so the broker wrote nothing."
    NOT_ENOUGH_REPLICAS_AFTER_APPEND = 20, YES, "The broker wrote the records, but too few replicas are in sync."
    INVALID_REQUIRED_ACKS = 21, NO, "acks must be -1, 0, or 1."
    ILLEGAL_GENERATION = 22, NO, "The group has rebalanced since the generation of the request."
    INCONSISTENT_GROUP_PROTOCOL = 23, NO, "The member has no protocol or assignor in common with the group."
    INVALID_GROUP_ID = 24, NO, "The group id is invalid."
    UNKNOWN_MEMBER_ID = 25, NO, "The member is not in the group, or was removed from it."
    INVALID_SESSION_TIMEOUT = 26, NO, "session.timeout.ms is outside the range that the broker allows."
    REBALANCE_IN_PROGRESS = 27, NO, "The group is rebalancing, so the member must rejoin."
    INVALID_COMMIT_OFFSET_SIZE = 28, NO, "The offset commit is too large for one record."
    TOPIC_AUTHORIZATION_FAILED = 29, NO, "The client is not authorized to access this topic."
    GROUP_AUTHORIZATION_FAILED = 30, NO, "The client is not authorized to access this group."
    CLUSTER_AUTHORIZATION_FAILED = 31, NO, "The client is not authorized for this operation on the cluster."
    INVALID_TIMESTAMP = 32, NO, "A record's timestamp is outside the range that the topic allows."
    UNSUPPORTED_SASL_MECHANISM = 33, NO, "The listener does not support this SASL mechanism."
    ILLEGAL_SASL_STATE = 34, NO, "The request is not allowed at this stage of the authentication."
    UNSUPPORTED_VERSION = 35, NO, "The broker does not support this API version."
    TOPIC_ALREADY_EXISTS = 36, NO, "A topic with this name already exists."
    INVALID_PARTITIONS = 37, NO, "The number of partitions is invalid."
    INVALID_REPLICATION_FACTOR = 38, NO, "The replication factor is below 1 or above the number of brokers."
    INVALID_REPLICA_ASSIGNMENT = 39, NO, "The replica assignment is invalid."
    INVALID_CONFIG = 40, NO, "A config has an invalid name or value."
    NOT_CONTROLLER = 41, YES, "The broker is not the controller."
    INVALID_REQUEST = 42, NO, "The request contains fields that are invalid or contradict each other."
    UNSUPPORTED_FOR_MESSAGE_FORMAT = 43, NO, "The record format of the topic is too old for this request."
    POLICY_VIOLATION = 44, NO, "The request violates a policy of the cluster."
    OUT_OF_ORDER_SEQUENCE_NUMBER = 45, NO, "The sequence number of the batch is out of order: a batch is missing."
    DUPLICATE_SEQUENCE_NUMBER = 46, NO, "The broker already has this batch."
    INVALID_PRODUCER_EPOCH = 47, NO, "The producer epoch is outdated: a newer producer uses this producer id."
    INVALID_TXN_STATE = 48, NO, "The state of the transaction does not allow this request."
    INVALID_PRODUCER_ID_MAPPING = 49, NO, "The producer id does not belong to this transactional id."
    INVALID_TRANSACTION_TIMEOUT = 50, NO, "transaction.timeout.ms is above the broker's transaction.max.timeout.ms."
    CONCURRENT_TRANSACTIONS = 51, YES, "The previous transaction of the producer has not ended yet."
    TRANSACTION_COORDINATOR_FENCED = 52, NO, "A newer transaction coordinator has replaced this one."
    TRANSACTIONAL_ID_AUTHORIZATION_FAILED = 53, NO, "The client is not authorized to use this transactional id."
    SECURITY_DISABLED = 54, NO, "ACLs are disabled: the brokers have no authorizer."
    OPERATION_NOT_ATTEMPTED = 55, NO, "The operation was not attempted because another part of the request failed."
    KAFKA_STORAGE_ERROR = 56, YES, "The broker cannot read from or write to its disk."
    LOG_DIR_NOT_FOUND = 57, NO, "The broker has no such log directory."
    SASL_AUTHENTICATION_FAILED = 58, NO, "The broker rejected the credentials."
    UNKNOWN_PRODUCER_ID = 59, NO, "The broker no longer has the state of this producer, whose records have expired."
    REASSIGNMENT_IN_PROGRESS = 60, NO, "The partitions are already being moved."
    DELEGATION_TOKEN_AUTH_DISABLED = 61, NO, "Delegation tokens are disabled on the broker."
    DELEGATION_TOKEN_NOT_FOUND = 62, NO, "The broker has no such delegation token."
    DELEGATION_TOKEN_OWNER_MISMATCH = 63, NO, "The delegation token belongs to another principal."
    DELEGATION_TOKEN_REQUEST_NOT_ALLOWED = 64, NO, "Delegation tokens cannot be requested over this connection."
    DELEGATION_TOKEN_AUTHORIZATION_FAILED = 65, NO, "The client is not authorized to use this delegation token."
    DELEGATION_TOKEN_EXPIRED = 66, NO, "The delegation token has expired."
    INVALID_PRINCIPAL_TYPE = 67, NO, "This type of principal is not supported."
    NON_EMPTY_GROUP = 68, NO, "The group still has members."
    GROUP_ID_NOT_FOUND = 69, NO, "The group does not exist."
    FETCH_SESSION_ID_NOT_FOUND = 70, YES, "The broker no longer has this fetch session."
    INVALID_FETCH_SESSION_EPOCH = 71, YES, "The epoch of the fetch session is not the expected epoch."
    LISTENER_NOT_FOUND = 72, YES, "The partition leader has no listener that matches the listener of the request."
    TOPIC_DELETION_DISABLED = 73, NO, "Topic deletion is disabled on the cluster (delete.topic.enable)."
    FENCED_LEADER_EPOCH = 74, YES, "The leader epoch of the request is older than the leader epoch on the broker."
    UNKNOWN_LEADER_EPOCH = 75, YES, "The leader epoch of the request is newer than the leader epoch on the broker."
    UNSUPPORTED_COMPRESSION_TYPE = 76, NO, "The client does not support the compression type of the partition."
    STALE_BROKER_EPOCH = 77, NO, "The broker epoch of the request is outdated because the broker has restarted."
    OFFSET_NOT_AVAILABLE = 78, YES, "The new leader of the partition does not know its high watermark yet."
    MEMBER_ID_REQUIRED = 79, NO, "The member must join again with the member id of this response."
    PREFERRED_LEADER_NOT_AVAILABLE = 80, YES, "The preferred leader is not available."
    GROUP_MAX_SIZE_REACHED = 81, NO, "The group has reached its maximum size (group.max.size)."
    FENCED_INSTANCE_ID = 82, NO, "Another member uses the same group.instance.id."
    ELIGIBLE_LEADERS_NOT_AVAILABLE = 83, YES, "No replica of the partition is eligible to become leader."
    ELECTION_NOT_NEEDED = 84, YES, "The partition already has the requested leader."
    NO_REASSIGNMENT_IN_PROGRESS = 85, NO, "The partition is not being moved."
    GROUP_SUBSCRIBED_TO_TOPIC = 86, NO, "The group is subscribed to the topic, so its offsets are in use."
    INVALID_RECORD = 87, NO, "The broker rejected a record, for example a record without a key in a compacted topic."
    UNSTABLE_OFFSET_COMMIT = 88, YES, "A transaction that commits these offsets is still open."
    THROTTLING_QUOTA_EXCEEDED = 89, YES, "The quota for creating and deleting topics and partitions is exceeded."
    PRODUCER_FENCED = 90, NO, "A newer producer with the same transactional id has fenced this producer."
    RESOURCE_NOT_FOUND = 91, NO, "The requested resource does not exist."
    DUPLICATE_RESOURCE = 92, NO, "The request contains the same resource twice."
    UNACCEPTABLE_CREDENTIAL = 93, NO, "The new credential does not meet the requirements."
    INCONSISTENT_VOTER_SET = 94, NO, "The controller does not know the candidate or the sender as a voter."
    INVALID_UPDATE_VERSION = 95, NO, "The version of the update does not follow the previous version."
    FEATURE_UPDATE_FAILED = 96, NO, "The features could not be updated."
    PRINCIPAL_DESERIALIZATION_FAILURE = 97, NO, "The controller could not read the principal of the forwarded request."
    SNAPSHOT_NOT_FOUND = 98, NO, "The snapshot does not exist."
    POSITION_OUT_OF_RANGE = 99, NO, "The requested position is outside the snapshot."
    UNKNOWN_TOPIC_ID = 100, YES, "The broker does not know a topic with this id."
    DUPLICATE_BROKER_REGISTRATION = 101, NO, "Another running broker already uses this broker id."
    BROKER_ID_NOT_REGISTERED = 102, NO, "No broker with this id is registered."
    INCONSISTENT_TOPIC_ID = 103, YES, "The topic was recreated: its id differs from the topic id in the log."
    INCONSISTENT_CLUSTER_ID = 104, NO, "The cluster id of the request is not the id of this cluster."
    TRANSACTIONAL_ID_NOT_FOUND = 105, NO, "The transactional id does not exist."
    FETCH_SESSION_TOPIC_ID_ERROR = 106, YES, "The fetch session mixes requests with and without topic ids."
    INELIGIBLE_REPLICA = 107, NO, "The replica is not eligible to join the in-sync replicas."
    NEW_LEADER_ELECTED = 108, NO, "The request changed the partition, and the partition has a new leader."
    OFFSET_MOVED_TO_TIERED_STORAGE = 109, NO, "The offset is only available in tiered storage."
    FENCED_MEMBER_EPOCH = 110, NO, "The group has fenced this member, so the member must rejoin."
    UNRELEASED_INSTANCE_ID = 111, NO, "Another active member of the group still uses this group.instance.id."
    UNSUPPORTED_ASSIGNOR = 112, NO, "The broker does not support this assignor."
    STALE_MEMBER_EPOCH = 113, NO, "The member epoch is older than the epoch of the group."
    MISMATCHED_ENDPOINT_TYPE = 114, NO, "The request is for controllers but reached a broker, or vice versa."
    UNSUPPORTED_ENDPOINT_TYPE = 115, NO, "This type of endpoint is not supported."
    UNKNOWN_CONTROLLER_ID = 116, NO, "The cluster has no controller with this id."
    UNKNOWN_SUBSCRIPTION_ID = 117, NO, "The telemetry subscription is outdated."
    TELEMETRY_TOO_LARGE = 118, NO, "The telemetry data is larger than the broker allows."
    INVALID_REGISTRATION = 119, NO, "The controller rejected the registration of the broker."
    TRANSACTION_ABORTABLE = 120, NO, "The transaction cannot be committed and must be aborted."
    INVALID_RECORD_STATE = 121, NO, "The state of the record does not allow this acknowledgement."
    SHARE_SESSION_NOT_FOUND = 122, YES, "The broker no longer has this share session."
    INVALID_SHARE_SESSION_EPOCH = 123, YES, "The epoch of the share session is not the expected epoch."
    FENCED_STATE_EPOCH = 124, NO, "The share coordinator has a newer epoch of this state."
    INVALID_VOTER_KEY = 125, NO, "The voter key does not match the key of the receiving replica."
    DUPLICATE_VOTER = 126, NO, "The replica is already a voter."
    VOTER_NOT_FOUND = 127, NO, "The replica is not a voter."
    INVALID_REGULAR_EXPRESSION = 128, NO, "The broker does not accept the regular expression."
    REBOOTSTRAP_REQUIRED = 129, NO, "The metadata of the client is outdated: reconnect to bootstrap.servers."
    STREAMS_INVALID_TOPOLOGY = 130, NO, "The Streams topology is invalid."
    STREAMS_INVALID_TOPOLOGY_EPOCH = 131, NO, "The epoch of the Streams topology is invalid."
    STREAMS_TOPOLOGY_FENCED = 132, NO, "The group already has a newer Streams topology."
    SHARE_SESSION_LIMIT_REACHED = 133, YES, "The broker has reached its maximum number of share sessions."
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
"""Codes of stale metadata: refresh it before a retry."""

AUTHORIZATION_FAILED = frozenset(
    {
        ErrorCode.TOPIC_AUTHORIZATION_FAILED,
        ErrorCode.GROUP_AUTHORIZATION_FAILED,
        ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
        ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
        ErrorCode.DELEGATION_TOKEN_AUTHORIZATION_FAILED,
    }
)
"""Codes of missing permissions."""

BY_NUMBER: dict[int, ErrorCode] = {int(code): code for code in ErrorCode}
"""Error codes by their number on the wire."""


class UnknownBrokerError(BrokerError):
    """A broker returned a code that is newer than this client; not retried.

    Attributes: `code` as on the wire; `name` is `ERROR_` and the code.
    """

    def __init__(self, message: str, *, code: int, text: str | None = None) -> None:
        super().__init__(message, text=text)
        self.code = code
        self.name = f"ERROR_{code}"


# fmt: off
class UnknownServerError(BrokerError, code=-1): ...
class OffsetOutOfRangeError(BrokerError, code=1): ...
class CorruptMessageError(BrokerError, code=2): ...
class UnknownTopicOrPartitionError(BrokerError, code=3): ...
class InvalidFetchSizeError(BrokerError, code=4): ...
class LeaderNotAvailableError(BrokerError, code=5): ...
class NotLeaderOrFollowerError(BrokerError, code=6): ...
class RequestTimedOutError(BrokerError, code=7): ...
class BrokerNotAvailableError(BrokerError, code=8): ...
class ReplicaNotAvailableError(BrokerError, code=9): ...
class MessageTooLargeError(BrokerError, code=10): ...
class StaleControllerEpochError(BrokerError, code=11): ...
class OffsetMetadataTooLargeError(BrokerError, code=12): ...
class NetworkError(BrokerError, code=13): ...
class CoordinatorLoadInProgressError(BrokerError, code=14): ...
class CoordinatorNotAvailableError(BrokerError, code=15): ...
class NotCoordinatorError(BrokerError, code=16): ...
class InvalidTopicError(BrokerError, code=17): ...
class RecordListTooLargeError(BrokerError, code=18): ...
class NotEnoughReplicasError(BrokerError, code=19): ...
class NotEnoughReplicasAfterAppendError(BrokerError, code=20): ...
class InvalidRequiredAcksError(BrokerError, code=21): ...
class IllegalGenerationError(BrokerError, code=22): ...
class InconsistentGroupProtocolError(BrokerError, code=23): ...
class InvalidGroupIdError(BrokerError, code=24): ...
class UnknownMemberIdError(BrokerError, code=25): ...
class InvalidSessionTimeoutError(BrokerError, code=26): ...
class RebalanceInProgressError(BrokerError, code=27): ...
class InvalidCommitOffsetSizeError(BrokerError, code=28): ...
class TopicAuthorizationFailedError(AuthorizationError, code=29): ...
class GroupAuthorizationFailedError(AuthorizationError, code=30): ...
class ClusterAuthorizationFailedError(AuthorizationError, code=31): ...
class InvalidTimestampError(BrokerError, code=32): ...
class UnsupportedSaslMechanismError(BrokerError, code=33): ...
class IllegalSaslStateError(BrokerError, code=34): ...
class UnsupportedRequestVersionError(BrokerError, UnsupportedVersionError, code=35): ...
class TopicAlreadyExistsError(BrokerError, code=36): ...
class InvalidPartitionsError(BrokerError, code=37): ...
class InvalidReplicationFactorError(BrokerError, code=38): ...
class InvalidReplicaAssignmentError(BrokerError, code=39): ...
class InvalidConfigError(BrokerError, code=40): ...
class NotControllerError(BrokerError, code=41): ...
class InvalidRequestError(BrokerError, code=42): ...
class UnsupportedForMessageFormatError(BrokerError, code=43): ...
class PolicyViolationError(BrokerError, code=44): ...
class OutOfOrderSequenceNumberError(BrokerError, code=45): ...
class DuplicateSequenceNumberError(BrokerError, code=46): ...
class InvalidProducerEpochError(BrokerError, code=47): ...
class InvalidTxnStateError(BrokerError, code=48): ...
class InvalidProducerIdMappingError(BrokerError, code=49): ...
class InvalidTransactionTimeoutError(BrokerError, code=50): ...
class ConcurrentTransactionsError(BrokerError, code=51): ...
class TransactionCoordinatorFencedError(BrokerError, code=52): ...
class TransactionalIdAuthorizationFailedError(AuthorizationError, code=53): ...
class SecurityDisabledError(BrokerError, code=54): ...
class OperationNotAttemptedError(BrokerError, code=55): ...
class KafkaStorageError(BrokerError, code=56): ...
class LogDirNotFoundError(BrokerError, code=57): ...
class SaslAuthenticationFailedError(BrokerError, code=58): ...
class UnknownProducerIdError(BrokerError, code=59): ...
class ReassignmentInProgressError(BrokerError, code=60): ...
class DelegationTokenAuthDisabledError(BrokerError, code=61): ...
class DelegationTokenNotFoundError(BrokerError, code=62): ...
class DelegationTokenOwnerMismatchError(BrokerError, code=63): ...
class DelegationTokenRequestNotAllowedError(BrokerError, code=64): ...
class DelegationTokenAuthorizationFailedError(AuthorizationError, code=65): ...
class DelegationTokenExpiredError(BrokerError, code=66): ...
class InvalidPrincipalTypeError(BrokerError, code=67): ...
class NonEmptyGroupError(BrokerError, code=68): ...
class GroupIdNotFoundError(BrokerError, code=69): ...
class FetchSessionIdNotFoundError(BrokerError, code=70): ...
class InvalidFetchSessionEpochError(BrokerError, code=71): ...
class ListenerNotFoundError(BrokerError, code=72): ...
class TopicDeletionDisabledError(BrokerError, code=73): ...
class FencedLeaderEpochError(BrokerError, code=74): ...
class UnknownLeaderEpochError(BrokerError, code=75): ...
class UnsupportedCompressionTypeError(BrokerError, code=76): ...
class StaleBrokerEpochError(BrokerError, code=77): ...
class OffsetNotAvailableError(BrokerError, code=78): ...
class MemberIdRequiredError(BrokerError, code=79): ...
class PreferredLeaderNotAvailableError(BrokerError, code=80): ...
class GroupMaxSizeReachedError(BrokerError, code=81): ...
class FencedInstanceIdError(BrokerError, code=82): ...
class EligibleLeadersNotAvailableError(BrokerError, code=83): ...
class ElectionNotNeededError(BrokerError, code=84): ...
class NoReassignmentInProgressError(BrokerError, code=85): ...
class GroupSubscribedToTopicError(BrokerError, code=86): ...
class InvalidRecordError(BrokerError, code=87): ...
class UnstableOffsetCommitError(BrokerError, code=88): ...
class ThrottlingQuotaExceededError(BrokerError, code=89): ...
class ProducerFencedError(BrokerError, code=90): ...
class ResourceNotFoundError(BrokerError, code=91): ...
class DuplicateResourceError(BrokerError, code=92): ...
class UnacceptableCredentialError(BrokerError, code=93): ...
class InconsistentVoterSetError(BrokerError, code=94): ...
class InvalidUpdateVersionError(BrokerError, code=95): ...
class FeatureUpdateFailedError(BrokerError, code=96): ...
class PrincipalDeserializationFailureError(BrokerError, code=97): ...
class SnapshotNotFoundError(BrokerError, code=98): ...
class PositionOutOfRangeError(BrokerError, code=99): ...
class UnknownTopicIdError(BrokerError, code=100): ...
class DuplicateBrokerRegistrationError(BrokerError, code=101): ...
class BrokerIdNotRegisteredError(BrokerError, code=102): ...
class InconsistentTopicIdError(BrokerError, code=103): ...
class InconsistentClusterIdError(BrokerError, code=104): ...
class TransactionalIdNotFoundError(BrokerError, code=105): ...
class FetchSessionTopicIdError(BrokerError, code=106): ...
class IneligibleReplicaError(BrokerError, code=107): ...
class NewLeaderElectedError(BrokerError, code=108): ...
class OffsetMovedToTieredStorageError(BrokerError, code=109): ...
class FencedMemberEpochError(BrokerError, code=110): ...
class UnreleasedInstanceIdError(BrokerError, code=111): ...
class UnsupportedAssignorError(BrokerError, code=112): ...
class StaleMemberEpochError(BrokerError, code=113): ...
class MismatchedEndpointTypeError(BrokerError, code=114): ...
class UnsupportedEndpointTypeError(BrokerError, code=115): ...
class UnknownControllerIdError(BrokerError, code=116): ...
class UnknownSubscriptionIdError(BrokerError, code=117): ...
class TelemetryTooLargeError(BrokerError, code=118): ...
class InvalidRegistrationError(BrokerError, code=119): ...
class TransactionAbortableError(BrokerError, code=120): ...
class InvalidRecordStateError(BrokerError, code=121): ...
class ShareSessionNotFoundError(BrokerError, code=122): ...
class InvalidShareSessionEpochError(BrokerError, code=123): ...
class FencedStateEpochError(BrokerError, code=124): ...
class InvalidVoterKeyError(BrokerError, code=125): ...
class DuplicateVoterError(BrokerError, code=126): ...
class VoterNotFoundError(BrokerError, code=127): ...
class InvalidRegularExpressionError(BrokerError, code=128): ...
class RebootstrapRequiredError(BrokerError, code=129): ...
class StreamsInvalidTopologyError(BrokerError, code=130): ...
class StreamsInvalidTopologyEpochError(BrokerError, code=131): ...
class StreamsTopologyFencedError(BrokerError, code=132): ...
class ShareSessionLimitReachedError(BrokerError, code=133): ...
# fmt: on


_NAMES: dict[ErrorKind, tuple[str, ...]] = {
    ErrorKind.USAGE: (
        "INVALID_TOPIC_EXCEPTION",
        "TOPIC_ALREADY_EXISTS",
        "INVALID_PARTITIONS",
        "INVALID_REPLICATION_FACTOR",
        "INVALID_REPLICA_ASSIGNMENT",
        "INVALID_CONFIG",
        "INVALID_REQUEST",
        "POLICY_VIOLATION",
        "INVALID_GROUP_ID",
        "INVALID_SESSION_TIMEOUT",
        "INVALID_REQUIRED_ACKS",
        "INVALID_TRANSACTION_TIMEOUT",
        "INVALID_REGULAR_EXPRESSION",
        "SECURITY_DISABLED",
        "INVALID_PRINCIPAL_TYPE",
        "DUPLICATE_RESOURCE",
        "UNACCEPTABLE_CREDENTIAL",
    ),
    ErrorKind.AUTHENTICATION: (
        "UNSUPPORTED_SASL_MECHANISM",
        "ILLEGAL_SASL_STATE",
        "SASL_AUTHENTICATION_FAILED",
        "FENCED_INSTANCE_ID",
        "UNRELEASED_INSTANCE_ID",
    ),
    ErrorKind.WRONG_PROTOCOL: ("UNSUPPORTED_VERSION", "MISMATCHED_ENDPOINT_TYPE", "UNSUPPORTED_ENDPOINT_TYPE"),
    ErrorKind.ADVERTISED_ADDRESS: ("INCONSISTENT_CLUSTER_ID",),
    ErrorKind.UNAVAILABLE: (
        "LEADER_NOT_AVAILABLE",
        "NOT_LEADER_OR_FOLLOWER",
        "BROKER_NOT_AVAILABLE",
        "REPLICA_NOT_AVAILABLE",
        "COORDINATOR_LOAD_IN_PROGRESS",
        "COORDINATOR_NOT_AVAILABLE",
        "NOT_COORDINATOR",
        "NOT_CONTROLLER",
        "PREFERRED_LEADER_NOT_AVAILABLE",
        "ELIGIBLE_LEADERS_NOT_AVAILABLE",
        "NO_REASSIGNMENT_IN_PROGRESS",
        "NOT_ENOUGH_REPLICAS",
        "NOT_ENOUGH_REPLICAS_AFTER_APPEND",
        "KAFKA_STORAGE_ERROR",
        "REQUEST_TIMED_OUT",
        "FENCED_LEADER_EPOCH",
        "UNKNOWN_LEADER_EPOCH",
        "OFFSET_NOT_AVAILABLE",
        "THROTTLING_QUOTA_EXCEEDED",
        "NON_EMPTY_GROUP",
        "GROUP_SUBSCRIBED_TO_TOPIC",
    ),
    ErrorKind.UNKNOWN_RESOURCE: (
        "UNKNOWN_TOPIC_OR_PARTITION",
        "UNKNOWN_TOPIC_ID",
        "GROUP_ID_NOT_FOUND",
        "TRANSACTIONAL_ID_NOT_FOUND",
        "RESOURCE_NOT_FOUND",
        "BROKER_ID_NOT_REGISTERED",
    ),
    ErrorKind.DATA: (
        "CORRUPT_MESSAGE",
        "MESSAGE_TOO_LARGE",
        "RECORD_LIST_TOO_LARGE",
        "INVALID_RECORD",
        "INVALID_TIMESTAMP",
        "OFFSET_OUT_OF_RANGE",
        "UNSUPPORTED_COMPRESSION_TYPE",
        "UNSUPPORTED_FOR_MESSAGE_FORMAT",
    ),
}
KINDS = {name: kind for kind, names in _NAMES.items() for name in names}
"""Kinds of errors by Kafka's name; others have the kind of their base class."""


def _from_table(kind: type[BrokerError]) -> type[BrokerError]:
    code = BY_NUMBER[kind.code]
    kind.name, kind.retriable, kind.__doc__ = code.name, code.retriable, code.text
    kind.kind = KINDS.get(code.name, kind.kind)
    return kind


BY_CODE: dict[int, type[BrokerError]] = {
    kind.code: _from_table(kind)
    for kind in list(vars().values())
    if isinstance(kind, type) and issubclass(kind, BrokerError) and "code" in vars(kind) and kind is not BrokerError
}
"""Class of each code except NONE."""


def code_error(code: int, action: str, text: str | None = None) -> BrokerError | None:
    """Return the error of a code as `broker_error` does, or None for code 0."""
    return broker_error(code, action, text) if code else None


_OBJECT = "Request Request("
"""Start of a Java object that authorizers of brokers send as text."""


def broker_error(code: int, action: str, text: str | None = None) -> BrokerError:
    """Return the error of a code.

    Args:
        code: as on the wire. Unknown codes keep their number.
        action: the failed action, as an imperative: `describe group g`.
        text: error message of the broker, which replaces kctl's text.
    """
    code = int(code)
    text = one_line(text) if text and not text.startswith(_OBJECT) else None
    message = f"cannot {action}: {text.removesuffix('.') if text else _reason(code)} ({error_name(code)})"
    kind = BY_CODE.get(code)
    return UnknownBrokerError(message, code=code, text=text) if kind is None else kind(message, text=text)


def _reason(code: int) -> str:
    if code not in BY_NUMBER:
        return "kctl does not know this error code"
    text = BY_NUMBER[code].text.removesuffix(".")
    return text[0].lower() + text[1:]


def error_class(code: int) -> type[BrokerError]:
    """Return the subclass of BrokerError for a code: `NotCoordinatorError` for 16; UnknownBrokerError for unknown
    codes.
    """
    return BY_CODE.get(int(code), UnknownBrokerError)


def error_name(code: int) -> str:
    """Return Kafka's name of a code: `NOT_COORDINATOR` for 16, `ERROR_4711` for an unknown one."""
    return BY_NUMBER[code].name if code in BY_NUMBER else f"ERROR_{code}"
