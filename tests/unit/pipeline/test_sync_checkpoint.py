"""Checkpoints of a sync: what is kept comes back, other syncs and damage are refused with what and where."""

import json
import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from kctl.client.cluster import TopicPartition
from kctl.client.errors import ConfigError
from kctl.pipeline.job_errors import ExportDataError, FolderError
from kctl.pipeline.jobs.sync_checkpoint import FACTS, SyncCheckpoint, SyncFacts, default_folder, starting_offsets

STARTS = {TopicPartition("t", 0): 5, TopicPartition("t", 1): 0}
EACH = 20
KEPT = SyncFacts(("t",), "/data", STARTS)


def made(folder: Path) -> SyncCheckpoint:
    checkpoint = SyncCheckpoint(folder / "c")
    assert checkpoint.read(["t"], "/data") is None
    checkpoint.create(KEPT)
    return checkpoint


def test_facts_that_are_kept_come_back(tmp_path: Path) -> None:
    checkpoint = made(tmp_path)
    assert checkpoint.read(["t"], "/data") == KEPT
    assert [path.name for path in checkpoint.path.iterdir()] == [FACTS]


def test_draft_does_not_follow_a_link(tmp_path: Path) -> None:
    victim, folder = tmp_path / "victim", tmp_path / "c"
    victim.write_text("precious")
    checkpoint = SyncCheckpoint(folder)
    assert checkpoint.read(["t"], "/data") is None
    folder.mkdir()
    (folder / f".{FACTS}.{os.getpid()}").symlink_to(victim)
    checkpoint.create(KEPT)
    assert victim.read_text() == "precious"
    assert [path.name for path in folder.iterdir()] == [FACTS]


@pytest.mark.parametrize(
    ("topics", "target", "words"),
    [
        (["t", "u"], "/data", "with topics t, not t, u"),
        (["t"], "/other", "with target /data, not /other"),
    ],
)
def test_checkpoint_of_another_sync_is_refused(tmp_path: Path, topics: list[str], target: str, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        made(tmp_path).read(topics, target)


def test_folder_of_something_else_is_refused(tmp_path: Path) -> None:
    (tmp_path / "offsets").mkdir()
    with pytest.raises(FolderError, match="is not empty and is not a checkpoint of kctl pipeline sync"):
        SyncCheckpoint(tmp_path).read(["t"], "/data")


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"[]",
        b'{"v": 2}',
        b'{"v": 1, "topics": 3}',
        b'{"v": 1, "topics": [], "target": "", "starts": {"t": 1}}',
        b'{"v": 1, "topics": [], "target": "", "starts": {"t": {"0": Infinity}}}',
        b'{"v": 1, "topics": [], "target": "", "starts": {"t": {"0": -1}}}',
        b'{"v": 1, "topics": [], "target": "", "starts": {"t": {"0": 9223372036854775808}}}',
    ],
)
def test_damaged_facts_are_named(tmp_path: Path, content: bytes) -> None:
    checkpoint = made(tmp_path)
    (checkpoint.path / FACTS).write_bytes(content)
    with pytest.raises(ExportDataError, match=f"{FACTS} is damaged") as caught:
        checkpoint.read(["t"], "/data")
    assert "delete the checkpoint" in caught.value.hint


@pytest.mark.parametrize(
    "content",
    [
        b'{"v": "' + b"x" * 100_000 + b'"}',
        b'{"v": 1, "topics": [], "target": "", "starts": {"a\\u001b[2J\\n' + b"x" * 100_000 + b'": {"0": -1}}}',
    ],
)
def test_error_of_damaged_facts_is_short_and_harmless(tmp_path: Path, content: bytes) -> None:
    checkpoint = made(tmp_path)
    (checkpoint.path / FACTS).write_bytes(content)
    with pytest.raises(ExportDataError, match=f"{FACTS} is damaged") as caught:
        checkpoint.read(["t"], "/data")
    text = str(caught.value)
    assert (text.isprintable(), len(text) < 400 + len(str(checkpoint.path))) == (True, True)


def test_file_in_the_place_of_a_checkpoint_is_named(tmp_path: Path) -> None:
    (tmp_path / "c").write_text("x")
    with pytest.raises(FolderError, match="Not a directory"):
        SyncCheckpoint(tmp_path / "c").read(["t"], "/data")


@pytest.mark.parametrize("name", [FACTS, "metadata", "offsets/7", "commits/7"])
@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir])
def test_pipe_or_folder_in_the_place_of_a_file_is_named(
    tmp_path: Path, name: str, make: Callable[[Path], object]
) -> None:
    checkpoint = made(tmp_path)
    path = checkpoint.path / name
    path.unlink(missing_ok=True)
    path.parent.mkdir(exist_ok=True)
    make(path)
    with pytest.raises(FolderError, match=f"checkpoint {path}: (not a regular file|Is a directory)"):
        checkpoint.read(["t"], "/data")
    if name.startswith("offsets"):
        with pytest.raises(FolderError, match=f"checkpoint {path}: (not a regular file|Is a directory)"):
            checkpoint.batch_end(7)


def test_batch_end_is_read_as_spark_writes_it(tmp_path: Path) -> None:
    checkpoint = made(tmp_path)
    offsets = checkpoint.path / "offsets"
    offsets.mkdir()
    ends = {"t": {"0": 9, "1": 2}, "#topic_ids": {"t": "abc"}}
    (offsets / "7").write_text(f'v1\n{{"batchWatermarkMs":0}}\n{json.dumps(ends)}')
    found = checkpoint.batch_end(7)
    assert found.offsets == {TopicPartition("t", 0): 9, TopicPartition("t", 1): 2}
    assert found.topic_id("t") == "abc"


@pytest.mark.parametrize(
    "content",
    [None, b"", b"v2\n{}\n{}", b"v1\n{}\n{}\n{}", b"v1\n{}\n[1]", b"v1\n{}\n\xff", b'v1\n{}\n{"t": {"0": Infinity}}'],
)
def test_damaged_batch_end_is_named(tmp_path: Path, content: bytes | None) -> None:
    checkpoint = made(tmp_path)
    (checkpoint.path / "offsets").mkdir()
    if content is not None:
        (checkpoint.path / "offsets" / "7").write_bytes(content)
    with pytest.raises(ExportDataError, match="offsets/7 is damaged"):
        checkpoint.batch_end(7)


def with_batches(folder: Path, count: int) -> SyncCheckpoint:
    """Return a checkpoint as Spark leaves it after committed batches, of EACH offsets of partition 0 each."""
    checkpoint = made(folder)
    (checkpoint.path / "metadata").write_text('{"id":"f3fb89b5-85b6-46b9-af92-9c0c8218eb78"}')
    for name in ("offsets", "commits"):
        (checkpoint.path / name).mkdir()
    for number in range(count):
        (checkpoint.path / f"offsets/{number}").write_text(f'v1\n{{}}\n{{"t": {{"0": {(number + 1) * EACH}}}}}')
        (checkpoint.path / f"offsets/.{number}.crc").write_bytes(b"crc")
        (checkpoint.path / f"commits/{number}").write_text('v1\n{"nextBatchWatermarkMs":0}')
    return checkpoint


def test_committed_end_is_that_of_the_newest_batch(tmp_path: Path) -> None:
    assert made(tmp_path / "new").committed_end() is None
    checkpoint = with_batches(tmp_path, 11)
    end = checkpoint.committed_end()
    assert end is not None
    assert end.offsets == {TopicPartition("t", 0): 11 * EACH}
    (checkpoint.path / "commits/10").unlink()
    assert checkpoint.committed_end() is None


def test_forgotten_batches_leave_the_facts(tmp_path: Path) -> None:
    checkpoint = with_batches(tmp_path, 2)
    checkpoint.forget_batches()
    assert (checkpoint.read(["t"], "/data"), checkpoint.committed_end()) == (KEPT, None)


@pytest.mark.parametrize(
    ("lose", "name"),
    [
        pytest.param(lambda path: (path / "metadata").write_bytes(b""), "metadata", id="empty id"),
        pytest.param(lambda path: (path / "metadata").write_bytes(b'{"id": 3}'), "metadata", id="id of another type"),
        pytest.param(lambda path: shutil.rmtree(path / "offsets"), "offsets/1", id="offsets"),
        pytest.param(lambda path: (path / "offsets/2").unlink(), "offsets/2", id="newest offsets"),
        pytest.param(lambda path: (path / "offsets/1").unlink(), "offsets/1", id="offsets before the newest"),
        pytest.param(lambda path: (path / "offsets/2").write_bytes(b""), "offsets/2", id="empty offsets"),
        pytest.param(lambda path: (path / "offsets/2").write_text('v1\n{}\n{"t": {"0"'), "offsets/2", id="cut offsets"),
        pytest.param(lambda path: (path / "commits/2").write_bytes(b""), "commits/2", id="empty commit"),
        pytest.param(lambda path: (path / "commits/2").write_bytes(b"v1"), "commits/2", id="cut commit"),
    ],
)
def test_batches_that_spark_cannot_continue_are_named(
    tmp_path: Path, lose: Callable[[Path], object], name: str
) -> None:
    """Spark itself fails with the names of its classes, after seconds."""
    checkpoint = with_batches(tmp_path, 3)
    assert checkpoint.read(["t"], "/data") == KEPT
    lose(checkpoint.path)
    with pytest.raises(ExportDataError, match=f"{name} is damaged") as caught:
        checkpoint.read(["t"], "/data")
    assert "delete the checkpoint" in caught.value.hint


@pytest.mark.parametrize("name", ["offsets/0", "commits/0", "commits/1", "commits/2", "commits", "metadata"])
def test_batches_that_spark_can_continue_are_accepted(tmp_path: Path, name: str) -> None:
    checkpoint = with_batches(tmp_path, 3)
    path = checkpoint.path / name
    shutil.rmtree(path) if path.is_dir() else path.unlink()
    assert checkpoint.read(["t"], "/data") == KEPT


def test_default_folder_differs_by_topics() -> None:
    folder = Path("/data")
    assert default_folder(folder, ["orders"]) == folder / "_checkpoint/orders"
    names = {default_folder(folder, topics).name for topics in (["a", "b"], ["a"], ["b", "a"], ["_a"], ["a", "c"])}
    assert len(names) == 4
    assert not any(name.startswith(("_", ".")) for name in names)


def test_default_folder_of_a_pattern_has_no_wildcard() -> None:
    folder = default_folder(Path("/data"), ["/orders-[ab].*{x}?/"])
    assert re.fullmatch(r"orders-ab.x-[0-9a-f]{12}", folder.name)
    assert folder != default_folder(Path("/data"), ["/orders-(ab).x/"])


def test_added_partitions_begin_with_their_first_record() -> None:
    text = starting_offsets([*STARTS, TopicPartition("t", 2)], STARTS, -2)
    assert json.loads(text) == {"t": {"0": 5, "1": 0, "2": -2}}
