"""Mistakes on every command line: exit 2, the culprit named, the nearest offered, and nothing dialled."""

import pytest

from tests.support.in_process import run_in_process

COMMAND_LINES = [
    ("consume", "t"),
    ("produce", "t"),
    ("probe",),
    ("topics", "list"),
    ("topics", "create", "t"),
    ("topics", "describe", "t"),
    ("topics", "delete", "t"),
]

everywhere = pytest.mark.parametrize("command", COMMAND_LINES, ids=" ".join)


@everywhere
def test_unknown_flag_with_the_nearest(command: tuple[str, ...]) -> None:
    ended = run_in_process(*command, "--api-timeot", "5s")
    assert (ended.code, ended.stdout) == (2, b"")
    assert "No such option '--api-timeot'" in ended.stderr
    assert "'--api-timeout'" in ended.stderr


@everywhere
def test_unknown_property_with_the_nearest(command: tuple[str, ...]) -> None:
    ended = run_in_process(*command, "-b", "127.0.0.1:1", "-X", "request.timeot.ms=5")
    assert (ended.code, ended.stdout) == (2, b"")
    assert "unknown property 'request.timeot.ms': did you mean request.timeout.ms?" in ended.stderr


@everywhere
@pytest.mark.parametrize("flag", ["--api-timeout", "--connect-timeout", "--request-timeout", "--close-timeout"])
def test_a_bare_number_is_no_duration(command: tuple[str, ...], flag: str) -> None:
    ended = run_in_process(*command, flag, "5")
    assert (ended.code, ended.stdout) == (2, b"")
    assert flag in ended.stderr
    assert "use 5s for seconds or 5ms for milliseconds" in ended.stderr


@everywhere
def test_no_servers(command: tuple[str, ...]) -> None:
    ended = run_in_process(*command)
    assert (ended.code, ended.stdout) == (2, b"")
    assert "bootstrap.servers is not set" in ended.stderr
    assert "hint: " in ended.stderr


@everywhere
def test_impossible_limits_name_both(command: tuple[str, ...]) -> None:
    limits = ("--connect-timeout", "10s", "-X", "socket.connection.setup.timeout.max.ms=5000")
    ended = run_in_process(*command, "-b", "127.0.0.1:1", *limits)
    assert (ended.code, ended.stdout) == (2, b"")
    assert "socket.connection.setup.timeout.ms=10000" in ended.stderr
    assert "=5000" in ended.stderr


@everywhere
def test_a_file_of_properties_that_is_not_there(command: tuple[str, ...]) -> None:
    ended = run_in_process(*command, "--command-config", "/no/such/file")
    assert (ended.code, ended.stdout) == (2, b"")
    assert "--command-config /no/such/file: No such file or directory" in ended.stderr


@everywhere
def test_a_secret_is_not_taken_from_the_command_line_and_not_shown(command: tuple[str, ...]) -> None:
    ended = run_in_process(*command, "-X", "ssl.key.password=hunter2")
    assert (ended.code, ended.stdout) == (2, b"")
    assert "ssl.key.password" in ended.stderr
    assert "hunter2" not in ended.stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("consume", "t", "-o", "strat"), "'strat' is not an offset"),
        (("consume", "t", "-o", "0=5:strat"), "'strat' is not an offset"),
        (("consume", "t", "-o", "stored", "-b", "a:1"), "-o stored needs a group with committed offsets"),
        (("consume", "t", "--from-beginning", "-o", "end"), "cannot be combined with --offset"),
        (("consume", "t", "--tail", "-1"), "--tail"),
        (("consume", "t", "--tail", "5", "-o", "end"), "--tail cannot be combined with"),
        (("consume", "t", "--follow"), "--follow requires --tail"),
        (("consume", "t", "--tail", "5", "--follow", "-e"), "cannot be combined with --exit-at-end"),
        (("consume", "t", "--idle-timeout", "5"), "5s for seconds"),
        (
            ("consume", "t", "--isolation-level", "serializable", "-b", "a:1"),
            "--isolation-level: invalid isolation.level",
        ),
        (("consume", "t", "--max-memory", "64"), "use 64B for bytes or 64MiB"),
        (("consume", "t", "--max-memory", "1kB"), "at least 64KiB"),
        (("consume", "a/b"), "is not a topic name"),
        (("consume", "/a(/"), "missing )"),
        (("consume", "t", "-n", "-1"), "--max-records"),
        (("consume", "t", "-n", "many"), "--max-records"),
        (("consume", "t", "-p", "4-2"), "is not a valid range of partitions"),
        (("consume", "t", "-f", "%k %q"), "unknown verb %q"),
        (("consume", "t", "--output", "table"), "this command offers jsonl"),
        (("consume", "t", "--output", "jsonl", "-f", "%v"), "cannot be combined"),
        (("consume",), "TOPIC"),
        (("produce",), "TOPIC"),
        (("produce", "t", "--acks", "2", "-b", "a:1"), "--acks: invalid acks '2': use one of all, -1, 0, 1"),
        (
            ("produce", "t", "--compression", "zip", "-b", "a:1"),
            "--compression: invalid compression.type 'zip': use one of",
        ),
        (("produce", "t", "--delivery-timeout", "5"), "5s for seconds"),
        (("produce", "t", "-K", ""), "the separator is empty"),
        (("produce", "t", "-K", "\\q"), "unknown escape"),
        (("partitions", "plan", "--output", "json"), "prints no data"),
        (("probe", "-b", "no-port:"), "no-port:9092"),
        (("sandbox", "start", "--nodes", "0"), "--nodes"),
        (("sandbox", "start", "--port", "65535"), "need ports above 65535"),
        (("sandbox", "start", "--port", "0", "--topic", "a:b"), "use NAME or NAME:PARTITIONS instead of 'a:b'"),
        (("sandbox", "start", "--port", "0", "--topic", "a/b"), "--topic"),
        (("sandbox", "--port", "1"), "No such option"),
    ],
)
def test_other_mistakes(arguments: tuple[str, ...], words: str) -> None:
    ended = run_in_process(*arguments)
    assert (ended.code, ended.stdout) == (2, b"")
    assert words in ended.stderr
    assert "Traceback" not in ended.stderr
