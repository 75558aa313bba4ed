"""Folding: one file, line by line, into a Fleet. Probe results count by their summaries, traces by their events.

The events of a probe say nothing that its summary does not, so they are passed over. What an attempt of a trace needs
until it ends is kept for a bounded number of attempts. Shown by tests/unit/pipeline/report/test_folding.py.
"""

import gzip
import zlib
from collections import OrderedDict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, TypeVar

from kctl.pipeline.jobs.report.fleet import (
    PHASES,
    SETUP_PHASES,
    BadLine,
    Certificate,
    Fleet,
    NodeRecord,
    Run,
    count_all,
)
from kctl.pipeline.jobs.report.lines import (
    LONGEST_LINE_BYTES,
    VERSION,
    AddressLine,
    Fields,
    error_of,
    event_of,
    ip_of,
    node_of,
    number,
    one_of,
    parse_line,
    parse_summary,
    text,
)

Key = TypeVar("Key")
Value = TypeVar("Value")

MOST_OPEN = 10_000
"""Attempts of a trace that have not ended; the oldest is forgotten above that."""
WAITING_APIS = ("JoinGroup",)
"""Requests that brokers hold back on purpose, with a limit of their own: request.timeout.ms is not meant for them."""
_IGNORED = ("request_sent", "throttled", "position_reset", "auto_commit_failed", "membership_lost")


def fold_file(path: str, place: str, fleet: Fleet, on_line: Callable[[], None] | None = None) -> None:
    """Read a file into a fleet; lines that cannot be used are counted and named there.

    Args:
        path: of jsonl, or of jsonl in gzip with the ending `.gz`.
        on_line: called for each line.
    """
    fold = _FileFold(path, place, fleet)
    try:
        with _open(path) as file:
            for line, data in _lines(file):
                fleet.lines += 1
                if on_line is not None:
                    on_line()
                fold.take(line, data)
    except (OSError, EOFError, zlib.error) as e:
        reason = getattr(e, "strerror", None) or str(e) or type(e).__name__
        fleet.note_bad(BadLine(path, 0, f"cannot be read: {reason}"))
    fold.finish()


def _open(path: str) -> "IO[bytes] | gzip.GzipFile":
    if path.endswith(".gz"):
        return gzip.open(path, "rb")
    return Path(path).open("rb")


def _lines(file: "IO[bytes] | gzip.GzipFile") -> Iterator[tuple[int, bytes]]:
    """Yield lines with their numbers; of one that is too long only the beginning, which is too long, too."""
    number = 0
    while data := file.readline(LONGEST_LINE_BYTES + 1):
        number += 1
        yield number, data
        while len(data) > LONGEST_LINE_BYTES and not data.endswith(b"\n"):
            data = file.readline(LONGEST_LINE_BYTES + 1)


class _Open:
    """An attempt of a trace that goes on; `look_up_ms` came before its start, `passed_ms` is of the phases since."""

    __slots__ = ("look_up_ms", "passed_ms", "started_at_ms")

    def __init__(self, started_at_ms: int = 0, look_up_ms: int = 0) -> None:
        self.started_at_ms = started_at_ms
        self.look_up_ms = look_up_ms
        self.passed_ms = 0


class _State:
    """How a node looked last in this file, and since when."""

    __slots__ = ("changes", "first_ms", "first_ok", "last_ms", "last_ok", "looks")

    def __init__(self, at_ms: int, ok: bool) -> None:
        self.first_ms = self.last_ms = at_ms
        self.first_ok = self.last_ok = ok
        self.changes = 0
        self.looks = 1

    def look(self, at_ms: int, ok: bool) -> None:
        self.changes += ok is not self.last_ok
        self.looks += 1
        self.last_ms, self.last_ok = max(at_ms, self.last_ms), ok


class _FileFold:
    """One file on its way into a fleet."""

    def __init__(self, path: str, place: str, fleet: Fleet) -> None:
        self._path = path
        self._place = place
        self._fleet = fleet
        self._record = fleet.place(place)
        self._record.files += 1
        self._states: dict[str, _State] = {}
        self._started_ms: int | None = None
        """The wall clock at the start of the trace that is being read."""
        self._is_open = False
        self._look_ups: OrderedDict[tuple[int, str], int] = OrderedDict()
        self._attempts: OrderedDict[tuple[int, str, str], _Open] = OrderedDict()

    def take(self, line: int, data: bytes) -> None:
        """Take one line."""
        if not data.strip():
            return
        if len(data) > LONGEST_LINE_BYTES:
            self._fleet.note_bad(BadLine(self._path, line, f"longer than {LONGEST_LINE_BYTES} bytes"))
            return
        try:
            self._take(parse_line(data))
        except ValueError as e:
            self._fleet.note_bad(BadLine(self._path, line, str(e)))

    def finish(self) -> None:
        """Take note of how the nodes looked throughout the file."""
        self._fleet.unfinished_files += self._is_open
        for node, state in self._states.items():
            record = self._fleet.node(self._place, node)
            record.looks += state.looks
            record.changes += state.changes
            record.note_run(Run(state.first_ms, state.first_ok, state.last_ms, state.last_ok))

    def _take(self, fields: Fields) -> None:
        event, version = event_of(fields)
        if version != VERSION:
            count_all(self._fleet.unknown, {f"{event} v{version}"[:80]: 1})
        elif event == "summary":
            self._take_summary(fields)
        elif "round" in fields:
            self._is_open = True  # an event of a probe; its round is told by the summary
        elif event == "trace":
            self._begin_trace(number(fields, "time_ms"))
        elif event == "end":
            self._is_open = False
        elif event in _TRACE_EVENTS:
            number(fields, "at_ms")  # whatever a line lacks is found before it counts
            _TRACE_EVENTS[event](self, fields)
        elif event not in _IGNORED:
            count_all(self._fleet.unknown, {event[:80]: 1})

    # --- probe --------------------------------------------------------------------------------------------------------

    def _take_summary(self, fields: Fields) -> None:
        summary = parse_summary(fields)
        self._is_open = False
        self._record.rounds += 1
        self._record.note_time(summary.time_ms)
        works: dict[str, bool] = {}
        for address in summary.addresses:
            record = self._fleet.node(self._place, address.node)
            _take_address(record, address)
            works[address.node] = works.get(address.node, False) or address.outcome == "ready"
            if address.certificate is not None:
                record.note_certificate(Certificate(summary.time_ms, *address.certificate))
        for node, ok in works.items():
            self._look(node, summary.time_ms, ok)

    def _look(self, node: str, at_ms: int, ok: bool) -> None:
        state = self._states.get(node)
        if state is None:
            self._states[node] = _State(at_ms, ok)
        else:
            state.look(at_ms, ok)

    # --- trace --------------------------------------------------------------------------------------------------------

    def _begin_trace(self, time_ms: int) -> None:
        self._fleet.unfinished_files += self._is_open
        self._is_open = True
        self._record.traces += 1
        self._record.note_time(time_ms)
        self._started_ms = time_ms
        self._look_ups.clear()
        self._attempts.clear()

    def _on_started(self, fields: Fields) -> None:
        phase = one_of(fields, "phase", ("dns", "tcp"))
        attempt, node, at_ms = number(fields, "attempt"), node_of(fields), number(fields, "at_ms")
        self._fleet.node(self._place, node).note_limit(number(fields, "limit_ms"))
        if phase == "dns":
            _remember(self._look_ups, (attempt, node), at_ms)
        else:
            began_ms = self._look_ups.get((attempt, node), at_ms)
            _remember(self._attempts, (attempt, node, ip_of(fields)), _Open(at_ms, max(0, at_ms - began_ms)))

    def _on_phase_done(self, fields: Fields) -> None:
        phase, elapsed_ms = one_of(fields, "phase", (*PHASES, "ready")), number(fields, "elapsed_ms")
        node, key = node_of(fields), (number(fields, "attempt"), node_of(fields), ip_of(fields))
        if phase in PHASES:
            self._fleet.node(self._place, node).phase(phase).end(elapsed_ms)
            if key in self._attempts:
                self._attempts[key].passed_ms += elapsed_ms

    def _on_connected(self, fields: Fields) -> None:
        node, elapsed_ms = node_of(fields), number(fields, "elapsed_ms")
        record = self._fleet.node(self._place, node)
        record.setup.end(elapsed_ms + self._end(fields, node).look_up_ms)
        record.ready += 1
        record.count_address(ip_of(fields), ready=1)
        self._look_at(node, fields, ok=True)

    def _on_expired(self, fields: Fields) -> None:
        node, elapsed_ms = node_of(fields), number(fields, "elapsed_ms")
        phase = one_of(fields, "phase", (*PHASES, "ready"))
        record = self._fleet.node(self._place, node)
        ended = self._end(fields, node)
        record.setup.cut(elapsed_ms + ended.look_up_ms)
        record.phase(phase).cut(max(0, elapsed_ms - ended.passed_ms))
        record.expired += 1
        count_all(record.expired_in, {phase: 1})
        record.count_address(ip_of(fields), expired=1)
        self._look_at(node, fields, ok=False)

    def _on_failed(self, fields: Fields) -> None:
        node, error = node_of(fields), error_of(fields)
        record = self._fleet.node(self._place, node)
        if self._forget(fields, node) is None:
            record.lost += 1  # it had been ready
        else:
            record.failed += 1
            record.count_address(ip_of(fields), failed=1)
        count_all(record.errors, {error: 1})
        self._look_at(node, fields, ok=False)

    def _on_lost(self, fields: Fields) -> None:
        record = self._fleet.node(self._place, node_of(fields))
        count_all(record.errors, {error_of(fields): 1})
        record.lost += 1

    def _on_closed(self, fields: Fields) -> None:
        node, at_ms = node_of(fields), number(fields, "at_ms")
        found = self._forget(fields, node)
        if found is not None:
            record = self._fleet.node(self._place, node)
            record.setup.cut(max(0, at_ms - found.started_at_ms) + found.look_up_ms)
            record.dropped += 1

    def _on_response(self, fields: Fields) -> None:
        node, api, elapsed_ms = node_of(fields), text(fields, "api"), number(fields, "elapsed_ms")
        if api not in WAITING_APIS:
            self._fleet.node(self._place, node).request(api).end(elapsed_ms)

    def _on_request_expired(self, fields: Fields) -> None:
        node, api, limit_ms = node_of(fields), text(fields, "api"), number(fields, "limit_ms")
        if api not in WAITING_APIS:
            record = self._fleet.node(self._place, node)
            record.request(api).cut(limit_ms)
            record.requests_expired += 1

    def _end(self, fields: Fields, node: str) -> _Open:
        """Return the attempt that ends here; one whose start is not in the file has no look-up."""
        return self._forget(fields, node) or _Open()

    def _forget(self, fields: Fields, node: str) -> _Open | None:
        attempt, ip = number(fields, "attempt"), ip_of(fields)
        if ip:
            return self._attempts.pop((attempt, node, ip), None)
        began_ms = self._look_ups.pop((attempt, node), None)
        return None if began_ms is None else _Open(began_ms)

    def _look_at(self, node: str, fields: Fields, *, ok: bool) -> None:
        if self._started_ms is not None:
            self._look(node, self._started_ms + number(fields, "at_ms"), ok)


_TRACE_EVENTS: dict[str, Callable[[_FileFold, Fields], None]] = {
    "started": _FileFold._on_started,
    "phase_done": _FileFold._on_phase_done,
    "connected": _FileFold._on_connected,
    "expired": _FileFold._on_expired,
    "failed": _FileFold._on_failed,
    "lost": _FileFold._on_lost,
    "closed": _FileFold._on_closed,
    "response_received": _FileFold._on_response,
    "request_expired": _FileFold._on_request_expired,
}


def _take_address(record: NodeRecord, line: AddressLine) -> None:
    """Count an address of a summary."""
    record.note_limit(line.limit_ms)
    for phase, ms in line.phases_ms.items():
        record.phase(phase).end(ms)
    setup_ms = sum(line.phases_ms.get(phase, 0) for phase in SETUP_PHASES)
    is_set_up = line.phase in ("metadata", "ready")
    if is_set_up:
        record.setup.end(setup_ms)
        _take_metadata(record, line, setup_ms)
    if line.outcome == "ready" or (is_set_up and line.outcome != "failed"):
        record.ready += 1
        record.count_address(line.address, ready=1)
    elif line.outcome == "expired":
        record.setup.cut(line.elapsed_ms)
        record.phase(line.phase).cut(max(0, line.elapsed_ms - setup_ms))
        record.expired += 1
        count_all(record.expired_in, {line.phase: 1})
        record.count_address(line.address, expired=1)
    elif line.outcome == "failed":
        record.failed += 1
        record.count_address(line.address, failed=1)
    else:
        record.setup.cut(line.elapsed_ms)
        record.phase(line.phase).cut(max(0, line.elapsed_ms - setup_ms))
        record.dropped += 1
    if line.error:
        count_all(record.errors, {line.error: 1})


def _take_metadata(record: NodeRecord, line: AddressLine, setup_ms: int) -> None:
    """Count the first real request: answered, expired, or given up with the round."""
    if "metadata" in line.phases_ms:
        record.request("Metadata").end(line.phases_ms["metadata"])
        return
    waited_ms = max(0, line.elapsed_ms - setup_ms)
    if line.outcome in ("expired", "unfinished"):
        record.request("Metadata").cut(waited_ms)
        record.phase("metadata").cut(waited_ms)
        record.requests_expired += line.outcome == "expired"


def _remember(kept: "OrderedDict[Key, Value]", key: Key, value: Value) -> None:
    kept[key] = value
    if len(kept) > MOST_OPEN:
        kept.popitem(last=False)
