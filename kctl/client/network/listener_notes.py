"""ListenerNotes: what the connections of one client have learnt about the servers behind one listener.

Shared by all connections that a `ConnectionFactory` makes. Shown by tests/unit/network/test_connection.py.
"""

import logging

from kctl.client.events import Target

logger = logging.getLogger("kctl.client.network")


class ListenerNotes:
    """Attributes: has_answered: whether any request of a caller was ever answered, so that it needs no other login."""

    def __init__(self) -> None:
        self.has_answered = False
        self._surplus: set[tuple[str, int]] = set()

    def surplus(self, target: Target, api: str, version: int, count: int) -> None:
        """Log once for each node that an answer had more bytes than its version has, which Java overlooks too."""
        where = target.host, target.port
        if where not in self._surplus:
            self._surplus.add(where)
            what = f"the {api} v{version} response has {count} bytes after its end"
            logger.info("%s: %s; such bytes are ignored from now on", target, what)
