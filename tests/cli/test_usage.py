"""What is wrong with a command line is said before anything is dialled: exit 2, the culprit and the nearest named."""

import os
import pty
import subprocess
from pathlib import Path

import pytest

from kctl.cli.app import COMMANDS
from kctl.cli.exit_codes import ExitCode
from tests.cli.processes import BOUND_S, KCTL, environment, kctl


def test_help_names_every_command_and_the_list_of_exit_codes() -> None:
    ended = kctl("--help")
    assert (ended.code, ended.stderr) == (0, "")
    text = " ".join(ended.stdout.decode().split())
    for name, entry in COMMANDS.items():
        assert f"{name} {entry.summary}" in text
    assert "Run `kctl explain` to list all exit codes" in text
    listed = " ".join(kctl("explain").stdout.decode().split())
    for code in ExitCode:
        assert f"{int(code)} {code.text}" in listed


@pytest.mark.parametrize("name", COMMANDS)
def test_help_of_a_command_starts_with_the_verb_of_the_list(name: str) -> None:
    ended = kctl(name, "--help")
    assert (ended.code, ended.stderr) == (0, "")
    verb = COMMANDS[name].summary.split()[0].rstrip(",")
    assert ended.stdout.decode().split("\n\n")[1].split()[0].rstrip(",") == verb


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("consume", "t", "--api-timeot", "5s"), "'--api-timeout'"),
        (("produce", "t", "-b", "a:1", "-X", "request.timeot.ms=5"), "did you mean request.timeout.ms?"),
        (("topics", "list", "--api-timeout", "5"), "use 5s for seconds or 5ms for milliseconds"),
        (("probe",), "bootstrap.servers is not set"),
    ],
)
def test_mistakes_exit_with_2(arguments: tuple[str, ...], words: str) -> None:
    ended = kctl(*arguments)
    assert (ended.code, ended.stdout) == (2, b"")
    assert words in ended.stderr
    assert "Traceback" not in ended.stderr


def test_no_command() -> None:
    ended = kctl()
    assert (ended.code, ended.stdout) == (2, b"")
    assert "Usage: kctl" in ended.stderr


def test_unknown_command_with_the_nearest() -> None:
    ended = kctl("cosume", "t")
    assert (ended.code, ended.stdout) == (2, b"")
    assert "No such command 'cosume'. Did you mean 'consume'?" in ended.stderr


@pytest.mark.parametrize("group", ["topics", "groups", "profile"])
def test_unknown_command_of_a_group_with_the_nearest_named_once(group: str) -> None:
    ended = kctl(group, "lst")
    assert (ended.code, ended.stdout) == (2, b"")
    assert f"kctl {group}: No such command 'lst'. Did you mean 'list'?\n" in ended.stderr


def test_unknown_command_like_no_other() -> None:
    ended = kctl("xyzzy")
    assert ended.code == 2
    assert "Available commands: consume, produce" in ended.stderr


def test_the_caret_points_at_the_verb() -> None:
    lines = kctl("consume", "t", "-f", "%k %q").stderr.splitlines()
    at = next(i for i, line in enumerate(lines) if "^" in line)
    assert lines[at - 1][lines[at].index("^") :].startswith("%q")


def test_variables_and_files_set_properties(tmp_path: Path, bootstrap: str) -> None:
    file = tmp_path / "client.properties"
    file.write_text(f"bootstrap.servers={bootstrap}\nacks=1\nclient.id=soon\n")
    assert kctl("probe", "-q", "--command-config", str(file)).code == 0
    assert kctl("probe", "-q", environ={"KCTL_BOOTSTRAP_SERVERS": bootstrap}).code == 0
    ended = kctl("probe", environ={"KCTL_BOOTSTRAP_SERVERS": "no-port:"})
    assert (ended.code, ended.stderr.split(":")[1]) == (2, " $KCTL_BOOTSTRAP_SERVERS")


@pytest.mark.parametrize(
    "name",  # tests/unit/cli/test_voice.py has every help at 40 columns, without a terminal
    [
        pytest.param(name, marks=() if name in ("", "consume", "topics") else pytest.mark.nightly)
        for name in ("", *COMMANDS)
    ],
)
def test_help_on_a_terminal_of_40_columns(name: str) -> None:
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [*KCTL, *([name] if name else []), "--help"],
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
    wrapped, _, _ = shown.decode().partition("Examples:")  # these are to be copied
    assert max(len(line) for line in wrapped.splitlines()) <= 50


def test_mechanism_of_amazons_java_library_leads_to_kctls_property_in_one_line(tmp_path: Path) -> None:
    file = tmp_path / "client.properties"
    file.write_text("bootstrap.servers=a:1\nsecurity.protocol=SASL_SSL\nsasl.mechanism=AWS_MSK_IAM\n")
    for given in (("--command-config", str(file)), ("-b", "a:1", "-X", "sasl.mechanism=AWS_MSK_IAM")):
        ended = kctl("topics", "list", *given)
        assert (ended.code, ended.stderr.count("\n")) == (ExitCode.USAGE, 1)
        assert "OAUTHBEARER with sasl.oauthbearer.method=aws_msk_iam" in ended.stderr


@pytest.mark.parametrize(
    "words",
    [
        ("api",),
        ("explain",),
        ("topics", "list", "--output"),
        ("topics",),
        ("topics", "list", "-X"),
        ("configs", "show"),
    ],
    ids=" ".join,
)
def test_long_word_of_a_mistake_is_shortened(words: tuple[str, ...]) -> None:
    ended = kctl(*words, "9" * 5000)
    assert ended.code == ExitCode.USAGE
    assert "9" * 20 in ended.stderr
    assert len(ended.stderr) < 1200
