"""`kctl __complete`: names within a limit; whatever goes wrong, silence and 0."""

import os
import subprocess
import time
from contextlib import suppress
from pathlib import Path

import pytest

from kctl.sandbox import Fault, Sandbox
from tests.cli.groups_scene import commit
from tests.cli.processes import BOUND_S, PYTHON, Ended, environment, kctl
from tests.support.bounds import bound
from tests.support.kafka.waiting import wait_until

pytestmark = pytest.mark.process

PATIENT = {"KCTL_COMPLETION_TIMEOUT_MS": "20000"}
REFUSED_LONG = {"KCTL_COMPLETION_TIMEOUT_MS": "3000"}
"""Long enough for a connection to fail, whatever the start of the process takes."""
KEPT_MS = bound(20_000)
SILENCE = Ended(0, b"", "")
NAMES = f"names/{'?' * 32}"
"""A file with names; locks have longer names."""


def test_topics_and_groups(bootstrap: str, topic: str) -> None:
    commit(bootstrap, f"group of {topic}", {(topic, 0): 1})
    line = f"kctl consume -b {bootstrap} "
    assert topic in kctl("__complete", "topics", line, environ=PATIENT).stdout.decode().splitlines()
    assert f"group of {topic}" in kctl("__complete", "groups", line, environ=PATIENT).stdout.decode().splitlines()
    variable = {"KCTL_BOOTSTRAP_SERVERS": bootstrap, **PATIENT}
    assert topic in kctl("__complete", "topics", "kctl consume ", environ=variable).stdout.decode()


def test_look_up_of_names_runs_without_the_collector_of_cycles() -> None:
    code = (
        "import gc\n"
        "from kctl.cli.completion import lookup\n"
        "lookup._FINDERS['profiles'] = lambda given, call_ms: [str(gc.isenabled())]\n"
        "lookup.main(['profiles', ''])\n"
    )
    ended = subprocess.run([PYTHON, "-c", code], capture_output=True, check=True, timeout=BOUND_S, env=environment())
    assert ended.stdout == b"False\n"


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


def test_names_that_would_steer_a_terminal_or_become_options_are_left_out() -> None:
    with Sandbox(nodes=1, topics={"t": 1}).serve() as served:
        commit(served.bootstrap, "red\x1b[31m", {("t", 0): 0})
        commit(served.bootstrap, "plain", {("t", 0): 0})
        commit(served.bootstrap, "--execute", {("t", 0): 0})
        assert kctl("__complete", "groups", f"kctl -b {served.bootstrap}", environ=PATIENT) == (0, b"plain\n", "")


def test_last_names_are_offered_if_the_cluster_does_not_respond(tmp_path: Path) -> None:
    environ = {"XDG_CACHE_HOME": str(tmp_path), **REFUSED_LONG}
    with Sandbox(nodes=1, topics={"t": 1}).serve() as served:
        arguments = ("__complete", "topics", f"kctl -b {served.bootstrap} -X client.id=c")
        assert kctl(*arguments, environ={**environ, **PATIENT}) == (0, b"t\n", "")
    assert kctl(*arguments, environ=environ) == (0, b"t\n", "")
    [file] = tmp_path.rglob(NAMES)
    os.utime(file, (time.time() - 60, time.time() - 60))  # noqa: TID251 - the age of a file
    assert kctl(*arguments, environ=environ) == (0, b"t\n", "")
    assert kctl("__complete", "groups", arguments[2], environ=environ) == SILENCE
    assert (file.stat().st_mode & 0o777, file.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    os.utime(file, (time.time() - 90_000, time.time() - 90_000))  # noqa: TID251 - the age of a file
    assert kctl(*arguments, environ=environ) == SILENCE


@pytest.mark.skipif(not Path("/proc/self/cmdline").exists(), reason="processes are counted in /proc")
def test_tab_keys_during_a_look_up_start_no_other(silent: str, tmp_path: Path) -> None:
    environ = {"XDG_CACHE_HOME": str(tmp_path)}
    arguments = ("__complete", "topics", f"kctl consume -b {silent} -X client.id={tmp_path.name} ")

    def look_ups() -> int:
        count = 0
        for path in Path("/proc").glob("[0-9]*/cmdline"):
            with suppress(OSError):  # a process that has ended
                count += tmp_path.name.encode() in path.read_bytes()
        return count

    assert kctl(*arguments, environ=environ) == SILENCE
    assert look_ups() == 1
    assert kctl(*arguments, environ=environ | REFUSED_LONG) == SILENCE
    assert look_ups() == 1


def test_names_that_come_after_the_limit_are_kept_for_the_next_key(tmp_path: Path) -> None:
    environ = {"XDG_CACHE_HOME": str(tmp_path), "KCTL_COMPLETION_TIMEOUT_MS": "2000"}
    with Sandbox(nodes=1, topics={"t": 1}).serve() as served:
        arguments = ("__complete", "topics", f"kctl -b {served.bootstrap}")
        served.sandbox.start_fault(1, Fault.DELAY, ms=3000)
        assert kctl(*arguments, environ=environ) == SILENCE
        wait_until(lambda: any(tmp_path.rglob(NAMES)), KEPT_MS, "the names are kept")
        served.sandbox.start_fault(1, Fault.SILENCE)
        assert kctl(*arguments, environ={**environ, **REFUSED_LONG}) == (0, b"t\n", "")


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
