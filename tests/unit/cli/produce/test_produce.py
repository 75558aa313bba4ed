"""`kctl produce`: its options, the words in them, and the pace of --rate."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kctl.cli.exit_codes import ExitCode
from kctl.cli.formats.escapes import parse_delimiter
from kctl.cli.produce.command import parse_header
from kctl.cli.produce.pace import MOST_BEHIND_MS, Pace
from kctl.grammar.sizes import parse_rate
from tests.support.in_process import run_in_process


@pytest.mark.parametrize(
    ("text", "header"),
    [
        ("a=b", ("a", b"b")),
        ("a=", ("a", b"")),
        ("a", ("a", None)),
        ("a=b=c", ("a", b"b=c")),
        ("a=b:c", ("a", b"b:c")),
        ("a:b=c", ("a:b", b"c")),
        ("é=\udcff", ("é", b"\xff")),
    ],
)
def test_headers(text: str, header: tuple[str, bytes | None]) -> None:
    assert parse_header(text) == header


@pytest.mark.parametrize(("text", "words"), [("a:b", "use a=b"), ("=b", "use NAME=VALUE"), ("", "use NAME=VALUE")])
def test_no_headers(text: str, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        parse_header(text)


@pytest.mark.parametrize(
    ("text", "rate"), [("500/s", 500), ("2.5/s", 2.5), ("30/m", 0.5), ("3/ms", 3000), ("36/h", 0.01)]
)
def test_rates(text: str, rate: float) -> None:
    assert parse_rate(text) == rate


@pytest.mark.parametrize(
    ("text", "words"),
    [("5", "5/s for records per second"), ("0/s", "greater than 0"), ("-1/s", "500/s"), ("x", "500/s")],
)
def test_no_rates(text: str, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        parse_rate(text)


def test_delimiters() -> None:
    assert parse_delimiter("\\r\\n") == b"\r\n"
    with pytest.raises(ValueError, match="the separator is empty"):
        parse_delimiter("")


# --- pace -----------------------------------------------------------------------------------------------------------


@given(st.integers(1, 5000), st.integers(1, 300))
def test_no_more_than_the_rate_and_no_less(per_second: int, records: int) -> None:
    now_ms = start_ms = 12_345
    pace = Pace(per_second, now_ms)
    for number in range(records):
        now_ms = max(now_ms, pace.reserve(now_ms))
        assert abs(now_ms - start_ms - number * 1000 / per_second) <= 1


def test_a_stall_does_not_end_in_a_burst() -> None:
    pace = Pace(10, 0)
    pace.reserve(0)
    behind = [pace.reserve(60_000) for _ in range(20)]
    assert sum(at_ms <= 60_000 for at_ms in behind) == MOST_BEHIND_MS // 100 + 1
    assert behind[-1] > 60_000


# --- options --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ((), "Missing argument 'TOPIC'"),
        (("",), "'TOPIC' is empty"),
        (("t", "-i", "json"), "'json' is not one of"),
        (("t", "-f", "%k%v"), "the end of %k is unknown"),
        (("t", "-f", "%q"), "unknown verb %q"),
        (("t", "-f", "%v", "-i", "jsonl"), "--input jsonl and --format cannot be combined"),
        (("t", "-f", "%v", "--file-per-record"), "--format and --file-per-record cannot be combined"),
        (("t", "-f", "%v", "-K", ":"), "--key-separator cannot be combined with"),
        (("t", "-i", "jsonl", "-D", ";"), "--delimiter cannot be combined with"),
        (("t", "-D", ""), "the separator is empty"),
        (("t", "-H", "a:b"), "use a=b"),
        (("t", "--null", "N"), "requires --format"),
        (("--topic-from-record",), "needs topics in the records"),
        (("--topic-from-record", "-f", "%v"), "needs topics in the records"),
        (("t", "--keep-partition"), "needs --input jsonl"),
        (("t", "--keep-partition", "-i", "jsonl", "-p", "1"), "cannot be combined with --partition"),
        (("t", "--rate", "5"), "5/s for records per second"),
        (("t", "--transactional", "--undelivered", "f"), "an aborted transaction delivers no record"),
        (
            ("t", "-X", "transactional.id=x", "--undelivered", "f", "-b", "a:1"),
            "cannot be combined with transactional.id: an aborted transaction delivers no records",
        ),
        (("t", "--transactional", "--acks", "1", "-b", "a:1"), "transactions need acks=all"),
        (("t", "--partitioner", "odd", "-b", "a:1"), "--partitioner: invalid partitioner.class 'odd': use one of"),
        (("t", "--undelivered", "/no/such/dir/file", "-b", "a:1"), "--undelivered /no/such/dir/file: No such file"),
    ],
)
def test_mistakes_are_told_before_anything_is_dialled(options: tuple[str, ...], words: str) -> None:
    ended = run_in_process("produce", *options)
    assert (ended.code, ended.stdout) == (ExitCode.USAGE, b"")
    assert words in ended.stderr


def test_a_file_with_something_in_it_is_not_overwritten(tmp_path: Path) -> None:
    file = tmp_path / "u.jsonl"
    file.write_text("precious")
    ended = run_in_process("produce", "t", "--undelivered", str(file), "-b", "127.0.0.1:1", "--api-timeout", "100ms")
    assert ended.code == ExitCode.USAGE
    assert "the file exists and is not empty" in ended.stderr
    assert file.read_text() == "precious"
