"""Page of `kctl explain`, as text or fields."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from kctl.cli.formats.columns import READABLE, columns_of, pieces_of, wrapped

NARROWEST = 40


class Page(NamedTuple):
    """Page of `kctl explain`.

    Attributes:
        kind: type of the subject, such as exit code, error, property or fault.
        name: argument for `kctl explain`.
        means: paragraphs that explain the subject.
        try_: fixes.
        facts: labels with values. A label may occur several times.
        lists: headings, each with names and titles of other pages.
        also: reference to a page with the same name.
    """

    kind: str
    name: str
    title: str
    means: tuple[str, ...]
    try_: tuple[str, ...] = ()
    facts: tuple[tuple[str, str], ...] = ()
    lists: tuple[tuple[str, tuple[tuple[str, str], ...]], ...] = ()
    also: str = ""

    def lines(self, columns: int = READABLE) -> list[str]:
        """Return the text of the page, at most READABLE columns wide."""
        width = max(NARROWEST, min(columns, READABLE))
        lines = [*wrapped(self.title, width, "", "  ")]
        for text in self.means:
            lines += ["", *wrapped(text, width)]
        if self.try_:
            lines += ["", "Try:", *(line for each in self.try_ for line in wrapped(each, width, "  - ", "    "))]
        if self.facts:
            lines += ["", *_beside([(f"{name}:", value) for name, value in self.facts], width, "", 2)]
        for heading, names in self.lists:
            tag = max(len(name) for name, _ in names)
            lines += [
                "",
                *wrapped(heading, width),
                *_beside([(f"{name:>{tag}}", text) for name, text in names], width, "  ", 2),
            ]
        lines += ["", *wrapped(self.also, width)] if self.also else []
        return [piece for line in lines for piece in _pieces(line, width)]

    def fields(self) -> dict[str, Any]:
        """Return the page for programs. Values of facts with the same label are joined by line feeds."""
        facts: dict[str, str] = {}
        for name, value in self.facts:
            facts[name] = f"{facts[name]}\n{value}" if name in facts else value
        return {
            "type": self.kind,
            "name": self.name,
            "title": self.title,
            "means": list(self.means),
            "try": list(self.try_),
            "facts": facts,
            "see": [{"name": name, "title": text} for _, names in self.lists for name, text in names],
        }


def _beside(rows: Sequence[tuple[str, str]], width: int, indent: str, gap: int) -> list[str]:
    label = max(len(name) for name, _ in rows) + gap
    longest = max((columns_of(word) for _, text in rows for word in text.split()), default=0)
    if len(indent) + label + longest <= width:
        first, further = [f"{indent}{name:{label}}" for name, _ in rows], indent + " " * label
        return [
            line for lead, (_, text) in zip(first, rows, strict=True) for line in wrapped(text, width, lead, further)
        ]
    return [
        line
        for name, text in rows
        for line in (f"{indent}{name.strip()}", *wrapped(text, width, f"{indent}  ", f"{indent}  "))
    ]


def _pieces(line: str, width: int) -> list[str]:
    return [line] if columns_of(line) <= width else pieces_of(line, width)
