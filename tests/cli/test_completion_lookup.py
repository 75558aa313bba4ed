"""`kctl __complete`: names within a limit; whatever goes wrong, silence and 0."""

import os
import time
from pathlib import Path

import pytest

from kctl.sandbox import Sandbox
from tests.cli.groups_scene import commit
from tests.cli.processes import Ended, kctl

pytestmark = pytest.mark.process

PATIENT = {"KCTL_COMPLETION_TIMEOUT_MS": "20000"}
REFUSED_LONG = {"KCTL_COMPLETION_TIMEOUT_MS": "3000"}
"""Long enough for a connection to fail, whatever the start of the process takes."""
SILENCE = Ended(0, b"", "")


def test_topics_and_groups(bootstrap: str, topic: str) -> None:
    commit(bootstrap, f"group of {topic}", {(topic, 0): 1})
    line = f"kctl consume -b {bootstrap} "
    assert topic in kctl("__complete", "topics", line, environ=PATIENT).stdout.decode().splitlines()
    assert f"group of {topic}" in kctl("__complete", "groups", line, environ=PATIENT).stdout.decode().splitlines()
    variable = {"KCTL_BOOTSTRAP_SERVERS": bootstrap, **PATIENT}
    assert topic in kctl("__complete", "topics", "kctl consume ", environ=variable).stdout.decode()


def test_the_line_is_read_as_a_shell_would(bootstrap: str, topic: str, tmp_path: Path) -> None:
    (tmp_path / "client.properties").write_text(f"bootstrap.servers={bootstrap}\n")
    environ = {"SERVERS": bootstrap, "HOME": str(tmp_path), **PATIENT}
    for words in (
        '-b "$SERVERS"',
        "--bootstrap=$SERVERS -n 5",
        f"-b{bootstrap}",
        f"-X 'bootstrap.servers={bootstrap}' -X client.id=me",
        "--command-config ~/client.properties",
        "-b $SERVERS --grep 'not closed",
    ):
        assert topic in kctl("__complete", "topics", f"kctl consume {words} ", environ=environ).stdout.decode(), words


def test_a_profile_leads_to_its_cluster(bootstrap: str, topic: str, tmp_path: Path) -> None:
    path = tmp_path / "kctl" / "config.toml"
    path.parent.mkdir()
    path.write_text(
        'current = "by-variable"\n'
        '[profiles.by-variable]\n"bootstrap.servers" = "${env:SERVERS}"\n'
        f'[profiles.by-command]\n"bootstrap.servers" = "${{cmd:touch {tmp_path}/ran; echo {bootstrap}}}"\n'
    )
    path.chmod(0o600)
    environ = {"XDG_CONFIG_HOME": str(tmp_path), "SERVERS": bootstrap, **PATIENT}
    assert kctl("__complete", "profiles", "kctl -C ", environ=environ) == (0, b"by-command\nby-variable\n", "")
    for words in ("", "-C by-variable", "--profile=by-variable"):
        assert topic in kctl("__complete", "topics", f"kctl consume {words} ", environ=environ).stdout.decode(), words
    assert kctl("__complete", "topics", "kctl consume -C by-command ", environ=environ) == SILENCE
    assert kctl("__complete", "topics", "kctl consume -C nobody ", environ=environ) == SILENCE
    assert not (tmp_path / "ran").exists()


def test_names_that_would_steer_a_terminal_are_left_out() -> None:
    with Sandbox(nodes=1, topics={"t": 1}).serve() as served:
        commit(served.bootstrap, "red\x1b[31m", {("t", 0): 0})
        commit(served.bootstrap, "plain", {("t", 0): 0})
        assert kctl("__complete", "groups", f"kctl -b {served.bootstrap}", environ=PATIENT) == (0, b"plain\n", "")


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("topics",),
        ("nonsense", "kctl"),
        ("topics", "kctl consume"),
        ("topics", "kctl consume -b"),
        ("topics", "kctl consume -b ::: "),
        ("topics", "kctl consume -b h:1 -X nonsense=1"),
        ("topics", "kctl consume --command-config /nonexistent"),
        ("topics", "kctl consume " + "'\"\\" * 20_000),
    ],
)
def test_mistakes_are_met_with_silence(arguments: tuple[str, ...]) -> None:
    assert kctl("__complete", *arguments) == SILENCE


def test_refusal_and_silence_of_a_broker(refused: str, silent: str) -> None:
    assert kctl("__complete", "topics", f"kctl consume -b {refused} ", environ=REFUSED_LONG) == SILENCE
    assert kctl("__complete", "groups", f"kctl consume -b {silent} ") == SILENCE


def test_the_limit_holds_whatever_the_process_waits_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "nobody-writes")
    started = time.monotonic()  # noqa: TID251 - a wide bound on a whole process, which would never end by itself
    assert kctl("__complete", "topics", f"kctl consume --command-config {tmp_path}/nobody-writes ") == SILENCE
    assert time.monotonic() - started < 10  # noqa: TID251 - as above
