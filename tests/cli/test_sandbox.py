"""`kctl sandbox start`: the cluster that a newcomer starts with."""

import json
import signal
import socket
from pathlib import Path

import pytest

from kctl.cli.exit_codes import ExitCode
from kctl.client.broker_errors import ErrorCode
from kctl.client.protocol.api.api_versions import ApiVersionsRequest, ApiVersionsResponse
from kctl.client.protocol.api.produce import PartitionProduceData, ProduceRequest, ProduceResponse, TopicProduceData
from tests.cli.processes import end, kctl, running
from tests.loopback.sandbox.peer import Peer
from tests.unit.sandbox.scenario import batch


def _bootstrap(line: bytes) -> str:
    return line.decode().strip()


def test_up_is_said_when_it_is_so_and_ctrl_c_ends_it() -> None:
    with running("sandbox", "start", "--nodes", "2", "--port", "0", "--topic", "t:3", "--topic", "other") as process:
        assert process.stdout is not None
        servers = _bootstrap(process.stdout.readline())
        assert len(servers.split(",")) == 2
        assert kctl("produce", "t", "-b", servers, "-q", stdin=b"one\n").code == 0
        assert kctl("consume", "t", "-b", servers, "-e").stdout == b"one\n"
        described = kctl("topics", "describe", "t", "other", "-b", servers, "--output", "jsonl")
        assert len(described.stdout.splitlines()) == 4
        ended = end(process, signal.SIGINT)
    assert ended == (
        ExitCode.SIGINT,
        b"",
        "kctl sandbox: 2 brokers are running. Ctrl-C stops them and deletes their data\n",
    )


def test_sandbox_with_data_keeps_records_until_its_next_start(tmp_path: Path) -> None:
    options = ("--nodes", "1", "--port", "0", "--data", str(tmp_path / "data"))
    with running("sandbox", "start", *options, "--topic", "t") as process:
        assert process.stdout is not None
        servers = _bootstrap(process.stdout.readline())
        assert kctl("produce", "t", "-b", servers, "-q", stdin=b"one\n").code == 0
        said = "kctl sandbox: 1 broker is running. Ctrl-C stops it and saves its data\n"
        assert end(process, signal.SIGTERM) == (ExitCode.SIGTERM, b"", said)
    with running("sandbox", "start", *options, "-q") as process:
        assert process.stdout is not None
        servers = _bootstrap(process.stdout.readline())
        assert kctl("consume", "t", "-b", servers, "-e").stdout == b"one\n"
        assert end(process, signal.SIGTERM) == (ExitCode.SIGTERM, b"", "")
    (tmp_path / "data" / "cluster.data").write_bytes(b"other")
    refused = kctl("sandbox", "start", *options)
    assert (refused.code, refused.stdout) == (ExitCode.USAGE, b"")
    assert "cluster.data: invalid sandbox data" in refused.stderr


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_quiet_and_terminated(number: signal.Signals) -> None:
    with running("sandbox", "start", "--nodes", "1", "--port", "0", "-q") as process:
        assert process.stdout is not None
        _bootstrap(process.stdout.readline())
        assert end(process, number) == (128 + number, b"", "")


def test_a_port_that_is_taken() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        ended = kctl("sandbox", "start", "--nodes", "1", "--port", str(port))
    assert (ended.code, ended.stdout) == (ExitCode.USAGE, b"")
    assert f"cannot listen on 127.0.0.1:{port}: Address already in use" in ended.stderr


def test_node_i_listens_on_port_plus_i_minus_1() -> None:
    for first in range(20_000, 60_000, 97):  # some range of three is free
        with running("sandbox", "start", "--nodes", "3", "--port", str(first)) as process:
            assert process.stdout is not None
            line = _bootstrap(process.stdout.readline())
            if line:
                assert line == ",".join(f"127.0.0.1:{first + i}" for i in range(3))
                return
    raise AssertionError("no three ports in a row are free")


def test_sandbox_tell_changes_a_running_sandbox(tmp_path: Path) -> None:
    control = str(tmp_path / "control")
    options = ("--nodes", "2", "--port", "0", "-q", "--control", control, "--racks", "a", "--replication-factor", "2")
    with running("sandbox", "start", *options, "--topic", "t") as process:
        assert process.stdout is not None
        servers = _bootstrap(process.stdout.readline())
        assert kctl("sandbox", "fault", "--control", control, "lead", "t", "0", "2").code == 0
        described = kctl("topics", "describe", "t", "-b", servers, "--output", "jsonl")
        assert json.loads(described.stdout)["leader"] == 2
        refused = kctl("sandbox", "fault", "--control", control, "start", "3", "freeze")
        assert (refused.code, refused.stdout) == (ExitCode.USAGE, b"")
        assert "start: no broker 3: use 1 to 2" in refused.stderr
        assert end(process, signal.SIGTERM) == (ExitCode.SIGTERM, b"", "")
    gone = kctl("sandbox", "fault", "--control", control, "heal")
    assert gone.code == ExitCode.USAGE
    assert f"cannot connect to a sandbox at {control}" in gone.stderr


def test_transactions_and_replicas_are_as_the_options_say(tmp_path: Path) -> None:
    control = str(tmp_path / "control")
    options = ("--nodes", "2", "--port", "0", "-q", "--control", control, "--replication-factor", "2")
    more = ("--min-insync-replicas", "2", "--transaction-version", "1")
    with running("sandbox", "start", *options, *more, "--topic", "t") as process:
        assert process.stdout is not None
        host, _, port = _bootstrap(process.stdout.readline()).split(",")[0].rpartition(":")
        with Peer((host, int(port))) as peer:
            asked = ApiVersionsRequest(client_software_name="peer", client_software_version="1")
            features = peer.call(asked, ApiVersionsResponse, 4).finalized_features
            assert ("transaction.version", 1) in [(one.name, one.max_version_level) for one in features]
            data = [PartitionProduceData(index=0, records=batch(b"v"))]
            request = ProduceRequest(acks=-1, topic_data=[TopicProduceData(name="t", partition_data=data)])
            for code in (ErrorCode.NONE, ErrorCode.NOT_ENOUGH_REPLICAS):
                answer = peer.call(request, ProduceResponse, 9).responses[0].partition_responses[0]
                assert answer.error_code == code
                assert kctl("sandbox", "fault", "--control", control, "hold", "t", "0", "2").code == 0


def test_a_control_path_that_is_taken(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    ended = kctl("sandbox", "start", "--nodes", "1", "--port", "0", "--control", str(tmp_path / "file"))
    assert (ended.code, ended.stdout) == (ExitCode.USAGE, b"")
    assert f"cannot create control socket {tmp_path / 'file'}: Address already in use" in ended.stderr


def test_racks_fit_the_nodes() -> None:
    ended = kctl("sandbox", "start", "--nodes", "2", "--port", "0", "--racks", "a,b,c")
    assert ended.code == ExitCode.USAGE
    assert "use 1 to 2 racks, separated by commas, instead of 'a,b,c'" in ended.stderr


def test_replicas_fit_the_nodes() -> None:
    ended = kctl("sandbox", "start", "--nodes", "2", "--port", "0", "--replication-factor", "3")
    assert ended.code == ExitCode.USAGE
    assert "3 replicas need at least 3 brokers, but --nodes is 2" in ended.stderr
