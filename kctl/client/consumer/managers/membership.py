"""Membership: what both protocols of being in a group (classic and KIP-848) offer to the network loop.

The interface and its values alone. A membership is a request manager: it owns the state of one member, sends its
requests through the `Coordinator`, and reports `AssignmentChanged`, `GroupFailed`, `GroupWaiting` and `MemberChanged`.
Shown by tests/unit/consumer/test_classic_membership.py.
"""

from collections.abc import Iterator
from typing import NamedTuple, Protocol

from kctl.client.consumer.group_events import Subscribe
from kctl.client.errors import KafkaError
from kctl.client.requests.request import Poll


class MemberIdentity(NamedTuple):
    """Who commits, as the coordinator checks it.

    Attributes:
        member_id, generation: as the group knows them; generation is the member epoch with KIP-848.
        incarnation: grows when the member has lost everything it had; no commit outlives the incarnation it is of.
    """

    member_id: str = ""
    generation: int = -1
    group_instance_id: str | None = None
    incarnation: int = 0


class Loss(NamedTuple):
    """Why a member lost its place: in words, and as the broker's error where it was one."""

    reason: str
    error: KafkaError | None = None


class Membership(Protocol):
    """One member of one group.

    The rule that keeps partitions from being read twice: what a member has reported as owned stays in its joins and
    heartbeats until the `AssignmentChanged` that takes it away was acknowledged by `applied`. The network loop calls
    `applied` only when every commit that was made before the acknowledgement has ended.
    """

    @property
    def identity(self) -> MemberIdentity | None:
        """Who commits now; None while it is no member, and commits of subscribed partitions cannot succeed."""
        ...

    @property
    def incarnation(self) -> int:
        """How often the member has lost everything; see MemberIdentity."""
        ...

    @property
    def loss(self) -> Loss:
        """Why it lost its place the last time that it did."""
        ...

    @property
    def topics(self) -> Iterator[str]:
        """The topics whose metadata it needs, besides those of assigned partitions."""
        ...

    @property
    def wants_all_topics(self) -> bool:
        """Whether it needs the names of all topics, to match a pattern itself."""
        ...

    @property
    def has_left(self) -> bool | None:
        """After `leave`: None while that is under way, then whether the group has confirmed it."""
        ...

    def poll(self, now_ms: int) -> Poll:
        """Return the requests that can be sent now and the next instant at which this must be polled again."""
        ...

    def subscribe(self, event: Subscribe) -> None:
        """Be a member with this subscription from now on; replaces the one before."""
        ...

    def applied(self, number: int) -> None:
        """The application has applied that change, and its commits have ended."""
        ...

    def poll_began(self) -> None:
        """The application polls: it is alive for as long as it does; a member that gave up joins again."""
        ...

    def poll_ended(self, at_ms: int) -> None:
        """The application has max.poll.interval.ms from here until it polls again."""
        ...

    def rejoin(self, reason: str) -> None:
        """Ask the group to rebalance."""
        ...

    def fenced(self, identity: MemberIdentity, error: KafkaError) -> None:
        """A commit of that identity was refused: the group does not know it any more."""
        ...

    def leave(self, deadline_at_ms: int) -> None:
        """Leave the group for good, trying until the deadline; see `has_left`. It may be subscribed again later."""
        ...

    def remain(self, deadline_at_ms: int) -> None:
        """Stop being a member without giving the place in the group up; where that needs a word, see `has_left`."""
        ...
