"""Tables of groups: wide as they are, in blocks on a narrow terminal, as CSV, and harmless."""

import io
import json

import pytest

from kctl.cli.environment import ClosingNotice, Environment, Secrets
from kctl.cli.groups.view import Row, Table, shares_text, write_tables
from kctl.cli.options import Common, Output
from kctl.cli.settings import Settings
from kctl.client.clock import ManualClock

ROWS: list[Row] = [
    {"topic": "orders", "lag": 12, "has": {"a": [0, 1, 2, 5], "b": [7]}, "note": None},
    {"topic": 'a,"b"', "lag": None, "has": {}, "note": "a word that is longer than what one line takes"},
]
TABLE = Table("partitions", ("topic", "lag", "has", "note"), ROWS)


class Stdout(io.BytesIO):
    """What was written, under the name by which the environment asks."""

    def fileno(self) -> int:
        raise OSError


def written(output: Output, *tables: Table, columns: int | None = None) -> str:
    stdout = Stdout()
    environment = Environment(
        stdin=io.BytesIO(), stdout=stdout, stderr=io.StringIO(), environ={}, clock=ManualClock(),
        stdout_is_tty=columns is not None, columns=columns or 80,
        closing_notice=ClosingNotice(), secrets=Secrets())  # fmt: skip
    common = Common(environment, Settings({}), 0, output, quiet=False, verbose=False)
    write_tables(common, output, tables, extra={"more": 1})
    return stdout.getvalue().decode()


def test_shares() -> None:
    assert shares_text({"a": [2, 0, 1, 5], "b": [7], "c": []}) == "a:0-2,5 b:7"


@pytest.mark.parametrize("columns", [None, 200])
def test_a_wide_table(columns: int | None) -> None:
    heading, first, second = written(Output.TABLE, TABLE, columns=columns).splitlines()
    assert heading.split() == ["TOPIC", "LAG", "HAS", "NOTE"]
    assert first.split() == ["orders", "12", "a:0-2,5", "b:7", "-"]
    assert second.split()[:3] == ['a,"b"', "-", "-"]


def test_blocks_on_a_narrow_terminal() -> None:
    assert written(Output.TABLE, TABLE, columns=30).splitlines() == [
        "topic  orders",
        "lag    12",
        "has    a:0-2,5 b:7",
        "",
        'topic  a,"b"',
        "note   a word that is longer",
        "       than what one line",
        "       takes",
    ]


def test_a_word_that_does_not_fit_is_broken() -> None:
    table = Table("x", ("name", "other"), [{"name": "n" * 50, "other": 1}])
    assert max(map(len, written(Output.TABLE, table, columns=24).splitlines())) <= 24


def test_facts_stand_before_the_rows_and_alone_without_any() -> None:
    full = Table("g", ("lag",), [{"lag": 1}], (("group", "a"), ("members", 0)))
    empty = Table("g", ("lag",), [], (("group", "b"), ("coordinator", None)))
    assert written(Output.TABLE, full, empty).splitlines() == [
        "group    a", "members  0", "", "LAG", "1", "", "group        b", "coordinator  -",
    ]  # fmt: skip


def test_csv() -> None:
    assert written(Output.CSV, TABLE, TABLE).splitlines() == [
        "topic,lag,has,note",
        *['orders,12,"a:0-2,5 b:7",', '"a,""b""",,,a word that is longer than what one line takes'] * 2,
    ]


def test_json_has_objects_where_there_are_any() -> None:
    document = json.loads(written(Output.JSON, TABLE))
    assert document == {"v": 1, "more": 1, "partitions": ROWS}
    rich = TABLE._replace(objects=[{"all": [1]}])
    assert [json.loads(line) for line in written(Output.JSONL, rich).splitlines()] == [{"v": 1, "more": 1, "all": [1]}]


def test_a_name_does_not_steer_the_terminal() -> None:
    table = Table("x", ("name",), [{"name": "\x1b[2Jx\ny"}], (("fact", "\x1b[2J"),))
    for shape, columns in [(Output.TABLE, 80), (Output.TABLE, 8), (Output.CSV, 80)]:
        assert "\x1b" not in written(shape, table, columns=columns)
