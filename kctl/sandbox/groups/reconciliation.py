"""Reconciliation of a consumer group member with its target assignment. Source: KIP-848.

Members revoke partitions before they get the target epoch. They get partitions only after others have released them, so
no partition has two owners.
"""

from collections.abc import Callable, Collection, Iterable
from enum import Enum
from typing import NamedTuple


class Slot(NamedTuple):
    """Partition by topic ID."""

    topic_id: bytes
    partition: int


class MemberState(Enum):
    """Progress of a member."""

    STABLE = "stable"
    UNREVOKED = "must release partitions"
    UNRELEASED = "waits for partitions of other members"


class StepOutcome(NamedTuple):
    state: MemberState
    takes_epoch: bool
    """True if the member moves to the target epoch."""


# fmt: off
TABLE: dict[tuple[bool, bool], StepOutcome] = {
    # must revoke, waits for others
    (True,  False): StepOutcome(MemberState.UNREVOKED,  takes_epoch=False),
    (True,  True):  StepOutcome(MemberState.UNREVOKED,  takes_epoch=False),
    (False, True):  StepOutcome(MemberState.UNRELEASED, takes_epoch=True),
    (False, False): StepOutcome(MemberState.STABLE,     takes_epoch=True),
}
# fmt: on


class MemberProgress(NamedTuple):
    state: MemberState = MemberState.STABLE
    epoch: int = 0
    assigned: tuple[Slot, ...] = ()
    revoking: tuple[Slot, ...] = ()
    """Partitions that the member must revoke and still uses."""

    def owns(self, slot: Slot) -> bool:
        return slot in self.assigned or slot in self.revoking


def next_step(
    now: MemberProgress,
    target_epoch: int,
    target: Iterable[Slot],
    owned: Collection[Slot] | None,
    is_free: Callable[[Slot], bool],
) -> MemberProgress:
    """Return the progress after a heartbeat.

    Args:
        target_epoch, target: target assignment of the member.
        owned: partitions that the member reported, or None.
        is_free: returns whether a partition has no owner.
    """
    if now.state is MemberState.STABLE and now.epoch == target_epoch:
        return now
    if now.state is MemberState.UNREVOKED and _has_any(owned, now.revoking):
        return now
    wanted = dict.fromkeys(target)
    keeps = tuple(slot for slot in now.assigned if slot in wanted)
    gives = tuple(slot for slot in now.assigned if slot not in wanted)
    missing = [slot for slot in wanted if slot not in keeps]
    gets = tuple(slot for slot in missing if is_free(slot))
    outcome = TABLE[bool(gives) and _has_any(owned, gives), len(gets) < len(missing)]
    if not outcome.takes_epoch:
        return MemberProgress(outcome.state, now.epoch, keeps, gives)
    return MemberProgress(outcome.state, target_epoch, (*keeps, *gets))


def _has_any(owned: Collection[Slot] | None, slots: Iterable[Slot]) -> bool:
    return owned is None or any(slot in owned for slot in slots)
