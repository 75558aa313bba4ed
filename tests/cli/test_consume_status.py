"""The status line on pseudo-terminals: below the data, never in it, and none where it would disturb."""

import signal

import pytest

from kctl.cli.exit_codes import ExitCode
from kctl.sandbox import Fault, Sandbox
from tests.cli.records import send
from tests.cli.screen import Screen
from tests.cli.terminal import Terminal
from tests.support.bounds import bound


@pytest.mark.parametrize("columns", [40, 80])
def test_data_and_status_on_one_terminal(columns: int) -> None:
    with (
        Sandbox(nodes=1, topics={"t": 1}).serve() as served,
        Terminal("consume", "t", "-b", served.bootstrap, "-n", "4", columns=columns, with_stderr=True) as terminal,
    ):
        shown = terminal.read_until(b"record")
        for values in (["one", "two"], ["three"], ["four"]):
            send(served.bootstrap, "t", 0, values)
            shown += terminal.read_until(values[-1].encode())
        shown += terminal.read_all()
        assert terminal.process.wait(bound(30)) == 0
    assert [line for line in Screen().show(shown.decode()) if line] == ["one", "two", "three", "four"]
    assert b"0 records, 0/s" in shown


def test_ctrl_c_leaves_the_data_whole() -> None:
    with (
        Sandbox(nodes=1, topics={"t": 1}).serve() as served,
        Terminal("consume", "t", "-b", served.bootstrap, with_stderr=True) as terminal,
    ):
        send(served.bootstrap, "t", 0, ["one"])
        shown = terminal.read_until(b"1 record,")
        terminal.process.send_signal(signal.SIGINT)
        shown += terminal.read_all()
        assert terminal.process.wait(bound(30)) == ExitCode.SIGINT
    lines = [line for line in Screen().show(shown.decode()) if line]
    closing = [line for line in lines if line.startswith("kctl consume: closing")]  # said where it takes a moment
    assert [line for line in lines if line not in closing] == [
        "one",
        "kctl consume: 1 record read from 1 partition",
        "kctl consume: interrupted (Ctrl-C)",
    ]


def test_ctrl_c_lists_partitions_that_a_fault_kept_from_being_read() -> None:
    with Sandbox(nodes=2, topics={"t": 2}).serve() as served:
        send(served.bootstrap, "t", 0, ["one"])
        served.sandbox.start_fault(2, Fault.FREEZE)
        with Terminal("consume", "t", "-o", "start", "-b", served.bootstrap, with_stderr=True) as terminal:
            shown = terminal.read_until(b"one\r\n") + terminal.read_until(b"t-1: ")
            terminal.process.send_signal(signal.SIGINT)
            shown += terminal.read_all()
    words = " ".join(Screen().show(shown.decode()))
    assert "kctl consume: 1 record read from 1 partition. Partitions not read: t-1: " in words


@pytest.mark.parametrize("environ", [{"NO_COLOR": "1"}, {"TERM": "dumb"}])
def test_without_colour(environ: dict[str, str]) -> None:
    with (
        Sandbox(nodes=1, topics={"t": 1}).serve() as served,
        Terminal("consume", "t", "-b", served.bootstrap, "-n", "1", with_stderr=True, environ=environ) as terminal,
    ):
        shown = terminal.read_until(b"record" if "NO_COLOR" in environ else b"waiting: at the end")
        send(served.bootstrap, "t", 0, ["one"])
        shown += terminal.read_all()
    assert b"\x1b[2m" not in shown
    assert ("\x1b" in shown.decode()) == ("NO_COLOR" in environ)


def test_quiet() -> None:
    with (
        Sandbox(nodes=1, topics={"t": 1}).serve() as served,
        Terminal("consume", "t", "-b", served.bootstrap, "-n", "1", "-q", with_stderr=True) as terminal,
    ):
        send(served.bootstrap, "t", 0, ["one"])
        assert terminal.read_all() == b"one\r\n"
