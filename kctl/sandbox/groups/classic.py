"""One group of the classic protocol: it calls its members together, counts generations and drops who stays silent.

The states and what each answers are in classic_table.py. A request that cannot be answered yet is kept with its member.
Source: KIP-62 (two timeouts), KIP-134 (initial delay), KIP-345 (static members), KIP-394 (ids before joining),
KIP-814 (a static leader comes back). Shown by tests/unit/sandbox/groups/test_classic.py and test_static.py.
"""

from collections.abc import Sequence
from typing import NamedTuple
from uuid import UUID

from kctl.client.broker_errors import ErrorCode
from kctl.client.protocol.api.heartbeat import HeartbeatRequest
from kctl.client.protocol.api.join_group import JoinGroupRequest, JoinGroupResponse, JoinGroupResponseMember
from kctl.client.protocol.api.sync_group import SyncGroupRequest, SyncGroupResponse
from kctl.sandbox.groups.classic_member import ClassicMember, ClassicMembers, refused_join
from kctl.sandbox.groups.classic_table import TABLE, Event, State
from kctl.sandbox.groups.offset_records import GroupMetadataValue
from kctl.sandbox.groups.offsets import Claim
from kctl.sandbox.groups.outbox import Asker, Refused
from kctl.sandbox.groups.subscriptions import subscribed_topics
from kctl.sandbox.groups.surroundings import Surroundings

NEW_MEMBER_MS = 300_000
"""How long a JoinGroup of a new member may wait: its client may be gone without notice."""
_IDS_FIRST_FROM = 4
_SKIPS_ASSIGNMENT_FROM = 9


class _Stored(NamedTuple):
    """What the next coordinator finds in __consumer_offsets: the last generation that was completed."""

    generation: int
    protocol_type: str
    protocol: str
    leader_id: str | None
    members: tuple[ClassicMember, ...]


class ClassicGroup:
    """One group."""

    kind = "classic"

    def __init__(self, group_id: str, surroundings: Surroundings) -> None:
        self.group_id = group_id
        self.state = State.EMPTY
        self.generation = 0
        self.protocol_type = ""
        self.protocol = ""
        self.leader_id: str | None = None
        self.members = ClassicMembers()
        self._settings = surroundings.settings
        self._timers = surroundings.timers
        self._outbox = surroundings.outbox
        self._new_uuid = surroundings.new_uuid
        self._write = surroundings.store
        self._promised: dict[str, None] = {}
        """Ids that were given out and have not joined yet (KIP-394)."""
        self._unsynced: dict[str, None] = {}
        """Members of this generation that have not asked for their assignment yet."""
        self._is_first = False
        """The members that join now are the first: the group waits for more of them (KIP-134)."""
        self._has_newcomer = False
        self._stored = self._snapshot()

    @property
    def state_name(self) -> str:
        """Kafka's name of the state."""
        return self.state.value

    @property
    def is_empty(self) -> bool:
        """Whether the group has no members."""
        return not self.members

    # --- JoinGroup --------------------------------------------------------------------------------------------------

    def join(self, asker: Asker, request: JoinGroupRequest) -> None:
        """Answer when the next generation has all its members, or at once when nothing changes.

        Raises:
            Refused: the member is unknown or fenced, or offers nothing that all others offer too.
        """
        if not self._fits(request):
            raise Refused(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
        if request.member_id:
            self._join_known(asker, request)
            return
        instance_id = request.group_instance_id
        member_id = f"{instance_id or asker.client_id}-{UUID(bytes=self._new_uuid())}"
        holder = self.members.static(instance_id)
        if holder is not None:
            self._take_over(asker, request, holder, member_id)
        elif instance_id is None and asker.version >= _IDS_FIRST_FROM:
            self._promised[member_id] = None
            session_ms = request.session_timeout_ms
            self._timers.start(f"session {member_id}", session_ms, lambda: self._promise_expired(member_id))
            self._outbox.post(asker, refused_join(ErrorCode.MEMBER_ID_REQUIRED, member_id, asker.version))
        else:
            self._add(asker, request, member_id)

    def _fits(self, request: JoinGroupRequest) -> bool:
        if not request.protocol_type or not request.protocols:
            return False
        if self.is_empty:
            return True
        offered = {offer.name for offer in request.protocols}
        others = self.members.common_protocols()
        return request.protocol_type == self.protocol_type and any(name in offered for name in others)

    def _join_known(self, asker: Asker, request: JoinGroupRequest) -> None:
        if request.member_id in self._promised:
            self._forget_promise(request.member_id)
            self._add(asker, request, request.member_id)
            return
        member = self.members.known(request.member_id, request.group_instance_id)
        is_same = member.says(request)
        leads_again = self.state is State.STABLE and self.leader_id == member.member_id
        if self.state is State.PREPARING or not is_same or leads_again:
            member.adopt(request)
            self._rejoin(asker, member)
        else:
            self._outbox.post(asker, self._joined(member))

    def _add(self, asker: Asker, request: JoinGroupRequest, member_id: str) -> None:
        if self.is_empty:
            self.protocol_type = request.protocol_type
        member = ClassicMember(member_id, request.group_instance_id, asker.client_id)
        member.adopt(request)
        self.members[member_id] = member
        self.leader_id = self.leader_id or member_id
        self._has_newcomer = True
        self._timers.start(f"session {member_id}", NEW_MEMBER_MS, lambda: self._session_expired(member_id))
        self._rejoin(asker, member)

    def _rejoin(self, asker: Asker, member: ClassicMember) -> None:
        member.join = asker
        self._rebalance()

    def _take_over(self, asker: Asker, request: JoinGroupRequest, holder: ClassicMember, member_id: str) -> None:
        """Let a new process take the place of a static member; the old one is fenced, unnoticed by the others."""
        self._turn_away(holder, ErrorCode.FENCED_INSTANCE_ID)
        member = holder.renamed(member_id)
        was_leader = self.leader_id == holder.member_id
        self._timers.cancel(f"session {holder.member_id}")
        self._unsynced.pop(holder.member_id, None)
        kept = [member if old is holder else old for old in self.members.values()]
        self.members = ClassicMembers((one.member_id, one) for one in kept)
        if was_leader:
            self.leader_id = member_id
        member.adopt(request)
        self._expect_heartbeat(member)
        if self.state is not State.STABLE or self.members.chosen_protocol() != self.protocol:
            self._rejoin(asker, member)
            return
        self._store()
        answer = self._joined(member)
        if was_leader and asker.version >= _SKIPS_ASSIGNMENT_FROM:
            answer.members = self._described_members()
            answer.skip_assignment = True
        elif was_leader:
            answer.leader = holder.member_id  # the new one must not hand out assignments without a request
        self._outbox.post(asker, answer)

    def _turn_away(self, member: ClassicMember, code: ErrorCode) -> None:
        """End the requests of a member that wait."""
        if member.join is not None:
            self._outbox.post(member.join, refused_join(code, member.member_id, member.join.version))
        if member.sync is not None:
            self._outbox.post(member.sync, SyncGroupResponse(error_code=code))

    # --- the rebalance ----------------------------------------------------------------------------------------------

    def _rebalance(self) -> None:
        """Call the members together, unless that is under way."""
        if self.state is State.PREPARING:
            self._complete_if_all_joined()
            return
        if self.state is State.COMPLETING:
            self._send_assignments({}, ErrorCode.REBALANCE_IN_PROGRESS)
        self._timers.cancel("sync")
        self._is_first = self.state is State.EMPTY
        self._move(Event.REBALANCE)
        if self._is_first:
            delay_ms = self._settings.group_initial_rebalance_delay_ms
            self._wait_for_more(delay_ms, max(self._rebalance_timeout_ms - delay_ms, 0))
        elif not self._complete_if_all_joined():
            self._timers.start("join", self._rebalance_timeout_ms, self._complete_join)

    def _move(self, event: Event) -> None:
        self.state = TABLE[self.state].next[event]

    @property
    def _rebalance_timeout_ms(self) -> int:
        return max((member.rebalance_timeout_ms for member in self.members.values()), default=0)

    def _wait_for_more(self, delay_ms: int, left_ms: int) -> None:
        self._has_newcomer = False
        self._timers.start("join", delay_ms, lambda: self._waited_for_more(delay_ms, left_ms))

    def _waited_for_more(self, delay_ms: int, left_ms: int) -> None:
        if not self._has_newcomer or left_ms == 0:
            self._complete_join()
            return
        next_ms = min(self._settings.group_initial_rebalance_delay_ms, left_ms)
        self._wait_for_more(next_ms, max(left_ms - delay_ms, 0))

    def _complete_if_all_joined(self) -> bool:
        is_waiting = self._is_first or self._promised or any(member.join is None for member in self.members.values())
        if is_waiting or self.state is not State.PREPARING:
            return False
        self._complete_join()
        return True

    def _complete_join(self) -> None:
        """Begin the next generation with those who joined and the static members."""
        self._timers.cancel("join")
        for member in list(self.members.values()):
            if member.join is None and member.instance_id is None:
                self._remove(member)
        if self.members and not self._has_leader():
            self._timers.start("join", self._rebalance_timeout_ms, self._complete_join)
            return
        self.generation += 1
        if self.is_empty:
            self.protocol = ""
            self._move(Event.NOBODY_JOINED)
            self._store()
            return
        self.protocol = self.members.chosen_protocol()
        self._move(Event.ALL_JOINED)
        self._unsynced = dict.fromkeys(self.members)
        for member in self.members.values():
            if member.join is not None:
                self._outbox.post(member.join, self._joined(member))
                member.join = None
                member.generation = self.generation
            member.is_new = False
            self._expect_heartbeat(member)
        self._timers.start("sync", self._rebalance_timeout_ms, self._sync_expired)

    def _has_leader(self) -> bool:
        """Return whether one who joined leads; another one takes over from a leader who did not."""
        joined = [member.member_id for member in self.members.values() if member.join is not None]
        if joined and self.leader_id not in joined:
            self.leader_id = joined[0]
        return bool(joined)

    def _joined(self, member: ClassicMember) -> JoinGroupResponse:
        leads = member.member_id == self.leader_id and self.state is State.COMPLETING
        return JoinGroupResponse(
            generation_id=self.generation,
            protocol_type=self.protocol_type,
            protocol_name=self.protocol,
            leader=self.leader_id or "",
            member_id=member.member_id,
            members=self._described_members() if leads else [],
        )

    def _described_members(self) -> list[JoinGroupResponseMember]:
        return [
            JoinGroupResponseMember(
                member_id=one.member_id, group_instance_id=one.instance_id, metadata=one.protocols[self.protocol]
            )
            for one in self.members.values()
        ]

    # --- SyncGroup and Heartbeat ------------------------------------------------------------------------------------

    def sync(self, asker: Asker, request: SyncGroupRequest) -> None:
        """Answer with the member's assignment, once the leader has said what it is.

        Raises:
            Refused: another member, generation or protocol, or the members are called together again.
        """
        member = self._of_generation(request.member_id, request.group_instance_id, request.generation_id)
        if request.protocol_type not in (None, self.protocol_type) or request.protocol_name not in (
            None,
            self.protocol,
        ):
            raise Refused(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
        self._check(TABLE[self.state].sync)
        self._unsynced.pop(member.member_id, None)
        member.sync = asker
        if self.state is State.STABLE:
            self._send_assignment(member, ErrorCode.NONE)
        elif member.member_id == self.leader_id:
            self._move(Event.ASSIGNED)
            self._send_assignments({one.member_id: one.assignment for one in request.assignments}, ErrorCode.NONE)
            self._store()
        if not self._unsynced:
            self._timers.cancel("sync")

    def _send_assignments(self, assignments: dict[str, bytes], code: ErrorCode) -> None:
        for member in self.members.values():
            member.assignment = assignments.get(member.member_id, b"")
            self._send_assignment(member, code)

    def _send_assignment(self, member: ClassicMember, code: ErrorCode) -> None:
        if member.sync is None:
            return
        is_good = code is ErrorCode.NONE
        response = SyncGroupResponse(
            error_code=code,
            protocol_type=self.protocol_type if is_good else None,
            protocol_name=self.protocol if is_good else None,
            assignment=member.assignment,
        )
        self._outbox.post(member.sync, response)
        member.sync = None
        self._expect_heartbeat(member)

    def heartbeat(self, request: HeartbeatRequest) -> None:
        """Take note that a member lives.

        Raises:
            Refused: another member or generation, or the members are called together again.
        """
        member = self._of_generation(request.member_id, request.group_instance_id, request.generation_id)
        if self.state is not State.EMPTY:
            self._expect_heartbeat(member)
        self._check(TABLE[self.state].heartbeat)

    def _of_generation(self, member_id: str, instance_id: str | None, generation: int) -> ClassicMember:
        member = self.members.known(member_id, instance_id)
        if generation != self.generation:
            raise Refused(ErrorCode.ILLEGAL_GENERATION)
        return member

    def _check(self, code: ErrorCode) -> None:
        if code is not ErrorCode.NONE:
            raise Refused(code)

    # --- offsets ----------------------------------------------------------------------------------------------------

    def check_commit(self, claim: Claim) -> None:
        """Return when offsets may be committed; a member's commit is as good as a heartbeat.

        Raises:
            Refused: not by this member, in this generation or state.
        """
        if claim.epoch < 0 and self.state is State.EMPTY:
            return
        if claim.epoch < 0 and not claim.member_id and claim.instance_id is None:
            if claim.is_transactional:
                return
            raise Refused(ErrorCode.UNKNOWN_MEMBER_ID)
        member = self._of_generation(claim.member_id, claim.instance_id, claim.epoch)
        if not claim.is_transactional:
            self._check(TABLE[self.state].commit)
            self._expect_heartbeat(member)

    def check_fetch(self, _member_id: str | None, _epoch: int) -> None:
        """Return: what is committed may be read by anybody."""

    def subscribed_topics(self) -> set[str]:
        """Return the topics whose offsets are in use.

        Raises:
            Refused: members of some other protocol than the consumer's are there.
        """
        if self.is_empty:
            return set()
        if self.protocol_type != "consumer":
            raise Refused(ErrorCode.NON_EMPTY_GROUP)
        metadata = [member.protocols.get(self.protocol, b"") for member in self.members.values()]
        return {name for one in metadata for name in subscribed_topics(one)}

    # --- leaving ----------------------------------------------------------------------------------------------------

    def leave(self, leaving: Sequence[tuple[str, str | None]]) -> list[ErrorCode]:
        """Remove members, given by id or by group.instance.id alone, and return what became of each."""
        codes = [self._leave_one(member_id, instance_id) for member_id, instance_id in leaving]
        if ErrorCode.NONE in codes:
            self._after_removal()
        return codes

    def _leave_one(self, member_id: str, instance_id: str | None) -> ErrorCode:
        if member_id in self._promised and instance_id is None:
            self._forget_promise(member_id)
            return ErrorCode.NONE
        holder = self.members.static(instance_id)
        try:
            member = holder if holder is not None and not member_id else self.members.known(member_id, instance_id)
        except Refused as refusal:
            return refusal.code
        self._remove(member)
        return ErrorCode.NONE

    def _remove(self, member: ClassicMember) -> None:
        self._turn_away(member, ErrorCode.UNKNOWN_MEMBER_ID)
        self._timers.cancel(f"session {member.member_id}")
        self._unsynced.pop(member.member_id, None)
        del self.members[member.member_id]
        if self.leader_id == member.member_id:
            self.leader_id = next(iter(self.members), None)

    def _after_removal(self) -> None:
        if self.state is State.PREPARING:
            self._complete_if_all_joined()
        elif self.state is not State.EMPTY:
            self._rebalance()

    def _forget_promise(self, member_id: str) -> None:
        del self._promised[member_id]
        self._timers.cancel(f"session {member_id}")

    # --- silence ----------------------------------------------------------------------------------------------------

    def _expect_heartbeat(self, member: ClassicMember) -> None:
        name, member_id = f"session {member.member_id}", member.member_id
        self._timers.start(name, member.session_timeout_ms, lambda: self._session_expired(member_id))

    def _session_expired(self, member_id: str) -> None:
        member = self.members[member_id]
        if member.is_new or (member.join is None and member.sync is None):
            self._remove(member)
            self._after_removal()

    def _promise_expired(self, member_id: str) -> None:
        del self._promised[member_id]
        self._complete_if_all_joined()

    def _sync_expired(self) -> None:
        for member_id in list(self._unsynced):
            self._remove(self.members[member_id])
        self._after_removal()

    # --- from and to the consumer protocol --------------------------------------------------------------------------

    def dissolve(self) -> None:
        """Let all members who wait join again: the group continues as a consumer group."""
        for member in self.members.values():
            self._turn_away(member, ErrorCode.REBALANCE_IN_PROGRESS)

    def continue_with(self, members: Sequence[ClassicMember], generation: int, protocol_type: str) -> None:
        """Begin as a group that had these members and this generation, and call them together."""
        self.members = ClassicMembers((member.member_id, member) for member in members)
        self.generation, self.protocol_type = generation, protocol_type
        self.protocol = self.members.chosen_protocol()
        self.leader_id = members[0].member_id
        self.state = State.STABLE
        self._store()
        for member in members:
            self._expect_heartbeat(member)
        self._rebalance()

    # --- the coordinator moves --------------------------------------------------------------------------------------

    def _snapshot(self) -> _Stored:
        copies = tuple(member.renamed(member.member_id) for member in self.members.values())
        return _Stored(self.generation, self.protocol_type, self.protocol, self.leader_id, copies)

    def _store(self) -> None:
        """Have the next coordinator find the group as it is now."""
        self._stored = self._snapshot()
        members = [one.metadata(self.protocol) for one in self.members.values()]
        value = GroupMetadataValue(protocol_type=self.protocol_type, generation=self.generation, members=members)
        if members:
            value.protocol, value.leader = self.protocol, self.leader_id
        self._write(value)

    def store_new(self) -> None:
        """Have the next coordinator find the group, which has no generation yet."""
        self._write(GroupMetadataValue())

    def unload(self) -> None:
        """Stop: this node no longer coordinates the group."""
        self._timers.cancel_all()
        for member in self.members.values():
            self._turn_away(member, ErrorCode.NOT_COORDINATOR)

    def load(self) -> None:
        """Continue from the last generation that was completed, as a node does that takes the group over."""
        self.generation, self.protocol_type, self.protocol, self.leader_id, members = self._stored
        self.members = ClassicMembers((member.member_id, member) for member in members)
        self.state = State.STABLE if members else State.EMPTY
        self._promised.clear()
        self._unsynced.clear()
        self._stored = self._snapshot()
        for member in self.members.values():
            self._expect_heartbeat(member)
