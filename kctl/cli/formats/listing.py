"""Listings as table, JSON, JSON lines, YAML or CSV, with the envelope of the data formats (docs/schemas.md)."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from kctl.cli.data_out import DataOut
from kctl.cli.environment import Environment
from kctl.cli.formats.rows import Row, Value, block_lines, cell_text, table_lines
from kctl.cli.output_options import Output
from kctl.client.wording import one_line

VERSION = 1
"""Version of envelope and fields. Within a version, fields are added, never renamed or removed."""
SHAPES = (Output.TABLE, Output.JSON, Output.JSONL, Output.YAML, Output.CSV)
DOCUMENT_SHAPES = (Output.JSON, Output.JSONL, Output.YAML)
_UNLIMITED = 1 << 30
YAML_ITEMS = 500
"""Number of list items in one piece of YAML."""
_SCALARS = {str, int, float, bool, type(None)}


class Section(NamedTuple):
    """Part of a table: facts, one per line, followed by rows."""

    facts: Sequence[tuple[str, Value]]
    rows: Sequence[Row]


class Listing(NamedTuple):
    """Output of a command.

    Attributes:
        kind: kind of the rows, such as `topics`, for the envelope.
        columns: fields of all rows, in the order of JSON and CSV.
        rows: values by field. A field has the same type in all commands (docs/schemas/listing.v1.json).
        facts: further fields of a document or JSON line; not in tables and CSV.
        shown: columns of a table; None for all.
        sections: parts of a table, shown in place of `rows`.
        objects: JSON objects, shown in place of `rows`.
    """

    kind: str
    columns: Sequence[str]
    rows: Sequence[Row]
    facts: Mapping[str, object] = {}
    shown: Sequence[str] | None = None
    sections: Sequence[Section] | None = None
    objects: Sequence[Mapping[str, object]] | None = None


def write_listing(environment: Environment, output: Output, listing: Listing) -> None:
    """Write a listing to stdout. Without rows, a table is empty, and CSV has only a header.

    Raises: OutputClosed, CommandError: see `DataOut.flush`.
    """
    write_lines(environment, listing_lines(environment, output, listing))


def write_document(environment: Environment, output: Output, document: Mapping[str, object]) -> None:
    write_lines(environment, document_lines(output, document))


def write_lines(environment: Environment, lines: Iterable[str]) -> None:
    out = DataOut(environment.stdout)
    for line in lines:
        out.write_line(line)
    out.flush()


def listing_lines(environment: Environment, output: Output, listing: Listing) -> list[str]:
    if output is Output.TABLE:
        return list(_table(listing, environment))
    if output is Output.CSV:
        return list(_csv(listing, for_terminal=environment.stdout_is_tty))
    objects = listing.objects
    if objects is None:
        objects = [{name: row[name] for name in listing.columns} for row in listing.rows]
    envelope = {"v": VERSION, "kind": listing.kind, **listing.facts}
    if output is Output.JSONL:
        return [line for each in objects for line in document_lines(output, {**envelope, **each})]
    if output is Output.JSON and objects and {type(each) for row in objects for each in row.values()} <= _SCALARS:
        return _json_lines(envelope, objects)
    return document_lines(output, {**envelope, "rows": objects})


def document_lines(output: Output, document: Mapping[str, object]) -> list[str]:
    """Return the lines of a document, which contain only ASCII to be safe for terminals."""
    if output is Output.YAML:
        return list(_yaml_lines(document)) or ["{}"]
    import json  # wanted only here

    return [json.dumps(document, indent=None if output is Output.JSONL else 2)]


def _yaml_lines(document: Mapping[str, object]) -> Iterator[str]:
    """Yield the YAML of a document. Long lists are converted in pieces, since the library needs 10 KB per item."""
    for key, value in document.items():
        if not isinstance(value, list | tuple) or len(value) <= YAML_ITEMS:
            yield from _yaml({key: value})
            continue
        yield _yaml({key: ()})[0].removesuffix(" []")
        for start in range(0, len(value), YAML_ITEMS):
            yield from _yaml(value[start : start + YAML_ITEMS])


def _yaml(value: object) -> list[str]:
    import yaml  # deferred import: takes 20ms

    dumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
    text: str = yaml.dump(_plain(value), Dumper=dumper, sort_keys=False, width=_UNLIMITED)
    return text.splitlines()


def _json_lines(envelope: Mapping[str, object], rows: Sequence[Mapping[str, object]]) -> list[str]:
    """Return the envelope with its rows as indented JSON. Values of rows must not be lists.

    json's C encoder does not indent. Rows are therefore split at line feeds, which strings contain only in escaped
    form.
    """
    import json  # wanted only here

    head, _, tail = json.dumps({**envelope, "rows": []}, indent=2).rpartition("[]")
    text = json.dumps(rows, separators=(",\n      ", ": "))
    lines = text[2:-2].replace("},\n      {", "\n    },\n    {\n      ")
    return [f"{head}[\n    {{\n      {lines}\n    }}\n  ]{tail}"]


def _plain(value: object) -> object:
    """Copy a value into dicts and lists, so that YAML needs no anchors."""
    if isinstance(value, Mapping):
        return {key: _plain(each) for key, each in value.items()}
    return [_plain(each) for each in value] if isinstance(value, list | tuple) else value


def _table(listing: Listing, environment: Environment) -> Iterator[str]:
    shown = listing.columns if listing.shown is None else listing.shown
    width = environment.table_width
    paint = None
    if environment.colour:
        from kctl.cli.view.tables import painted  # deferred import: loads rich

        paint = painted
    if listing.sections is None:
        yield from table_lines(shown, listing.rows, width, paint)
        return
    for number, section in enumerate(listing.sections):
        yield from [""] if number else []
        yield from block_lines(section.facts, width, paint)
        yield from [""] if section.rows and section.facts else []
        yield from table_lines(shown, section.rows, width, paint)


def _csv(listing: Listing, *, for_terminal: bool) -> Iterator[str]:
    """Yield a header and rows (RFC 4180, but with line feeds). On a terminal, each row is one line."""
    import csv  # wanted only here
    from io import StringIO

    text = StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(listing.columns)
    for row in listing.rows:
        cells = (_csv_cell(row[name]) for name in listing.columns)
        writer.writerow(map(one_line, cells) if for_terminal else cells)
    return iter(text.getvalue().removesuffix("\n").split("\n"))


def _csv_cell(value: Value) -> str:
    if isinstance(value, str):
        return value
    if value is None or value == []:
        return ""
    return ("true" if value else "false") if isinstance(value, bool) else cell_text(value)
