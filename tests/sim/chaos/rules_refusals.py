"""R10 and R11: a refusal of one node fails nothing of a client that was accepted, and is not repeated in a loop.

| id | rule |
|---|---|
| R10 refused | once a broker has accepted a client, no call and no record of it fails because a node refuses |
| R11 refusal-loop | a call that is made again after a refusal waits for the next attempt |
"""

from collections import deque
from collections.abc import Iterator

from tests.sim.chaos.checker import Violation, broken
from tests.sim.chaos.history import CLUSTER, Entry

REFUSALS = ("WrongPeerError", "RemoteProtocolError", "SaslRequired", "TlsNotAnswered")
"""Errors of a client for a server that is not a Kafka broker."""
NODES_A_SECOND = 8
"""Refusals that one client may report within two seconds: each of three nodes once a second, with some jitter."""


class RefusalRules:
    """Who was accepted, and who reports refusals."""

    def __init__(self) -> None:
        self._accepted: dict[str, int] = {}
        """Time of acceptance by client."""
        self._recent: dict[str, deque[int]] = {}

    def see(self, entry: Entry, facts: object) -> Iterator[Violation]:
        del facts
        life = entry.proc.split("/")[0]
        if entry.proc == CLUSTER:
            return
        if entry.what == "accepted-by-broker":
            self._accepted.setdefault(life, entry.at_ms)
        error = entry.value[2] if entry.what == "told" else entry.error
        if error not in REFUSALS:
            return
        if self._accepted.get(life, entry.at_ms) < entry.at_ms:
            yield broken("R10 refused", entry, f"{entry.what}: {error}, accepted at {self._accepted[life]} ms")
        if entry.what == "poll":
            recent = self._recent.setdefault(life, deque())
            recent.append(entry.at_ms)
            while recent[0] <= entry.at_ms - 2000:
                recent.popleft()
            if len(recent) > NODES_A_SECOND:
                yield broken("R11 refusal-loop", entry, f"{len(recent)} refusals within two seconds")
                recent.clear()

    def end(self, facts: object) -> Iterator[Violation]:
        del facts
        yield from ()
