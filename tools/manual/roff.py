"""Roff: the few requests of man(7) that the pages are made of, and what has to be escaped for them."""

import re

from kctl.version import VERSION

_CHARACTERS = {"\\": "\\e", "-": "\\-", "'": "\\(aq", "`": "\\(ga", "^": "\\(ha", "~": "\\(ti"}
_CODE = re.compile(r"``(.+?)``|`([^`]+)`|\*\*([^*]+)\*\*|\[([^\]]+)\]\([^)]*\)")
_LONG = re.compile(r"\S{20,}")
_SEPARATOR = re.compile(r"[|/,=.](?=\S)")


def plain(text: str) -> str:
    """Return text that roff shows as it is, every character of it one that can be copied into a shell."""
    escaped = _breakable(
        "".join(_CHARACTERS.get(each, each if each.isascii() else f"\\[u{ord(each):04X}]") for each in text)
    )
    return f"\\&{escaped}" if escaped[:1] in (".", "\\") and text[:1] in ".'" else escaped


def _breakable(text: str) -> str:
    """Let long words end a line at what separates their parts; narrow terminals have no room for them."""
    return _LONG.sub(lambda word: _SEPARATOR.sub(r"\g<0>\\:", word[0]), text)


def bold(text: str) -> str:
    return f"\\fB{plain(text)}\\fR"


def italic(text: str) -> str:
    return f"\\fI{plain(text)}\\fR"


def prose(text: str) -> str:
    """Return a paragraph in which `code` and **strong** are bold, and links are their text."""
    built, at = "", 0
    for match in _CODE.finditer(text):
        built += plain(text[at : match.start()])
        built += prose(match[4]) if match[4] else bold(match[1] or match[2] or match[3])
        at = match.end()
    built += plain(text[at:])
    return f"\\&{built}" if built[:1] in (".", "'") else built


class Page:
    """One manual page, written from its head on."""

    def __init__(self, name: str, section: int, summary: str, source: str) -> None:
        self.file = f"{name}.{section}"
        self._lines = [
            f'.\\" Made by tools/write_manuals.py from {source}; do not edit.',
            f'.TH {plain(name.upper())} {section} "" "kctl {VERSION}" "kctl manual"',
            ".nh",
            ".ad l",
            ".SH NAME",
            f"{plain(name)} \\- {plain(summary[0].lower() + summary[1:].removesuffix('.'))}",
        ]

    def section(self, title: str) -> None:
        self._lines.append(f".SH {plain(title.upper())}")

    def part(self, title: str) -> None:
        """Begin a part of a section."""
        self._lines.append(f".SS {prose(title)}")

    def paragraph(self, text: str) -> None:
        self._lines += [".PP", prose(text)]

    def line(self, roff: str) -> None:
        """Write a paragraph that is roff already."""
        self._lines += [".PP", roff]

    def item(self, tag: str, *texts: str) -> None:
        """Write something explained; the tag is roff already."""
        self._lines += [".TP", tag, *_between([prose(text) for text in texts if text], ".sp")]

    def bullet(self, text: str) -> None:
        self._lines += [".IP \\(bu 2", prose(text)]

    def example(self, lines: list[str]) -> None:
        """Write lines as they are, indented."""
        self._lines += [".PP", ".RS 4", ".nf", *(plain(line) for line in lines), ".fi", ".RE"]

    def text(self) -> str:
        """Return the whole page."""
        return "\n".join(self._lines) + "\n"


def _between(texts: list[str], request: str) -> list[str]:
    return [line for text in texts for line in (request, text)][1:]
