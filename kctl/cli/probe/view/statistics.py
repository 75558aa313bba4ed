"""Latency statistics of a repeated probe, by address. Percentiles are exact."""

import math
from collections import deque
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from kctl.cli.formats.rows import Row
from kctl.cli.probe.view.result import AddressStatus, latency_ms, outcome
from kctl.client.probe import AddressReport

MOST_RECENT = 100
"""Number of recent rounds for the trend."""


class AddressKey(NamedTuple):
    """Host, port and IP address, which identify an address in all rounds."""

    host: str
    port: int
    address: str


class AddressLatencies:
    """Latencies of one address in all rounds."""

    def __init__(self) -> None:
        self.sent = 0
        self.ok = 0
        self.last_ms: int | None = None
        """None if the last round failed."""
        self.last_reason = ""
        self.recent_ms: deque[int | None] = deque(maxlen=MOST_RECENT)
        """Latencies of recent rounds; None for failures."""
        self._total_ms = 0
        self._counts: dict[int, int] = {}

    def add(self, taken_ms: int | None, reason: str = "") -> None:
        """Add a round.

        Args:
            taken_ms: latency; None if the round failed.
            reason: reason of the failure.
        """
        self.sent += 1
        self.last_ms = taken_ms
        self.last_reason = reason
        self.recent_ms.append(taken_ms)
        if taken_ms is not None:
            self.ok += 1
            self._total_ms += taken_ms
            self._counts[taken_ms] = self._counts.get(taken_ms, 0) + 1

    @property
    def loss(self) -> float:
        """Return the share of failed rounds, 0 to 1."""
        return (self.sent - self.ok) / self.sent if self.sent else 0.0

    @property
    def average_ms(self) -> float | None:
        return self._total_ms / self.ok if self.ok else None

    @property
    def best_ms(self) -> int | None:
        return min(self._counts, default=None)

    @property
    def worst_ms(self) -> int | None:
        return max(self._counts, default=None)

    def percentile_ms(self, part: float) -> int | None:
        """Return the nearest-rank percentile of successful rounds, or None if there are none. `part` is 0 to 1."""
        rank = math.ceil(part * self.ok)
        seen = 0
        for taken_ms in sorted(self._counts):
            seen += self._counts[taken_ms]
            if seen >= rank:
                return taken_ms
        return None


Statistics = dict[AddressKey, AddressLatencies]


def add_round(statistics: Statistics, reports: Sequence[AddressReport]) -> None:
    for report in reports:
        place = AddressKey(report.target.host, report.target.port, report.target.address)
        latencies = statistics.setdefault(place, AddressLatencies())
        if outcome(report) is AddressStatus.READY:
            latencies.add(latency_ms(report))
        else:
            latencies.add(None, report.reason or f"unfinished in {report.phase.value}")


COLUMNS = ("address", "sent", "ok", "loss", "last", "avg", "best", "worst", "p99")


def badness(item: tuple[AddressKey, AddressLatencies]) -> tuple[float, int]:
    """Return the sort key if not all addresses fit: highest loss first, then highest latency."""
    return item[1].loss, item[1].worst_ms or 0


def statistics_rows(items: Iterable[tuple[AddressKey, AddressLatencies]]) -> list[Row]:
    return [_row(*item) for item in items]


def _row(place: AddressKey, latencies: AddressLatencies) -> Row:
    ip = place.address.rpartition(":")[0].strip("[]")
    average = latencies.average_ms
    return {
        "address": f"{place.host}:{place.port}" + (f" [{ip}]" if ip and ip != place.host else ""),
        "sent": latencies.sent,
        "ok": latencies.ok,
        "loss": f"{latencies.loss:.0%}",
        "last": "failed" if latencies.last_ms is None else latencies.last_ms,
        "avg": None if average is None else round(average, 1),
        "best": latencies.best_ms,
        "worst": latencies.worst_ms,
        "p99": latencies.percentile_ms(0.99),
    }
