"""Hanging transactions: open on a partition, but no coordinator will end them. Source: KIP-664.

They hold back the last stable offset. Partitions are read before and after the coordinators, to leave out transactions
that end in between.
"""

from collections.abc import Callable, Iterable, Mapping
from enum import Enum
from typing import NamedTuple

from kctl.client.admin.call import Call, Results
from kctl.client.admin.producers import ActiveProducer, Producers, describe_producers
from kctl.client.admin.topics import describe_topics
from kctl.client.admin.transactions import (
    TransactionDescription,
    TransactionFilter,
    TransactionListing,
    describe_transactions,
    list_transactions,
)
from kctl.client.broker_errors import ErrorCode, broker_error
from kctl.client.cluster import NO_NODE, TopicPartition
from kctl.client.errors import BrokerError, KafkaError
from kctl.client.requests.retry import UNKNOWN_TOPIC

STATE_TOPIC = "__transaction_state"
OVERDUE_MS = 60_000
"""Time after its timeout at which an ongoing transaction is overdue; coordinators check timeouts every 10s."""
HIDDEN_MS = 15 * 60_000
"""Kafka's default of transaction.max.timeout.ms; coordinators have aborted all older transactions."""
ONGOING = "Ongoing"


class Verdict(Enum):
    """State of an open transaction."""

    RUNNING = "running"
    """The coordinator knows the transaction, and its timeout has not passed."""
    OVERDUE = "overdue"
    """The coordinator knows the transaction, but has not aborted it long after its timeout."""
    HANGING = "hanging"
    """No coordinator knows the transaction, so it will never end."""
    UNDECIDED = "undecided"
    """The coordinator may not have responded, or this principal may not describe the transactional.id."""


class OpenTransaction(NamedTuple):
    """A transaction that is open on one partition.

    Attributes:
        transactional_id: transactional.id of its producer; None if no coordinator knows the producer.
        timeout_ms, started_at_ms: values of the coordinator; None if it does not know this transaction.
        reason: explanation of the verdict.
    """

    partition: TopicPartition
    producer: ActiveProducer
    verdict: Verdict
    transactional_id: str | None
    timeout_ms: int | None
    started_at_ms: int | None
    reason: str

    @property
    def start_offset(self) -> int:
        assert self.producer.transaction_start_offset is not None
        return self.producer.transaction_start_offset

    def age_ms(self, wall_ms: int) -> int | None:
        """Return the age of the transaction, or the time since its producer's last write; None if both are unknown."""
        began_at_ms = self.producer.last_timestamp_ms if self.started_at_ms is None else self.started_at_ms
        return None if began_at_ms < 0 else max(0, wall_ms - began_at_ms)


class OpenTransactions(NamedTuple):
    """Open transactions of partitions, and errors.

    Attributes:
        failed: errors of partitions whose leader did not respond.
        missing: errors of brokers, and of partitions of __transaction_state, whose transactions are unknown; by name.
    """

    transactions: tuple[OpenTransaction, ...]
    failed: Mapping[TopicPartition, KafkaError]
    missing: Mapping[str, KafkaError]


class _Coordinators(NamedTuple):
    by_producer: Mapping[int, TransactionListing]
    described: Results[str, TransactionDescription]
    missing: Mapping[str, KafkaError]


def open_transactions(new_call: Callable[[], Call], partitions: Iterable[TopicPartition]) -> OpenTransactions:
    """Return the open transactions of partitions, each with a verdict.

    Args: new_call: returns a call for each step, with a part of the remaining time, so that brokers that do not respond
        leave time for later steps.
    """
    call = new_call()
    first = describe_producers(call, partitions)
    candidates = {tp: found for tp, producers in first.done.items() if (found := _open(producers))}
    if not candidates:
        return OpenTransactions((), first.failed, {})
    known = _ask_coordinators(new_call, {each.producer_id for of in candidates.values() for each in of})
    wall_ms = call.client.clock.wall_ms()
    verdicts = [_judge(tp, producer, known, wall_ms) for tp, producers in candidates.items() for producer in producers]
    doubtful = {each.partition for each in verdicts if each.verdict is not Verdict.RUNNING}
    again = describe_producers(new_call(), doubtful) if doubtful else Results[TopicPartition, Producers]({}, {})
    still = {
        (tp, each.producer_id, each.transaction_start_offset)
        for tp, producers in again.done.items()
        for each in _open(producers)
    }
    kept = [
        each
        for each in verdicts
        if each.verdict is Verdict.RUNNING or (each.partition, each.producer.producer_id, each.start_offset) in still
    ]
    return OpenTransactions(tuple(kept), {**first.failed, **again.failed}, known.missing)


def _open(producers: Iterable[ActiveProducer]) -> list[ActiveProducer]:
    return [each for each in producers if each.transaction_start_offset is not None]


def _ask_coordinators(new_call: Callable[[], Call], producer_ids: Iterable[int]) -> _Coordinators:
    missing = _leaderless(new_call())
    listed = list_transactions(new_call(), TransactionFilter(producer_ids=sorted(producer_ids)))
    missing |= {f"broker {node}": error for node, error in listed.failed.items()}
    names = list(listed.transactions)
    described = Results[str, TransactionDescription]({}, {})
    if names:
        described = describe_transactions(new_call(), names)
    return _Coordinators({each.producer_id: each for each in listed.transactions.values()}, described, missing)


def _leaderless(call: Call) -> dict[str, KafkaError]:
    """Return errors of __transaction_state partitions without a leader, whose transactions no broker reports."""
    results = describe_topics(call, [STATE_TOPIC])
    error = results.failed.get(STATE_TOPIC)
    if error is not None:
        is_none = isinstance(error, BrokerError) and error.code in UNKNOWN_TOPIC
        return {} if is_none else {STATE_TOPIC: error}
    return {
        f"{STATE_TOPIC}-{index}": broker_error(
            ErrorCode.LEADER_NOT_AVAILABLE, f"find the leader of {STATE_TOPIC}-{index}"
        )
        for index, info in results[STATE_TOPIC].partitions.items()
        if info.leader_id == NO_NODE
    }


def _judge(tp: TopicPartition, producer: ActiveProducer, known: _Coordinators, wall_ms: int) -> OpenTransaction:
    listing = known.by_producer.get(producer.producer_id)
    if listing is None:
        return _judge_unlisted(tp, producer, known, wall_ms)
    name = listing.transactional_id
    error = known.described.failed.get(name)
    is_gone = isinstance(error, BrokerError) and error.code == ErrorCode.TRANSACTIONAL_ID_NOT_FOUND
    if error is not None and not is_gone:
        return OpenTransaction(
            tp, producer, Verdict.UNDECIDED, name, None, None, f"the coordinator returned an error: {error}"
        )
    found = known.described.done.get(name)
    if found is None or found.producer_id != producer.producer_id:
        reason = f"the coordinator already has another producer for transactional.id {name}"
        return OpenTransaction(tp, producer, Verdict.HANGING, name, None, None, reason)
    if tp not in found.partitions:
        reason = f"the coordinator reports transaction {name} in state {found.state} without this partition"
        return OpenTransaction(tp, producer, Verdict.HANGING, name, None, None, reason)
    started_at_ms, timeout_ms = found.started_at_ms, found.timeout_ms
    if found.state == ONGOING and started_at_ms is not None and wall_ms - started_at_ms > timeout_ms + OVERDUE_MS:
        verdict, reason = Verdict.OVERDUE, "the coordinator did not abort the transaction after its timeout"
    else:
        verdict, reason = Verdict.RUNNING, f"the coordinator reports the transaction in state {found.state}"
    return OpenTransaction(tp, producer, verdict, name, timeout_ms, started_at_ms, reason)


def _judge_unlisted(
    tp: TopicPartition, producer: ActiveProducer, known: _Coordinators, wall_ms: int
) -> OpenTransaction:
    """Return the verdict on a producer that no coordinator reports; this principal may lack permission."""
    hanging = OpenTransaction(
        tp, producer, Verdict.HANGING, None, None, None, "no coordinator knows the producer of the transaction"
    )
    age_ms = hanging.age_ms(wall_ms)
    if known.missing:
        reason = "the coordinator of the transaction may be a broker that did not respond"
    elif age_ms is None or age_ms < HIDDEN_MS:
        reason = (
            "no coordinator knows the producer: the transaction hangs, or you need Describe on its transactional.id"
        )
    else:
        return hanging
    return hanging._replace(verdict=Verdict.UNDECIDED, reason=reason)
