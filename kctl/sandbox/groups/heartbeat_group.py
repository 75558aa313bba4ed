"""Common part of share and streams groups. Source: KIP-932, KIP-1071.

Unlike in Kafka, members get their new assignment with the next heartbeat, without waiting for other members.
"""

from typing import Generic, TypeVar

from kctl.client.broker_errors import ErrorCode
from kctl.sandbox.groups.offset_records import Pair
from kctl.sandbox.groups.offsets import Claim
from kctl.sandbox.groups.outbox import Refused
from kctl.sandbox.groups.surroundings import Surroundings

JOIN, LEAVE = 0, -1


class HeartbeatMember:
    """Member of a share or streams group.

    Attributes:
        epoch: group epoch that the member last received.
    """

    def __init__(self, member_id: str, client_id: str) -> None:
        self.member_id = member_id
        self.client_id = client_id
        self.rack_id: str | None = None
        self.epoch = 0


M = TypeVar("M", bound=HeartbeatMember)


class HeartbeatGroup(Generic[M]):
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
        return not self.members

    @property
    def state_name(self) -> str:
        return "Empty" if self.is_empty else "Stable"

    def member_of(self, member_id: str, epoch: int) -> M:
        """Return a member. Raise Refused if it is unknown or has a later epoch."""
        member = self.members.get(member_id)
        if member is None:
            text = f"Member {member_id} is not a member of group {self.group_id}."
            raise Refused(ErrorCode.UNKNOWN_MEMBER_ID, text)
        if epoch > member.epoch:
            raise Refused(ErrorCode.FENCED_MEMBER_EPOCH, f"Epoch {epoch} is greater than {member.epoch}.")
        return member

    def admit(self, member: M) -> None:
        self.members[member.member_id] = member
        self.epoch += 1

    def remove(self, member_id: str) -> None:
        self._timers.cancel(f"session {member_id}")
        if self.members.pop(member_id, None) is not None:
            self.epoch += 1

    def expect_heartbeat(self, member_id: str) -> None:
        session_ms = self._settings.group_consumer_session_timeout_ms
        self._timers.start(f"session {member_id}", session_ms, lambda: self.remove(member_id))

    @property
    def heartbeat_interval_ms(self) -> int:
        return self._settings.group_consumer_heartbeat_interval_ms

    def subscribed_topics(self) -> set[str]:
        return set()

    def tombstones(self) -> list[Pair]:
        """Return nothing, because these groups are not written to __consumer_offsets."""
        return []

    # --- checks -------------------------------------------------------------------------------------------------------

    def check_commit(self, claim: Claim) -> None:
        """Raise Refused if the group has members and the client is none of them, or has another epoch."""
        if claim.epoch < 0 and self.is_empty:
            return
        member = self.members.get(claim.member_id)
        if member is None:
            raise Refused(ErrorCode.UNKNOWN_MEMBER_ID)
        if claim.epoch != member.epoch:
            raise Refused(ErrorCode.STALE_MEMBER_EPOCH)

    def check_fetch(self, member_id: str | None, epoch: int) -> None:
        """Raise Refused if a client may not fetch offsets. Only members need an epoch."""
        if member_id is None and epoch < 0:
            return
        if self.member_of(member_id or "", epoch).epoch != epoch:
            raise Refused(ErrorCode.STALE_MEMBER_EPOCH)

    # --- moves of the coordinator -------------------------------------------------------------------------------------

    def unload(self) -> None:
        self._timers.cancel_all()

    def load(self) -> None:
        for member_id in self.members:
            self.expect_heartbeat(member_id)
