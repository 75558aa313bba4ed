"""On a terminal: the live table of probe, and records that cannot steer it."""

import re
import signal

import pytest

from kctl.cli.exit_codes import ExitCode
from tests.cli.conftest import SilentPeer
from tests.cli.processes import BOUND_S, kctl
from tests.cli.terminal import Terminal

HIDE_CURSOR, SHOW_CURSOR = b"\x1b[?25l", b"\x1b[?25h"
COLOUR = re.compile(rb"\x1b\[[0-9;]*3[0-7]m")
CONTROL = re.compile(rb"\x1b\[[0-9;?]*[A-Za-z]")


def _last_frame(shown: bytes) -> list[str]:
    """Return the lines of the last painting, without what steers the terminal."""
    last = shown.rsplit(b"\x1b[2K", 1)[-1] if b"\x1b[2K" in shown else shown
    return [line.rstrip() for line in CONTROL.sub(b"", last).decode().replace("\r", "").splitlines()]


@pytest.mark.parametrize("columns", [40, 80, 120])
def test_the_live_table(columns: int, bootstrap: str, refused: str) -> None:
    with Terminal("probe", "-b", f"{bootstrap},{refused}", columns=columns) as terminal:
        shown = terminal.read_all()
        assert terminal.process.wait(BOUND_S) == 0
    frame = _last_frame(shown)
    assert max(map(len, frame)) <= columns
    assert "3 of 4 addresses ready, 1 failed" in frame[-1]
    text = " ".join(" ".join(frame).split())
    assert text.count("ready, ") >= 3
    assert "connection refused" in text
    assert COLOUR.search(shown)
    assert shown.rindex(SHOW_CURSOR) > shown.rindex(HIDE_CURSOR)


def test_without_colour(bootstrap: str) -> None:
    with Terminal("probe", "-b", bootstrap, environ={"NO_COLOR": "1"}) as terminal:
        shown = terminal.read_all()
    assert not COLOUR.search(shown)
    assert "3 of 3 addresses ready" in _last_frame(shown)[-1]


def test_a_dumb_terminal_gets_lines(bootstrap: str) -> None:
    with Terminal("probe", "-b", bootstrap, environ={"TERM": "dumb"}) as terminal:
        shown = terminal.read_all()
    assert b"\x1b" not in shown
    assert b"dns started" in shown


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_terminal_is_put_back_when_interrupted(silent: str, number: signal.Signals) -> None:
    with Terminal("probe", "-b", silent) as terminal:
        shown = terminal.read_until(b"apiversions")
        terminal.process.send_signal(number)
        shown += terminal.read_all()
        code = terminal.process.wait(BOUND_S)
    assert code == (ExitCode.SIGINT if number is signal.SIGINT else ExitCode.SIGTERM)
    assert shown.rindex(SHOW_CURSOR) > shown.rindex(HIDE_CURSOR)


def test_the_first_ctrl_c_says_what_the_second_would_do(silent_peer: SilentPeer) -> None:
    with Terminal("topics", "list", "-b", silent_peer.address, with_stderr=True) as terminal:
        silent_peer.wait_for_request()
        terminal.process.send_signal(signal.SIGINT)
        shown = terminal.read_all()
        assert terminal.process.wait(BOUND_S) == ExitCode.SIGINT
    assert b"once more to leave at once" in shown
    assert b"kctl: interrupted (Ctrl-C)" in shown


def test_resizing_is_followed(silent: str) -> None:
    with Terminal("probe", "-b", silent, columns=120) as terminal:
        terminal.read_until(b"ApiVersions")
        terminal.resize(60)
        assert b"apiversions" in terminal.read_until(b"apiversions")


def test_records_cannot_steer_the_terminal(bootstrap: str, topic: str) -> None:
    kctl("produce", topic, "-b", bootstrap, "-q", stdin=b"\x1b[2J\x07evil\xff\n")
    for options, wanted in (
        ((), b"\\x1b[2J\\x07evil\\xff"),
        (("--output", "jsonl"), b'{"base64":'),
        (("-f", "\\x1b[1m%v\\n"), b"\x1b[1m\\x1b[2J"),
    ):
        with Terminal("consume", topic, "-b", bootstrap, "-e", *options) as terminal:
            shown = terminal.read_all()
            assert terminal.process.wait(BOUND_S) == 0
        assert wanted in shown
        assert b"\x1b[2J" not in shown
        assert b"\x07" not in shown
