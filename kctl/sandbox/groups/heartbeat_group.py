"""HeartbeatGroup: what share and streams groups have in common: members that send heartbeats, epochs, one-step shares.

Every member has what is meant for it with its next heartbeat: neither kind waits for another member to let go here.
Source: KIP-932, KIP-1071.
"""

from typing import Generic, TypeVar

from kctl.client.broker_errors import ErrorCode
from kctl.sandbox.groups.offset_records import Pair
from kctl.sandbox.groups.offsets import Claim
from kctl.sandbox.groups.outbox import Refused
from kctl.sandbox.groups.surroundings import Surroundings

JOIN, LEAVE = 0, -1


class HeartbeatMember:
    """One member.

    Attributes: epoch: of the group, as the member has last heard of it.
    """

    def __init__(self, member_id: str, client_id: str) -> None:
        self.member_id = member_id
        self.client_id = client_id
        self.rack_id: str | None = None
        self.epoch = 0


M = TypeVar("M", bound=HeartbeatMember)


class HeartbeatGroup(Generic[M]):
    """One group."""

    kind = ""
    protocol_type = ""

    def __init__(self, group_id: str, surroundings: Surroundings) -> None:
        self.group_id = group_id
        self.epoch = 0
        self.members: dict[str, M] = {}
        self._settings = surroundings.settings
        self._topics = surroundings.topics
        self._timers = surroundings.timers

    @property
    def is_empty(self) -> bool:
        """Whether the group has no members."""
        return not self.members

    @property
    def state_name(self) -> str:
        """Kafka's name of the state."""
        return "Empty" if self.is_empty else "Stable"

    def member_of(self, member_id: str, epoch: int) -> M:
        """Return a member that is known.

        Raises: Refused: it is not, or has another epoch.
        """
        member = self.members.get(member_id)
        if member is None:
            text = f"Member {member_id} is not a member of group {self.group_id}."
            raise Refused(ErrorCode.UNKNOWN_MEMBER_ID, text)
        if epoch > member.epoch:
            raise Refused(ErrorCode.FENCED_MEMBER_EPOCH, f"Epoch {epoch} is greater than {member.epoch}.")
        return member

    def admit(self, member: M) -> None:
        """Take in a new member."""
        self.members[member.member_id] = member
        self.epoch += 1

    def remove(self, member_id: str) -> None:
        """Let a member go: it left, or sent no heartbeat for too long."""
        self._timers.cancel(f"session {member_id}")
        if self.members.pop(member_id, None) is not None:
            self.epoch += 1

    def expect_heartbeat(self, member_id: str) -> None:
        """Start the member's session over."""
        session_ms = self._settings.group_consumer_session_timeout_ms
        self._timers.start(f"session {member_id}", session_ms, lambda: self.remove(member_id))

    @property
    def heartbeat_interval_ms(self) -> int:
        """How often members are to send heartbeats."""
        return self._settings.group_consumer_heartbeat_interval_ms

    def subscribed_topics(self) -> set[str]:
        """Return the topics whose offsets are in use."""
        return set()

    def tombstones(self) -> list[Pair]:
        """Return the records that delete the group: none, since none are written of it."""
        return []

    # --- what other protocols ask -----------------------------------------------------------------------------------

    def check_commit(self, claim: Claim) -> None:
        """Return when offsets may be committed.

        Raises: Refused: there are members, and this is none of them.
        """
        if claim.epoch < 0 and self.is_empty:
            return
        member = self.members.get(claim.member_id)
        if member is None:
            raise Refused(ErrorCode.UNKNOWN_MEMBER_ID)
        if claim.epoch != member.epoch:
            raise Refused(ErrorCode.STALE_MEMBER_EPOCH)

    def check_fetch(self, member_id: str | None, epoch: int) -> None:
        """Return when offsets may be read: by anybody who claims no membership, by members in their epoch.

        Raises: Refused: unknown member, or another epoch.
        """
        if member_id is None and epoch < 0:
            return
        if self.member_of(member_id or "", epoch).epoch != epoch:
            raise Refused(ErrorCode.STALE_MEMBER_EPOCH)

    # --- the coordinator moves --------------------------------------------------------------------------------------

    def unload(self) -> None:
        """Stop: this node no longer coordinates the group."""
        self._timers.cancel_all()

    def load(self) -> None:
        """Continue with all that was known; every session starts over."""
        for member_id in self.members:
            self.expect_heartbeat(member_id)
