"""Requests of a Spark Connect session against a server that refuses or hangs: they end, and nothing follows them."""

import socket
import subprocess
import sys
from collections.abc import Callable

import pytest

from kctl.pipeline import connect_channel
from kctl.pipeline.connect_channel import ConnectChannel
from kctl.pipeline.connect_url import parse_connect_url
from kctl.pipeline.spark_failures import explained
from tests.support.bounds import bound

# PySpark warns of retries, and calls a deprecated method to do so.
pytestmark = pytest.mark.filterwarnings("ignore:.*RETRIES_EXCEEDED:UserWarning", "ignore:.*warn:DeprecationWarning")

SILENT = "the Spark Connect server does not respond"
PROCESS = """
from kctl.pipeline import connect_channel
from kctl.pipeline.connect_url import parse_connect_url
connect_channel.RETRY_MS = 50
spark = connect_channel.ConnectChannel(parse_connect_url("{url}")).spark
try:
    spark.range(1).collect()
except Exception as e:
    print(type(e).__name__)
"""


@pytest.fixture
def hanging() -> socket.socket:
    """Return a server that accepts connections and responds to nothing."""
    return socket.create_server(("127.0.0.1", 0))


def error_of(action: Callable[[], object]) -> Exception:
    with pytest.raises(Exception) as caught:
        action()
    return caught.value


def test_server_that_hangs_ends_the_requests(hanging: socket.socket, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connect_channel, "CHECK_EVERY_S", 0.1)
    monkeypatch.setattr(connect_channel, "CHECK_S", 0.1)
    monkeypatch.setattr(connect_channel, "RETRY_MS", bound(600_000))
    with hanging:
        channel = ConnectChannel(parse_connect_url(f"sc://127.0.0.1:{hanging.getsockname()[1]}"))
        first = error_of(channel.spark.range(1).collect)
        assert "Channel closed" in str(first), "no retries ended it"
        assert str(explained(first, None)) == SILENT
        assert str(explained(error_of(channel.spark.range(2).collect), None)) == SILENT
    channel.spark.stop()


def test_server_that_refuses_ends_the_requests(hanging: socket.socket, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connect_channel, "RETRY_MS", 50)
    port = hanging.getsockname()[1]
    hanging.close()
    channel = ConnectChannel(parse_connect_url(f"sc://127.0.0.1:{port}"))
    assert str(explained(error_of(channel.spark.range(1).collect), None)) == SILENT
    channel.close()
    assert str(explained(error_of(channel.spark.range(2).collect), None)) == SILENT
    channel.spark.stop()


def test_process_ends_although_pyspark_sends_requests_at_exit(hanging: socket.socket) -> None:
    port = hanging.getsockname()[1]
    hanging.close()
    code = PROCESS.format(url=f"sc://127.0.0.1:{port}")
    found = subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True, timeout=bound(120))
    assert (found.returncode, found.stdout) == (0, b"SparkConnectGrpcException\n"), found.stderr
