"""`kctl sandbox up`: the cluster that a newcomer starts with."""

import signal
import socket

from kctl.cli.exit_codes import ExitCode
from tests.cli.processes import end, kctl, running


def _bootstrap(line: bytes) -> str:
    return line.decode().strip()


def test_up_is_said_when_it_is_so_and_ctrl_c_ends_it() -> None:
    with running("sandbox", "up", "--nodes", "2", "--port", "0", "--topic", "t:3", "--topic", "other") as process:
        assert process.stdout is not None
        servers = _bootstrap(process.stdout.readline())
        assert len(servers.split(",")) == 2
        assert kctl("produce", "t", "-b", servers, "-q", stdin=b"one\n").code == 0
        assert kctl("consume", "t", "-b", servers, "-e").stdout == b"one\n"
        described = kctl("topics", "describe", "t", "other", "-b", servers, "--output", "jsonl")
        assert len(described.stdout.splitlines()) == 4
        ended = end(process, signal.SIGINT)
    assert ended == (ExitCode.SIGINT, b"", "kctl sandbox: 2 nodes are up; Ctrl-C ends them and what they hold\n")


def test_quiet_and_terminated() -> None:
    with running("sandbox", "up", "--nodes", "1", "--port", "0", "-q") as process:
        assert process.stdout is not None
        _bootstrap(process.stdout.readline())
        assert end(process, signal.SIGTERM) == (ExitCode.SIGTERM, b"", "")


def test_a_port_that_is_taken() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        ended = kctl("sandbox", "up", "--nodes", "1", "--port", str(port))
    assert (ended.code, ended.stdout) == (ExitCode.USAGE, b"")
    assert f"cannot listen on 127.0.0.1:{port}: Address already in use" in ended.stderr


def test_node_i_listens_on_port_plus_i_minus_1() -> None:
    for first in range(20_000, 60_000, 97):  # some range of three is free
        with running("sandbox", "up", "--nodes", "3", "--port", str(first)) as process:
            assert process.stdout is not None
            line = _bootstrap(process.stdout.readline())
            if line:
                assert line == ",".join(f"127.0.0.1:{first + i}" for i in range(3))
                return
    raise AssertionError("no three ports in a row are free")
