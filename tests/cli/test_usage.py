"""What is wrong with a command line is said before anything is dialled: exit 2, the culprit and the nearest named."""

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from kctl.cli.app import COMMANDS
from kctl.cli.exit_codes import ExitCode
from tests.cli.processes import BOUND_S, environment, kctl

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


def test_help_names_every_command_and_every_exit_code() -> None:
    ended = kctl("--help")
    assert (ended.code, ended.stderr) == (0, "")
    text = " ".join(ended.stdout.decode().split())
    for name, entry in COMMANDS.items():
        assert f"{name} {entry.summary}" in text
    for code in ExitCode:
        assert f"{int(code)} {code.text}" in text


@pytest.mark.parametrize("name", COMMANDS)
def test_help_of_a_command_starts_with_what_the_list_says(name: str) -> None:
    ended = kctl(name, "--help")
    assert (ended.code, ended.stderr) == (0, "")
    assert COMMANDS[name].summary.split(",")[0].rstrip(".") in " ".join(ended.stdout.decode().split())


def test_no_command() -> None:
    ended = kctl()
    assert (ended.code, ended.stdout) == (2, b"")
    assert "Usage: kctl" in ended.stderr


def test_unknown_command_with_the_nearest() -> None:
    ended = kctl("cosume", "t")
    assert (ended.code, ended.stdout) == (2, b"")
    assert "No such command 'cosume'. Did you mean 'consume'?" in ended.stderr


def test_unknown_command_like_no_other() -> None:
    ended = kctl("xyzzy")
    assert ended.code == 2
    assert "There are: consume, produce" in ended.stderr


@everywhere
def test_unknown_flag_with_the_nearest(command: tuple[str, ...]) -> None:
    ended = kctl(*command, "--api-timeot", "5s")
    assert (ended.code, ended.stdout) == (2, b"")
    assert "No such option '--api-timeot'" in ended.stderr
    assert "'--api-timeout'" in ended.stderr


@everywhere
def test_unknown_property_with_the_nearest(command: tuple[str, ...]) -> None:
    ended = kctl(*command, "-b", "127.0.0.1:1", "-X", "request.timeot.ms=5")
    assert (ended.code, ended.stdout) == (2, b"")
    assert "unknown property 'request.timeot.ms': did you mean request.timeout.ms?" in ended.stderr


@everywhere
@pytest.mark.parametrize("flag", ["--api-timeout", "--connect-timeout", "--request-timeout", "--close-timeout"])
def test_a_bare_number_is_no_duration(command: tuple[str, ...], flag: str) -> None:
    ended = kctl(*command, flag, "5")
    assert (ended.code, ended.stdout) == (2, b"")
    assert flag in ended.stderr
    assert "write 5s for seconds or 5ms for milliseconds" in ended.stderr


@everywhere
def test_no_servers(command: tuple[str, ...]) -> None:
    ended = kctl(*command)
    assert (ended.code, ended.stdout) == (2, b"")
    assert "bootstrap.servers is not set" in ended.stderr
    assert "hint: " in ended.stderr


@everywhere
def test_impossible_limits_name_both(command: tuple[str, ...]) -> None:
    ended = kctl(*command, "-b", "127.0.0.1:1", "--connect-timeout", "10s", "--api-timeout", "5s")
    assert (ended.code, ended.stdout) == (2, b"")
    assert "socket.connection.setup.timeout.ms=10000" in ended.stderr
    assert "=5000" in ended.stderr


@everywhere
def test_a_file_of_properties_that_is_not_there(command: tuple[str, ...]) -> None:
    ended = kctl(*command, "--command-config", "/no/such/file")
    assert (ended.code, ended.stdout) == (2, b"")
    assert "--command-config /no/such/file: No such file or directory" in ended.stderr


@everywhere
def test_a_secret_is_not_taken_from_the_command_line_and_not_shown(command: tuple[str, ...]) -> None:
    ended = kctl(*command, "-X", "ssl.key.password=hunter2")
    assert (ended.code, ended.stdout) == (2, b"")
    assert "ssl.key.password" in ended.stderr
    assert "hunter2" not in ended.stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("consume", "t", "-o", "strat"), "'strat' is not an offset"),
        (("consume", "t", "-n", "-1"), "--max"),
        (("consume", "t", "-n", "many"), "--max"),
        (("consume", "t", "-p", "4-2"), "is not a range of partitions"),
        (("consume", "t", "-f", "%k %q"), "unknown verb %q"),
        (("consume", "t", "--output", "table"), "this command offers jsonl"),
        (("consume", "t", "--output", "jsonl", "-f", "%v"), "cannot both hold"),
        (("consume",), "TOPIC"),
        (("produce",), "TOPIC"),
        (("produce", "t", "--acks", "2", "-b", "a:1"), "--acks: acks takes one of all, -1, 0, 1"),
        (("produce", "t", "--compression", "zip", "-b", "a:1"), "--compression: compression.type takes one of"),
        (("produce", "t", "--delivery-timeout", "5"), "5s for seconds"),
        (("produce", "t", "-K", ""), "separates nothing"),
        (("produce", "t", "-K", "\\q"), "unknown escape"),
        (("produce", "t", "--output", "json"), "prints no data"),
        (("probe", "--output", "json"), "this command offers table, jsonl"),
        (("probe", "-b", "no-port"), "no-port:9092"),
        (("sandbox", "up", "--nodes", "0"), "--nodes"),
        (("sandbox", "up", "--port", "65535"), "end above 65535"),
        (("sandbox", "up", "--port", "0", "--topic", "a:b"), "is not NAME or NAME:PARTITIONS"),
        (("sandbox", "up", "--port", "0", "--topic", "a/b"), "--topic"),
        (("sandbox", "--port", "1"), "No such option"),
    ],
)
def test_other_mistakes(arguments: tuple[str, ...], words: str) -> None:
    ended = kctl(*arguments)
    assert (ended.code, ended.stdout) == (2, b"")
    assert words in ended.stderr
    assert "Traceback" not in ended.stderr


def test_the_caret_points_at_the_verb() -> None:
    lines = kctl("consume", "t", "-f", "%k %q").stderr.splitlines()
    at = next(i for i, line in enumerate(lines) if "^" in line)
    assert lines[at - 1][lines[at].index("^") :].startswith("%q")


def test_variables_and_files_set_properties(tmp_path: Path, bootstrap: str) -> None:
    file = tmp_path / "client.properties"
    file.write_text(f"bootstrap.servers={bootstrap}\nacks=1\nclient.id=soon\n")
    assert kctl("probe", "-q", "--command-config", str(file)).code == 0
    assert kctl("probe", "-q", environ={"KCTL_BOOTSTRAP_SERVERS": bootstrap}).code == 0
    ended = kctl("probe", environ={"KCTL_BOOTSTRAP_SERVERS": "no-port"})
    assert (ended.code, ended.stderr.split(":")[1]) == (2, " $KCTL_BOOTSTRAP_SERVERS")


@pytest.mark.parametrize("name", ["", *COMMANDS])
def test_help_on_a_terminal_of_40_columns(name: str) -> None:
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "kctl", *([name] if name else []), "--help"],
        stdin=subprocess.DEVNULL,
        stdout=theirs,
        stderr=theirs,
        env=environment({"COLUMNS": "40"}),
    )
    os.close(theirs)
    shown = b""
    try:
        while piece := os.read(ours, 65536):
            shown += piece
    except OSError:  # the other end of the terminal is gone
        pass
    os.close(ours)
    assert process.wait(BOUND_S) == 0
    assert b"\x1b" not in shown
    # click keeps at least 50 columns for help texts
    assert max(len(line) for line in shown.decode().splitlines()) <= 50
