"""Plots as inline SVG that is as wide as its place: coordinates are percentages, words are HTML beside it.

Nothing is told by colour alone: marks have shapes and bars have patterns, and each is named in a legend or a title.
Pure; shown by tests/unit/pipeline/report/test_page.py and, in a browser, tests/pipeline/test_report_page.py.
"""

import math
from collections.abc import Mapping, Sequence
from html import escape
from typing import NamedTuple

from kctl.pipeline.jobs.report.result import CurvePoint, Latency
from kctl.pipeline.jobs.report.words import duration_words

PHASE_PATTERNS = ("dns", "tcp", "tls", "apiversions", "sasl", "metadata")
_TICKS_MS = tuple(mantissa * 10**exponent for exponent in range(8) for mantissa in (1, 2, 5))
_MOST_TICKS = 6


class Scale(NamedTuple):
    """A logarithmic axis in milliseconds; `at` gives percent of its width, with some room at both ends."""

    least_ms: float
    most_ms: float

    def at(self, ms: float) -> float:
        span = math.log(self.most_ms / self.least_ms)
        return 3 + 91 * math.log(max(self.least_ms, min(self.most_ms, ms)) / self.least_ms) / span

    def ticks(self) -> list[int]:
        """Return a few round durations along the axis."""
        within = [tick for tick in _TICKS_MS if self.least_ms <= tick <= self.most_ms]
        step = -(-len(within) // _MOST_TICKS)
        return within[:: max(1, step)]


def scale_of(durations_ms: Sequence[int]) -> Scale:
    """Return an axis on which all of these are."""
    shown = [max(1, ms) for ms in durations_ms] or [1]
    return Scale(max(1.0, min(shown) * 0.8), max(max(shown) * 1.25, min(shown) * 4.0))


def range_plot(latency: Latency, limit_ms: int | None, scale: Scale, label: str) -> str:
    """Return a row: from the median to the slowest, with marks at p50, p99 and p99.9, and the limit as a bar."""
    parts = [_grid(scale, 28)]
    first, last = latency.p50_ms, latency.slowest_ms
    if first is not None and last is not None:
        parts.append(
            f'<line class="span" x1="{_percent(scale.at(first))}" x2="{_percent(scale.at(last))}" y1="14" y2="14"/>'
        )
        parts.append(_tick(scale.at(last), 8, 20, "slowest", f"slowest {last} ms"))
    for name, ms, shape in (
        ("p99.9", latency.p999_ms, "diamond"),
        ("p99", latency.p99_ms, "ring"),
        ("p50", first, "dot"),
    ):
        if ms is not None:
            parts.append(_mark(scale.at(ms), 14, shape, f"{name} {ms} ms"))
    if limit_ms is not None:
        parts.append(_tick(scale.at(limit_ms), 1, 27, "limit", f"advised limit {duration_words(limit_ms)}"))
    return _svg(28, label, parts)


def axis(scale: Scale) -> str:
    """Return the words of an axis, to stand under plots of that scale."""
    parts = [
        f'<text class="tick" x="{_percent(scale.at(tick))}" y="11" text-anchor="middle">{duration_words(tick)}</text>'
        for tick in scale.ticks()
    ]
    return _svg(14, "axis: " + ", ".join(duration_words(tick) for tick in scale.ticks()), parts)


def curve_plot(curve: Sequence[CurvePoint], limit_ms: int | None, scale: Scale, label: str) -> str:
    """Return the share that is ready by a duration, as steps, with the limit as a bar."""
    points = ["0,100"]
    share = 0.0
    for point in curve:
        x = scale.at(point.ms)
        points += [f"{x:.2f},{100 - 100 * share:.2f}", f"{x:.2f},{100 - 100 * point.share:.2f}"]
        share = point.share
    points.append(f"100,{100 - 100 * share:.2f}")
    parts = [_grid(scale, 120)]
    parts += [f'<line class="grid" x1="0" x2="100%" y1="{y}" y2="{y}"/>' for y in (10, 60, 110)]
    parts.append(
        '<svg y="10" height="100" width="100%" viewBox="0 0 100 100" preserveAspectRatio="none">'
        f'<polyline class="curve" points="{" ".join(points)}" vector-effect="non-scaling-stroke"/></svg>'
    )
    if limit_ms is not None:
        parts.append(_tick(scale.at(limit_ms), 2, 118, "limit", f"advised limit {duration_words(limit_ms)}"))
    parts += [
        f'<text class="tick" x="2" y="{y}">{words}</text>' for y, words in ((21, "100 %"), (71, "50 %"), (107, "0 %"))
    ]
    return _svg(120, label, parts)


def phases_plot(phases: Mapping[str, Latency], longest_ms: int, label: str) -> str:
    """Return the medians of the phases one after the other, each with a pattern of its own."""
    parts = []
    x = 0.0
    for name in PHASE_PATTERNS:
        ms = phases[name].p50_ms if name in phases else None
        if ms:
            width = 96 * ms / max(1, longest_ms)
            parts.append(
                f'<rect class="bar" {_fill(name)} x="{_percent(x)}" width="{_percent(width)}" y="3" height="16">'
                f"<title>{name} {ms} ms</title></rect>"
            )
            x += width
    return _svg(22, label, parts)


def share_plot(share: float, label: str) -> str:
    """Return a bar from nothing to all."""
    bar = '<rect class="frame" x="0" y="3" width="100%" height="12"/>'
    return _svg(
        18, label, [bar, f'<rect class="share" x="0" y="3" width="{_percent(max(0.4, 100 * share))}" height="12"/>']
    )


def swatch(phase: str) -> str:
    """Return the pattern of a phase, for a legend."""
    bar = f'<rect class="bar" {_fill(phase)} width="22" height="12"/>'
    return f'<svg width="22" height="12" aria-hidden="true">{bar}</svg>'


def mark_swatch(shape: str) -> str:
    """Return a mark, for a legend."""
    inner = _tick(50, 0, 12, shape, "") if shape in ("limit", "slowest") else _mark(50, 6, shape, "")
    return f'<svg width="14" height="12" aria-hidden="true">{inner}</svg>'


def patterns() -> str:
    """Return the patterns, which a page has once."""
    strokes = {
        "dns": '<circle cx="3" cy="3" r="1.4" class="ink"/>',
        "tcp": '<path d="M0 6 L6 0" class="hatch"/>',
        "tls": '<rect width="6" height="6" class="ink"/>',
        "apiversions": '<path d="M3 0 V6" class="hatch"/>',
        "sasl": '<path d="M0 0 L6 6 M0 6 L6 0" class="hatch"/>',
        "metadata": '<path d="M0 3 H6" class="hatch"/>',
    }
    made = "".join(
        f'<pattern id="p-{name}" width="6" height="6" patternUnits="userSpaceOnUse">{stroke}</pattern>'
        for name, stroke in strokes.items()
    )
    return f'<svg width="0" height="0" aria-hidden="true" style="position:absolute"><defs>{made}</defs></svg>'


def _svg(height: int, label: str, parts: Sequence[str]) -> str:
    head = f'<svg class="plot" role="img" aria-label="{escape(label)}" width="100%" height="{height}">'
    return f"{head}{''.join(parts)}</svg>"


def _grid(scale: Scale, height: int) -> str:
    return "".join(
        f'<line class="grid" x1="{_percent(scale.at(tick))}" x2="{_percent(scale.at(tick))}" y1="0" y2="{height}"/>'
        for tick in scale.ticks()
    )


def _tick(x: float, top: int, bottom: int, kind: str, title: str) -> str:
    where = f'x1="{_percent(x)}" x2="{_percent(x)}" y1="{top}" y2="{bottom}"'
    return f'<line class="{kind}" {where}><title>{title}</title></line>'


def _mark(x: float, y: int, shape: str, title: str) -> str:
    if shape == "diamond":
        path = f'<path class="diamond" d="M0 -5 L5 0 L0 5 L-5 0 Z"><title>{title}</title></path>'
        return f'<svg x="{_percent(x)}" y="{y}" overflow="visible">{path}</svg>'
    return f'<circle class="{shape}" cx="{_percent(x)}" cy="{y}" r="4"><title>{title}</title></circle>'


def _fill(phase: str) -> str:
    return f'fill="url(#p-{phase})"'


def _percent(value: float) -> str:
    return f"{value:.2f}%"
