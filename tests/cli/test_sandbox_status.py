"""`kctl sandbox status` and `tell` find the sandbox that runs; broker properties and ids of `up` are in force."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from kctl.cli.exit_codes import ExitCode
from tests.cli.processes import Ended, address_of, kctl, running


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A place for sockets of this test's own."""
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    return tmp_path / "kctl"


@contextmanager
def sandbox(*words: str) -> Iterator[str]:
    """Run a sandbox and return its bootstrap servers."""
    with running("sandbox", "start", "--port", "0", *words) as process:
        yield address_of(process)


def status(*words: str) -> list[dict[str, object]]:
    ended = kctl("sandbox", "status", "--output", "json", *words)
    assert ended.code == 0, ended
    found: list[dict[str, object]] = json.loads(ended.stdout)["rows"]
    return found


def test_tell_and_status_find_the_sandbox_that_runs(folder: Path) -> None:
    with sandbox("--nodes", "2", "--topic", "orders:3") as bootstrap:
        assert kctl("sandbox", "fault", "start", "2", "freeze").code == 0
        rows = status()
        assert [(row["node_id"], row["leaders"], row["faults"]) for row in rows] == [(1, 2, []), (2, 1, ["freeze"])]
        assert ",".join(str(row["address"]) for row in rows) == bootstrap
        asked = kctl("sandbox", "fault", "status")
        assert (asked.code, "use kctl sandbox status" in asked.stderr) == (ExitCode.USAGE, True), asked
        assert kctl("sandbox", "fault", "heal").code == 0
        assert {str(row["faults"]) for row in status()} == {"[]"}
    [left] = folder.iterdir()  # the sandbox was killed
    for ended in (kctl("sandbox", "status"), kctl("sandbox", "fault", "heal")):
        assert (ended.code, "no running sandbox found for this user" in ended.stderr) == (ExitCode.USAGE, True)
    assert not left.exists()


def test_two_sandboxes_are_told_apart_by_their_sockets(folder: Path) -> None:
    with sandbox("--nodes", "1") as first, sandbox("--nodes", "1"):
        ended = kctl("sandbox", "fault", "heal")
        assert (ended.code, "2 sandboxes are running" in ended.stderr, first in ended.stderr) == (2, True, True)
        rows = status()
        assert len(rows) == 2
        assert kctl("sandbox", "fault", "--control", str(rows[0]["control"]), "heal").code == 0
        assert status("--control", str(rows[0]["control"])) == rows[:1]


def test_socket_in_a_folder_of_others_is_not_used(folder: Path) -> None:
    folder.mkdir(mode=0o755)
    folder.chmod(0o755)
    with sandbox("--nodes", "1"):
        assert list(folder.iterdir()) == []
        assert kctl("sandbox", "status").code == ExitCode.USAGE


def test_broker_properties_and_ids_are_in_force(folder: Path) -> None:
    words = ("--nodes", "2", "--node-ids-from", "0", "--num-partitions", "4", "--config", "message.max.bytes=2000")
    with sandbox(*words, "--config", "auto.create.topics.enable=false") as bootstrap:
        assert [row["node_id"] for row in status()] == [0, 1]
        made = kctl("topics", "create", "t", "-b", bootstrap, "--output", "jsonl")
        assert json.loads(made.stdout)["partitions"] == 4
        shown = kctl("configs", "show", "broker", "0", "-b", bootstrap, "--output", "json")
        values = {row["key"]: (row["value"], row["source"]) for row in json.loads(shown.stdout)["rows"]}
        assert values["message.max.bytes"] == ("2000", "STATIC_BROKER_CONFIG")
        refused = kctl("sandbox", "fault", "start", "2", "freeze")
        assert "no broker 2: use 0 to 1" in refused.stderr


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--config", "no.such=1"), "unknown broker property no.such: use one of allow.everyone.if.no.acl.found"),
        (("--config", "num.partitions=many"), "num.partitions must be a number"),
        (("--config", "auto.create.topics.enable=1"), "must be true or false"),
        (("--config", "num.partitions"), "use KEY=VALUE instead of"),
        (("--node-ids-from", "-1"), "-1 is out of range"),
    ],
)
def test_impossible_option_is_named(folder: Path, words: tuple[str, ...], says: str) -> None:
    ended: Ended = kctl("sandbox", "start", "--port", "0", *words)
    assert (ended.code, says in ended.stderr) == (ExitCode.USAGE, True), ended
