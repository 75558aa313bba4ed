"""How a member of a consumer group comes from what it has to what it shall have: one table, one step at a time.

A member revokes first; it gets the group's epoch once it has. What another member still has is left out until that one
has given it up, so no partition has two owners. Source: KIP-848, "Reconciliation".
"""

from collections.abc import Callable, Collection, Iterable
from enum import Enum
from typing import NamedTuple


class Slot(NamedTuple):
    """One partition, by the id of its topic."""

    topic_id: bytes
    partition: int


class MemberState(Enum):
    """How far a member has come."""

    STABLE = "stable"
    UNREVOKED = "is to give partitions up"
    UNRELEASED = "waits for partitions of others"


class StepOutcome(NamedTuple):
    """What a step ends in."""

    state: MemberState
    takes_epoch: bool
    """Whether the member moves to the epoch of the target."""


# fmt: off
TABLE: dict[tuple[bool, bool], StepOutcome] = {
    # has to revoke, waits for others
    (True,  False): StepOutcome(MemberState.UNREVOKED,  takes_epoch=False),
    (True,  True):  StepOutcome(MemberState.UNREVOKED,  takes_epoch=False),
    (False, True):  StepOutcome(MemberState.UNRELEASED, takes_epoch=True),
    (False, False): StepOutcome(MemberState.STABLE,     takes_epoch=True),
}
# fmt: on


class MemberProgress(NamedTuple):
    """Where a member stands."""

    state: MemberState = MemberState.STABLE
    epoch: int = 0
    assigned: tuple[Slot, ...] = ()
    revoking: tuple[Slot, ...] = ()
    """What it has to revoke and may still read from."""

    def owns(self, slot: Slot) -> bool:
        """Return whether no other member may have the partition."""
        return slot in self.assigned or slot in self.revoking


def next_step(
    now: MemberProgress,
    target_epoch: int,
    target: Iterable[Slot],
    owned: Collection[Slot] | None,
    is_free: Callable[[Slot], bool],
) -> MemberProgress:
    """Return where the member stands after a heartbeat.

    Args:
        now: where it stood.
        target_epoch: the epoch of the target assignment.
        target: what the member shall have in the end.
        owned: what it says it has; None when it did not say.
        is_free: whether a partition has no owner.
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
