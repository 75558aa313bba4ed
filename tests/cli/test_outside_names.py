"""Topic names of a broker and of a manifest are checked where they enter, and open no file outside of their folder."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from kctl.cli.exit_codes import ExitCode
from kctl.sandbox import Sandbox
from kctl.sandbox.server import ServedSandbox
from tests.cli.processes import HAS_SPARK, kctl


@pytest.fixture
def hostile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ServedSandbox]:
    """A broker that offers a topic whose name is an absolute path."""
    monkeypatch.setattr("kctl.sandbox.cluster.is_topic_name", lambda _: True)
    monkeypatch.setattr("kctl.sandbox.apis.metadata.is_topic_name", lambda _: True)
    with Sandbox(nodes=1, topics={f"{tmp_path}/outside": 1, "orders": 1}).serve() as served:
        yield served


@pytest.mark.parametrize(
    "command",
    [
        ("topics", "list"),
        ("consume", "/.*/", "-e"),
        ("pipeline", "export", "/.*/", "--dry-run", "--to", "TO"),
        ("pipeline", "export", "/.*/", "--to", "TO"),
    ],
)
def test_topic_name_of_a_broker_that_is_a_path_is_refused(
    hostile: ServedSandbox, tmp_path: Path, command: tuple[str, ...]
) -> None:
    arguments = [str(tmp_path / "export") if word == "TO" else word for word in command]
    ended = kctl(*arguments, "-b", hostile.bootstrap, "--api-timeout", "5s")
    if not HAS_SPARK and command[0] == "pipeline" and "--dry-run" not in command:
        assert "jobs need pyspark" in ended.stderr  # nothing is asked then
    else:
        assert ended.code == ExitCode.WRONG_PROTOCOL, ended.stderr
        assert "not a valid topic name" in ended.stderr.replace("\n", " ")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("topic", ["/tmp/outside", "../../outside", "a/../../b"])
def test_topic_name_of_a_manifest_that_is_a_path_is_refused(bootstrap: str, tmp_path: Path, topic: str) -> None:
    folder = tmp_path / "deep" / "export"
    (folder / "_manifest").mkdir(parents=True)
    file = {"path": "x/x-0-0-1.parquet", "records": 1, "size_bytes": 1}
    exported = {"topic": topic, "partition": 0, "start": 0, "end": 1, "records": 1, "files": [file]}
    manifest = {"v": 1, "number": 1, "settings": {"format": "parquet", "layout": "topic"}, "ranges": [exported]}
    (folder / "_manifest" / "00000001.json").write_text(json.dumps(manifest))
    ended = kctl("pipeline", "import", str(folder), "--to-topic", "copy", "--dry-run", "-b", bootstrap)
    assert ended.code == ExitCode.DATA, ended.stderr
    assert "not a valid topic name" in ended.stderr.replace("\n", " ")
