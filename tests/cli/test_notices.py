"""What commands wait for is on stderr after a second, with -v and on a terminal; refusing servers end them soon."""

import pytest

from kctl.cli.exit_codes import ExitCode
from tests.cli.processes import HAS_SPARK, kctl
from tests.cli.terminal import Terminal

ONE_SHOT = [
    ("topics", "list"),
    ("topics", "create", "t"),
    ("groups", "list"),
    ("consume", "t", "-e"),
    ("consume", "t", "-g", "g", "-n", "1"),
    ("produce", "t", __file__),
    ("bench", "produce", "--topic", "t", "-n", "1"),
    ("bench", "consume", "--topic", "t", "-n", "1"),
]
ENDLESS = [("consume", "t"), ("produce", "t"), ("wait", "brokers", "1")]
JOB = pytest.param(("pipeline", "stats", "t"), marks=pytest.mark.skipif(not HAS_SPARK, reason="jobs need pyspark"))
STORE = {"AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b", "AWS_REGION": "us-east-1"}


@pytest.mark.parametrize("command", ONE_SHOT, ids=" ".join)
def test_one_shot_command_fails_fast_when_all_servers_refuse(command: tuple[str, ...], refused: str) -> None:
    """The whole --api-timeout, 60 s, is beyond the bound of a run."""
    ended = kctl(*command, "-v", "-b", refused, shows_waits=True)
    assert ended.code == ExitCode.REFUSED
    waiting, *_, hint = ended.stderr.splitlines()
    assert waiting == f"kctl {command[0]}: waiting: {refused}: connection refused, retrying for up to 5s (--fail-fast)"
    assert f"no bootstrap server accepted a connection for 5s: {refused}: connection refused" in ended.stderr
    assert ended.stderr.count("waiting: ") == 1
    assert hint.startswith("hint: ")
    assert "--no-fail-fast" in hint


@pytest.mark.parametrize("command", [*ENDLESS, JOB, ("topics", "list", "--no-fail-fast")], ids=" ".join)
def test_other_commands_keep_trying_until_the_api_timeout(command: tuple[str, ...], refused: str) -> None:
    ended = kctl(*command, "-v", "-b", refused, "--api-timeout", "9s", stdin=b"a record\n", shows_waits=True)
    assert ended.code in (ExitCode.REFUSED, ExitCode.UNDELIVERED, ExitCode.API_TIMEOUT)
    assert "retrying for up to 9s (--api-timeout)" in ended.stderr
    assert "no bootstrap server accepted" not in ended.stderr


def test_fail_fast_names_the_commands_that_keep_trying() -> None:
    shown = " ".join(kctl("options").stdout.decode().split())
    text = shown[shown.index("Exit after 5s") :].partition("Output:")[0]
    assert [command for command, *_ in [*ENDLESS, ("pipeline",)] if command not in text] == []


@pytest.mark.process  # the store's library reads the variables of its process
@pytest.mark.skipif(not HAS_SPARK, reason="obstore is not beside the kctl that is run")
@pytest.mark.parametrize("location", ["s3://bucket/x", "delta:s3://bucket/x"])
def test_object_store_that_refuses_connections_is_reported_and_ends_the_job(location: str, refused: str) -> None:
    ended = kctl(
        "pipeline", "import", location, "--progress", "/nonexistent", "--dry-run", "-v", "-b", refused,
        "--api-timeout", "8s",  # attempts begin in its first quarter; a wait is reported after 1 s
        environ={**STORE, "AWS_ENDPOINT_URL": f"http://{refused}"},
        shows_waits=True,
    )  # fmt: skip
    assert ended.code == ExitCode.REFUSED
    waiting, error = ended.stderr.splitlines()
    what = f"s3://bucket/x: no response from {refused}, retrying for up to 8s (--api-timeout)"
    assert waiting == f"kctl pipeline: waiting: {what}"
    assert f"cannot connect to the object store at {refused}" in error


def test_terminal_shows_what_is_waited_for(silent: str) -> None:
    with Terminal("topics", "list", "-b", silent, columns=200, with_stderr=True) as terminal:
        waiting = f"kctl topics: waiting: {silent}: no response to ApiVersions, retrying for up to 60s (--api-timeout)"
        terminal.read_until(waiting.encode())


def test_pipe_without_verbose_shows_only_the_end(refused: str) -> None:
    ended = kctl("topics", "list", "-b", refused, "--api-timeout", "3s", shows_waits=True)
    assert "waiting:" not in ended.stderr.splitlines()[0]


@pytest.mark.parametrize("command", [("consume", "t"), ("topics", "list"), ("produce", "t")], ids=" ".join)
def test_pipe_gets_one_line_about_a_listener_of_another_protocol(command: tuple[str, ...], closing: str) -> None:
    ended = kctl(*command, "-b", closing, "--api-timeout", "4s", stdin=b"a record\n", shows_waits=True)
    first, *others = ended.stderr.splitlines()
    assert first.startswith(f"kctl {command[0]}: waiting: {closing}: the server closed the connection")
    assert first.endswith(", retrying for up to 4s (--api-timeout)")
    assert not any("waiting: " in line for line in others)
    quiet = kctl(*command, "-b", closing, "-q", "--api-timeout", "2s", stdin=b"a record\n", shows_waits=True)
    assert "waiting: " not in quiet.stderr
