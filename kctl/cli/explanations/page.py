"""Page: what `kctl explain` tells of one thing, apart from how it is shown.

`lines` is for people, `fields` for programs; both say the same. Shown by tests/unit/cli/test_explain.py.
"""

import textwrap
from typing import Any, NamedTuple

WIDTH = 100
NARROWEST = 40


class Page(NamedTuple):
    """One page.

    Attributes:
        kind: exit code, error, broker error, property, limit, fault or finding.
        name: by which `kctl explain` finds it.
        title: all that tells it from others, in a line.
        means: what it means, and where it comes from.
        says: what kctl prints, and the hint with it; for faults.
        try_: what to try, one thing each.
        facts: names and values: its default, its exit code.
        lists: further pages under a heading, by what finds them.
        also: where else its name leads.
    """

    kind: str
    name: str
    title: str
    means: tuple[str, ...]
    try_: tuple[str, ...] = ()
    facts: tuple[tuple[str, str], ...] = ()
    lists: tuple[tuple[str, tuple[tuple[str, str], ...]], ...] = ()
    also: str = ""

    def lines(self, columns: int = WIDTH) -> list[str]:
        """Return the page for people, no wider than it is read well."""
        width = max(NARROWEST, min(columns, WIDTH))
        lines = [*_wrapped(self.title, width, "", "  ")]
        for text in self.means:
            lines += ["", *_wrapped(text, width)]
        if self.try_:
            lines += ["", "Try:", *(line for each in self.try_ for line in _wrapped(each, width, "  - ", "    "))]
        if self.facts:
            label = max(len(name) for name, _ in self.facts) + 3
            lines.append("")
            for name, value in self.facts:
                lines += _wrapped(value, width, f"{name + ':':{label}}", " " * label)
        for heading, names in self.lists:
            tag = max(len(name) for name, _ in names)
            lines += ["", *_wrapped(heading, width)]
            lines += [
                line for name, text in names for line in _wrapped(text, width, f"  {name:>{tag}}  ", " " * (tag + 4))
            ]
        return [*lines, "", *_wrapped(self.also, width)] if self.also else lines

    def fields(self) -> dict[str, Any]:
        """Return the page for programs."""
        return {
            "type": self.kind,
            "name": self.name,
            "title": self.title,
            "means": list(self.means),
            "try": list(self.try_),
            "facts": dict(self.facts),
            "see": [{"name": name, "title": text} for _, names in self.lists for name, text in names],
        }


def _wrapped(text: str, width: int, first: str = "", further: str = "") -> list[str]:
    return textwrap.wrap(
        text,
        width,
        initial_indent=first,
        subsequent_indent=further,
        break_long_words=False,
        break_on_hyphens=False,
    )
