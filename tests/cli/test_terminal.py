"""On a terminal: interrupts are told, and records cannot steer it. The live view: test_probe_terminal.py."""

import signal

from kctl.cli.exit_codes import ExitCode
from kctl.sandbox import Fault, Sandbox
from tests.cli.conftest import SilentPeer
from tests.cli.processes import BOUND_S, kctl
from tests.cli.records import send
from tests.cli.terminal import Terminal


def test_ctrl_c_with_a_fast_close_prints_no_notice(silent_peer: SilentPeer) -> None:
    with Terminal("topics", "list", "-b", silent_peer.address, with_stderr=True) as terminal:
        silent_peer.wait_for_request()
        terminal.process.send_signal(signal.SIGINT)
        shown = terminal.read_all()
        assert terminal.process.wait(BOUND_S) == ExitCode.SIGINT
    assert b"Press Ctrl-C again to exit immediately" not in shown
    assert b"kctl topics: interrupted (Ctrl-C)" in shown


def test_ctrl_c_with_a_lasting_close_says_what_the_second_would_do() -> None:
    with (
        Sandbox(nodes=1, topics={"t": 1}).serve() as served,
        Terminal("consume", "t", "-g", "g", "-b", served.bootstrap, "--close-timeout", "3s", with_stderr=True) as each,
    ):
        send(served.bootstrap, "t", 0, ["one"])
        each.read_until(b"one")
        served.sandbox.start_fault(1, Fault.FREEZE)
        each.process.send_signal(signal.SIGINT)
        each.read_until(b"kctl consume: closing (--close-timeout). Press Ctrl-C again to exit immediately")
        assert each.process.wait(BOUND_S) == ExitCode.SIGINT


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
