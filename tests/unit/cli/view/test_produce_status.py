"""The line of a running `kctl produce`: what it shows, and how it fits."""

import io

from rich.text import Text

from kctl.cli.environment import ClosingNotice, Environment, Secrets
from kctl.cli.view.status import SendStatus, standing_line
from kctl.cli.view.status_texts import SendFigures, send_standing
from kctl.client.clock import ManualClock
from kctl.client.network.system import system_runtime


def send_line(figures: SendFigures, records_per_second: float, bytes_per_second: float, columns: int) -> Text:
    return standing_line(send_standing(figures, records_per_second, bytes_per_second), columns)


def test_a_pipe_has_no_end_to_show() -> None:
    assert send_line(SendFigures(1, 0, 1500), 3.2, 999, 80).plain == "1 record, 1.5 kB, 3.2/s, 999 B/s"
    assert send_line(SendFigures(2, 7, 0), 0, 0, 80).plain.endswith("0 B/s, 7 waiting")


def test_a_bar_where_there_is_room() -> None:
    figures = SendFigures(1000, 0, 500_000, 1_000_000)
    line = send_line(figures, 10, 5000, 80).plain
    assert line == "[####----] 50% 1,000 records, 500 kB of 1.0 MB, 10/s, 5.0 kB/s, about 1m40s left"
    assert send_line(figures, 10, 5000, 55).plain == "[#####------] 50% 1,000 records, 10/s, about 1m40s left"
    narrow = send_line(figures, 10, 5000, 40).plain
    assert narrow.startswith(" 50% 1,000 records")
    assert send_line(figures._replace(read_bytes=2_000_000), 0, 0, 80).plain.startswith("[" + "#" * 20 + "] 100%")
    assert "%" not in send_line(figures._replace(total_bytes=0), 0, 0, 80).plain


def test_without_a_terminal_it_says_what_it_is_told_and_nothing_else() -> None:
    stderr = io.StringIO()
    environment = Environment(
        io.BytesIO(), io.BytesIO(), stderr, {}, ManualClock(), closing_notice=ClosingNotice(), secrets=Secrets()
    )
    runtime = system_runtime()
    status = SendStatus(environment, runtime.clock, runtime.driver, lambda: SendFigures(0, 0, 0), wanted=True)
    status.say("words")
    status.close()
    assert stderr.getvalue() == "words\n"


def test_closing_notice_is_shown_above_the_line_and_not_painted_over() -> None:
    stderr, notice = io.StringIO(), ClosingNotice()
    terminal = Environment(
        io.BytesIO(),
        io.BytesIO(),
        stderr,
        {"TERM": "xterm"},
        ManualClock(),
        stderr_is_tty=True,
        closing_notice=notice,
        secrets=Secrets(),
    )
    runtime = system_runtime()
    status = SendStatus(terminal, runtime.clock, runtime.driver, lambda: SendFigures(0, 0, 0), wanted=True)
    assert notice.show is not None
    status._paint()
    notice.show("kctl produce: closing")
    status._paint()
    painted = stderr.getvalue()
    status.close()
    assert painted.count("kctl produce: closing\n") == 1
    assert painted.index("kctl produce: closing\n") < painted.rindex("0 records")
    assert notice.show is None
