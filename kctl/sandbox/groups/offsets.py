"""What groups commit, and as whom a client commits."""

from typing import NamedTuple

from kctl.sandbox.groups.reconciliation import Slot


class CommittedOffset(NamedTuple):
    """What a group committed for a partition."""

    offset: int
    leader_epoch: int
    metadata: str | None


class Claim(NamedTuple):
    """What a commit says about itself."""

    member_id: str
    instance_id: str | None
    epoch: int
    """The generation of a classic group, or the member's epoch; negative when it claims no membership."""
    version: int
    """Of the request."""
    slots: tuple[Slot, ...]
    """What it is for."""
    is_transactional: bool = False
    """It comes from a producer, which may keep silent about membership."""
