"""The live view of probe on pseudo-terminals: it fits, follows the size, leaves nothing behind, and needs no colour."""

import re
import signal

import pytest

from kctl.cli.exit_codes import ExitCode
from tests.cli.processes import BOUND_S
from tests.cli.screen import Screen
from tests.cli.terminal import Terminal

HIDE_CURSOR, SHOW_CURSOR = b"\x1b[?25l", b"\x1b[?25h"
COLOUR = re.compile(rb"\x1b\[[0-9;]*m")
FRAME_END = b"\x1b[J"
CONTROL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\r")


def _screen(shown: bytes) -> list[str]:
    return Screen().show(shown.decode())


def _frame_lines(frame: bytes) -> list[str]:
    return CONTROL.sub("", frame.decode()).splitlines()


@pytest.mark.parametrize("columns", [40, 80, 120, 200])
def test_one_frame_is_left_with_every_address_and_what_was_found(columns: int, bootstrap: str, refused: str) -> None:
    with Terminal("probe", "-b", f"{bootstrap},{refused}", columns=columns) as terminal:
        before = terminal.settings
        shown = terminal.read_all()
        assert terminal.process.wait(BOUND_S) == 0
        assert terminal.settings == before
    lines = _screen(shown)
    end = lines.index("3 of 4 addresses ready, 1 failed")
    assert max(len(line) for line in lines[: end + 1]) <= columns
    text = "\n".join(lines)
    assert text.count("addresses ready") == 1
    assert [text.count(f"ready as broker {number}") for number in (1, 2, 3)] == [1, 1, 1]
    assert "connection refused" in text
    assert any(line.startswith("WARNING bootstrap-unreachable") for line in lines[end:])
    assert COLOUR.search(shown)
    assert shown.rindex(SHOW_CURSOR) > shown.rindex(HIDE_CURSOR)


def test_without_colour_nothing_is_lost(bootstrap: str, refused: str) -> None:
    with Terminal("probe", "-b", f"{bootstrap},{refused}", columns=120, environ={"NO_COLOR": "1"}) as terminal:
        shown = terminal.read_all()
    assert not COLOUR.search(shown)
    lines = _screen(shown)
    assert lines[0].lstrip().startswith("0 ")
    (refusal,) = [line for line in lines if "connection refused" in line and line.startswith(refused)]
    assert re.search(r" [\u2588\u2591dnstcp]*x ", refusal)  # a slow resolver has a share of the bar
    assert "3 of 4 addresses ready, 1 failed" in lines


def test_a_dumb_terminal_gets_lines(bootstrap: str) -> None:
    with Terminal("probe", "-b", bootstrap, environ={"TERM": "dumb"}) as terminal:
        shown = terminal.read_all()
    assert b"\x1b" not in shown
    assert b"dns done" in shown
    assert b"dns started" not in shown


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("options", [(), ("--watch",)])
def test_the_terminal_is_put_back_when_interrupted(
    silent: str, number: signal.Signals, options: tuple[str, ...]
) -> None:
    with Terminal("probe", "-b", silent, *options, columns=120) as terminal:
        before = terminal.settings
        shown = terminal.read_until(FRAME_END)
        terminal.process.send_signal(number)
        shown += terminal.read_all()
        code = terminal.process.wait(BOUND_S)
        assert terminal.settings == before
    assert code == (ExitCode.SIGINT if number is signal.SIGINT else ExitCode.SIGTERM)
    assert shown.rindex(SHOW_CURSOR) > shown.rindex(HIDE_CURSOR)
    assert shown.endswith(SHOW_CURSOR)
    assert COLOUR.findall(shown)[-1] == b"\x1b[0m"


def test_running_probe_shows_time_left_and_next_timeout(silent: str) -> None:
    with Terminal(
        "probe", "-b", silent, "--connect-timeout", "7s", "--api-timeout", "9s", columns=120, environ={"NO_COLOR": "1"}
    ) as terminal:
        shown = terminal.read_until(b"next timeout: ") + terminal.read_until(FRAME_END)
    lines = _screen(shown)
    assert re.fullmatch(r"\d\.\ds of 9s left \(--api-timeout\)", lines[-2])
    assert re.fullmatch(rf"next timeout: --connect-timeout of {re.escape(silent)} in \d\.\ds", lines[-1])
    assert "in apiversions" in lines[1]


def test_failed_address_is_dialled_again_while_another_is_under_way(silent: str, refused: str) -> None:
    options = ("--connect-timeout", "3s")
    with Terminal("probe", "-b", f"{refused},{silent}", *options, columns=120, environ={"NO_COLOR": "1"}) as terminal:
        shown = terminal.read_until(b" (attempt 2)")
        shown += terminal.read_until(b" (attempt 3)")
        shown += terminal.read_all()
    (row,) = [line for line in _screen(shown) if line.startswith(refused) and "(attempt" in line]
    assert re.search(r"connection refused .*\(attempt \d+\)", row)


@pytest.mark.parametrize("options", [(), ("--count", "2")])
def test_frame_is_not_written_across_by_a_report_of_waiting(silent: str, options: tuple[str, ...]) -> None:
    with Terminal(
        "probe",
        "-b",
        silent,
        "--api-timeout",
        "2500ms",
        *options,
        columns=120,
        environ={"NO_COLOR": "1"},
        with_stderr=True,
    ) as terminal:
        shown = terminal.read_all()
        assert terminal.process.wait(BOUND_S) != 0
    assert b"waiting:" not in shown
    text = "\n".join(_screen(shown))
    assert text.count("0 of 1 addresses ready") == 1, text
    if options:
        assert f"s left, {silent} in apiversions\r\r\n".encode() in shown


def test_resizing_is_followed(silent: str) -> None:
    with Terminal("probe", "-b", silent, columns=120, rows=30, environ={"NO_COLOR": "1"}) as terminal:
        wide = terminal.read_until(FRAME_END)
        assert max(map(len, _frame_lines(wide))) > 60
        terminal.resize(60, 20)
        terminal.read_until(b"\x1b[2K  0 ")  # narrower than 100 a bar is below its address
        terminal.read_until(FRAME_END)
        narrow = terminal.read_until(FRAME_END).rpartition(FRAME_END)[0].rpartition(FRAME_END)[2]
        assert 0 < max(map(len, _frame_lines(narrow))) <= 60
        terminal.resize(150)
        terminal.read_until(b"\x1b[2K" + b" " * (len(silent) + 1) + b"0 ")


def test_of_many_addresses_only_as_many_are_shown_as_fit(refused: str) -> None:
    port = refused.rpartition(":")[2]
    servers = ",".join(f"127.0.1.{number}:{port}" for number in range(1, 201))
    with Terminal("probe", "-b", servers, columns=120, rows=24, environ={"NO_COLOR": "1"}) as terminal:
        shown = terminal.read_all()
        assert terminal.process.wait(BOUND_S) == ExitCode.REFUSED
    *frames, _ = shown.split(FRAME_END)
    assert max(len(_frame_lines(frame)) for frame in frames) <= 23
    lines = _screen(shown)
    assert re.fullmatch(r"and \d+ more: \d+ failed", lines[lines.index("0 of 200 addresses ready, 200 failed") - 1])
    assert any(line.startswith("and 150 more findings") for line in lines)


def test_a_repeated_probe_shows_its_statistics(bootstrap: str, refused: str) -> None:
    options = ("--count", "2", "--interval", "10ms")
    with Terminal(
        "probe", "-b", f"{bootstrap},{refused}", *options, columns=100, environ={"NO_COLOR": "1"}
    ) as terminal:
        shown = terminal.read_all()
        assert terminal.process.wait(BOUND_S) == 0
    lines = _screen(shown)
    assert lines[0].split() == ["ADDRESS", "SENT", "OK", "LOSS", "LAST", "TREND", "AVG", "BEST", "WORST", "P99"]
    assert lines[4].split() == [refused, "2", "0", "100%", "failed", "xx", "-", "-", "-", "-"]
    assert lines[-1] == "round 2: 3 of 4 addresses ready, 1 failed"
