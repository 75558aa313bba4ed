"""Group of the classic protocol.

Source: KIP-345 (static members), KIP-394 (member IDs before joining), KIP-814 (returning static leader).
"""

from collections.abc import Sequence
from uuid import UUID

from kctl.client.broker_errors import ErrorCode
from kctl.client.protocol.api.group_membership import (
    HeartbeatRequest,
    JoinGroupRequest,
    JoinGroupResponse,
    SyncGroupRequest,
)
from kctl.sandbox.groups.classic_member import ClassicMember, ClassicMembers, refused_join
from kctl.sandbox.groups.classic_rebalance import Rebalance
from kctl.sandbox.groups.classic_roster import Roster
from kctl.sandbox.groups.classic_sessions import Sessions
from kctl.sandbox.groups.classic_table import State
from kctl.sandbox.groups.offset_records import GroupMetadataValue, Pair, group_key
from kctl.sandbox.groups.offsets import Claim
from kctl.sandbox.groups.outbox import Asker, Refused
from kctl.sandbox.groups.surroundings import Surroundings

_IDS_FIRST_FROM = 4
_SKIPS_ASSIGNMENT_FROM = 9


class ClassicGroup:
    kind = "classic"

    def __init__(self, group_id: str, surroundings: Surroundings) -> None:
        self.group_id = group_id
        self.roster = Roster()
        self._timers = surroundings.timers
        self._outbox = surroundings.outbox
        self._new_uuid = surroundings.new_uuid
        self._write = surroundings.store
        self._sessions = Sessions(
            surroundings.timers, self._on_silence, lambda: self._rebalance.complete_if_all_joined()
        )
        self._rebalance = Rebalance(surroundings, self.roster, self._sessions, self._store)
        self._stored = self.roster.copy()
        """Last completed generation, for the next coordinator."""

    @property
    def state(self) -> State:
        return self._rebalance.state

    @property
    def state_name(self) -> str:
        return self.state.value

    @property
    def protocol_type(self) -> str:
        return self.roster.protocol_type

    @property
    def members(self) -> ClassicMembers:
        return self.roster.members

    @property
    def is_empty(self) -> bool:
        return not self.members

    # --- JoinGroup --------------------------------------------------------------------------------------------------

    def join(self, asker: Asker, request: JoinGroupRequest) -> None:
        """Respond after the rebalance, or immediately if nothing changes."""
        if not self.roster.accepts(request):
            raise Refused(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
        if request.member_id:
            self._join_known(asker, request)
            return
        self._join_new(asker, request)

    def _join_new(self, asker: Asker, request: JoinGroupRequest) -> None:
        instance_id = request.group_instance_id
        member_id = f"{instance_id or asker.client_id}-{UUID(bytes=self._new_uuid())}"
        holder = self.members.static(instance_id)
        if holder is not None:
            self._take_over(asker, request, holder, member_id)
        elif instance_id is None and asker.version >= _IDS_FIRST_FROM:
            self._sessions.add_pending(member_id, request.session_timeout_ms)
            self._outbox.post(asker, refused_join(ErrorCode.MEMBER_ID_REQUIRED, member_id, asker.version))
        else:
            self._add(asker, request, member_id)

    def _join_known(self, asker: Asker, request: JoinGroupRequest) -> None:
        if request.member_id in self._sessions.pending:
            self._sessions.remove_pending(request.member_id)
            self._add(asker, request, request.member_id)
            return
        member = self.members.known(request.member_id, request.group_instance_id)
        is_same = member.has_offered(request)
        leads_again = self.state is State.STABLE and self.roster.leader_id == member.member_id
        if self.state is State.PREPARING or not is_same or leads_again:
            member.adopt(request)
            self._rebalance.join(asker, member)
        else:
            is_complete = self.state is State.COMPLETING
            self._outbox.post(asker, self.roster.join_response(member, is_complete=is_complete))

    def _add(self, asker: Asker, request: JoinGroupRequest, member_id: str) -> None:
        member = ClassicMember(member_id, request.group_instance_id, asker.client_id)
        member.adopt(request)
        self.roster.add(member, request.protocol_type)
        self._sessions.begin(member)
        self._rebalance.join(asker, member, is_new=True)

    def _take_over(self, asker: Asker, request: JoinGroupRequest, holder: ClassicMember, member_id: str) -> None:
        member = holder.renamed(member_id)
        was_leader = self.roster.leader_id == holder.member_id
        self._rebalance.replace(holder, member)
        member.adopt(request)
        self._sessions.renew(member)
        if self.state is not State.STABLE or self.members.chosen_protocol() != self.roster.protocol:
            self._rebalance.join(asker, member)
            return
        self._store()
        old_leader = holder.member_id if was_leader else None
        self._outbox.post(asker, self._takeover_response(asker.version, member, old_leader))

    def _takeover_response(self, version: int, member: ClassicMember, old_leader: str | None) -> JoinGroupResponse:
        response = self.roster.join_response(member)
        if old_leader is None:
            return response
        if version >= _SKIPS_ASSIGNMENT_FROM:
            response.members = self.roster.described_members()
            response.skip_assignment = True
        else:
            response.leader = old_leader  # keeps the new process from computing assignments unprompted
        return response

    # --- SyncGroup, Heartbeat and LeaveGroup ------------------------------------------------------------------------

    def sync(self, asker: Asker, request: SyncGroupRequest) -> None:
        member = self.roster.of_generation(request.member_id, request.group_instance_id, request.generation_id)
        self.roster.check_protocol(request)
        _check(self._rebalance.row.sync)
        self._rebalance.sync(asker, member, {one.member_id: one.assignment for one in request.assignments})

    def heartbeat(self, request: HeartbeatRequest) -> None:
        """Extend the session of a member, or raise Refused if a rebalance has begun."""
        member = self.roster.of_generation(request.member_id, request.group_instance_id, request.generation_id)
        if self.state is not State.EMPTY:
            self._sessions.renew(member)
        _check(self._rebalance.row.heartbeat)

    def leave(self, leaving: Sequence[tuple[str, str | None]]) -> list[ErrorCode]:
        codes = [self._leave_one(member_id, instance_id) for member_id, instance_id in leaving]
        if ErrorCode.NONE in codes:
            self._rebalance.after_removal()
        return codes

    def _leave_one(self, member_id: str, instance_id: str | None) -> ErrorCode:
        if member_id in self._sessions.pending and instance_id is None:
            self._sessions.remove_pending(member_id)
            return ErrorCode.NONE
        holder = self.members.static(instance_id)
        try:
            member = holder if holder is not None and not member_id else self.members.known(member_id, instance_id)
        except Refused as refusal:
            return refusal.code
        self._rebalance.remove(member)
        return ErrorCode.NONE

    def _on_silence(self, member_id: str) -> None:
        member = self.members[member_id]
        if member.is_new or (member.join is None and member.sync is None):
            self._rebalance.remove(member)
            self._rebalance.after_removal()

    # --- offsets ----------------------------------------------------------------------------------------------------

    def check_commit(self, claim: Claim) -> None:
        """Raise Refused if a client may not commit offsets. A member's commit extends its session."""
        if claim.epoch < 0 and self.state is State.EMPTY:
            return
        if claim.epoch < 0 and not claim.member_id and claim.instance_id is None:
            if claim.is_transactional:
                return
            raise Refused(ErrorCode.UNKNOWN_MEMBER_ID)
        member = self.roster.of_generation(claim.member_id, claim.instance_id, claim.epoch)
        if not claim.is_transactional:
            _check(self._rebalance.row.commit)
            self._sessions.renew(member)

    def check_fetch(self, _member_id: str | None, _epoch: int) -> None:
        """Accept every client."""

    def subscribed_topics(self) -> set[str]:
        return self.roster.subscribed_topics()

    # --- migration between protocols ----------------------------------------------------------------------------------

    def dissolve(self) -> None:
        """Make all waiting members rejoin, because the group becomes a consumer group."""
        self._turn_all_away(ErrorCode.REBALANCE_IN_PROGRESS)

    def _turn_all_away(self, code: ErrorCode) -> None:
        for member in self.members.values():
            self._rebalance.turn_away(member, code)

    def continue_with(self, members: Sequence[ClassicMember], generation: int, protocol_type: str) -> None:
        """Start with these members and this generation, and rebalance."""
        for member in members:
            self.roster.add(member, protocol_type)
        self.roster.generation, self.roster.protocol = generation, self.members.chosen_protocol()
        self._rebalance.reset(State.STABLE)
        self._store()
        for member in members:
            self._sessions.renew(member)
        self._rebalance.start()

    # --- moves of the coordinator -------------------------------------------------------------------------------------

    def _store(self) -> None:
        self._stored = self.roster.copy()
        self._write(self.roster.metadata())

    def tombstones(self) -> list[Pair]:
        return [(group_key(self.group_id), None)]

    def store_new(self) -> None:
        self._write(GroupMetadataValue())

    def unload(self) -> None:
        self._timers.cancel_all()
        self._turn_all_away(ErrorCode.NOT_COORDINATOR)

    def load(self) -> None:
        """Continue from the last completed generation on a new coordinator."""
        self.roster.restore(self._stored)
        self._sessions.pending.clear()
        self._rebalance.reset(State.STABLE if self.members else State.EMPTY)
        for member in self.members.values():
            self._sessions.renew(member)


def _check(code: ErrorCode) -> None:
    if code is not ErrorCode.NONE:
        raise Refused(code)
