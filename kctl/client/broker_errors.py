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
    UNKNOWN_SERVER_ERROR = -1, NO, "The broker had an unexpected error; see its log."
    NONE = 0, NO, "No error."
    OFFSET_OUT_OF_RANGE = 1, NO, "The partition does not have this offset, or no longer."
    CORRUPT_MESSAGE = 2, YES, "The records did not match their checksum, or were otherwise corrupted in transit."
    UNKNOWN_TOPIC_OR_PARTITION = 3, YES, "This broker knows no such topic or partition."
    INVALID_FETCH_SIZE = 4, NO, "The number of bytes to fetch is invalid."
    LEADER_NOT_AVAILABLE = 5, YES, "The partition has no leader at the moment."
    NOT_LEADER_OR_FOLLOWER = 6, YES, "This broker no longer has a replica that leads or follows the partition."
    REQUEST_TIMED_OUT = 7, YES, "The broker could not finish in the time the request allowed."
    BROKER_NOT_AVAILABLE = 8, NO, "The broker is not available."
    REPLICA_NOT_AVAILABLE = 9, YES, "The replica of this partition is not available."
    MESSAGE_TOO_LARGE = 10, NO, "A batch is larger than the topic allows (max.message.bytes)."
    STALE_CONTROLLER_EPOCH = 11, NO, "The controller has moved to another broker."
    OFFSET_METADATA_TOO_LARGE = 12, NO, "The metadata committed with an offset is too long."
    NETWORK_EXCEPTION = 13, YES, "The broker lost a connection before it could respond."
    COORDINATOR_LOAD_IN_PROGRESS = 14, YES, "The coordinator is still reading its log and cannot respond yet."
    COORDINATOR_NOT_AVAILABLE = 15, YES, "No coordinator: the internal topic behind it has no leader yet."
    NOT_COORDINATOR = 16, YES, "This broker is not the coordinator."
    INVALID_TOPIC_EXCEPTION = 17, NO, "Invalid topic name, or the topic is read-only."
    RECORD_LIST_TOO_LARGE = 18, NO, "The batch does not fit into one segment of the log."
    NOT_ENOUGH_REPLICAS = 19, YES, "Fewer replicas are in sync than min.insync.replicas; nothing was written."
    NOT_ENOUGH_REPLICAS_AFTER_APPEND = 20, YES, "Written, but then fewer replicas were in sync than required."
    INVALID_REQUIRED_ACKS = 21, NO, "acks must be -1, 0 or 1."
    ILLEGAL_GENERATION = 22, NO, "The group has rebalanced: this generation has ended."
    INCONSISTENT_GROUP_PROTOCOL = 23, NO, "The group's members have no assignor or protocol in common with this one."
    INVALID_GROUP_ID = 24, NO, "The group id is not allowed."
    UNKNOWN_MEMBER_ID = 25, NO, "The group does not know this member, or has removed it."
    INVALID_SESSION_TIMEOUT = 26, NO, "session.timeout.ms is outside the range that the broker allows."
    REBALANCE_IN_PROGRESS = 27, NO, "The group is rebalancing: join again."
    INVALID_COMMIT_OFFSET_SIZE = 28, NO, "The offset commit does not fit into one record."
    TOPIC_AUTHORIZATION_FAILED = 29, NO, "Not authorized for this topic."
    GROUP_AUTHORIZATION_FAILED = 30, NO, "Not authorized for this group."
    CLUSTER_AUTHORIZATION_FAILED = 31, NO, "Not authorized for this cluster."
    INVALID_TIMESTAMP = 32, NO, "A record's timestamp is outside the range that the topic allows."
    UNSUPPORTED_SASL_MECHANISM = 33, NO, "The listener does not offer this SASL mechanism."
    ILLEGAL_SASL_STATE = 34, NO, "This request is invalid in this state of the authentication."
    UNSUPPORTED_VERSION = 35, NO, "The broker does not support this version of the API."
    TOPIC_ALREADY_EXISTS = 36, NO, "A topic of this name exists already."
    INVALID_PARTITIONS = 37, NO, "The number of partitions is invalid."
    INVALID_REPLICATION_FACTOR = 38, NO, "The replication factor is below 1 or above the number of brokers."
    INVALID_REPLICA_ASSIGNMENT = 39, NO, "The replica assignment is invalid."
    INVALID_CONFIG = 40, NO, "A config is invalid."
    NOT_CONTROLLER = 41, YES, "This broker is not the controller."
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
    TRANSACTIONAL_ID_AUTHORIZATION_FAILED = 53, NO, "Not authorized for this transactional id."
    SECURITY_DISABLED = 54, NO, "The brokers have no authorizer."
    OPERATION_NOT_ATTEMPTED = 55, NO, "Not attempted, because another part of the request failed."
    KAFKA_STORAGE_ERROR = 56, YES, "The broker cannot read from or write to its disk."
    LOG_DIR_NOT_FOUND = 57, NO, "The broker has no such log directory."
    SASL_AUTHENTICATION_FAILED = 58, NO, "The credentials were refused."
    UNKNOWN_PRODUCER_ID = 59, NO, "The broker has forgotten this producer: its records have expired."
    REASSIGNMENT_IN_PROGRESS = 60, NO, "The partitions are being moved already."
    DELEGATION_TOKEN_AUTH_DISABLED = 61, NO, "Delegation tokens are disabled."
    DELEGATION_TOKEN_NOT_FOUND = 62, NO, "The broker has no such delegation token."
    DELEGATION_TOKEN_OWNER_MISMATCH = 63, NO, "The delegation token belongs to another principal."
    DELEGATION_TOKEN_REQUEST_NOT_ALLOWED = 64, NO, "Delegation tokens cannot be requested over this connection."
    DELEGATION_TOKEN_AUTHORIZATION_FAILED = 65, NO, "Not authorized for this delegation token."
    DELEGATION_TOKEN_EXPIRED = 66, NO, "The delegation token has expired."
    INVALID_PRINCIPAL_TYPE = 67, NO, "This type of principal is not supported."
    NON_EMPTY_GROUP = 68, NO, "The group still has members."
    GROUP_ID_NOT_FOUND = 69, NO, "There is no such group."
    FETCH_SESSION_ID_NOT_FOUND = 70, YES, "The broker has dropped this fetch session."
    INVALID_FETCH_SESSION_EPOCH = 71, YES, "The epoch of the fetch session does not match."
    LISTENER_NOT_FOUND = 72, YES, "The partition's leader lacks the listener that received this request."
    TOPIC_DELETION_DISABLED = 73, NO, "Deleting topics is disabled."
    FENCED_LEADER_EPOCH = 74, YES, "The partition has a newer leader epoch than the request."
    UNKNOWN_LEADER_EPOCH = 75, YES, "The request knows of a newer leader than the broker does."
    UNSUPPORTED_COMPRESSION_TYPE = 76, NO, "The client does not support this compression."
    STALE_BROKER_EPOCH = 77, NO, "The broker has restarted since."
    OFFSET_NOT_AVAILABLE = 78, YES, "The new leader has not caught up to where its high watermark is certain."
    MEMBER_ID_REQUIRED = 79, NO, "Join again with the member id of this response."
    PREFERRED_LEADER_NOT_AVAILABLE = 80, YES, "The preferred leader is not available."
    GROUP_MAX_SIZE_REACHED = 81, NO, "The group is full (group.max.size)."
    FENCED_INSTANCE_ID = 82, NO, "Another member uses the same group.instance.id."
    ELIGIBLE_LEADERS_NOT_AVAILABLE = 83, YES, "No eligible leader is available."
    ELECTION_NOT_NEEDED = 84, YES, "The partition already has the requested leader."
    NO_REASSIGNMENT_IN_PROGRESS = 85, NO, "The partition is not being moved."
    GROUP_SUBSCRIBED_TO_TOPIC = 86, NO, "The group is subscribed to the topic: its offsets are in use."
    INVALID_RECORD = 87, NO, "The broker refused a record, for example one without a key on a compacted topic."
    UNSTABLE_OFFSET_COMMIT = 88, YES, "A transaction that commits these offsets is still open."
    THROTTLING_QUOTA_EXCEEDED = 89, YES, "The quota for such changes is exceeded."
    PRODUCER_FENCED = 90, NO, "A newer producer with the same transactional id has taken over."
    RESOURCE_NOT_FOUND = 91, NO, "The requested resource does not exist."
    DUPLICATE_RESOURCE = 92, NO, "The request contains a duplicate."
    UNACCEPTABLE_CREDENTIAL = 93, NO, "The new credential does not meet the requirements."
    INCONSISTENT_VOTER_SET = 94, NO, "The candidate or sender is not a voter known to this controller."
    INVALID_UPDATE_VERSION = 95, NO, "The version of the update does not follow the one before."
    FEATURE_UPDATE_FAILED = 96, NO, "The features could not be changed."
    PRINCIPAL_DESERIALIZATION_FAILURE = 97, NO, "The forwarded principal could not be read."
    SNAPSHOT_NOT_FOUND = 98, NO, "The snapshot does not exist."
    POSITION_OUT_OF_RANGE = 99, NO, "The position is outside the snapshot."
    UNKNOWN_TOPIC_ID = 100, YES, "This broker knows no topic with this id."
    DUPLICATE_BROKER_REGISTRATION = 101, NO, "A live broker has this id already."
    BROKER_ID_NOT_REGISTERED = 102, NO, "No broker with this id has registered."
    INCONSISTENT_TOPIC_ID = 103, YES, "The topic was recreated: its id differs from the one in the log."
    INCONSISTENT_CLUSTER_ID = 104, NO, "The request was meant for another cluster."
    TRANSACTIONAL_ID_NOT_FOUND = 105, NO, "There is no such transactional id."
    FETCH_SESSION_TOPIC_ID_ERROR = 106, YES, "The fetch session mixed requests with and without topic ids."
    INELIGIBLE_REPLICA = 107, NO, "The replica cannot join the in-sync replicas."
    NEW_LEADER_ELECTED = 108, NO, "The change itself made another replica the leader."
    OFFSET_MOVED_TO_TIERED_STORAGE = 109, NO, "The offset is only in remote storage."
    FENCED_MEMBER_EPOCH = 110, NO, "The group has fenced this member: it must rejoin."
    UNRELEASED_INSTANCE_ID = 111, NO, "Another live member of the group uses this group.instance.id."
    UNSUPPORTED_ASSIGNOR = 112, NO, "The broker does not have this assignor."
    STALE_MEMBER_EPOCH = 113, NO, "The member's epoch is behind the group's."
    MISMATCHED_ENDPOINT_TYPE = 114, NO, "A request for a controller reached a broker, or the reverse."
    UNSUPPORTED_ENDPOINT_TYPE = 115, NO, "This type of endpoint is not supported."
    UNKNOWN_CONTROLLER_ID = 116, NO, "There is no controller with this id."
    UNKNOWN_SUBSCRIPTION_ID = 117, NO, "The telemetry subscription is out of date."
    TELEMETRY_TOO_LARGE = 118, NO, "The telemetry is larger than the broker allows."
    INVALID_REGISTRATION = 119, NO, "The controller refuses the broker's registration."
    TRANSACTION_ABORTABLE = 120, NO, "The transaction cannot commit; it can be aborted."
    INVALID_RECORD_STATE = 121, NO, "A shared record is not in a state that allows this acknowledgement."
    SHARE_SESSION_NOT_FOUND = 122, YES, "The broker has dropped this share session."
    INVALID_SHARE_SESSION_EPOCH = 123, YES, "The epoch of the share session does not match."
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
        return "the error code is newer than this client"
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
