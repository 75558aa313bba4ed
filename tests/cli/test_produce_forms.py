"""Every form of input of `kctl produce`, read back from a sandbox by `kctl consume`."""

import json
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings

from kctl.cli.exit_codes import ExitCode
from kctl.client import Producer
from kctl.sandbox.server import ServedSandbox
from tests.cli.processes import BOUND_S, KCTL, environment, kctl
from tests.support.in_process import run_in_process
from tests.unit.cli.formats.running import Content
from tests.unit.cli.input.test_jsonl import contents


def _send(bootstrap: str, topic: str, *options: str, stdin: bytes = b"") -> str:
    sent = kctl("produce", topic, "-b", bootstrap, "-p", "0", *options, stdin=stdin)
    assert (sent.code, sent.stdout) == (0, b"")
    return sent.stderr


def _records(bootstrap: str, topic: str) -> list[dict[str, object]]:
    read = kctl("consume", topic, "-b", bootstrap, "-e", "--output", "jsonl")
    assert read.code == 0
    return [json.loads(line) for line in read.stdout.splitlines()]


def _values(bootstrap: str, topic: str) -> list[object]:
    return [record["value"] for record in _records(bootstrap, topic)]


def test_delimiters(bootstrap: str, topic: str) -> None:
    _send(bootstrap, topic, "-D", "\\0", "-K", ":", stdin=b"a:1\0b\n:2\0c")
    assert [(r["key"], r["value"]) for r in _records(bootstrap, topic)] == [("a", "1"), ("b\n", "2"), (None, "c")]


def test_now_replaces_the_timestamp_of_a_record(bootstrap: str, topic: str) -> None:
    line = b'{"timestamp":1000,"value":"old"}\n'
    _send(bootstrap, topic, "-i", "jsonl", stdin=line)
    _send(bootstrap, topic, "-i", "jsonl", "--reset-timestamps", stdin=line)
    kept, new = (record["timestamp"] for record in _records(bootstrap, topic))
    assert kept == 1000
    assert isinstance(new, int)
    assert new > 1_700_000_000_000


@pytest.mark.parametrize(
    ("template", "stdin"),
    [
        ("%k:%v\\n", b"a:1\nb:2"),
        ("%K{big16}%k%V{little32}%v", b"\0\1a\1\0\0\0001\0\1b\1\0\0\0002"),
        ("%k{hex} %v{base64}\\n", b"61 MQ==\n62 Mg==\n"),
        ("%k{json}%v{json}", b'"a""1" "b" {"base64":"Mg=="}'),
    ],
)
def test_templates(bootstrap: str, topic: str, template: str, stdin: bytes) -> None:
    _send(bootstrap, topic, "-f", template, stdin=stdin)
    assert [(r["key"], r["value"]) for r in _records(bootstrap, topic)] == [("a", "1"), ("b", "2")]


def test_headers_keep_order_duplicates_empty_and_null(bootstrap: str, topic: str) -> None:
    _send(bootstrap, topic, "-f", "%h{%k=%v;}|%v\\n", "-H", "b=", "-H", "a", "-H", "b=1=2", stdin=b"b=0;|x\n|y\n")
    fixed = [["b", ""], ["a", None], ["b", "1=2"]]
    assert [r["headers"] for r in _records(bootstrap, topic)] == [[["b", "0"], *fixed], fixed]


def test_tombstones_and_null(bootstrap: str, topic: str) -> None:
    _send(bootstrap, topic, "-K", ":", "-Z", stdin=b"a:\nb:x\n")
    _send(bootstrap, topic, "-f", "%k:%v\\n", "--null", "NULL", stdin=b"c:NULL\nd:\nNULL:e\n")
    found = [(r["key"], r["value"]) for r in _records(bootstrap, topic)]
    assert found == [("a", None), ("b", "x"), ("c", None), ("d", ""), (None, "e")]


def test_files_as_messages(bootstrap: str, topic: str, tmp_path: Path) -> None:
    files = [tmp_path / name for name in "ab"]
    for file in files:
        file.write_text(f"{file.name}\nsecond line\n")
    _send(bootstrap, topic, *map(str, files), "--file-per-record")
    assert _values(bootstrap, topic) == ["a\nsecond line\n", "b\nsecond line\n"]


def test_topics_and_partitions_of_records(bootstrap: str, topic: str, cluster: ServedSandbox) -> None:
    other = f"{topic}-other"
    cluster.sandbox.create_topic(other, partitions=3)
    lines = "".join(
        json.dumps({"topic": name, "partition": partition, "value": f"{name}{partition}"}) + "\n"
        for name in (topic, other)
        for partition in (2, 0)
    )
    sent = kctl(
        "produce", "--topic-from-record", "-i", "jsonl", "--keep-partition", "-b", bootstrap, stdin=lines.encode()
    )
    assert sent.code == 0
    read = kctl("consume", topic, other, "-b", bootstrap, "-e", "-f", "%v %t%p\\n").stdout.split()
    assert len(read) == 8
    assert read[::2] == read[1::2]
    sent = kctl(
        "produce", "--topic-from-record", "-f", "%t %v\\n", "-b", bootstrap, stdin=f"{other} x\nb/d y\n".encode()
    )
    assert sent.code != 0
    assert "INVALID_TOPIC" in sent.stderr
    sent = kctl("produce", "--topic-from-record", "-i", "jsonl", "-b", bootstrap, stdin=b'{"value":"x"}\n')
    assert sent.code == ExitCode.DATA
    assert "cannot send stdin line 1 (byte 0): the record has no topic" in sent.stderr


def test_round_robin_and_rate(bootstrap: str, topic: str) -> None:
    sent = kctl("produce", topic, "-b", bootstrap, "--partitioner", "round_robin", "--rate", "300/s", stdin=b"x\n" * 90)
    assert sent.stderr == f"kctl produce: 90 records delivered ({topic}-0: 30, {topic}-1: 30, {topic}-2: 30)\n"


@pytest.mark.parametrize(
    ("options", "stdin", "words"),
    [
        (("-i", "jsonl"), b'{"value":"good"}\n{"value":}\n{"value":"never"}\n', "stdin line 2 (byte 17), column 10"),
        (("-f", "%V{big32}%v"), b"\0\0\0\4good\0\0\0\x09cut", "stdin record 2 (byte 8): the input ends inside"),
        (("-X", "max.request.size=200"), b"good\n" + b"x" * 150 + b"\n", "stdin line 2 (byte 5)"),
    ],
)
def test_wrong_input_is_told_and_what_came_before_is_delivered(
    bootstrap: str, topic: str, options: tuple[str, ...], stdin: bytes, words: str
) -> None:
    sent = kctl("produce", topic, "-b", bootstrap, *options, stdin=stdin)
    assert sent.code == ExitCode.DATA
    assert words in sent.stderr
    assert "1 record delivered" in sent.stderr
    assert _values(bootstrap, topic) == ["good"]


# --- lossless -------------------------------------------------------------------------------------------------------


def _fill(bootstrap: str, topic: str, records: list[Content], partition: int = 0) -> None:
    with Producer({"bootstrap.servers": bootstrap}) as producer:
        for number, (key, value, headers) in enumerate(records):
            producer.send(topic, value, key, partition, headers, timestamp_ms=1_700_000_000_000 + number)


def _without_place(lines: bytes) -> list[dict[str, object]]:
    records = [json.loads(line) for line in lines.splitlines()]
    return [{name: value for name, value in r.items() if name not in ("topic", "offset")} for r in records]


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(records=contents)
def test_any_records_come_through_consume_and_produce(cluster: ServedSandbox, records: list[Content]) -> None:
    number = len(cluster.sandbox.cluster.topics)
    first, second = f"lossless-{number}", f"lossless-{number}-copy"
    cluster.sandbox.create_topic(first, partitions=2)
    cluster.sandbox.create_topic(second, partitions=2)
    _fill(cluster.bootstrap, first, records, partition=1)
    out = run_in_process("consume", first, "-b", cluster.bootstrap, "-e", "--output", "jsonl")
    sent = run_in_process(
        "produce", second, "-b", cluster.bootstrap, "-i", "jsonl", "--keep-partition", stdin=out.stdout
    )
    assert sent.code == 0
    copied = run_in_process("consume", second, "-b", cluster.bootstrap, "-e", "--output", "jsonl")
    assert _without_place(copied.stdout) == _without_place(out.stdout)
    assert len(out.stdout.splitlines()) == len(records)


def test_a_pipe_between_two_processes(bootstrap: str, topic: str, cluster: ServedSandbox) -> None:
    copy = f"{topic}-copy"
    cluster.sandbox.create_topic(copy, partitions=3)
    records: list[Content] = [
        (None if i % 3 else b"k\xff", None if i % 5 == 0 else b"v%d\n\0" % i, [("h", None), ("h", b"")])
        for i in range(1000)
    ]
    for partition in range(3):
        _fill(bootstrap, topic, records, partition)
    python = " ".join(KCTL)
    piped = subprocess.run(
        f"{python} consume {topic} -b {bootstrap} -e --output jsonl | "
        f"{python} produce {copy} -b {bootstrap} -i jsonl --keep-partition",
        shell=True,
        capture_output=True,
        env=environment(),
        timeout=BOUND_S,
        check=True,
    )
    assert b"3000 records delivered" in piped.stderr
    ours, theirs = (kctl("consume", each, "-b", bootstrap, "-e", "--output", "jsonl").stdout for each in (topic, copy))
    assert sorted(map(str, _without_place(ours))) == sorted(map(str, _without_place(theirs)))
    assert len(theirs.splitlines()) == 3000
