"""Records in by `kctl produce`, out by `kctl consume`, on a sandbox."""

import json
from pathlib import Path

import pytest

from kctl.cli.exit_codes import ExitCode
from kctl.sandbox.server import ServedSandbox
from tests.cli.processes import kctl


def test_lines_in_lines_out(bootstrap: str, topic: str) -> None:
    sent = kctl("produce", topic, "-b", bootstrap, stdin=b"one\ntwo\n\nfour")
    assert (sent.code, sent.stdout) == (0, b"")
    assert sent.stderr.startswith("kctl produce: 4 records delivered (")
    read = kctl("consume", topic, "-b", bootstrap, "-e")
    assert (read.code, read.stderr) == (0, "")
    assert sorted(read.stdout.split(b"\n")) == [b"", b"", b"four", b"one", b"two"]


def test_quiet(bootstrap: str, topic: str) -> None:
    assert kctl("produce", topic, "-b", bootstrap, "-q", stdin=b"one\n") == (0, b"", "")


def test_keys_and_files(bootstrap: str, topic: str, tmp_path: Path) -> None:
    first, second = tmp_path / "1", tmp_path / "2"
    first.write_bytes(b"a\t1\nb\t2\nno key\n")
    second.write_bytes(b"a\t3\n\t4\n")
    sent = kctl("produce", topic, str(first), str(second), "-b", bootstrap, "-K", "\\t")
    assert sent.code == 0
    read = kctl("consume", topic, "-b", bootstrap, "-e", "-f", "%k=%v (%K)\\n")
    assert sorted(read.stdout.splitlines()) == [b"=4 (0)", b"=no key (0)", b"a=1 (1)", b"a=3 (1)", b"b=2 (1)"]


@pytest.mark.parametrize(("separator", "delimiter"), [("{json}", "}"), ("{", "%v"), ("%{", "{%}\\t")])
def test_separators_are_printed_as_they_are(bootstrap: str, topic: str, separator: str, delimiter: str) -> None:
    assert kctl("produce", topic, "-b", bootstrap, "-p", "0", "-K:", "-q", stdin=b"a:1\nb:2\n").code == 0
    read = kctl("consume", topic, "-b", bootstrap, "-e", "-K", separator, "-D", delimiter)
    assert read.stdout.decode() == f"a{separator}1{delimiter}b{separator}2{delimiter}".replace("\\t", "\t")


def test_one_partition_in_order(bootstrap: str, topic: str) -> None:
    lines = b"".join(b"%d\n" % i for i in range(5000))
    sent = kctl("produce", topic, "-b", bootstrap, "-p", "2", "--compression", "lz4", "--acks", "1", stdin=lines)
    assert sent.stderr == f"kctl produce: 5000 records delivered ({topic}-2: 5000)\n"
    assert kctl("consume", topic, "-b", bootstrap, "-e").stdout == lines
    numbered = kctl("consume", topic, "-b", bootstrap, "-n", "1234", "-f", "%p %o %v %i\\n")
    assert numbered.stdout.splitlines()[-1] == b"2 1233 1233 1234"
    assert len(numbered.stdout.splitlines()) == 1234


@pytest.fixture
def ten(cluster: ServedSandbox, topic: str) -> str:
    """A topic whose partition 1 holds 0 to 9."""
    lines = b"".join(b"%d\n" % i for i in range(10))
    assert kctl("produce", topic, "-b", cluster.bootstrap, "-p", "1", "-q", stdin=lines).code == 0
    return topic


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (("-o", "start"), range(10)),
        (("-o", "end"), range(0)),
        (("-o", "7"), range(7, 10)),
        (("-o", "-3"), range(7, 10)),
        (("-o", "-30"), range(10)),
        (("-o", "@-1h"), range(10)),
        (("-o", "@2020-01-01"), range(10)),
        (("-o", "@2099-01-01"), range(0)),
        (("-o", "2", "-n", "3"), range(2, 5)),
        (("-n", "0"), range(0)),
        (("-p", "1"), range(10)),
        (("-p", "0,2"), range(0)),
        (("-o", "99"), range(0)),
    ],
    ids=lambda part: " ".join(part) if isinstance(part, tuple) else "",
)
def test_positions(bootstrap: str, ten: str, options: tuple[str, ...], expected: range) -> None:
    read = kctl("consume", ten, "-b", bootstrap, "-e", *options)
    assert read.code == 0
    assert [int(line) for line in read.stdout.split()] == list(expected)


def test_an_offset_that_is_not_there_is_told(bootstrap: str, ten: str) -> None:
    read = kctl("consume", ten, "-b", bootstrap, "-e", "-o", "99", "-p", "1")
    assert read.stderr.splitlines() == [
        f"kctl consume: note: {ten}-1 has no offset 99 (first offset 0, last offset 9): starting at offset 10",
        "kctl consume: note: no records printed: no records after the start offset",
    ]


def test_a_partition_that_is_not_there(bootstrap: str, ten: str) -> None:
    read = kctl("consume", ten, "-b", bootstrap, "-e", "-p", "1,7")
    assert read.code == ExitCode.UNKNOWN_RESOURCE
    assert f"topic {ten} has no partition 7" in read.stderr
    sent = kctl("produce", ten, "-b", bootstrap, "-p", "7", "--api-timeout", "1s", stdin=b"x\n")
    assert sent.code == ExitCode.UNKNOWN_RESOURCE
    assert "hint: use partition numbers from 0" in sent.stderr.splitlines()


def test_several_topics(bootstrap: str, ten: str, cluster: ServedSandbox) -> None:
    other = f"{ten}-other"
    cluster.sandbox.create_topic(other)
    kctl("produce", other, "-b", bootstrap, "-q", stdin=b"x\n")
    read = kctl("consume", ten, other, ten, "-b", bootstrap, "-e", "-f", "%t\\n")
    assert sorted(read.stdout.split()) == sorted([ten.encode()] * 10 + [other.encode()])


def test_jsonl(bootstrap: str, topic: str) -> None:
    kctl("produce", topic, "-b", bootstrap, "-q", "-K:", "-p", "0", stdin=b"k:v\xff\nplain\n")
    read = kctl("consume", topic, "-b", bootstrap, "-e", "--output", "jsonl")
    first, second = map(json.loads, read.stdout.splitlines())
    assert isinstance(first.pop("timestamp"), int)
    assert first == {
        "topic": topic, "partition": 0, "offset": 0, "key": "k", "value": {"base64": "dv8="}, "headers": [],
    }  # fmt: skip
    assert (second["key"], second["value"]) == (None, "plain")


def test_a_line_too_long_for_a_request(bootstrap: str, topic: str) -> None:
    sent = kctl(
        "produce", topic, "-b", bootstrap, "-X", "max.request.size=1000", stdin=b"fits\n" + b"x" * 900 + b"\n" * 2
    )
    assert sent.code == 0
    sent = kctl("produce", topic, "-b", bootstrap, "-X", "max.request.size=1000", stdin=b"fits\n" + b"x" * 2000)
    assert sent.code == ExitCode.DATA
    assert "stdin line 2" in sent.stderr
    assert "max.request.size" in sent.stderr
    assert "1 record delivered" in sent.stderr


def test_a_file_that_is_not_there(bootstrap: str, topic: str) -> None:
    sent = kctl("produce", topic, "/no/such/file", "-b", bootstrap)
    assert sent.code == ExitCode.USAGE
    assert "cannot read /no/such/file: No such file or directory" in sent.stderr


def test_records_that_no_broker_takes_are_counted(topic: str, cluster: ServedSandbox) -> None:
    cluster.sandbox.create_topic(f"{topic}-small", properties={"max.message.bytes": "100"})
    sent = kctl("produce", f"{topic}-small", "-b", cluster.bootstrap, stdin=b"fits\n" + b"x" * 500 + b"\n")
    assert sent.code == ExitCode.UNDELIVERED
    assert "NOT delivered" in sent.stderr
    assert f"{topic}-small-0: " in sent.stderr
    assert "MESSAGE_TOO_LARGE" in sent.stderr


def test_the_reader_of_our_output_may_slow_us_but_not_lose_records(bootstrap: str, topic: str) -> None:
    lines = b"".join(b"%06d %b\n" % (i, b"x" * 200) for i in range(20_000))
    assert kctl("produce", topic, "-b", bootstrap, "-q", "-p", "0", stdin=lines).code == 0
    assert kctl("consume", topic, "-b", bootstrap, "-n", "20000").stdout == lines
    counted = kctl("consume", topic, "-b", bootstrap, "-e", "-f", "%i\\n").stdout
    assert counted == b"".join(b"%d\n" % (i + 1) for i in range(20_000))
