"""Output of `kctl explain` as text or listing: pages, exit codes, or all pages."""

from collections.abc import Sequence

from kctl.cli.app import COMMANDS
from kctl.cli.exit_codes import ExitCode
from kctl.cli.explanations.code_pages import all_codes, pages_by_number
from kctl.cli.explanations.page import NARROWEST, Page
from kctl.cli.failures import CommandError
from kctl.cli.formats.columns import READABLE, pieces_of, wrapped
from kctl.cli.formats.listing import Listing
from kctl.cli.formats.rows import Row

MOST_SHOWN = 80
"""Maximum number of characters of the subject that an error repeats."""
_MORE = (
    "kctl explain also accepts broker errors, error classes, timeouts, properties, topic configs, faults, findings, "
    "and messages of Kafka clients. Examples are kctl explain UNKNOWN_TOPIC_OR_PARTITION, kctl explain linger.ms, and "
    "kctl explain fault 7. List all names with: kctl explain --list"
)


COLUMNS = ("type", "name", "title")
_TITLED = ("exit code", "fault", "broker error")
"""Kinds whose list shows titles, which include the number."""


def text_lines(asked: str, *, is_list: bool, columns: int = READABLE) -> list[str]:
    """Return the lines of text output.

    Args: asked: subject; empty for the list of exit codes.
    Raises: CommandError: the subject is unknown. The hint suggests similar names.
    """
    if is_list:
        return _listed(_all_pages(), columns)
    if not asked.strip():
        return _codes(columns)
    return [line for page in _find(asked) for line in ("", *page.lines(columns))][1:]


def listing_of(asked: str, *, is_list: bool) -> Listing:
    """Return the listing for programs. Args and Raises: see `text_lines`."""
    if is_list or not asked.strip():
        return Listing("explanations", COLUMNS, _rows(_all_pages() if is_list else all_codes()))
    pages = _find(asked)
    return Listing("explanations", COLUMNS, _rows(pages), objects=[page.fields() for page in pages])


def _rows(pages: Sequence[Page]) -> list[Row]:
    return [{"type": page.kind, "name": page.name, "title": page.title} for page in pages]


def _find(asked: str) -> Sequence[Page]:
    found = pages_by_number(asked)
    if found:
        return found
    from kctl.cli.explanations import lookup  # deferred import: loads all properties and findings

    found = lookup.find_pages(asked)
    if not found:
        near = lookup.nearest(asked)
        hint = f"similar names: {', '.join(near)}" if near else "list all names with: kctl explain --list"
        if asked.strip() in COMMANDS:
            hint = f"show the help of this command with: kctl {asked.strip()} --help"
        raise CommandError(
            ExitCode.USAGE, f"cannot explain {asked[:MOST_SHOWN]!r}: no page has this name or message", hint
        )
    return found


def _all_pages() -> Sequence[Page]:
    from kctl.cli.explanations import lookup  # as above

    return lookup.all_pages()


def _listed(pages: Sequence[Page], columns: int) -> list[str]:
    built, width = list[str](), max(NARROWEST, min(columns, READABLE))
    for kind in dict.fromkeys(page.kind for page in pages):
        of_kind = [page for page in pages if page.kind == kind]
        names = dict.fromkeys(page.title if kind in _TITLED else page.name for page in of_kind)
        plural = "properties" if kind == "property" else f"{kind}s"
        built += ["", f"{plural[0].upper()}{plural[1:]}:", *(line for name in names for line in _fitted(name, width))]
    return built[1:]


def _fitted(name: str, width: int) -> list[str]:
    return [piece for line in wrapped(name, width, "  ", "    ") for piece in pieces_of(line, width)]


def _codes(columns: int) -> list[str]:
    width = max(NARROWEST, min(columns, READABLE))
    codes = [line for code in ExitCode for line in wrapped(code.text, width, f"{int(code):>4}  ", " " * 6)]
    more = wrapped(_MORE, width)
    return ["Exit codes (kctl explain N):", *codes, "", *more]
