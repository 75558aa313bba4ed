"""The line about a `kctl consume`: how much it has written, how far it is behind, and why nothing arrives.

Shown by tests/unit/cli/view/test_consume_status.py and, on pseudo-terminals, tests/cli/test_consume_status.py.
"""

from typing import TYPE_CHECKING, NamedTuple

from kctl.cli.view.painter import text_of
from kctl.client.wording import counted, harmless_text

if TYPE_CHECKING:
    from rich.text import Text


class Figures(NamedTuple):
    """What the line tells.

    Attributes:
        written: records since the start.
        per_second: of the last seconds.
        lag: records not read yet, as far as it is known.
        partitions: how many are assigned.
        waiting: why nothing comes; empty while something does.
        is_fault: that is a fault rather than rest.
    """

    written: int
    per_second: float
    lag: int | None
    partitions: int
    waiting: str = ""
    is_fault: bool = False


def status_line(figures: Figures) -> "Text":
    """Return the line; what matters most comes first, for it may be cut."""
    records = counted(figures.written, "record")
    lag = "" if figures.lag is None else f", lag {figures.lag}"
    partitions = f", {counted(figures.partitions, 'partition')}"
    waiting = f": {harmless_text(figures.waiting)}".replace("\n", " ") if figures.waiting else ""
    return text_of(
        (f"{records}, {_rate(figures.per_second)}/s{lag}{partitions}", "dim"),
        (waiting, "yellow" if figures.is_fault else "dim"),
    )


def _rate(per_second: float) -> str:
    return f"{per_second:.0f}" if per_second >= 10 or per_second == 0 else f"{per_second:.1f}"
