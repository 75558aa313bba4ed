"""Rebalance of a classic group, with its waiting requests. Source: KIP-62 (two timeouts), KIP-134 (initial delay)."""

from collections.abc import Callable, Mapping

from kctl.client.broker_errors import ErrorCode
from kctl.client.protocol.api.group_membership import SyncGroupResponse
from kctl.sandbox.groups.classic_member import ClassicMember, refused_join
from kctl.sandbox.groups.classic_roster import Roster
from kctl.sandbox.groups.classic_sessions import Sessions
from kctl.sandbox.groups.classic_table import TABLE, Event, Row, State
from kctl.sandbox.groups.outbox import Asker
from kctl.sandbox.groups.surroundings import Surroundings


class Rebalance:
    def __init__(
        self, surroundings: Surroundings, roster: Roster, sessions: Sessions, store: Callable[[], None]
    ) -> None:
        self.state = State.EMPTY
        self._settings = surroundings.settings
        self._timers = surroundings.timers
        self._outbox = surroundings.outbox
        self._roster = roster
        self._sessions = sessions
        self._store = store
        self._unsynced: dict[str, None] = {}
        """Members of this generation without a SyncGroup request."""
        self._is_first = False
        """True during the first rebalance of an empty group, which waits for more members (KIP-134)."""
        self._has_newcomer = False

    @property
    def row(self) -> Row:
        return TABLE[self.state]

    def reset(self, state: State) -> None:
        self.state = state
        self._unsynced.clear()

    def _move(self, event: Event) -> None:
        self.state = self.row.next[event]

    # --- membership ---------------------------------------------------------------------------------------------------

    def join(self, asker: Asker, member: ClassicMember, *, is_new: bool = False) -> None:
        self._has_newcomer = self._has_newcomer or is_new
        member.join = asker
        self.start()

    def remove(self, member: ClassicMember) -> None:
        """Remove a member. After the last of several, call `after_removal`."""
        self.turn_away(member, ErrorCode.UNKNOWN_MEMBER_ID)
        self._sessions.end(member)
        self._unsynced.pop(member.member_id, None)
        self._roster.remove(member)

    def after_removal(self) -> None:
        """Start a rebalance, or complete the current one if all members have joined."""
        if self.state is State.PREPARING:
            self.complete_if_all_joined()
        elif self.state is not State.EMPTY:
            self.start()

    def replace(self, holder: ClassicMember, member: ClassicMember) -> None:
        """Replace a static member by a new process and fence the old one, without a rebalance."""
        self.turn_away(holder, ErrorCode.FENCED_INSTANCE_ID)
        self._sessions.end(holder)
        self._unsynced.pop(holder.member_id, None)
        self._roster.replace(holder, member)

    def turn_away(self, member: ClassicMember, code: ErrorCode) -> None:
        if member.join is not None:
            self._outbox.post(member.join, refused_join(code, member.member_id, member.join.version))
        if member.sync is not None:
            self._outbox.post(member.sync, SyncGroupResponse(error_code=code))

    # --- join phase ---------------------------------------------------------------------------------------------------

    def start(self) -> None:
        if self.state is State.PREPARING:
            self.complete_if_all_joined()
            return
        if self.state is State.COMPLETING:
            self._send_assignments({}, ErrorCode.REBALANCE_IN_PROGRESS)
        self._timers.cancel("sync")
        self._is_first = self.state is State.EMPTY
        self._move(Event.REBALANCE)
        timeout_ms = self._roster.rebalance_timeout_ms
        if self._is_first:
            delay_ms = self._settings.group_initial_rebalance_delay_ms
            self._wait_for_more(delay_ms, max(timeout_ms - delay_ms, 0))
        elif not self.complete_if_all_joined():
            self._timers.start("join", timeout_ms, self._complete_join)

    def _wait_for_more(self, delay_ms: int, left_ms: int) -> None:
        self._has_newcomer = False
        self._timers.start("join", delay_ms, lambda: self._waited_for_more(delay_ms, left_ms))

    def _waited_for_more(self, delay_ms: int, left_ms: int) -> None:
        if not self._has_newcomer or left_ms == 0:
            self._complete_join()
            return
        next_ms = min(self._settings.group_initial_rebalance_delay_ms, left_ms)
        self._wait_for_more(next_ms, max(left_ms - delay_ms, 0))

    def complete_if_all_joined(self) -> bool:
        """Begin the next generation if all members have joined. Return whether it began."""
        is_missing = any(member.join is None for member in self._roster.members.values())
        if self._is_first or self._sessions.pending or is_missing or self.state is not State.PREPARING:
            return False
        self._complete_join()
        return True

    def _complete_join(self) -> None:
        self._timers.cancel("join")
        roster = self._roster
        for member in list(roster.members.values()):
            if member.join is None and member.instance_id is None:
                self.remove(member)
        if roster.members and not roster.choose_leader():
            self._timers.start("join", roster.rebalance_timeout_ms, self._complete_join)
            return
        roster.begin_generation()
        if roster.members:
            self._begin_generation()
        else:
            self._move(Event.NOBODY_JOINED)
            self._store()

    def _begin_generation(self) -> None:
        self._move(Event.ALL_JOINED)
        roster = self._roster
        self._unsynced = dict.fromkeys(roster.members)
        for member in roster.members.values():
            if member.join is not None:
                self._outbox.post(member.join, roster.join_response(member, is_complete=True))
                member.join = None
                member.generation = roster.generation
            member.is_new = False
            self._sessions.renew(member)
        self._timers.start("sync", roster.rebalance_timeout_ms, self._sync_expired)

    # --- sync phase ---------------------------------------------------------------------------------------------------

    def sync(self, asker: Asker, member: ClassicMember, assignments: Mapping[str, bytes]) -> None:
        """Respond to a SyncGroup, or hold it until the leader sends the assignments."""
        self._unsynced.pop(member.member_id, None)
        member.sync = asker
        if self.state is State.STABLE:
            self._send_assignment(member, ErrorCode.NONE)
        elif member.member_id == self._roster.leader_id:
            self._move(Event.ASSIGNED)
            self._send_assignments(assignments, ErrorCode.NONE)
            self._store()
        if not self._unsynced:
            self._timers.cancel("sync")

    def _send_assignments(self, assignments: Mapping[str, bytes], code: ErrorCode) -> None:
        for member in self._roster.members.values():
            member.assignment = assignments.get(member.member_id, b"")
            self._send_assignment(member, code)

    def _send_assignment(self, member: ClassicMember, code: ErrorCode) -> None:
        if member.sync is None:
            return
        is_good = code is ErrorCode.NONE
        response = SyncGroupResponse(
            error_code=code,
            protocol_type=self._roster.protocol_type if is_good else None,
            protocol_name=self._roster.protocol if is_good else None,
            assignment=member.assignment,
        )
        self._outbox.post(member.sync, response)
        member.sync = None
        self._sessions.renew(member)

    def _sync_expired(self) -> None:
        for member_id in list(self._unsynced):
            self.remove(self._roster.members[member_id])
        self.after_removal()
