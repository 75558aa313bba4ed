"""How late the tries of a client's program end: running the program, the figures, and what they are held to.

Shared by bench_deadlines.py and bench_consumer_deadlines.py.
"""

import json
import math
import os
import queue
import statistics
import subprocess
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent
PATIENCE_S = 15
"""A try that takes longer never returns, for us."""
NO_LIMIT = "no limit"
"""What a program says when the connection was still there long after the limit."""
KEEPS_WITHIN_MS = 100
"""A peer whose median is beyond that, or early, does not keep the deadline."""
MEDIAN_MS, P99_MS, BEHIND_BEST_MS = 2.0, 10.0, 1.0


class Row(NamedTuple):
    """What became of one client at one fault."""

    late_ms: list[float]
    texts: list[str]
    hung: bool


class Child:
    """A client's program at one fault."""

    def __init__(self, command: list[str]) -> None:
        environment = dict(os.environ, PYTHONPATH=str(ROOT))
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=environment,
        )
        self._lines: queue.Queue[str | None] = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()
        self.row = Row([], [], False)

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._lines.put(line)
        self._lines.put(None)

    def has_started(self) -> bool:
        """Wait for the program to say that it is ready; return whether it did rather than end."""
        line = self._lines.get(timeout=120)
        if line is None:
            self._lines.put(None)  # `finish` sees the end too
        return line == "ready\n"

    def until_ready(self) -> None:
        if not self.has_started():
            raise RuntimeError(f"{self._process.args!r} did not start")

    def start(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write("go\n")
        self._process.stdin.flush()

    def finish(self, limit_ms: int) -> Row:
        """Take the lines until the program ends or hangs."""
        late_ms: list[float] = []
        texts: list[str] = []
        hung = False
        try:
            while (line := self._lines.get(timeout=PATIENCE_S)) is not None:
                ended = json.loads(line)
                if ended["text"] == NO_LIMIT:
                    return Row([], [NO_LIMIT], False)
                late_ms.append(ended["elapsed_us"] / 1000 - limit_ms)
                texts.append(ended["text"])
        except queue.Empty:
            hung = True
        finally:
            self._process.kill()
            self._process.wait()
        return Row(late_ms, texts, hung)


def p99(values: list[float]) -> float:
    return sorted(values)[math.ceil(len(values) * 0.99) - 1]


def keeps(row: Row) -> bool:
    """Whether it ends at the deadline, neither before nor long after."""
    return bool(row.late_ms) and not row.hung and 0 <= statistics.median(row.late_ms) < KEEPS_WITHIN_MS


def figures(row: Row) -> str:
    """Return runs, median, p99, max and the number of early ends as columns."""
    line = f"{len(row.late_ms):5}"
    if not row.late_ms:
        return line + " " * 37
    values = (statistics.median(row.late_ms), p99(row.late_ms), max(row.late_ms))
    return line + "".join(f"{value:10.3f}" for value in values) + f"{sum(late < 0 for late in row.late_ms):7}"


def misses(rows: Sequence[Row | None]) -> list[str]:
    """Return what the first row, kctl's, misses."""
    ours = rows[0]
    if ours is None or ours.hung or not ours.late_ms:
        return ["kctl did not return"]
    median = statistics.median(ours.late_ms)
    found = []
    if min(ours.late_ms) < 0:
        found.append(f"early by {-min(ours.late_ms):.3f} ms")
    if median > MEDIAN_MS:
        found.append(f"median {median:.3f} ms > {MEDIAN_MS} ms")
    if p99(ours.late_ms) > P99_MS:
        found.append(f"p99 {p99(ours.late_ms):.3f} ms > {P99_MS} ms")
    best = min((statistics.median(row.late_ms) for row in rows[1:] if row is not None and keeps(row)), default=median)
    if median > best + BEHIND_BEST_MS:
        found.append(f"median {median:.3f} ms, the best peer {best:.3f} ms")
    return found
