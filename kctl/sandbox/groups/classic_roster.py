"""Members, leader, generation, and protocol of a classic group."""

from kctl.client.broker_errors import ErrorCode
from kctl.client.protocol.api.group_membership import (
    JoinGroupRequest,
    JoinGroupResponse,
    JoinGroupResponseMember,
    SyncGroupRequest,
)
from kctl.sandbox.groups.classic_member import ClassicMember, ClassicMembers
from kctl.sandbox.groups.offset_records import GroupMetadataValue
from kctl.sandbox.groups.outbox import Refused
from kctl.sandbox.groups.subscriptions import subscribed_topics


class Roster:
    def __init__(self) -> None:
        self.members = ClassicMembers()
        self.generation = 0
        self.protocol_type = ""
        self.protocol = ""
        self.leader_id: str | None = None

    def copy(self) -> "Roster":
        copy = Roster()
        copy.restore(self)
        return copy

    def restore(self, stored: "Roster") -> None:
        copies = [member.renamed(member.member_id) for member in stored.members.values()]
        self.members = ClassicMembers((member.member_id, member) for member in copies)
        self.generation, self.leader_id = stored.generation, stored.leader_id
        self.protocol_type, self.protocol = stored.protocol_type, stored.protocol

    # --- checks of requests -------------------------------------------------------------------------------------------

    def accepts(self, request: JoinGroupRequest) -> bool:
        """Return whether a request has the group's protocol type, and a protocol that all members support."""
        if not request.protocol_type or not request.protocols:
            return False
        if not self.members:
            return True
        offered = {offer.name for offer in request.protocols}
        others = self.members.common_protocols()
        return request.protocol_type == self.protocol_type and any(name in offered for name in others)

    def check_protocol(self, request: SyncGroupRequest) -> None:
        is_type = request.protocol_type in (None, self.protocol_type)
        if not is_type or request.protocol_name not in (None, self.protocol):
            raise Refused(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)

    def of_generation(self, member_id: str, instance_id: str | None, generation: int) -> ClassicMember:
        """Return the member of a request. Raise Refused if the member or its generation is unknown."""
        member = self.members.known(member_id, instance_id)
        if generation != self.generation:
            raise Refused(ErrorCode.ILLEGAL_GENERATION)
        return member

    # --- membership ---------------------------------------------------------------------------------------------------

    def add(self, member: ClassicMember, protocol_type: str) -> None:
        """Add a member. The first member becomes the leader and sets the protocol type."""
        if not self.members:
            self.protocol_type = protocol_type
        self.members[member.member_id] = member
        self.leader_id = self.leader_id or member.member_id

    def remove(self, member: ClassicMember) -> None:
        """Remove a member. The oldest remaining member succeeds a removed leader."""
        del self.members[member.member_id]
        if self.leader_id == member.member_id:
            self.leader_id = next(iter(self.members), None)

    def replace(self, holder: ClassicMember, member: ClassicMember) -> None:
        kept = [member if old is holder else old for old in self.members.values()]
        self.members = ClassicMembers((one.member_id, one) for one in kept)
        if self.leader_id == holder.member_id:
            self.leader_id = member.member_id

    def choose_leader(self) -> bool:
        """Ensure that the leader has joined. Return False if no member has joined."""
        joined = [member.member_id for member in self.members.values() if member.join is not None]
        if joined and self.leader_id not in joined:
            self.leader_id = joined[0]
        return bool(joined)

    def begin_generation(self) -> None:
        self.generation += 1
        self.protocol = self.members.chosen_protocol() if self.members else ""

    @property
    def rebalance_timeout_ms(self) -> int:
        return max((member.rebalance_timeout_ms for member in self.members.values()), default=0)

    # --- responses and records ----------------------------------------------------------------------------------------

    def join_response(self, member: ClassicMember, *, is_complete: bool = False) -> JoinGroupResponse:
        """Return the response to a JoinGroup. The leader of a new generation gets all members."""
        leads = is_complete and member.member_id == self.leader_id
        return JoinGroupResponse(
            generation_id=self.generation,
            protocol_type=self.protocol_type,
            protocol_name=self.protocol,
            leader=self.leader_id or "",
            member_id=member.member_id,
            members=self.described_members() if leads else [],
        )

    def described_members(self) -> list[JoinGroupResponseMember]:
        return [
            JoinGroupResponseMember(
                member_id=one.member_id, group_instance_id=one.instance_id, metadata=one.protocols[self.protocol]
            )
            for one in self.members.values()
        ]

    def metadata(self) -> GroupMetadataValue:
        members = [one.metadata(self.protocol) for one in self.members.values()]
        value = GroupMetadataValue(protocol_type=self.protocol_type, generation=self.generation, members=members)
        if members:
            value.protocol, value.leader = self.protocol, self.leader_id
        return value

    def subscribed_topics(self) -> set[str]:
        if not self.members:
            return set()
        if self.protocol_type != "consumer":
            raise Refused(ErrorCode.NON_EMPTY_GROUP)
        metadata = [member.protocols.get(self.protocol, b"") for member in self.members.values()]
        return {name for one in metadata for name in subscribed_topics(one)}
