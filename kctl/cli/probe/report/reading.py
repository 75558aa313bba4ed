"""Reader of probe and trace files. Invalid lines are counted and skipped.

Probes are counted by their summaries, traces by their events.
"""

import gzip
import os
import stat
import zlib
from collections.abc import Callable, Iterator
from typing import IO

from kctl.cli.probe.report.lines import PHASES, Fields, checked, error_of, get, node_of, one_of, parse_line
from kctl.cli.probe.report.statistics import NodeStatistics, PlaceStatistics, Statistics
from kctl.client.config import open_input

LONGEST_LINE_BYTES = 32 * 1024 * 1024
MOST_ATTEMPTS = 10_000
"""Maximum number of open attempts of a trace; the oldest is dropped."""


def read_file(path: str, place: str, statistics: Statistics, opened: Callable[[], IO[bytes]] | None = None) -> None:
    """Count the lines of a file, which is decompressed if its name ends in `.gz`. A read error is invalid line 0.

    Args: opened: opens a file that is not local.
    """
    reader = _Reader(path, place, statistics)
    before = statistics.lines
    try:
        with _open(path) if opened is None else opened() as file:
            for line, data in _lines(gzip.GzipFile(fileobj=file) if path.endswith(".gz") else file):
                statistics.lines += 1
                reader.read(line, data)
        if statistics.lines == before:
            statistics.note_bad(path, 0, "empty")
    except (OSError, EOFError, zlib.error) as e:
        statistics.note_bad(path, 0, f"cannot be read: {getattr(e, 'strerror', None) or e}")


def _open(path: str) -> IO[bytes]:
    file = open_input(path)
    mode = os.fstat(file.fileno()).st_mode
    if not stat.S_ISREG(mode) and not stat.S_ISFIFO(mode):
        file.close()
        raise OSError("the path is not a regular file or pipe")
    return file


def _lines(file: "IO[bytes] | gzip.GzipFile") -> Iterator[tuple[int, bytes]]:
    line = 0
    while data := file.readline(LONGEST_LINE_BYTES + 1):
        line += 1
        yield line, data
        while len(data) > LONGEST_LINE_BYTES and not data.endswith(b"\n"):
            data = file.readline(LONGEST_LINE_BYTES + 1)


class _Reader:
    def __init__(self, path: str, place: str, statistics: Statistics) -> None:
        self._path = path
        self._statistics = statistics
        self._place = statistics.places.setdefault(place, PlaceStatistics())
        self._place.files += 1
        self._lookups: dict[tuple[int, str, str], int] = {}
        self._attempts: dict[tuple[int, str, str], int] = {}

    def read(self, line: int, data: bytes) -> None:
        try:
            if len(data) > LONGEST_LINE_BYTES:
                raise ValueError(f"the line is longer than {LONGEST_LINE_BYTES} bytes")
            if data.strip():
                self._read(parse_line(data))
        except ValueError as e:
            self._statistics.note_bad(self._path, line, str(e))

    def _read(self, fields: Fields) -> None:
        event = get(fields, "event", str)
        if event == "summary":
            time_ms = get(fields, "time_ms", int)
            addresses = [_read_address(checked(one, dict), time_ms) for one in get(fields, "addresses", list)]
            self._place.rounds += 1
            for name, address in addresses:
                self._place.node(name).add(address)
        elif event == "trace":
            self._place.traces += 1
            self._lookups.clear()
            self._attempts.clear()
        elif event in _TRACE_EVENTS and "round" not in fields:  # probes have them in the summary
            _TRACE_EVENTS[event](self, fields, node_of(fields))

    def _on_started(self, fields: Fields, name: str) -> None:
        at_ms, attempt = get(fields, "at_ms", int), get(fields, "attempt", int)
        if one_of(fields, "phase", ("dns", "tcp")) == "dns":
            self._lookups[attempt, name, ""] = at_ms
        else:
            lookup_ms = at_ms - self._lookups.get((attempt, name, ""), at_ms)
            self._attempts[attempt, name, get(fields, "address", str)] = max(0, lookup_ms)
        for under_way in (self._lookups, self._attempts):
            if len(under_way) > MOST_ATTEMPTS:
                under_way.pop(next(iter(under_way)))

    def _on_phase_done(self, fields: Fields, name: str) -> None:
        phase, elapsed_ms = one_of(fields, "phase", (*PHASES, "ready")), get(fields, "elapsed_ms", int)
        if phase in PHASES:
            self._place.node(name).phase(phase).complete(elapsed_ms)

    def _on_connected(self, fields: Fields, name: str) -> None:
        elapsed_ms, lookup_ms = get(fields, "elapsed_ms", int), self._end(fields, name)
        node = self._place.node(name)
        node.setup.complete(elapsed_ms + (lookup_ms or 0))
        node.ready += 1

    def _on_expired(self, fields: Fields, name: str) -> None:
        phase, elapsed_ms = one_of(fields, "phase", (*PHASES, "ready")), get(fields, "elapsed_ms", int)
        lookup_ms, node = self._end(fields, name), self._place.node(name)
        node.setup.expire(elapsed_ms + (lookup_ms or 0))
        node.phase(phase).expire(elapsed_ms)
        node.expired += 1

    def _on_failed(self, fields: Fields, name: str) -> None:
        error, lookup_ms = error_of(fields), self._end(fields, name)
        node = self._place.node(name)
        node.failed += lookup_ms is not None  # otherwise a connection failed that had been ready
        node.count_error(error)

    def _on_request(self, fields: Fields, name: str) -> None:
        api, is_expired = get(fields, "api", str), fields["event"] == "request_expired"
        ms = get(fields, "limit_ms" if is_expired else "elapsed_ms", int)
        request = self._place.node(name).request(api)
        request.expire(ms) if is_expired else request.complete(ms)

    def _end(self, fields: Fields, name: str) -> int | None:
        attempt = get(fields, "attempt", int)
        if fields.get("address") is not None:
            return self._attempts.pop((attempt, name, get(fields, "address", str)), None)
        return None if self._lookups.pop((attempt, name, ""), None) is None else 0


_TRACE_EVENTS: dict[str, Callable[[_Reader, Fields, str], None]] = {
    "started": _Reader._on_started,
    "phase_done": _Reader._on_phase_done,
    "connected": _Reader._on_connected,
    "expired": _Reader._on_expired,
    "failed": _Reader._on_failed,
    "response_received": _Reader._on_request,
    "request_expired": _Reader._on_request,
}


def _read_address(fields: Fields, seen_at_ms: int) -> tuple[str, NodeStatistics]:
    """Return the node of an address in a summary, with the counts of its connection and first Metadata request."""
    node = NodeStatistics()
    outcome = one_of(fields, "outcome", ("ready", "failed", "expired", "unfinished"))
    phase, elapsed_ms = one_of(fields, "phase", (*PHASES, "ready")), get(fields, "elapsed_ms", int)
    completed = get(fields, "phases_ms", dict)
    for name in PHASES:
        if name in completed:
            node.phase(name).complete(get(completed, name, int))
    setup_ms = sum(completed.get(name, 0) for name in PHASES[:-1])
    is_set_up = phase in ("metadata", "ready")
    if is_set_up:
        node.setup.complete(setup_ms)
        if "metadata" in completed:
            node.request("Metadata").complete(completed["metadata"])
        elif outcome == "expired":
            node.request("Metadata").expire(max(0, elapsed_ms - setup_ms))
    elif outcome == "expired":
        node.setup.expire(elapsed_ms)
    if outcome == "expired":
        node.phase(phase).expire(elapsed_ms)
    node.ready += outcome == "ready" or (is_set_up and outcome != "failed")
    node.expired += outcome == "expired" and not is_set_up
    node.failed += outcome == "failed"
    if fields.get("error") is not None:
        node.count_error(error_of(fields))
    if fields.get("tls") is not None:
        for one in get(get(fields, "tls", dict), "chain", list):
            certificate = checked(one, dict)
            node.note_certificate(seen_at_ms, get(certificate, "not_after_ms", int), get(certificate, "subject", str))
    return node_of(fields), node
