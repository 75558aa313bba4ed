"""Whole command lines in virtual time, in the process of the test."""

from contextlib import nullcontext

import pytest

from tests.sim.kit.cluster import SimCluster
from tests.support.in_process import Ended, run_in_process

CLIENTS = ("kctl.client.admin.admin", "kctl.client.consumer.consumer", "kctl.client.producer.producer")


def use_hub(monkeypatch: pytest.MonkeyPatch, cluster: SimCluster) -> None:
    """Let commands do without threads, signals and the clock of the system."""
    for module in CLIENTS:  # their loops end when a client is dropped, as threads do
        monkeypatch.setattr(f"{module}.has_threads", lambda _: True)
    monkeypatch.setattr("kctl.cli.bench.run.SystemClock", lambda: cluster.clock)
    monkeypatch.setattr("kctl.cli.overtime.interrupted_after", lambda *_, **__: nullcontext())  # a signal


def run_line(cluster: SimCluster, line: str, stdin: bytes = b"", *, api_timeout: str = "5s") -> Ended:
    """Return how a command line ended in the time and on the network of a simulated cluster."""
    words = (*line.split(), "-b", cluster.bootstrap, "--api-timeout", api_timeout)
    return run_in_process(*words, stdin=stdin, environ={"SECRET": "secret"}, runtime=cluster.runtime)
