"""The sandbox as a command: one line when it is ready, and an end by a signal with nothing left."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from kctl.client.protocol.api.api_versions import ApiVersionsRequest, ApiVersionsResponse
from tests.loopback.sandbox.peer import PATIENCE_S, Peer

_ROOT = Path(__file__).parents[3]
_PROGRAM = """
from kctl.sandbox import Sandbox
from kctl.sandbox.server import run_until_signal
ended_by = run_until_signal(Sandbox(nodes=2), on_ready=lambda served: print('ready', served.bootstrap, flush=True))
print("ended by", ended_by.name)
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_run_until_signal_serves_until_the_signal_and_leaves_nothing(number: signal.Signals) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", _PROGRAM], cwd=_ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None
            word, _, bootstrap = process.stdout.readline().strip().partition(" ")
            assert word == "ready"
            for address in bootstrap.split(","):
                host, _, port = address.rpartition(":")
                with Peer((host, int(port))) as peer:
                    peer.call(ApiVersionsRequest(), ApiVersionsResponse, 0)
            process.send_signal(number)
            output, errors = process.communicate(timeout=PATIENCE_S)
        finally:
            process.kill()
    assert (output, errors, process.returncode) == (f"ended by {number.name}\n", "", 0)
