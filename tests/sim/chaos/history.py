"""History of a run: calls, their results, and events, in order. The checker reads nothing else.

Calls are `invoke` and then `ok`, `fail` (certainly without effect), or `info` (unknown). Other entries are an `event`.
"""

import json
from pathlib import Path
from typing import Any, NamedTuple

from tests.sim.virtual import Hub

CLUSTER = "cluster"
"""Who speaks when it is no client."""


class Entry(NamedTuple):
    """Line of a history.

    Attributes:
        number: position.
        at_ms: time.
        proc: the consumer, `c1.2` for the second one of c1, or `cluster`.
        kind: invoke, ok, fail, info, or event.
        what: the call or the event.
        value: arguments or result, as plain data.
        timeout_ms: timeout of a blocking call, or None.
        error: class of the error, or empty.
        stalled_ms: time for which the process was frozen during the call; only at its end.
    """

    number: int
    at_ms: int
    proc: str
    kind: str
    what: str
    value: Any = None
    timeout_ms: int | None = None
    error: str = ""
    stalled_ms: int = 0


class History:
    """The entries so far."""

    def __init__(self, hub: Hub) -> None:
        self.entries: list[Entry] = []
        self._hub = hub

    def add(
        self,
        proc: str,
        kind: str,
        what: str,
        value: Any = None,
        *,
        timeout_ms: int | None = None,
        error: str = "",
        stalled_ms: int = 0,
    ) -> None:
        entry = Entry(len(self.entries), self._hub.now_ms, proc, kind, what, value, timeout_ms, error, stalled_ms)
        self.entries.append(entry)
        self._hub.trace(proc, f"{kind} {what} {error}")

    def event(self, proc: str, what: str, value: Any = None) -> None:
        self.add(proc, "event", what, value)

    def write(self, path: Path) -> None:
        """Write it as JSON lines."""
        path.write_text("".join(json.dumps(entry._asdict(), default=str) + "\n" for entry in self.entries))
