"""What an application thread asks of the loop about transactions, and what it needs to know of a group's member.

Values only. Shown by tests/unit/producer/transactions.
"""

from collections.abc import Mapping
from typing import Protocol

from kctl.client.clock import Timer
from kctl.client.cluster import TopicPartition
from kctl.client.errors import MaxBlockTimeout
from kctl.client.loop.mailbox import Call
from kctl.client.producer.transactions.states import Step
from kctl.client.requests.group_offsets import OffsetAndMetadata
from kctl.client.seams import Waiter

Offsets = Mapping[TopicPartition, OffsetAndMetadata]


class GroupMember(Protocol):
    """Who commits offsets: what `Consumer.group_metadata()` returns, by shape alone. Source: KIP-447."""

    @property
    def group_id(self) -> str: ...
    @property
    def generation(self) -> int: ...
    @property
    def member_id(self) -> str: ...
    @property
    def group_instance_id(self) -> str | None: ...


class TransactionCall(Call):
    """One call: `step` says which; `offsets` and `member` belong to send_offsets_to_transaction."""

    __slots__ = ("member", "offsets", "step")

    TIMEOUT_ERROR = MaxBlockTimeout

    def __init__(
        self,
        step: Step,
        timer: Timer,
        waiter: Waiter,
        offsets: Offsets | None = None,
        member: GroupMember | None = None,
    ) -> None:
        super().__init__(timer, waiter)
        self.step = step
        self.offsets: Offsets = offsets or {}
        self.member = member

    def is_like(self, other: "TransactionCall") -> bool:
        """Whether this is the same call made again."""
        return self.step is other.step and self.offsets == other.offsets and self.member == other.member
