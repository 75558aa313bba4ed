"""Listings in five formats: the envelope, cells of each type, no heading without rows, harmless on a terminal."""

import csv
import io
import json

import pytest
import yaml

from kctl.cli.environment import ClosingNotice, Environment, Secrets
from kctl.cli.formats.listing import YAML_ITEMS, Listing, Section, document_lines, write_document, write_listing
from kctl.cli.formats.rows import Row
from kctl.cli.output_options import Output
from kctl.client.clock import ManualClock

COLUMNS = ("topic", "lag", "has", "note", "ids", "ok")
ROWS: list[Row] = [
    {"topic": "orders", "lag": 12, "has": {"a": [0, 1, 2, 5], "b": [7]}, "note": None, "ids": [1, 2], "ok": True},
    {"topic": 'a,"b"\n', "lag": None, "has": {}, "note": "no: 1.0 # ~ 日本", "ids": [], "ok": False},
]
LISTING = Listing("partitions", COLUMNS, ROWS, {"complete": True})


class Stdout(io.BytesIO):
    """What was written; without a descriptor, so that the width is that of the environment."""

    def fileno(self) -> int:
        raise OSError


def written(output: Output, listing: Listing, columns: int | None = None) -> str:
    stdout = Stdout()
    environment = Environment(
        stdin=io.BytesIO(), stdout=stdout, stderr=io.StringIO(), environ={}, clock=ManualClock(),
        closing_notice=ClosingNotice(), secrets=Secrets(), stdout_is_tty=columns is not None, columns=columns or 80,
    )  # fmt: skip
    write_listing(environment, output, listing)
    return stdout.getvalue().decode()


def test_json_and_yaml_are_the_same_document() -> None:
    document = {"v": 1, "kind": "partitions", "complete": True, "rows": ROWS}
    assert json.loads(written(Output.JSON, LISTING)) == document
    assert yaml.safe_load(written(Output.YAML, LISTING)) == document


@pytest.mark.parametrize("text", ["plain", '"},\n      {"', "[]", "日本 \x1b[2J", '"rows": []'])
def test_json_of_rows_without_lists_is_what_the_library_writes(text: str) -> None:
    rows: list[Row] = [{text: text, "n": 1, "x": None}, {text: "", "n": 2.5, "x": True}]
    for some in (rows, rows[:1], []):
        listing = Listing("topics", (text, "n", "x"), some, {"complete": True, "of": []})
        document = {"v": 1, "kind": "topics", "complete": True, "of": [], "rows": some}
        assert written(Output.JSON, listing) == json.dumps(document, indent=2) + "\n"


@pytest.mark.parametrize(
    "value",
    ["yes", "null", "~", "1e3", "0x1f", "2026-11-23", " a ", "- a", "a: b", "{", "#", "'", '"', "\t", "\r\n", "\x9b31m",
     "x" * 500 + " " + "y" * 500, "\u2028", "🚀", "&a", "*a", "!a", "%a", "@a", "", True, None, 0, 1.5, 10**18],
)  # fmt: skip
def test_yaml_is_read_back_as_it_was(value: str | float | None) -> None:
    shared = [1, 2]
    stdout = Stdout()
    environment = Environment(io.BytesIO(), stdout, io.StringIO(), {}, ManualClock(), ClosingNotice(), Secrets())
    write_document(environment, Output.YAML, {"a": value, str(value): [value, shared, shared]})
    text = stdout.getvalue().decode()
    assert yaml.safe_load(text) == {"a": value, str(value): [value, shared, shared]}
    assert text.isascii()
    assert "\x1b[2J" not in text


def test_jsonl_has_the_envelope_in_every_line() -> None:
    lines = [json.loads(line) for line in written(Output.JSONL, LISTING).splitlines()]
    assert lines == [{"v": 1, "kind": "partitions", "complete": True, **row} for row in ROWS]


def test_csv_has_text_for_every_type() -> None:
    text = written(Output.CSV, LISTING)
    assert list(csv.reader(io.StringIO(text))) == [
        list(COLUMNS),
        ["orders", "12", "a:0-2,5 b:7", "", "1,2", "true"],
        ['a,"b"\n', "", "", "no: 1.0 # ~ 日本", "", "false"],
    ]


def test_a_table_shows_the_columns_for_people() -> None:
    heading, first, _ = written(Output.TABLE, LISTING._replace(shown=("topic", "has"))).splitlines()
    assert heading.split() == ["TOPIC", "HAS"]
    assert first.split() == ["orders", "a:0-2,5", "b:7"]


def test_without_rows_only_programs_get_something() -> None:
    empty = LISTING._replace(rows=[])
    assert written(Output.TABLE, empty) == ""
    assert written(Output.JSONL, empty) == ""
    assert written(Output.CSV, empty) == ",".join(COLUMNS) + "\n"
    assert json.loads(written(Output.JSON, empty)) == {"v": 1, "kind": "partitions", "complete": True, "rows": []}


def test_sections_have_their_facts_before_the_rows() -> None:
    sections = [
        Section([("group", "a"), ("members", 0)], [{"lag": 1}]),
        Section([("group", "b"), ("coordinator", None)], []),
    ]
    listing = Listing("groups", ("lag",), [], sections=sections)
    assert written(Output.TABLE, listing).splitlines() == [
        "group    a", "members  0", "", "LAG", "  1", "", "group        b", "coordinator  -",
    ]  # fmt: skip


def test_objects_replace_the_rows_of_json() -> None:
    listing = LISTING._replace(objects=[{"all": [1]}])
    assert json.loads(written(Output.JSON, listing))["rows"] == [{"all": [1]}]
    assert written(Output.CSV, listing) == written(Output.CSV, LISTING)


@pytest.mark.parametrize("output", list(Output)[:5])
@pytest.mark.parametrize("columns", [8, 80])
def test_a_name_does_not_steer_the_terminal(output: Output, columns: int) -> None:
    text = written(output, Listing("x", ("name",), [{"name": "\x1b[2Jx\x9b31m"}]), columns)
    assert text
    assert "\x1b[2J" not in text
    assert "\x9b" not in text


@pytest.mark.parametrize("output", [Output.JSON, Output.JSONL, Output.YAML])
def test_document_without_fields_is_an_empty_object(output: Output) -> None:
    assert document_lines(output, {}) == ["{}"]


def test_long_list_is_the_same_yaml_in_pieces() -> None:
    rows = [{"name": f"t{number}", "configs": {"a": "1"}, "racks": []} for number in range(YAML_ITEMS * 2 + 1)]
    document = {"v": 1, "topics": rows, "acls": []}
    whole = yaml.dump(document, Dumper=yaml.SafeDumper, sort_keys=False)
    assert document_lines(Output.YAML, document) == whole.splitlines()
