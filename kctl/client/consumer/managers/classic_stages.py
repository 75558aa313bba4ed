"""Stage: the states of a member of a classic group, and what a member waits for in each.

Values alone. Shown by tests/unit/consumer/test_classic_membership.py.
"""

from enum import Enum

from kctl.client.consumer.waiting import WaitKind


class Stage(Enum):
    """The state of a member."""

    ABSENT = "not in the group: no subscription, or the application does not poll"
    JOINING = "to send JoinGroup, as soon as what was reported is applied"
    JOIN_SENT = "the coordinator collects the members"
    ASSIGNING = "this member leads and waits for the metadata of all topics"
    SYNC_SENT = "the coordinator waits for the leader's shares"
    STABLE = "has its partitions"


WAIT_KINDS = {
    Stage.ABSENT: WaitKind.OUTSIDE,
    Stage.JOINING: WaitKind.COORDINATOR,
    Stage.STABLE: WaitKind.NO_SHARE,
}
"""What a member without partitions waits for; in all other stages for the others."""
HELD_BACK = (Stage.JOIN_SENT, Stage.SYNC_SENT)
"""Stages in which the coordinator holds a request of ours, and the answer to that one counts."""
