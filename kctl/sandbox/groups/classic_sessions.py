"""Session timeouts of members and pending members of a classic group.

Source: KIP-62 (session timeout), KIP-394 (member IDs before joining).
"""

from collections.abc import Callable

from kctl.sandbox.groups.classic_member import ClassicMember
from kctl.sandbox.groups.timers import GroupTimers

NEW_MEMBER_MS = 300_000
"""Maximum wait of a new member's JoinGroup, in ms, because its client may have disappeared."""


class Sessions:
    def __init__(
        self, timers: GroupTimers, on_silence: Callable[[str], None], on_unused_id: Callable[[], object]
    ) -> None:
        self._timers = timers
        self._on_silence = on_silence
        self._on_unused_id = on_unused_id
        self.pending: dict[str, None] = {}
        """IDs given to members that have not joined with them yet."""

    def add_pending(self, member_id: str, session_timeout_ms: int) -> None:
        self.pending[member_id] = None
        self._start(member_id, session_timeout_ms, self._pending_expired)

    def remove_pending(self, member_id: str) -> None:
        del self.pending[member_id]
        self._cancel(member_id)

    def begin(self, member: ClassicMember) -> None:
        """Start the session of a new member. It lasts NEW_MEMBER_MS until the first generation."""
        self._start(member.member_id, NEW_MEMBER_MS, self._on_silence)

    def renew(self, member: ClassicMember) -> None:
        self._start(member.member_id, member.session_timeout_ms, self._on_silence)

    def end(self, member: ClassicMember) -> None:
        self._cancel(member.member_id)

    def _start(self, member_id: str, delay_ms: int, action: Callable[[str], None]) -> None:
        self._timers.start(f"session {member_id}", delay_ms, lambda: action(member_id))

    def _cancel(self, member_id: str) -> None:
        self._timers.cancel(f"session {member_id}")

    def _pending_expired(self, member_id: str) -> None:
        del self.pending[member_id]
        self._on_unused_id()
