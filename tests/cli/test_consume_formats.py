"""What `kctl consume` writes, in each of its forms, of records that hold everything records can hold."""

import base64
import csv
import io
import json
import os
import signal
from pathlib import Path

import pytest

from kctl.cli.exit_codes import ExitCode
from kctl.client.clock import SystemClock, Timer
from kctl.client.records import Header, RecordBatchBuilder
from kctl.sandbox.server import ServedSandbox
from tests.cli.processes import BOUND_S, end, kctl, running

Record = tuple[bytes | None, bytes | None, list[Header]]
RECORDS: list[Record] = [
    (b"k1", b"line one\nline two", [("h", b"1"), ("h", None), ("", b"")]),
    (None, b"", []),
    (b"", None, []),
    (b"\xff\x00", '\u2713, "quoted"'.encode(), [("bin", b"\xfe")]),
]
STAMP_MS = 1_700_000_000_000


def fill(cluster: ServedSandbox, topic: str, records: list[Record], partition: int = 1) -> None:
    """Append the records to a partition as one batch, with timestamps from STAMP_MS on."""
    builder = RecordBatchBuilder("lz4", batch_size_bytes=1 << 20)
    for number, (key, value, headers) in enumerate(records):
        assert builder.try_append(key, value, headers, STAMP_MS + number) == number
    log = cluster.sandbox.cluster.topics[topic].partitions[partition]
    log.log.append(builder.build(), log.leader_epoch, STAMP_MS)


@pytest.fixture
def filled(cluster: ServedSandbox, topic: str) -> str:
    """A topic whose partition 1 holds RECORDS."""
    fill(cluster, topic, RECORDS)
    return topic


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (("--output", "raw"), b"line one\nline two" + RECORDS[3][1]),  # type: ignore[operator]  # this one is no null
        (("--output", "hex"), b"6c696e65206f6e650a6c696e652074776f\n\n\ne29c932c202271756f74656422\n"),
        (("--output", "base64", "--null", "-"), b"bGluZSBvbmUKbGluZSB0d28=\n\n-\n4pyTLCAicXVvdGVkIg==\n"),
        (("--print-offsets", "-n", "1", "-f", "%k\\n"), b"Partition:1\tOffset:0\tk1\n"),
        (("-f", "%o %[ %| %] %e %K%k{hex}:%h{%k=%v,}|"), b"0 0 4 4 0 26b31:h=1,h=,=,|1 0 4 4 0 0:|2 0 4 4 0 0:|"
         b"3 0 4 4 0 2ff00:bin=\xfe,|"),
        (("-f", "%d{strftime[%T]} %a{compression} %i\\n", "-n", "2"), b"22:13:20 lz4 1\n22:13:20 lz4 2\n"),
        (("--grep", "h:h=1", "-f", "%o\\n"), b"0\n"),
        (("--grep", "!v:.", "--grep", "!k:^$", "-f", "%o\\n"), b""),
        (("--grep", "!v:.", "-f", "%o %i\\n"), b"1 1\n2 2\n"),
        (("--jq", "select(.offset > 9)"), b""),
    ],
    ids=lambda each: " ".join(each) if isinstance(each, tuple) else "",
)  # fmt: skip
def test_forms(bootstrap: str, filled: str, options: tuple[str, ...], expected: bytes) -> None:
    note = (
        "" if expected else "kctl consume: note: no records printed: 4 records read, but none matched --grep or --jq\n"
    )
    assert kctl("consume", filled, "-b", bootstrap, "-e", *options) == (0, expected, note)


def test_csv_and_jsonl_hold_everything(bootstrap: str, filled: str) -> None:
    lines = kctl("consume", filled, "-b", bootstrap, "-e", "--output", "jsonl").stdout.splitlines()
    text = kctl("consume", filled, "-b", bootstrap, "-e", "--output", "csv").stdout.decode()
    rows = list(csv.DictReader(io.StringIO(text, newline=""), strict=True))
    for (key, value, _), line, row in zip(RECORDS, lines, rows, strict=True):
        fields = json.loads(line)
        assert [from_json(fields["key"]), from_json(fields["value"])] == [key, value]
        assert [from_csv(row["key"], row["key_encoding"]), from_csv(row["value"], row["value_encoding"])] == [
            key,
            value,
        ]
        assert json.loads(row["headers"]) == fields["headers"]
        assert [int(row[name]) for name in ("partition", "offset", "timestamp")] == [
            fields[name] for name in ("partition", "offset", "timestamp")
        ]


def from_json(value: str | dict[str, str] | None) -> bytes | None:
    if isinstance(value, dict):
        return base64.b64decode(value["base64"])
    return None if value is None else value.encode()


def from_csv(text: str, encoding: str) -> bytes | None:
    if encoding == "null":
        assert text == ""
        return None
    assert encoding in ("utf-8", "base64")
    return base64.b64decode(text) if encoding == "base64" else text.encode()


def test_csv_has_its_head_even_without_a_record(bootstrap: str, topic: str) -> None:
    read = kctl("consume", topic, "-b", bootstrap, "-e", "-q", "--output", "csv")
    assert read == (
        0,
        b"topic,partition,offset,timestamp,key,key_encoding,value,value_encoding,headers\r\n",
        "",
    )


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (("-f", "%v %s"), "unknown verb %s: did you mean %v?\n  %v %s\n     ^^\n"),
        (("--grep", "v:("), "invalid regular expression: missing ), unterminated subpattern\n  v:(\n    ^\n"),
        (("-f", "%v", "--output", "csv"), "--format and --output csv cannot be combined"),
    ],
    ids=lambda each: " ".join(each) if isinstance(each, tuple) else "",
)
def test_mistakes_are_pointed_at(options: tuple[str, ...], text: str) -> None:
    ended = kctl("consume", "t", "-b", "127.0.0.1:1", *options)
    assert (ended.code, ended.stdout) == (ExitCode.USAGE, b"")
    assert text in ended.stderr
    assert "Traceback" not in ended.stderr


def test_the_limit_counts_what_is_printed(cluster: ServedSandbox, bootstrap: str, topic: str) -> None:
    fill(cluster, topic, [(None, b"%d" % number, []) for number in range(2000)])
    read = kctl("consume", topic, "-b", bootstrap, "-n", "3", "--grep", "v:99$")
    assert read == (0, b"99\n199\n299\n", "")


def test_records_that_a_filter_leaves_out_are_committed_too(cluster: ServedSandbox, bootstrap: str, topic: str) -> None:
    fill(cluster, topic, [(None, b"%d" % number, []) for number in range(2000)])
    read = kctl("consume", topic, "-b", bootstrap, "-g", topic, "-e", "--grep", "v:^1500$")
    assert read == (0, b"1500\n", "")
    offsets = cluster.sandbox.cluster.groups.offsets[topic]
    assert sum(each.offset for each in offsets.values()) == 2000
    assert kctl("consume", topic, "-b", bootstrap, "-g", topic, "-e", "-q") == (0, b"", "")


def test_ctrl_c_ends_a_pattern_that_would_not_end(cluster: ServedSandbox, bootstrap: str, topic: str) -> None:
    fill(cluster, topic, [(None, b"before", [])])
    with running("consume", topic, "-b", bootstrap, "--grep", "v:^(a+)+$|before") as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"before\n"
        idle_s = cpu_s(process.pid)
        fill(cluster, topic, [(None, b"a" * 60 + b"!", [])])
        bound = Timer(SystemClock(), BOUND_S * 1000)
        while cpu_s(process.pid) < idle_s + 0.5:  # then it is deep in the pattern
            bound.update()
            assert bound.not_expired
        ended = end(process, signal.SIGINT)
    assert (ended.code, ended.stdout) == (ExitCode.SIGINT, b"")


def cpu_s(pid: int) -> float:
    """Return how much CPU time a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
