"""The status line: its words, when it is painted, and that it is gone before data is written."""

import io
from collections.abc import Mapping

import pytest

from kctl.cli.environment import ClosingNotice, Environment, Secrets
from kctl.cli.view.status import StatusLine, reading_line
from kctl.cli.view.status_texts import Rate, ReadFigures
from kctl.client.clock import ManualClock
from tests.cli.screen import Screen

BUSY = ReadFigures(written=1234, per_second=56.4, lag=7, partitions=3)


@pytest.mark.parametrize(
    ("figures", "text"),
    [
        (BUSY, "1,234 records, 56/s, lag 7, 3 partitions"),
        (ReadFigures(1, 0.25, None, 1), "1 record, 0.2/s, 1 partition"),
        (
            BUSY._replace(waiting="t-0: gone\n\x1b[2J", is_fault=True),
            "t-0: gone \\x1b[2J; 1,234 records, 56/s, lag 7, 3 partitions",
        ),
    ],
)
def test_words(figures: ReadFigures, text: str) -> None:
    assert reading_line(figures).plain == text


def test_rate_is_that_of_the_last_seconds() -> None:
    rate = Rate(0)
    assert rate.per_second(500, 50) == 100, "the first that is shown is one already"
    assert rate.per_second(1000, 100) == 100
    assert rate.per_second(6000, 100) == 0


class Shared:
    """One terminal for both streams."""

    def __init__(self, columns: int = 80, environ: Mapping[str, str] | None = None) -> None:
        self.written = ""
        terminal = self

        class Out(io.BytesIO):
            def write(self, data: object) -> int:
                terminal.written += bytes(data).decode().replace("\n", "\r\n")  # type: ignore[call-overload]  # as a terminal does
                return len(bytes(data))  # type: ignore[call-overload]  # bytes or a view of them

        class Err(io.StringIO):
            def write(self, text: str) -> int:
                terminal.written += text
                return len(text)

        self.environment = Environment(
            io.BytesIO(), Out(), Err(), environ or {}, ManualClock(),
            stdout_is_tty=True, stderr_is_tty=True, columns=columns,
            closing_notice=ClosingNotice(), secrets=Secrets())  # fmt: skip

    @property
    def lines(self) -> list[str]:
        return Screen().show(self.written)


def test_line_is_below_the_data_after_each_write() -> None:
    shared = Shared()
    line = StatusLine(shared.environment, wanted=True)
    stdout = line.around(shared.environment.stdout)
    line.show(reading_line(BUSY), 0)
    status = "1,234 records, 56/s, lag 7, 3 partitions"
    assert shared.lines == [status]
    stdout.write(memoryview(b"one\ntwo\n"))
    assert shared.lines == ["one", "two", status]
    stdout.write(memoryview(b"thr"))
    assert shared.lines == ["one", "two", "thr"]
    stdout.write(memoryview(b"ee\n"))
    assert shared.lines == ["one", "two", "three", status]
    line.close()
    stdout.write(memoryview(b"four\n"))
    assert shared.lines == ["one", "two", "three", "four"]


def test_data_that_ends_within_a_line_is_left_alone() -> None:
    shared = Shared()
    line = StatusLine(shared.environment, wanted=True)
    line.around(shared.environment.stdout).write(memoryview(b"one"))
    line.show(reading_line(BUSY), 0)
    assert shared.lines == ["one"]
    assert "\x1b" not in shared.written


def test_forty_columns() -> None:
    shared = Shared(columns=40)
    StatusLine(shared.environment, wanted=True).show(reading_line(BUSY._replace(waiting="x" * 99)), 0)
    assert [len(text) for text in shared.lines] == [39]


@pytest.mark.parametrize(("environ", "is_coloured"), [({}, True), ({"NO_COLOR": "1"}, False)])
def test_colour(environ: dict[str, str], is_coloured: bool) -> None:
    shared = Shared(environ=environ)
    StatusLine(shared.environment, wanted=True).show(reading_line(BUSY), 0)
    assert ("\x1b[2m" in shared.written) == is_coloured


@pytest.mark.parametrize(
    ("wanted", "changed"), [(False, {}), (True, {"environ": {"TERM": "dumb"}}), (True, {"stderr_is_tty": False})]
)
def test_none_where_it_would_disturb(wanted: bool, changed: dict[str, object]) -> None:
    shared = Shared()
    line = StatusLine(shared.environment._replace(**changed), wanted=wanted)  # type: ignore[arg-type]  # any field
    line.show(reading_line(BUSY), 0)
    assert (line.is_shown, shared.written) == (False, "")


def test_status_is_painted_a_few_times_a_second() -> None:
    line = StatusLine(Shared().environment, wanted=True)
    assert line.is_due(0)
    line.show(reading_line(BUSY), 1000)
    assert not line.is_due(1199)
    assert line.is_due(1200)


def test_reason_of_rest_comes_after_the_figures() -> None:
    figures = BUSY._replace(waiting="at the end of all 3 partitions")
    assert reading_line(figures).plain == "1,234 records, 56/s, lag 7, 3 partitions: at the end of all 3 partitions"
