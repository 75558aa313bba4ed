"""TransactionWork: requests of each transaction state, and what a call waits for. The network loop owns it.

Source: KIP-98, KIP-360, KIP-447, KIP-890. Differs: with transaction.version below 2, a request without a response
requires a new epoch before the next transaction, because it could arrive later and end the wrong transaction. Java
requests one only after errors.
"""

from collections.abc import Callable
from random import Random
from typing import Protocol

from kctl.client.cluster_client import ClusterClient
from kctl.client.config import ProducerConfig
from kctl.client.errors import KafkaError, TransactionAbortedError
from kctl.client.producer.transactions.contents import Contents
from kctl.client.producer.transactions.exchange import Exchange, TransactionRequest
from kctl.client.producer.transactions.identity import TransactionalIdentity
from kctl.client.producer.transactions.offsets import OffsetsInTransaction
from kctl.client.producer.transactions.requests import END_V1_VERSION
from kctl.client.producer.transactions.states import State, Step
from kctl.client.producer.transactions.status import End, TransactionStatus
from kctl.client.protocol.api.init_producer_id import InitProducerIdResponse
from kctl.client.protocol.api.transactions import EndTxnRequest, EndTxnResponse
from kctl.client.protocol.schema import Response
from kctl.client.requests.coordinator import Coordinator
from kctl.client.requests.find_coordinator import KeyType
from kctl.client.requests.producer_id import NO_PRODUCER_ID, ProducerId, init_producer_id, producer_id_in
from kctl.client.requests.retry import TXN_FIND_COORDINATOR, Decision, retry_backoff
from kctl.client.wording import counted


class Records(Protocol):
    """Records of the transaction, which the sender keeps."""

    @property
    def outstanding(self) -> int: ...

    @property
    def has_in_flight(self) -> bool:
        """Whether a Produce request has no response yet, even if its records have expired."""
        ...

    def fail_waiting(self, error: KafkaError) -> bool:
        """Fail records that are not in flight; return whether sequence numbers may have a gap now."""
        ...

    def fail_all(self, error: KafkaError) -> None: ...

    def end_transaction(self, *, is_aborted: bool) -> None:
        """Assign the records so far to an ended transaction; later flushes leave out their failures."""
        ...


class TransactionWork:
    """Requests for one producer's transactions.

    Args:
        done: called when the work of the current state, or of offsets, is done.
        failed: as for Exchange.
    """

    def __init__(
        self,
        config: ProducerConfig,
        client: ClusterClient,
        rng: Random,
        status: TransactionStatus,
        records: Records,
        *,
        done: Callable[[], None],
        failed: Callable[[KafkaError, Decision], None],
    ) -> None:
        assert config.transactional_id is not None
        self._name = config.transactional_id
        self._client = client
        self._timeout_ms = config.transaction_timeout_ms
        self._status = status
        self._records = records
        self._done = done
        self._failed = failed
        self._link = Coordinator(config, client, rng, self._name, TXN_FIND_COORDINATOR, key_type=KeyType.TRANSACTION)
        self._exchange = Exchange(self._link, client.clock, retry_backoff(config, rng), failed, self._on_response_lost)
        self.offsets = OffsetsInTransaction(config, client, rng, done, failed, self._on_response_lost)
        self.contents = Contents(self._name, client.clock)
        self.identity = TransactionalIdentity(self._name, self.contents, self._exchange, status)

    def begin(self) -> None:
        self.identity.learn_version()
        self.contents.clear()
        self.offsets.begin()

    @property
    def is_end_in_flight(self) -> bool:
        return self._exchange.api == "EndTxn"

    def run(self, now_ms: int) -> int:
        if self._link.refusal is not None:
            self._failed(self._link.refusal, TXN_FIND_COORDINATOR.decide(self._link.refusal))
        self._settle_records()
        self._advance()
        return min(self._link.run(now_ms), self.offsets.run(now_ms), self._exchange.next_deadline_at_ms())

    # --- wait descriptions --------------------------------------------------------------------------------------------

    def cause_of_wait(self, step: Step) -> KafkaError | None:
        of_offsets = self.offsets.last_error if step is Step.OFFSETS else None
        return of_offsets or self.identity.last_error or self._client.last_error()

    def waiting_for(self, step: Step, now_ms: int) -> str:
        if step in (Step.COMMIT, Step.ABORT):
            return self._waiting_for_end(now_ms)
        if (
            step is Step.OFFSETS
            and not self._exchange.api
            and (self.identity.is_v2 or self.offsets.group_to_add() is None)
        ):
            return self.offsets.waiting_for
        if self._exchange.api:
            return f"waiting for the {self._exchange.api} response from the transaction coordinator of {self._name}"
        return self._link.waiting_for

    def _waiting_for_end(self, now_ms: int) -> str:
        if self._records.outstanding:
            count = self._records.outstanding
            doing = f"waiting for the acknowledgement of {counted(count, 'record')} of the transaction"
        elif self._status.is_end_sent:
            doing = "no response to EndTxn"
        elif self._records.has_in_flight:
            doing = "no response to Produce"
        else:
            doing = self._link.waiting_for
        if self.contents.started_at_ms is None:
            return doing
        left_s = max(0, -(-(self.contents.started_at_ms + self._timeout_ms - now_ms) // 1000))
        if self._status.is_end_sent and self._status.state is State.COMMITTING:
            return f"{doing} (the broker aborts the transaction in {left_s} s unless it is committed)"
        return f"{doing} (the broker aborts the transaction in {left_s} s)"

    # --- the requests of each state -----------------------------------------------------------------------------------

    def _settle_records(self) -> None:
        if not (self._records.outstanding or self._records.has_in_flight):
            return
        if self._status.state is State.FATAL_ERROR:
            self._records.fail_all(self._status.error())
        elif self._status.state is State.ABORTABLE_ERROR:
            self._records.fail_waiting(self._status.error())
        elif self._status.state is State.ABORTING:
            error = TransactionAbortedError("the transaction was aborted before the record was sent")
            if self.identity.is_v2:
                self._records.fail_all(error)  # the end brings a new epoch, which fences all batches in flight
            elif self._records.fail_waiting(error):
                self.identity.need_epoch_after_end()

    def _advance(self) -> None:
        match self._status.state:
            case State.INITIALIZING:
                self._initialize(NO_PRODUCER_ID)
            case State.READY if self.identity.needs_epoch:
                self._initialize(self.identity.current)
            case State.IN_TRANSACTION | State.COMMITTING if self.identity.needs_epoch and (
                self._status.state is State.IN_TRANSACTION or self._has_work
            ):
                self._initialize(self.identity.current)
            case State.IN_TRANSACTION:
                self._add()
            case State.COMMITTING:
                self._add()
                if not self._has_work:
                    self._send_end(committed=True)
            case State.ABORTING:
                self._abort()
            case _:
                pass

    @property
    def _has_work(self) -> bool:
        return bool(self._records.outstanding or self.contents.wanted or self._exchange.api or self.offsets.is_pending)

    def _initialize(self, current: ProducerId) -> None:
        """Request a producer id, or the next epoch of the current one. Source: KIP-360."""
        if self._exchange.can_send():
            request = init_producer_id(self._name, self._timeout_ms, current)
            self._exchange.send(TransactionRequest(request, self._on_identity, _identity_error))

    def _on_identity(self, response: Response) -> None:
        assert isinstance(response, InitProducerIdResponse)
        self.identity.adopt(ProducerId(response.producer_id, response.producer_epoch))
        if self._status.apply(Step.INITIALIZED):
            self.identity.learn_version()
            self._done()

    def _add(self) -> None:
        if self.contents.wanted and self._exchange.can_send():
            self._exchange.send(self.contents.ask_for_partitions(self.identity.current))
        if not self.offsets.is_pending or self.offsets.is_in_flight:
            return
        group = None if self.identity.is_v2 else self.offsets.group_to_add()
        if group is None:
            if self.offsets.send(self._name, self.identity.current, is_v2=self.identity.is_v2):
                self.contents.start()
        elif self._exchange.can_send():
            self._exchange.send(self.contents.ask_for_group(self.identity.current, group, self.offsets.group_added))

    def _abort(self) -> None:
        """Abort the transaction. With the older protocol, wait first for all requests in flight."""
        self.contents.wanted.clear()
        if not self.identity.is_v2 and (self._records.has_in_flight or self.offsets.is_in_flight):
            return
        if self._exchange.api:
            return
        if self.contents.started_at_ms is None and self.contents.unsettled is not None:
            if self._exchange.can_send():
                self._exchange.send(self.contents.unsettled)
            return
        self._send_end(committed=False)

    def _send_end(self, *, committed: bool) -> None:
        if self.contents.started_at_ms is None:
            self._on_ended("committed" if committed else "aborted")
            return
        if not self._exchange.can_send():
            return
        self._status.is_end_sent = True

        def done(response: Response) -> None:
            assert isinstance(response, EndTxnResponse)
            self.identity.adopt_after_end(ProducerId(response.producer_id, response.producer_epoch))
            self._on_ended("committed" if committed else "aborted")

        request = EndTxnRequest(
            transactional_id=self._name,
            producer_id=self.identity.current.producer_id,
            producer_epoch=self.identity.current.epoch,
            committed=committed,
        )
        self._exchange.send(
            TransactionRequest(request, done, max_version=None if self.identity.is_v2 else END_V1_VERSION)
        )

    def _on_ended(self, how: End) -> None:
        if self._status.apply(Step.ENDED):
            self._status.ended(how)
            self.identity.ended()
            self.contents.clear()
            self._records.end_transaction(is_aborted=how == "aborted")
            self._done()

    def _on_response_lost(self, api: str) -> None:
        """Plan a new epoch, because the request may have been done or may arrive later."""
        if api != "InitProducerId":
            self.identity.need_epoch_after_end()
        if api == "EndTxn":
            self._status.end_lost()
        self.contents.response_lost(api)


def _identity_error(response: Response) -> KafkaError | None:
    assert isinstance(response, InitProducerIdResponse)
    assigned = producer_id_in(response)
    return assigned if isinstance(assigned, KafkaError) else None
