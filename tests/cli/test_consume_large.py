"""Records whose values are written from where they lie in a fetch: to files, pipes, limits and readers that leave."""

import subprocess
from pathlib import Path

import pytest

from kctl.sandbox.server import ServedSandbox
from tests.cli.processes import BOUND_S, KCTL, environment, kctl, running
from tests.cli.test_consume_formats import Record, fill

VALUES = [b"%04d" % number * (100 + number % 300) for number in range(2_000)]
"""Most of them are large, and all together are more than a pipe takes."""


@pytest.fixture
def large(cluster: ServedSandbox, topic: str) -> str:
    """A topic whose partition 1 has VALUES, in batches."""
    for first in range(0, len(VALUES), 500):
        records: list[Record] = [(None, value, []) for value in VALUES[first : first + 500]]
        fill(cluster, topic, records)
    return topic


@pytest.mark.parametrize("count", [1, 499, 500, 501, 2_000])
def test_values_arrive_byte_for_byte_up_to_the_limit(cluster: ServedSandbox, large: str, count: int) -> None:
    done = kctl("consume", large, "-b", cluster.bootstrap, "-p", "1", "-n", str(count))
    assert done.code == 0
    assert done.stdout == b"".join(value + b"\n" for value in VALUES[:count])


def test_values_arrive_in_a_file(cluster: ServedSandbox, large: str, tmp_path: Path) -> None:
    with (tmp_path / "values").open("wb") as file:
        file.write(b"before\n")
        file.flush()
        command = [*KCTL, "consume", large, "-b", cluster.bootstrap, "-e"]
        subprocess.run(command, stdin=subprocess.DEVNULL, stdout=file, env=environment(), timeout=BOUND_S, check=True)
    assert (tmp_path / "values").read_bytes() == b"before\n" + b"".join(value + b"\n" for value in VALUES)


def test_reader_that_leaves_ends_the_command_quietly(cluster: ServedSandbox, large: str) -> None:
    with running("consume", large, "-b", cluster.bootstrap, "-e") as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.read(1_000) == b"".join(value + b"\n" for value in VALUES)[:1_000]
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(BOUND_S) == 0
