"""Transaction calls: the application's side, and the call in progress on the network loop.

A call that timed out or was interrupted can be repeated, which continues its work; other calls are rejected until then.

Source: KIP-654; Java's TransactionManager has this rule for init, commit, and abort.
"""

from collections.abc import Callable, Mapping
from typing import NamedTuple, Protocol

from kctl.client.arguments import check, wrong_type
from kctl.client.clock import FOREVER_MS, Clock, Timer
from kctl.client.cluster import TopicPartition
from kctl.client.cluster_client import ClusterClient, TimeMark
from kctl.client.errors import IllegalStateError, KafkaError, MaxBlockTimeout
from kctl.client.loop.mailbox import Call
from kctl.client.producer.mailbox import ProducerMailbox
from kctl.client.producer.transactions.states import State, Step
from kctl.client.requests.group_offsets import OffsetAndMetadata, checked_offsets
from kctl.client.runtime import Driver, Waiter

Offsets = Mapping[TopicPartition, OffsetAndMetadata]


class GroupMember(Protocol):
    """Group member that commits offsets, such as `Consumer.group_metadata()`. Source: KIP-447."""

    @property
    def group_id(self) -> str: ...
    @property
    def generation(self) -> int: ...
    @property
    def member_id(self) -> str: ...
    @property
    def group_instance_id(self) -> str | None: ...


_MEMBER_FIELDS = {"group_id": str, "generation": int, "member_id": str, "group_instance_id": str | None}


class TransactionCall(Call):
    """A transaction call of kind `step`. Attributes: offsets, member: arguments of send_offsets_to_transaction."""

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
        return self.step is other.step and self.offsets == other.offsets and self.member == other.member


class EndedCall(NamedTuple):
    operation: TransactionCall
    error: KafkaError | None
    callers: list[TransactionCall]

    @property
    def is_lost(self) -> bool:
        """Whether no caller has got the result, because of timeouts or interrupts."""
        return not any(call.is_collected for call in self.callers)


class PendingCalls:
    def __init__(self, client: ClusterClient) -> None:
        self.operation: TransactionCall | None = None
        self._client = client
        self._callers: list[tuple[TransactionCall, TimeMark]] = []
        self._ended: EndedCall | None = None

    def admits(self, call: TransactionCall, state: State) -> bool:
        """Return whether a call may start new work. If not, it waits for the current work, or is finished."""
        operation = self.operation
        if operation is not None:
            if call.is_like(operation):
                self._callers.append((call, self._client.time_mark()))
                return False
            if _gives_up(operation, call):
                return True
            call.finish(_under_way(operation) if self._callers else _must_be_repeated(operation))
            return False
        if self._ended is not None and self._ended.is_lost:
            ended, error, _ = self._ended
            if call.is_like(ended):
                self._ended = EndedCall(ended, error, [call])
                call.finish(error)
                return False
            is_harmless = ended.step is Step.BEGIN or state is State.ABORTABLE_ERROR
            if not is_harmless and not _gives_up(ended, call):
                call.finish(_must_be_repeated(ended))
                return False
        return True

    def answer(self, call: TransactionCall) -> None:
        self._ended = EndedCall(call, None, [call])
        call.finish()

    def abandon(self, call: TransactionCall) -> None:
        self._callers = [entry for entry in self._callers if entry[0] is not call]

    def begin(self, call: TransactionCall) -> None:
        self._ended = None
        self.operation = call
        self._callers = [(call, self._client.time_mark())]

    def finish(self, error: KafkaError | None = None) -> None:
        """End the work. Its callers get the result; if none waits, a later repeated call gets it."""
        operation, self.operation = self.operation, None
        if operation is not None:
            self._ended = EndedCall(operation, error, [call for call, _ in self._callers])
        self.fail(error)

    def fail(self, error: KafkaError | None) -> None:
        """End the waits of callers with the error; the work continues."""
        callers, self._callers = self._callers, []
        for call, _ in callers:
            call.finish(error)

    def forget(self) -> None:
        self._ended = None

    @property
    def has_callers(self) -> bool:
        return bool(self._callers)

    def next_deadline_at_ms(self) -> int:
        return min((call.timer.deadline_at_ms for call, _ in self._callers), default=FOREVER_MS)

    def expire(
        self, now_ms: int, waiting_for: Callable[[Step], str], cause: Callable[[Step], KafkaError | None]
    ) -> None:
        for entry in [entry for entry in self._callers if entry[0].timer.deadline_at_ms <= now_ms]:
            self._callers.remove(entry)
            call, mark = entry
            account = self._client.account_since(mark)
            call.finish(call.timed_out(waiting_for(call.step), cause(call.step), account))


def _gives_up(earlier: TransactionCall, call: TransactionCall) -> bool:
    return earlier.step is Step.OFFSETS and call.step is Step.ABORT


def _under_way(call: TransactionCall) -> IllegalStateError:
    return IllegalStateError(f"{call.step.value}() is running in another thread")


def _must_be_repeated(call: TransactionCall) -> IllegalStateError:
    others = " or abort_transaction()" if call.step is Step.OFFSETS else ""
    call_again = f"repeat the call{others}, or close()"
    text = f"{call.step.value}() timed out or was interrupted, so its result is unknown: {call_again}"
    return IllegalStateError(text)


class TransactionClient:
    """Passes the calls of application threads to the network loop."""

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
        """Make a call and wait for its end; an error of the call is raised.

        Raises:
            IllegalStateError: transactional.id is not set, or the call is in a callback, which would deadlock.
            ValueError: an offset or the member is invalid.
        """
        if self._transactional_id is None:
            raise IllegalStateError(f"{step.value}() needs transactional.id: set transactional.id")
        if self._mailbox.is_on_loop():
            raise IllegalStateError(f"callbacks must not call {step.value}(): the wait would never end")
        checked = checked_offsets({} if offsets is None else offsets)
        if step is Step.OFFSETS:
            _check_member(member)
        timer = Timer(self._clock, timeout_ms)
        call = TransactionCall(step, timer, self._driver.waiter(), checked, member)
        self._mailbox.ask(call)
        return call


def _check_member(member: GroupMember | None) -> None:
    """Raise TypeError or ValueError for an invalid member. Source: Java's throwIfInvalidGroupMetadata."""
    for field, kind in _MEMBER_FIELDS.items():
        if not hasattr(member, field):
            raise wrong_type("group_metadata", member, "the result of Consumer.group_metadata()")
        check(f"group_metadata.{field}", getattr(member, field), kind)
    assert member is not None
    if not member.group_id:
        raise ValueError("group_metadata: group_id is empty")
    if member.generation > 0 and not member.member_id:
        raise ValueError(f"group_metadata: generation {member.generation} needs a member_id")
