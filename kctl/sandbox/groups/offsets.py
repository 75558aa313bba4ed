"""Committed offsets, and the membership that a commit claims."""

from typing import NamedTuple

from kctl.sandbox.groups.reconciliation import Slot


class CommittedOffset(NamedTuple):
    offset: int
    leader_epoch: int
    metadata: str | None


class Claim(NamedTuple):
    """Membership that a client claims in the fields of a commit.

    Attributes:
        version: version of the request.
        slots: partitions of the commit.
    """

    member_id: str
    instance_id: str | None
    epoch: int
    """Generation of a classic group, or epoch of a member. Negative without membership."""
    version: int
    slots: tuple[Slot, ...]
    is_transactional: bool = False
    """True for commits of a producer, which may omit the membership."""
