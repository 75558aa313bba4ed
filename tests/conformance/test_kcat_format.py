"""`--kcat-format` beside kcat itself: the same tokens, the same topic, the same bytes."""

from collections.abc import Iterator

import pytest

from kctl.client.records import Header, RecordBatchBuilder
from kctl.sandbox import Sandbox
from kctl.sandbox.server import ServedSandbox
from tests.cli.processes import kctl
from tests.conformance.foreign.client import run_bounded
from tests.support.kafka.requirements import have
from tests.support.kafka.toolchain import find_tool

TOPIC = "a.topic"
STAMP_MS = 1_700_000_000_000
RECORDS: list[tuple[bytes | None, bytes | None, list[Header]]] = [
    (b"key", b"value", [("a", b"1"), ("b", None), ("a", b""), ("\u2713", "\u2713".encode())]),
    (None, None, []),
    (b"", b"", [("only", b"x")]),
    (b"\x00\xff\n", bytes(range(256)), []),
    (b"k" * 300, b"v" * 70_000, []),
]


@pytest.fixture(scope="module")
def served() -> Iterator[ServedSandbox]:
    """A sandbox whose topic holds RECORDS."""
    have(lambda: find_tool("kcat", "kcat"))
    sandbox = Sandbox(nodes=1, topics={TOPIC: 1})
    builder = RecordBatchBuilder("none", batch_size_bytes=1 << 20)
    for number, (key, value, headers) in enumerate(RECORDS):
        assert builder.try_append(key, value, headers, STAMP_MS + number) == number
    partition = sandbox.cluster.topics[TOPIC].partitions[0]
    partition.log.append(builder.build(), partition.leader_epoch, STAMP_MS)
    with sandbox.serve() as served:
        yield served


def by_kcat(served: ServedSandbox, text: str) -> bytes:
    words = ["-C", "-b", served.bootstrap, "-t", TOPIC, "-o", "beginning", "-e", "-q", "-f", text]
    return run_bounded("kcat consume", [find_tool("kcat", "kcat"), *words], b"", 30)


@pytest.mark.parametrize(
    "text",
    [
        "%s\\n",
        "%S %K\\n",
        "%R%s",
        "%k|%s|%h\\n",
        "%t [%p] %o %T %% %h\\n",
        "%k\\t%s\\r\\n",
        "\\x41\\x1e\\x4a4b\\x7\\101\\0101\\9|%o\\x0a",
        "\\\\ \u2713 %o",
        "%o%o%%%%o ",
    ],
)
def test_the_same_bytes(served: ServedSandbox, text: str) -> None:
    theirs = by_kcat(served, text)
    assert len(theirs) >= len(RECORDS)
    ours = kctl("consume", TOPIC, "-b", served.bootstrap, "-e", "--kcat-format", text)
    assert (ours.code, ours.stdout, ours.stderr) == (0, theirs, "")
