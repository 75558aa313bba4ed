"""On a terminal: interrupts are told, and records cannot steer it. The live view: test_probe_terminal.py."""

import signal

from kctl.cli.exit_codes import ExitCode
from tests.cli.conftest import SilentPeer
from tests.cli.processes import BOUND_S, kctl
from tests.cli.terminal import Terminal


def test_the_first_ctrl_c_says_what_the_second_would_do(silent_peer: SilentPeer) -> None:
    with Terminal("topics", "list", "-b", silent_peer.address, with_stderr=True) as terminal:
        silent_peer.wait_for_request()
        terminal.process.send_signal(signal.SIGINT)
        shown = terminal.read_all()
        assert terminal.process.wait(BOUND_S) == ExitCode.SIGINT
    assert b"once more to leave at once" in shown
    assert b"kctl topics: interrupted (Ctrl-C)" in shown


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
