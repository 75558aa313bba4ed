"""Share sessions of one node: partitions that a member of a share group fetches. Source: KIP-932.

The epoch increases with each request. A request with another epoch means that a response was lost.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from kctl.client.broker_errors import ErrorCode

if TYPE_CHECKING:
    from kctl.sandbox.groups.share import ShareKey

OPENING, CLOSING = 0, -1
_MOST_SESSIONS = 2000
"""Kafka's default of group.share.max.share.sessions."""
_GREATEST = 2**31 - 1


class ShareSession:
    """Partitions of a session, in the order of their addition."""

    def __init__(self) -> None:
        self.epoch = 1
        self.keys: dict[ShareKey, None] = {}


class ShareSessions:
    def __init__(self) -> None:
        self._sessions: dict[tuple[str, str], ShareSession] = {}

    def begin(
        self,
        group_id: str,
        member_id: str,
        epoch: int,
        added: "Iterable[ShareKey]",
        forgotten: "Iterable[ShareKey]",
    ) -> ShareSession | ErrorCode:
        """Return the session of a request after its changes, or an error."""
        name = group_id, member_id
        if epoch == OPENING:
            self._sessions.pop(name, None)
            if len(self._sessions) >= _MOST_SESSIONS:
                return ErrorCode.SHARE_SESSION_LIMIT_REACHED
            session = self._sessions[name] = ShareSession()
        else:
            found = self._sessions.get(name)
            if found is None:
                return ErrorCode.SHARE_SESSION_NOT_FOUND
            session = found
            if epoch == CLOSING:
                del self._sessions[name]
            elif epoch != session.epoch:
                return ErrorCode.INVALID_SHARE_SESSION_EPOCH
            else:
                session.epoch = 1 if session.epoch == _GREATEST else session.epoch + 1
        session.keys |= dict.fromkeys(added)
        for key in forgotten:
            session.keys.pop(key, None)
        return session
