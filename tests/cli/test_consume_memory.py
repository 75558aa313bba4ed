"""Batches that become large: `--max-memory` bounds what one may become, and one at a time is in memory."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from kctl.cli.exit_codes import ExitCode
from kctl.sandbox import Sandbox
from kctl.sandbox.server import ServedSandbox
from kctl.sandbox.settings import ClusterSettings
from tests.cli.processes import kctl, measure

LARGE_BYTES = 40 * 1024 * 1024
BATCHES = 8
MOST_RESIDENT_BYTES = 260 * 1024 * 1024
"""The process, and a few copies of one batch; all batches at once take more than 600 MB."""


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedSandbox]:
    """A topic of some batches of a few kB, each of which becomes 40 MiB."""
    file = tmp_path_factory.mktemp("large") / "value"
    file.write_bytes(bytes(LARGE_BYTES))
    settings = ClusterSettings(socket_request_max_bytes=1 << 30)
    with Sandbox(nodes=1, topics={"t": 1}, settings=settings).serve() as served:
        for _ in range(BATCHES):
            made = kctl(
                "produce", "t", str(file), "--file-per-record", "--compression", "zstd", "-b", served.bootstrap,
                "-X", "max.request.size=100000000", "-X", "buffer.memory=200000000", "-q",
            )  # fmt: skip
            assert made.code == 0, made.stderr
        yield served


def test_batch_that_becomes_larger_than_max_memory_is_refused(served: ServedSandbox) -> None:
    ended = kctl("consume", "t", "-e", "-b", served.bootstrap, "--max-memory", "1MiB")
    assert (ended.code, ended.stdout) == (ExitCode.DATA, b"")
    assert "zstd: the decompressed records exceed the limit of 16777216 bytes" in " ".join(ended.stderr.split())


def test_large_batches_are_in_memory_one_at_a_time(served: ServedSandbox, tmp_path: Path) -> None:
    out = tmp_path / "out"
    code, _, _, resident_bytes = measure("consume", "t", "-e", "--output", "raw", "-b", served.bootstrap, "-q", to=out)
    assert code == 0
    assert out.stat().st_size == BATCHES * LARGE_BYTES
    assert resident_bytes < MOST_RESIDENT_BYTES


def test_tail_decompresses_one_batch_at_a_time(served: ServedSandbox, tmp_path: Path) -> None:
    out = tmp_path / "out"
    code, _, _, resident_bytes = measure(
        "consume", "t", "--tail", str(BATCHES), "-f", "%o\\n", "-b", served.bootstrap, "-q", to=out
    )
    assert code == 0
    assert out.read_text().split() == [str(offset) for offset in range(BATCHES)]
    assert resident_bytes < MOST_RESIDENT_BYTES
