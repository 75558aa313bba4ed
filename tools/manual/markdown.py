"""Pages of docs/ as roff: headings, paragraphs, tables, lists and blocks of code; whatever else is
refused, not lost.
"""

import re

from tools.manual.roff import Page, prose

_HEADING = re.compile(r"(#{1,3}) (.+)")
_RULE = re.compile(r"\|(?: *:?-+:? *\|)+")
_STRANGE = re.compile(r"(?:>|!\[|<(?!!--)|\d+\. |\* |#{4,})")


def write_markdown(page: Page, text: str) -> None:
    """Add a page of docs/ to a manual page; its title is left out.

    Raises: ValueError: something that has no counterpart here, with its line.
    """
    lines = text.splitlines()
    at = 0
    while at < len(lines):
        line = lines[at]
        heading = _HEADING.fullmatch(line)
        if line.startswith("```"):
            end = lines.index("```", at + 1)
            page.example(lines[at + 1 : end])
            at = end + 1
        elif line.startswith("|"):
            end = _end(lines, at, "|")
            _table(page, lines[at:end])
            at = end
        elif heading is not None:
            _heading(page, len(heading[1]), heading[2])
            at += 1
        elif line.startswith("- "):
            end = at + 1
            while end < len(lines) and lines[end].startswith("  "):
                end += 1
            page.bullet(" ".join(part.strip() for part in lines[at:end])[2:])
            at = end
        elif not line or line.startswith("<!--"):
            at += 1
        else:
            at = _paragraph(page, lines, at)


def _paragraph(page: Page, lines: list[str], at: int) -> int:
    end = at
    while end < len(lines) and lines[end] and not lines[end].startswith(("|", "```", "#", "- ")):
        if _STRANGE.match(lines[end]):
            raise ValueError(f"line {end + 1} has no counterpart in a manual page: {lines[end]!r}")
        end += 1
    if end == at:
        raise ValueError(f"line {at + 1} has no counterpart in a manual page: {lines[at]!r}")
    page.paragraph(" ".join(lines[at:end]))
    return end


def _heading(page: Page, level: int, title: str) -> None:
    if level == 2:
        page.section(title.replace("`", ""))
    elif level == 3:
        page.part(title)


def _table(page: Page, lines: list[str]) -> None:
    if len(lines) < 2 or not _RULE.fullmatch(lines[1]):
        raise ValueError(f"not a table: {lines[0]!r}")
    head, *rows = [_cells(line) for line in (lines[0], *lines[2:])]
    for tag, first, *others in rows:
        named = [f"{name}: {cell}" for name, cell in zip(head[2:], others, strict=True) if cell]
        page.item(prose(tag), "; ".join(each for each in (first, *named) if each))


def _cells(line: str) -> list[str]:
    cells = re.split(r"(?<!\\)\|", line.strip().strip("|"))
    return [cell.strip().replace("\\|", "|") for cell in cells]


def _end(lines: list[str], at: int, start: str) -> int:
    while at < len(lines) and lines[at].startswith(start):
        at += 1
    return at
