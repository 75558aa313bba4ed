"""TransactionDesk: the application's side of transactions: which calls may be made, and the wait for their end.

Runs on application threads; the loop answers. Shown by tests/unit/producer/transactions/test_desk.py and
tests/sim/producer/test_transactions*.py.
"""

from collections.abc import Mapping

from kctl.client.clock import Clock, Timer
from kctl.client.cluster import TopicPartition
from kctl.client.errors import IllegalStateError
from kctl.client.producer.mailbox import ProducerMailbox
from kctl.client.producer.transactions.calls import GroupMember, Offsets, TransactionCall
from kctl.client.producer.transactions.states import Step
from kctl.client.requests.group_offsets import OffsetAndMetadata
from kctl.client.seams import Driver


class TransactionDesk:
    """Hands the calls about transactions to the loop."""

    def __init__(self, transactional_id: str | None, clock: Clock, driver: Driver, mailbox: ProducerMailbox) -> None:
        self._transactional_id = transactional_id
        self._clock = clock
        self._driver = driver
        self._mailbox = mailbox

    def ask(
        self,
        step: Step,
        timeout_ms: int,
        offsets: Mapping[TopicPartition, int | OffsetAndMetadata] | None = None,
        member: GroupMember | None = None,
    ) -> TransactionCall:
        """Make a call, wait for its end and return it; raises its error.

        Raises:
            IllegalStateError: without transactional.id, or in a callback, where the wait would hold up its own end.
            ValueError: offsets or a member that cannot be.
        """
        if self._transactional_id is None:
            raise IllegalStateError(f"{step.value}() needs transactional.id, which is not set")
        if self._mailbox.is_on_loop():
            raise IllegalStateError(f"a callback must not call {step.value}(): the wait would hold up its own end")
        checked = _checked_offsets(offsets or {})
        if member is not None:
            _check_member(member)
        timer = Timer(self._clock, timeout_ms)
        call = TransactionCall(step, timer, self._driver.waiter(), checked, member)
        self._mailbox.ask(call)
        return call


def _checked_offsets(offsets: Mapping[TopicPartition, int | OffsetAndMetadata]) -> Offsets:
    checked: dict[TopicPartition, OffsetAndMetadata] = {}
    for tp, given in offsets.items():
        committed = given if isinstance(given, OffsetAndMetadata) else OffsetAndMetadata(given)
        if isinstance(committed.offset, bool) or not isinstance(committed.offset, int) or committed.offset < 0:
            raise ValueError(f"{tp[0]}-{tp[1]}: an offset is a number from 0 on, not {committed.offset!r}")
        checked[TopicPartition(*tp)] = committed
    return checked


def _check_member(member: GroupMember) -> None:
    """Source: Java's throwIfInvalidGroupMetadata."""
    if not member.group_id:
        raise ValueError("group_metadata: group_id is empty")
    if member.generation > 0 and not member.member_id:
        raise ValueError(f"group_metadata: generation {member.generation} needs a member_id")
