"""Retry policy: whether and on which broker to retry after an error, and the pause before the retry.

Source: Java's response handlers. Differs: after a missing permission, init_transactions() can be called again (FAIL);
    Java aborts an empty transaction first.
"""

from collections.abc import Iterable, Mapping
from enum import Enum
from random import Random
from typing import NamedTuple

from kctl.client.backoff import ExponentialBackoff
from kctl.client.broker_errors import STALE_METADATA, ErrorCode, error_class
from kctl.client.config import ClientConfig
from kctl.client.errors import BrokerError, KafkaError, LocalProtocolError, UnsupportedVersionError


class Decision(Enum):
    """Consequence of an error; the value describes it. A retry first waits for a backoff."""

    SAME_BROKER = "retry on the same broker"
    ANY_BROKER = "retry on any broker"
    LEADER = "refresh the metadata, then retry at the leader"
    COORDINATOR = "look up the coordinator, then retry there"
    SPLIT = "send the records in smaller batches"
    SEQUENCE = "the sequence numbers of the producer have a gap (see the response handler of Produce)"
    FAIL = "the call fails and can be repeated"
    ABORT = "the transaction can only be aborted"
    FATAL = "the producer can only be closed"


_E, _D = ErrorCode, Decision
ELSEWHERE = frozenset({_E.NOT_COORDINATOR, _E.COORDINATOR_NOT_AVAILABLE})
"""Codes of a broker that is not the coordinator."""
RETRIES = frozenset({_D.SAME_BROKER, _D.ANY_BROKER, _D.LEADER, _D.COORDINATOR})
NO_LONGER_MEMBER = frozenset(
    {_E.UNKNOWN_MEMBER_ID, _E.ILLEGAL_GENERATION, _E.STALE_MEMBER_EPOCH, _E.FENCED_MEMBER_EPOCH}
)
"""Codes of a group that has continued without this member, whose offsets must not be committed. Source: KIP-447."""
UNKNOWN_TOPIC = frozenset({_E.UNKNOWN_TOPIC_OR_PARTITION, _E.UNKNOWN_TOPIC_ID})
UNKNOWN_TOPIC_TRIES = 3
"""Number of attempts after which an unknown topic counts as missing; brokers learn new topics with a delay."""
CONCURRENT_RETRY_MS = 20
"""Maximum pause after CONCURRENT_TRANSACTIONS, because the previous transaction is about to end. Source: Java."""

_MOVED: dict[int, Decision] = dict.fromkeys(ELSEWHERE, _D.COORDINATOR)
_STALE: dict[int, Decision] = dict.fromkeys(STALE_METADATA, _D.LEADER)
_IN_TRANSACTION: dict[int, Decision] = {**_MOVED, _E.TRANSACTION_ABORTABLE: _D.ABORT}
_LEFT_GROUP: dict[int, Decision] = dict.fromkeys(NO_LONGER_MEMBER, _D.ABORT)


class RetryRule(NamedTuple):
    """Rules for one kind of request.

    Attributes:
        retry: decision on retriable errors that are not in `codes`.
        codes: decisions on single codes.
        otherwise: decision on other errors.
        retries_lost: whether requests without a response are retried, unless the broker does not support them.
        limits_unknown_topic: whether an unknown topic is final after `UNKNOWN_TOPIC_TRIES`.
    """

    name: str
    retry: Decision
    codes: Mapping[int, Decision] = {}
    otherwise: Decision = Decision.FAIL
    retries_lost: bool = False
    limits_unknown_topic: bool = False

    def decide(self, error: KafkaError, tries: int = 0) -> Decision:
        """Return the consequence of an error. Args: tries: attempts so far; 0 if their number does not matter."""
        if not isinstance(error, BrokerError):
            if self.retries_lost:
                is_final = isinstance(error, UnsupportedVersionError | LocalProtocolError)
                return Decision.FATAL if is_final else self.retry
            return self.retry if error.retriable else self.otherwise
        if self.limits_unknown_topic and error.code in UNKNOWN_TOPIC and tries >= UNKNOWN_TOPIC_TRIES:
            return Decision.FAIL
        return self.codes.get(error.code) or (self.retry if error.retriable else self.otherwise)

    def is_retried(self, error: KafkaError, tries: int = 0) -> bool:
        return self.decide(error, tries) in RETRIES


# The consumer also retries after UNKNOWN_SERVER_ERROR, as Java's fetcher does.
FETCH = RetryRule("Fetch", _D.LEADER, {_E.UNKNOWN_SERVER_ERROR: _D.LEADER})
LIST_OFFSETS = RetryRule("ListOffsets", _D.LEADER, {_E.UNKNOWN_SERVER_ERROR: _D.LEADER})
METADATA = RetryRule(
    "Metadata",
    _D.ANY_BROKER,
    {_E.UNKNOWN_SERVER_ERROR: _D.ANY_BROKER, _E.UNKNOWN_TOPIC_OR_PARTITION: _D.FAIL},
)
TELEMETRY = RetryRule("GetTelemetrySubscriptions", _D.ANY_BROKER, {_E.UNKNOWN_SERVER_ERROR: _D.ANY_BROKER})
FIND_COORDINATOR = RetryRule("FindCoordinator", _D.ANY_BROKER, {_E.UNKNOWN_SERVER_ERROR: _D.ANY_BROKER})
MEMBERSHIP = RetryRule("JoinGroup", _D.SAME_BROKER, {**_MOVED, _E.UNKNOWN_SERVER_ERROR: _D.SAME_BROKER})
"""Rule of JoinGroup, SyncGroup, LeaveGroup, and heartbeats of both protocols."""
OFFSET_FETCH = RetryRule("OffsetFetch", _D.SAME_BROKER, {**_MOVED, _E.UNKNOWN_SERVER_ERROR: _D.SAME_BROKER})
OFFSET_COMMIT = RetryRule(
    "OffsetCommit",
    _D.SAME_BROKER,
    {**_MOVED, _E.UNKNOWN_SERVER_ERROR: _D.SAME_BROKER, _E.REBALANCE_IN_PROGRESS: _D.SAME_BROKER},
    limits_unknown_topic=True,
)

# The admin client.
ADMIN = RetryRule("other requests", _D.ANY_BROKER)
ADMIN_GROUPS = RetryRule("groups and their offsets", _D.SAME_BROKER, _MOVED, limits_unknown_topic=True)
ADMIN_OFFSETS = RetryRule("offsets of partitions", _D.SAME_BROKER, _STALE, limits_unknown_topic=True)
ADMIN_TOPICS = RetryRule(  # other retriable errors are results: the change may continue
    "topics",
    _D.FAIL,
    dict.fromkeys((_E.NOT_CONTROLLER, _E.THROTTLING_QUOTA_EXCEEDED, _E.LEADER_NOT_AVAILABLE), _D.ANY_BROKER),
)

# The producer.
PRODUCE = RetryRule(
    "Produce",
    _D.SAME_BROKER,
    {
        **_STALE,
        _E.MESSAGE_TOO_LARGE: _D.SPLIT,
        _E.RECORD_LIST_TOO_LARGE: _D.SPLIT,
        _E.OUT_OF_ORDER_SEQUENCE_NUMBER: _D.SEQUENCE,
        _E.UNKNOWN_PRODUCER_ID: _D.SEQUENCE,
        _E.INVALID_PRODUCER_EPOCH: _D.SEQUENCE,
    },
)
PRODUCER_METADATA = RetryRule("Metadata of the topics of a producer", _D.ANY_BROKER)
PRODUCER_ID = RetryRule("InitProducerId without transactions", _D.ANY_BROKER, otherwise=_D.FATAL, retries_lost=True)
TXN_FIND_COORDINATOR = RetryRule(
    "FindCoordinator for a transaction",
    _D.ANY_BROKER,
    {_E.GROUP_AUTHORIZATION_FAILED: _D.ABORT, _E.TRANSACTION_ABORTABLE: _D.ABORT},
    otherwise=_D.FATAL,
    retries_lost=True,
)
INIT_PRODUCER_ID = RetryRule(
    "InitProducerId",
    _D.SAME_BROKER,
    {
        **_MOVED,
        _E.TRANSACTIONAL_ID_AUTHORIZATION_FAILED: _D.FAIL,
        _E.CLUSTER_AUTHORIZATION_FAILED: _D.FAIL,
        _E.TRANSACTION_ABORTABLE: _D.FAIL,
    },
    otherwise=_D.FATAL,
    retries_lost=True,
)
ADD_PARTITIONS_TO_TXN = RetryRule(
    "AddPartitionsToTxn",
    _D.SAME_BROKER,
    {
        **_IN_TRANSACTION,
        _E.INVALID_PRODUCER_EPOCH: _D.FATAL,
        _E.PRODUCER_FENCED: _D.FATAL,
        _E.TRANSACTIONAL_ID_AUTHORIZATION_FAILED: _D.FATAL,
        _E.INVALID_TXN_STATE: _D.FATAL,
        _E.INVALID_PRODUCER_ID_MAPPING: _D.FATAL,
    },
    otherwise=_D.ABORT,  # other codes concern partitions
    retries_lost=True,
)
ADD_OFFSETS_TO_TXN = RetryRule(
    "AddOffsetsToTxn",
    _D.SAME_BROKER,
    {**_IN_TRANSACTION, _E.UNKNOWN_PRODUCER_ID: _D.ABORT, _E.GROUP_AUTHORIZATION_FAILED: _D.ABORT},
    otherwise=_D.FATAL,
    retries_lost=True,
)
TXN_OFFSET_COMMIT = RetryRule(
    "TxnOffsetCommit",
    _D.SAME_BROKER,
    {
        **_IN_TRANSACTION,
        **_LEFT_GROUP,
        _E.REQUEST_TIMED_OUT: _D.COORDINATOR,
        _E.GROUP_AUTHORIZATION_FAILED: _D.ABORT,
        _E.FENCED_INSTANCE_ID: _D.ABORT,
    },
    otherwise=_D.FATAL,
    retries_lost=True,
)
END_TXN = RetryRule(
    "EndTxn",
    _D.SAME_BROKER,
    {**_IN_TRANSACTION, _E.UNKNOWN_PRODUCER_ID: _D.ABORT},
    otherwise=_D.FATAL,
    retries_lost=True,
)

RULES = {rule.name: rule for rule in list(globals().values()) if isinstance(rule, RetryRule)}
"""All rules, by name."""


def decisive_code(codes: Iterable[int]) -> int:
    """Return the code that decides about a response: one that is not retriable, if any. NONE without codes."""
    consequence = _E.OPERATION_NOT_ATTEMPTED
    return min(codes, key=lambda code: (code == consequence, error_class(code).retriable), default=_E.NONE)


def retry_backoff(config: ClientConfig, rng: Random) -> ExponentialBackoff:
    return ExponentialBackoff(config.retry_backoff_ms, config.retry_backoff_max_ms, rng)


class RetryPause:
    """Pause before the next attempt, which grows with each failure.

    Attributes:
        failures: number of failures since the last success.
        until_ms: earliest time of the next attempt.
    """

    __slots__ = ("_backoff", "failures", "until_ms")

    def __init__(self, backoff: ExponentialBackoff) -> None:
        self._backoff = backoff
        self.failures = 0
        self.until_ms = 0

    def failed(self, now_ms: int, error: KafkaError | None = None) -> None:
        pause_ms = self._backoff.backoff_ms(self.failures)
        if isinstance(error, BrokerError) and error.code == ErrorCode.CONCURRENT_TRANSACTIONS:
            pause_ms = min(pause_ms, CONCURRENT_RETRY_MS)
        self.failures += 1
        self.until_ms = now_ms + pause_ms

    def succeeded(self) -> None:
        self.failures = self.until_ms = 0
