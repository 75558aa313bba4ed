"""OffsetsInTransaction: group offsets that become part of the transaction. The network loop owns it.

With the older protocol, work.py first adds the group at the transaction coordinator. Source: KIP-98, KIP-447, KIP-890.
"""

from collections.abc import Callable
from random import Random

from kctl.client.clock import FOREVER_MS
from kctl.client.cluster_client import ClusterClient
from kctl.client.config import ProducerConfig
from kctl.client.errors import KafkaError
from kctl.client.producer.transactions.calls import GroupMember, Offsets
from kctl.client.producer.transactions.exchange import Exchange, TransactionRequest
from kctl.client.producer.transactions.requests import OFFSETS_V1_VERSION, offset_commit, offset_commit_error
from kctl.client.protocol.api.transactions import TxnOffsetCommitResponse
from kctl.client.protocol.schema import Response
from kctl.client.requests.coordinator import PROMPT, Coordinator
from kctl.client.requests.producer_id import ProducerId
from kctl.client.requests.retry import TXN_FIND_COORDINATOR, Decision, retry_backoff

GROUP_CONNECTION = PROMPT - 1
"""Connection to the group coordinator; PROMPT is the connection to the transaction coordinator."""


class OffsetsInTransaction:
    """Offsets of the current transaction.

    Args:
        done: called when the offsets are part of the transaction.
        failed, response_lost: as for Exchange.
    """

    def __init__(
        self,
        config: ProducerConfig,
        client: ClusterClient,
        rng: Random,
        done: Callable[[], None],
        failed: Callable[[KafkaError, Decision], None],
        response_lost: Callable[[str], None],
    ) -> None:
        self._config = config
        self._client = client
        self._rng = rng
        self._done = done
        self._failed = failed
        self._response_lost = response_lost
        self._exchange: Exchange | None = None
        self._groups: dict[str, None] = {}
        """Groups known to the transaction coordinator."""
        self._offsets: Offsets = {}
        self._member: GroupMember | None = None
        self._number = 0

    def begin(self) -> None:
        self._groups.clear()
        self.cancel()

    def start(self, offsets: Offsets, member: GroupMember) -> None:
        self._offsets, self._member = offsets, member
        self._number += 1
        if self._exchange is None or self._exchange.link.key != member.group_id:
            link = Coordinator(
                self._config,
                self._client,
                self._rng,
                member.group_id,
                TXN_FIND_COORDINATOR,
                connections=(GROUP_CONNECTION,),
            )
            backoff = retry_backoff(self._config, self._rng)
            self._exchange = Exchange(link, self._client.clock, backoff, self._failed, self._response_lost)

    def cancel(self) -> None:
        """Discard pending offsets. A request in flight may still add them to the transaction."""
        self._offsets, self._member = {}, None
        self._number += 1

    @property
    def is_pending(self) -> bool:
        return self._member is not None

    @property
    def is_in_flight(self) -> bool:
        return self._exchange is not None and bool(self._exchange.api)

    def group_to_add(self) -> str | None:
        if self._member is None or self._member.group_id in self._groups:
            return None
        return self._member.group_id

    def group_added(self, group_id: str) -> None:
        self._groups[group_id] = None

    def send(self, name: str, identity: ProducerId, *, is_v2: bool) -> bool:
        """Send pending offsets if possible; return whether a request was sent."""
        if self._member is None or self._exchange is None or not self._exchange.can_send():
            return False
        offsets, number = self._offsets, self._number

        def read(response: Response) -> KafkaError | None:
            assert isinstance(response, TxnOffsetCommitResponse)
            error = offset_commit_error(response, offsets)
            return error if number == self._number else None  # its call has ended

        def done(_: Response) -> None:
            if number == self._number:
                self.cancel()
                self._done()

        request = offset_commit(name, identity, self._member, offsets)
        self._exchange.send(TransactionRequest(request, done, read, None if is_v2 else OFFSETS_V1_VERSION))
        return True

    def run(self, now_ms: int) -> int:
        """Find the coordinator if needed; return the time of the next call."""
        if self._exchange is None:
            return FOREVER_MS
        link = self._exchange.link
        refusal = link.refusal
        if refusal is not None and self._member is not None:
            self._failed(refusal, TXN_FIND_COORDINATOR.decide(refusal))
        return min(link.run(now_ms), self._exchange.next_deadline_at_ms())

    @property
    def waiting_for(self) -> str:
        assert self._exchange is not None
        if self._exchange.api:
            return f"waiting for the coordinator of group {self._exchange.link.key} to accept the offsets"
        return self._exchange.link.waiting_for

    @property
    def last_error(self) -> KafkaError | None:
        if self._exchange is None:
            return None
        return self._exchange.last_error or self._exchange.link.error
