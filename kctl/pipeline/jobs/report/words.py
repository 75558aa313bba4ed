"""Numbers as people read them: shares, days, durations. Shown by tests/unit/pipeline/report/test_page.py."""

from datetime import UTC, datetime

from kctl.pipeline.jobs.report.fleet import BadLine

_UNITS = (("d", 86_400_000), ("h", 3_600_000), ("m", 60_000))


def duration_words(ms: int) -> str:
    """Return a duration as an option takes it: `250ms`, `1.2s`, `3s`, `1m30s`."""
    if ms < 1000:
        return f"{ms}ms"
    words = ""
    for unit, unit_ms in _UNITS:
        count, ms = divmod(ms, unit_ms)
        words += f"{count}{unit}" if count else ""
    seconds = f"{ms / 1000:.3f}".rstrip("0").rstrip(".")
    return words + (f"{seconds}s" if ms else "")


def share_words(share: float | None) -> str:
    """Return a share in percent, with as many digits as it needs; a share that is not 0 never reads as 0."""
    if share is None:
        return "-"
    percent = share * 100
    if percent == 0 or percent >= 100:
        return f"{percent:.0f} %"
    if percent < 0.001:
        return "<0.001 %"
    digits = 0 if 10 <= percent <= 90 else 1 if 1 <= percent <= 99 else 3
    text = f"{percent:.{digits}f}"
    return (text.rstrip("0").rstrip(".") if digits == 3 else text) + " %"


def days_words(days: float) -> str:
    """Return days from now: `in 12 days`, `3 days ago`."""
    count = abs(days)
    text = f"{count:.0f} days" if count >= 2 else f"{count * 24:.0f} hours"
    return f"in {text}" if days > 0 else f"{text} ago"


def ms_words(ms: int | None) -> str:
    """Return milliseconds for a table; `-` where they are not known."""
    return "-" if ms is None else str(ms)


def count_words(count: int, what: str) -> str:
    """Return how many there are of what: `1 file`, `2 files`."""
    return f"{count} {what}{'' if count == 1 else 's'}"


def line_words(bad: BadLine) -> str:
    """Return where a bad line is and why it is bad; without a number where all of the file is meant."""
    return f"{bad.file}{f':{bad.line}' if bad.line else ''}: {bad.why}"


def date_words(ms: int) -> str:
    """Return an instant in UTC, to the minute."""
    try:
        return datetime.fromtimestamp(ms / 1000, UTC).strftime("%Y-%m-%d %H:%M")
    except (OverflowError, ValueError, OSError):  # a year that no calendar here has
        return f"{ms} ms"
