"""Ctrl-C, SIGTERM and readers that leave."""

import json
import re
import signal
import subprocess
from pathlib import Path

import pytest

from kctl.cli.exit_codes import ExitCode
from kctl.sandbox import Fault, Sandbox
from kctl.sandbox.server import ServedSandbox
from tests.cli.conftest import SilentPeer
from tests.cli.groups_scene import commit, committed
from tests.cli.processes import BOUND_S, KCTL, PYTHON, end, environment, kctl, running
from tests.cli.terminal import Terminal


def _first_line(process: "subprocess.Popen[bytes]") -> bytes:
    assert process.stdout is not None
    return process.stdout.readline()


@pytest.mark.parametrize(
    ("number", "code"),
    [(signal.SIGHUP, ExitCode.SIGHUP), (signal.SIGINT, ExitCode.SIGINT), (signal.SIGTERM, ExitCode.SIGTERM)],
    ids=["HUP", "INT", "TERM"],
)
def test_consume_ends_with_what_it_has_written(
    bootstrap: str, topic: str, number: signal.Signals, code: ExitCode
) -> None:
    kctl("produce", topic, "-b", bootstrap, "-q", stdin=b"one\n")
    with running("consume", topic, "-b", bootstrap) as process:
        assert _first_line(process) == b"one\n"
        ended = end(process, number)
    account = "kctl consume: 1 record from 1 partition\n"
    assert ended == (code, b"", f"{account}kctl consume: {code.text}\n")


def test_produce_delivers_what_it_has_read(bootstrap: str, topic: str) -> None:
    with running("produce", topic, "-b", bootstrap, "-p", "0") as process:
        assert process.stdin is not None
        process.stdin.write(b"one\n")
        process.stdin.flush()
        with running("consume", topic, "-b", bootstrap) as reader:
            assert _first_line(reader) == b"one\n"
        ended = end(process, signal.SIGINT)
    assert ended.code == ExitCode.SIGINT
    account = (
        f"1 record delivered ({topic}-0: 1)",
        "no input after stdin line 1 (byte 0) was read",
        "interrupted (Ctrl-C)",
    )
    assert ended.stderr == "".join(f"kctl produce: {line}\n" for line in account)


def test_hangup_that_nohup_ignores_does_not_end_it(bootstrap: str, topic: str) -> None:
    with running("consume", topic, "-b", bootstrap, program=("nohup", *KCTL)) as process:
        kctl("produce", topic, "-b", bootstrap, "-q", stdin=b"one\n")
        assert _first_line(process) == b"one\n"
        process.send_signal(signal.SIGHUP)
        kctl("produce", topic, "-b", bootstrap, "-q", stdin=b"two\n")
        assert _first_line(process) == b"two\n"


_ON_ITS_TERMINAL = (
    "import fcntl, os, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); os.execvp(sys.argv[1], sys.argv[1:])"
)
"""Runs a command on the terminal that is its stdin, so that it hears of its end."""


def test_closed_terminal_loses_no_record_and_leaves_the_command_its_close(tmp_path: Path) -> None:
    file = tmp_path / "undelivered.jsonl"
    with (
        Sandbox(nodes=1, topics={"t": 1}).serve() as served,
        Terminal(
            "produce", "t", "-b", served.bootstrap, "--close-timeout", "1s", "--undelivered", str(file),
            with_stderr=True,
            program=(PYTHON, "-c", _ON_ITS_TERMINAL, *KCTL),
        ) as terminal,
    ):  # fmt: skip
        terminal.type(b"one\n")
        assert kctl("consume", "t", "-b", served.bootstrap, "-n", "1").stdout == b"one\n"
        served.sandbox.start_fault(1, Fault.FREEZE)
        terminal.type(b"two\nthree\n")
        with pytest.raises(subprocess.TimeoutExpired):
            terminal.process.wait(0.5)
        terminal.hang_up()
        assert terminal.process.wait(BOUND_S) == ExitCode.SIGHUP
    assert [json.loads(line)["value"] for line in file.read_bytes().splitlines()] == ["two", "three"]


@pytest.mark.parametrize("command", [("consume", "t"), ("produce", "t"), ("probe",), ("topics", "list")], ids=" ".join)
def test_while_it_waits_for_a_broker(command: tuple[str, ...], silent_peer: SilentPeer) -> None:
    with running(*command, "-b", silent_peer.address) as process:
        assert process.stdin is not None
        process.stdin.write(b"a record\n")
        process.stdin.flush()
        silent_peer.wait_for_request()
        ended = end(process, signal.SIGINT)
    assert ended.code == ExitCode.SIGINT
    assert ended.stderr.endswith(f"kctl {command[0]}: interrupted (Ctrl-C)\n")
    assert "Traceback" not in ended.stderr


def test_the_second_signal_ends_a_close_that_takes_long() -> None:
    with (
        Sandbox(nodes=1, topics={"t": 1}).serve() as served,
        running("produce", "t", "-b", served.bootstrap, "--close-timeout", "1h") as process,
    ):
        assert process.stdin is not None
        process.stdin.write(b"one\n")
        process.stdin.flush()
        assert kctl("consume", "t", "-b", served.bootstrap, "-n", "1").stdout == b"one\n"
        served.sandbox.start_fault(1, Fault.FREEZE)
        process.stdin.write(b"two\n")
        process.stdin.flush()
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(timeout=0.5)
        process.send_signal(signal.SIGINT)
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(timeout=1)
        ended = end(process, signal.SIGINT)
    assert (ended.code, ended.stdout) == (ExitCode.SIGINT, b"")
    waiting = r"waiting for up to (1h|59m\d+s) \(--close-timeout\) for brokers to acknowledge 1 record"
    assert re.fullmatch(rf"kctl produce: {waiting}. Press Ctrl-C again to exit immediately\n", ended.stderr), (
        ended.stderr
    )


def test_first_signal_during_the_close_of_consume_keeps_the_rest_of_the_close_timeout() -> None:
    with Sandbox(nodes=1, topics={"t": 1}).serve() as served:
        kctl("produce", "t", "-b", served.bootstrap, "-q", stdin=b"one\n")
        options = ("-g", "g", "--idle-timeout", "2s", "--close-timeout", "25s")
        with running("consume", "t", "-b", served.bootstrap, *options) as process:
            assert _first_line(process) == b"one\n"
            served.sandbox.start_fault(1, Fault.FREEZE)
            with pytest.raises(subprocess.TimeoutExpired):
                process.wait(5)  # --idle-timeout is over: it closes
            process.send_signal(signal.SIGINT)
            with pytest.raises(subprocess.TimeoutExpired):
                process.wait(1)
            served.sandbox.stop_fault(1, Fault.FREEZE)
            ended = end(process)
        described = kctl("groups", "members", "g", "-b", served.bootstrap, "--output", "json")
    assert ended.code == ExitCode.SIGINT
    assert json.loads(described.stdout)["rows"] == [], "it has left the group"


def test_close_timeout_zero_with_nothing_outstanding_is_no_error(bootstrap: str, topic: str) -> None:
    kctl("produce", topic, "-b", bootstrap, "-q", stdin=b"one\n")
    assert kctl("consume", topic, "-b", bootstrap, "-e", "--close-timeout", "0s") == (0, b"one\n", "")


@pytest.mark.parametrize("command", ["consume {topic} -n 100000", "consume {topic} --output jsonl -n 100000"])
def test_a_closed_pipe_is_a_quiet_end(bootstrap: str, topic: str, command: str) -> None:
    lines = b"".join(b"%06d %b\n" % (i, b"x" * 100) for i in range(20_000))
    assert kctl("produce", topic, "-b", bootstrap, "-q", stdin=lines).code == 0
    with running(*command.format(topic=topic).split(), "-b", bootstrap) as process:
        assert _first_line(process) != b""
        assert process.stdout is not None
        process.stdout.close()
        process.stdout = None
        assert process.wait(BOUND_S) == 0
        assert process.stderr is not None
        assert process.stderr.read() == b""


def test_an_idle_consumer_notices_that_its_reader_left(bootstrap: str, topic: str) -> None:
    kctl("produce", topic, "-b", bootstrap, "-q", stdin=b"one\n")
    with running("consume", topic, "-b", bootstrap) as process:
        assert _first_line(process) == b"one\n"
        assert process.stdout is not None
        process.stdout.close()
        process.stdout = None
        assert process.wait(BOUND_S) == 0


def test_help_into_a_closed_pipe() -> None:
    ended = subprocess.run(
        f"{' '.join(KCTL)} --help | true; echo ${{PIPESTATUS[0]}}",
        shell=True,
        executable="/bin/bash",
        capture_output=True,
        env=environment(),
        timeout=BOUND_S,
        check=False,
    )
    assert (ended.stdout, ended.stderr) == (b"0\n", b"")


@pytest.mark.parametrize("command", ["produce t", "produce t -i jsonl", "produce t -f %v -", "apply -f -"])
def test_command_that_reads_a_closed_stdin_fails(bootstrap: str, command: str) -> None:
    ended = subprocess.run(
        f"{' '.join(KCTL)} {command} -b {bootstrap} <&-",
        shell=True,
        capture_output=True,
        env=environment(),
        timeout=BOUND_S,
        check=False,
    )
    assert ended.returncode == ExitCode.USAGE
    assert b"cannot read stdin: Bad file descriptor\n" in ended.stderr


@pytest.mark.parametrize("stream", ["<&-", ">&-", "2>&-"], ids=["stdin", "stdout", "stderr"])
@pytest.mark.usefixtures("topic")
def test_a_stream_that_our_caller_closed(bootstrap: str, stream: str) -> None:
    ended = subprocess.run(
        f"{' '.join(KCTL)} topics list -b {bootstrap} {stream}",
        shell=True,
        capture_output=True,
        env=environment(),
        timeout=BOUND_S,
        check=False,
    )
    if stream == ">&-":
        assert (ended.returncode, ended.stderr) == (2, b"kctl topics: cannot write to stdout: Bad file descriptor\n")
    else:
        assert (ended.returncode, ended.stderr) == (0, b"")


@pytest.mark.parametrize(
    "command",
    [
        "consume {topic} -e",
        "consume {topic} -g {topic} -e",
        "consume {topic} --output raw -e",
        "topics describe {topic}",
        "groups list",
        "groups lag {topic}-other",
        "probe",
        "explain 16",
        "bench produce -n 1",
        "help-json",
        "profile show",
        "completion bash",
    ],
)
def test_command_that_prints_data_to_a_closed_stdout_fails_and_commits_nothing(
    cluster: ServedSandbox, topic: str, command: str
) -> None:
    kctl("produce", topic, "-b", cluster.bootstrap, "-q", stdin=b"one\ntwo\n")
    commit(cluster.bootstrap, f"{topic}-other", {(topic, 0): 0})
    ended = subprocess.run(
        f"{' '.join(KCTL)} {command.format(topic=topic)} >&-",
        shell=True,
        capture_output=True,
        env=environment({"KCTL_BOOTSTRAP_SERVERS": cluster.bootstrap}),
        timeout=BOUND_S,
        check=False,
    )
    assert b"cannot write to stdout: Bad file descriptor\n" in ended.stderr
    assert ended.returncode == ExitCode.USAGE
    assert set(committed(cluster.bootstrap, topic).values()) <= {0}, (
        "the offset at which the group began, and no record"
    )


def test_change_whose_result_cannot_be_printed_has_it_in_its_error(cluster: ServedSandbox, topic: str) -> None:
    ended = subprocess.run(
        f"{' '.join(KCTL)} topics create {topic}-new {topic} >&-",
        shell=True,
        capture_output=True,
        env=environment({"KCTL_BOOTSTRAP_SERVERS": cluster.bootstrap}),
        timeout=BOUND_S,
        check=False,
    )
    first, *result = ended.stderr.decode().splitlines()
    assert first == "kctl topics: cannot write to stdout: Bad file descriptor"
    assert result[0] == "  the unwritten output is:"
    assert [line.split()[0] for line in result[1:]] == ["TOPIC", f"{topic}-new"], "the other exists already"
    assert kctl("topics", "describe", f"{topic}-new", "-b", cluster.bootstrap).code == 0


@pytest.mark.parametrize(
    "arguments", ["topics list", "consume {topic} -e", "probe", "explain 16", "--help", "--version"]
)
def test_a_stdout_that_takes_nothing(bootstrap: str, topic: str, arguments: str) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("this system has no /dev/full")
    kctl("produce", topic, "-b", bootstrap, "-q", stdin=b"one\n")
    words = arguments.format(topic=topic).split()
    with open("/dev/full", "wb") as full:
        ended = subprocess.run(
            [*KCTL, *words],
            stdout=full,
            stderr=subprocess.PIPE,
            env=environment({"KCTL_BOOTSTRAP_SERVERS": bootstrap}),
            timeout=BOUND_S,
            check=False,
        )
    assert ended.returncode == ExitCode.DISK
    assert re.fullmatch(rb"kctl( \w+)?: cannot write( to stdout)?: No space left on device\n", ended.stderr)


@pytest.mark.parametrize("stderr", ["2>/dev/full", "2>&-"])
def test_a_stderr_that_takes_nothing_does_not_change_the_exit_code(stderr: str) -> None:
    ended = subprocess.run(
        f"{' '.join(KCTL)} topics list -b 127.0.0.1:1 --api-timeout 100ms {stderr}",
        shell=True,
        env=environment(),
        timeout=BOUND_S,
        check=False,
    )
    assert ended.returncode == ExitCode.REFUSED


@pytest.mark.parametrize("arguments", ["--help", "topics --help", "topics list -h", "--version", "-V"])
def test_help_and_version_on_a_closed_stdout_fail_as_other_output(arguments: str) -> None:
    ended = subprocess.run(
        f"{' '.join(KCTL)} {arguments} >&-",
        shell=True,
        capture_output=True,
        env=environment(),
        timeout=BOUND_S,
        check=False,
    )
    program = "kctl topics" if arguments.startswith("topics") else "kctl"
    assert ended.returncode == ExitCode.USAGE
    assert ended.stderr.decode() == f"{program}: cannot write to stdout: Bad file descriptor\n"


_INTERRUPTED_AT = """
import atexit, os, signal, sys

class AtImport:
    left = int(sys.argv.pop(1))

    def find_spec(self, name, path=None, target=None):
        AtImport.left -= 1
        if AtImport.left == 0:
            os.kill(os.getpid(), signal.SIGINT)

from kctl.__main__ import main
sys.meta_path.insert(0, AtImport())
if AtImport.left < 0:
    atexit.register(os.kill, os.getpid(), signal.SIGINT)
code = main()
sys.stderr.write(f"imported everything, {code}" if AtImport.left > 0 else "")
sys.exit(code)
"""
"""kctl, with a Ctrl-C at its Nth import from the start of main() on; -1: one when it is done and Python ends."""
_KILLED = -signal.SIGINT


def _interrupted_at(number: int, *arguments: str) -> tuple[int, str]:
    ended = subprocess.run(
        [PYTHON, "-c", _INTERRUPTED_AT, str(number), *arguments],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        env=environment(),
        timeout=BOUND_S,
        check=False,
    )
    return ended.returncode, ended.stderr.decode()


@pytest.mark.parametrize("arguments", ["topics list", "consume t"])
def test_ctrl_c_while_it_starts(arguments: str) -> None:
    """Before there is anything to close the signal ends it as it ends any program; then kctl says so. No traceback."""
    wanted = {(_KILLED, ""), (ExitCode.SIGINT, f"kctl {arguments.split()[0]}: interrupted (Ctrl-C)\n")}
    for number in range(1, 1_000, 23):
        ended = _interrupted_at(number, *arguments.split(), "-b", "127.0.0.1:1", "--api-timeout", "100ms")
        if "imported everything" in ended[1]:
            assert number > 100
            return
        assert ended in wanted, number
    pytest.fail("it imports without an end")


def test_ctrl_c_while_python_ends() -> None:
    assert _interrupted_at(-1, "--help") == (_KILLED, "")


_INTERRUPTED_IN_A_CALLBACK = """
import os, signal, sys, weakref

class Dropped:
    pass

class AtImport:
    def find_spec(self, name, path=None, target=None):
        if signal.getsignal(signal.SIGINT) not in (signal.SIG_DFL, signal.default_int_handler):
            sys.meta_path.remove(self)
            dropped = Dropped()
            held = weakref.ref(dropped, lambda _: os.kill(os.getpid(), signal.SIGINT))
            del dropped

from kctl.__main__ import main
sys.meta_path.insert(0, AtImport())
sys.exit(main())
"""
"""kctl, with a Ctrl-C in a callback of a weak reference, as the import system has for each module."""


def test_ctrl_c_where_python_drops_exceptions_still_ends_the_command() -> None:
    command = ("topics", "list", "-b", "127.0.0.1:1", "--api-timeout", "1h")
    ended = subprocess.run(
        [PYTHON, "-c", _INTERRUPTED_IN_A_CALLBACK, *command],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        env=environment(),
        timeout=BOUND_S,
        check=False,
    )
    assert (ended.returncode, ended.stderr) == (ExitCode.SIGINT, b"kctl topics: interrupted (Ctrl-C)\n")
