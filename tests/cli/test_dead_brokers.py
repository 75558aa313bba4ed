"""Every command against brokers that do not serve it: the exit code of the cause, by the deadline, in a line.

Bounds on real time are wide: that limits are exact is shown in virtual time (tests/sim).
"""

import signal
import subprocess

import pytest

from kctl.cli.exit_codes import ExitCode
from kctl.sandbox import Sandbox
from tests.cli.conftest import SilentPeer
from tests.cli.processes import Ended, end, kctl, running
from tests.support.freezing import freeze

COMMAND_LINES = [
    ("consume", "t"),
    ("consume", "t", "-e"),
    ("produce", "t"),
    ("probe",),
    ("topics", "list"),
    ("topics", "create", "t"),
    ("topics", "describe", "t"),
    ("topics", "delete", "t"),
]
everywhere = pytest.mark.parametrize("command", COMMAND_LINES, ids=" ".join)


def _run(command: tuple[str, ...], servers: str, *limits: str) -> Ended:
    return kctl(*command, "-b", servers, *limits, stdin=b"a record\n")


@everywhere
def test_refused(command: tuple[str, ...], refused: str) -> None:
    ended = _run(command, refused, "--api-timeout", "1s")
    assert ended.code == ExitCode.REFUSED
    assert "connection refused" in ended.stderr
    assert refused in ended.stderr
    assert "hint: check the port and that the server runs" in ended.stderr
    assert "Traceback" not in ended.stderr


@everywhere
def test_a_name_that_does_not_exist(command: tuple[str, ...]) -> None:
    ended = _run(command, "no-such-host.invalid:9092", "--api-timeout", "1s")
    assert ended.code == ExitCode.DNS
    assert "no-such-host.invalid" in ended.stderr


@everywhere
def test_accepted_and_then_silence(command: tuple[str, ...], silent: str) -> None:
    ended = _run(command, silent, "--api-timeout", "2s", "--connect-timeout", "300ms")
    assert ended.code == ExitCode.CONNECT_TIMEOUT
    assert "(--connect-timeout)" in ended.stderr
    assert "ApiVersions" in ended.stderr


@pytest.mark.slow  # the process stands still for longer than its deadline
@pytest.mark.parametrize("command", [("topics", "list"), ("topics", "create", "t")], ids=" ".join)
def test_process_that_stood_still_at_its_deadline_has_the_cause(
    command: tuple[str, ...], silent_peer: SilentPeer
) -> None:
    limits = ("--api-timeout", "1s", "--connect-timeout", "300ms")
    with running(*command, "-b", silent_peer.address, *limits) as process:
        silent_peer.wait_for_request()
        freeze(process.pid)
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(2.5)
        ended = end(process, signal.SIGCONT)
    assert ended.code == ExitCode.CONNECT_TIMEOUT
    assert "no ApiVersions response" in ended.stderr


@everywhere
def test_nothing_but_data_on_stdout(command: tuple[str, ...], refused: str) -> None:
    ended = _run(command, refused, "--api-timeout", "500ms")
    if command != ("probe",):  # what it found is its data
        assert ended.stdout == b""


@pytest.mark.parametrize("command", COMMAND_LINES[:1] + COMMAND_LINES[3:5], ids=" ".join)
def test_a_peer_that_is_no_broker(command: tuple[str, ...], ssh: str) -> None:
    ended = _run(command, ssh, "--api-timeout", "2s")
    assert ended.code == ExitCode.WRONG_PROTOCOL
    assert "SSH-2.0-OpenSSH" in ended.stderr


@pytest.mark.parametrize("command", [("consume", "t", "-e"), ("topics", "create", "u")], ids=" ".join)
def test_an_advertised_address_that_nobody_answers_at(command: tuple[str, ...], refused: str) -> None:
    with Sandbox(nodes=1, topics={"t": 1}).serve() as served:
        first = served.bootstrap
        host, port = refused.split(":")
        served.sandbox.advertise(1, host, int(port))
        ended = _run(command, first, "--api-timeout", "2s")
    assert ended.code == ExitCode.ADVERTISED_ADDRESS
    assert refused in ended.stderr


@pytest.mark.parametrize("command", [("consume", "nope"), ("topics", "describe", "nope"), ("topics", "delete", "nope")])
def test_unknown_topic(command: tuple[str, ...], bootstrap: str) -> None:
    ended = _run(command, bootstrap, "--api-timeout", "3s")
    assert ended.code == ExitCode.UNKNOWN_RESOURCE
    assert "nope" in ended.stderr


def test_one_dead_server_does_not_matter(refused: str, bootstrap: str) -> None:
    ended = _run(
        ("topics", "list"), f"{refused},{bootstrap}", "--api-timeout", "5s", "-q"
    )  # there may be topics or none
    assert (ended.code, ended.stderr) == (0, "")


def test_a_broker_that_goes_away_while_we_follow_is_told() -> None:
    with Sandbox(nodes=1, topics={"t": 1}).serve() as served:
        assert kctl("produce", "t", "-b", served.bootstrap, "-q", stdin=b"one\n").code == 0
        with running("consume", "t", "-b", served.bootstrap) as process:
            assert process.stdout is not None
            assert process.stderr is not None
            assert process.stdout.readline() == b"one\n"
            served.stop()
            assert process.stderr.readline().startswith(b"kctl consume: waiting: t-0: ")
            assert end(process, signal.SIGINT).code == ExitCode.SIGINT


def test_a_line_that_no_topic_could_be_found_for_is_named(refused: str) -> None:
    ended = kctl("produce", "t", "-b", refused, "--api-timeout", "500ms", stdin=b"one\ntwo\n")
    assert ended.code == ExitCode.REFUSED
    assert "stdin line 1 (byte 0) and later records were NOT sent" in ended.stderr
