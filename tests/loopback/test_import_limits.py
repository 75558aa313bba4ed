"""Imports of exports that are damaged, that lie, or change under way, and imports that were killed or repeated."""

import json
import os
import shutil
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from obstore.store import MemoryStore

from kctl.client.admin import Admin, NewTopic, topics
from kctl.client.broker_errors import ErrorCode, broker_error
from kctl.client.producer import Producer
from kctl.pipeline.export_files import exported_records
from kctl.pipeline.export_files.cluster_facts import TopicFacts
from kctl.pipeline.job_errors import JobError
from kctl.pipeline.jobs import cluster_facts
from kctl.pipeline.jobs.cluster_facts import RefusedConfig
from kctl.pipeline.jobs.export import ExportRequest, export
from kctl.pipeline.jobs.file_import import ImportRequest, ImportResult, import_files, plan_import
from kctl.pipeline.locations import StoreUrl
from kctl.pipeline.object_store import store
from kctl.pipeline.progress_marks import FolderMarks, ObjectMarks
from kctl.pipeline.ranges import Selection
from kctl.sandbox.sandbox import Sandbox
from tests.pipeline.exports import data_of, on_topic
from tests.support.spark_in_process import session_in_process

PARTITIONS = 2
EACH = 10
ROUNDS = 2
HEADERS = (("", b"empty name"), ("a\n\x00\x1b[2J", None), ("ü" * 5_000, b"\xff"), ("x", b"1"), ("x", b"2"))


class Scene(NamedTuple):
    """A cluster with the topics `t` and `back`, and an export of `t`: a range of each partition in each round."""

    properties: dict[str, object]
    folder: Path

    def produce(self) -> None:
        """Send EACH more records to each partition of t."""
        with Producer(self.properties) as producer:
            for number in range(PARTITIONS * EACH):
                headers = HEADERS if number < PARTITIONS else ()
                producer.send("t", b"%d" % number, partition=number % PARTITIONS, headers=headers)

    def export(self) -> None:
        """Export EACH more records of each partition."""
        self.produce()
        with session_in_process() as session:
            request = ExportRequest(Selection(topics=("t",)), self.folder, self.properties)
            export(request, session=session)

    def request(self, **more: Any) -> ImportRequest:
        return ImportRequest(self.folder, self.properties, topic="back", keep_partitions=True)._replace(**more)

    def run(self, **more: Any) -> ImportResult:
        with session_in_process() as session:
            return import_files(self.request(**more), session=session)

    def rows(self, topic: str = "back") -> Counter[object]:
        """Return how often a topic has each record, by partition and content."""
        found = on_topic({name: str(value) for name, value in self.properties.items()}, topic)
        return Counter((row.partition, data_of(row)) for row in found)

    def is_complete(self) -> bool:
        """Whether the import has each record once."""
        return self.rows() == self.rows("t")

    def file(self, partition: int, number: int) -> Path:
        """Return the file of a partition and a round."""
        return self.folder / f"t/t-{partition}-{number * EACH}-{(number + 1) * EACH}.parquet"

    def stated(self, path: Path, **facts: int) -> None:
        """Change facts of a file, and of its range, in the manifests; without facts: its size, as it is now."""
        for manifest in (self.folder / "_manifest").glob("*.json"):
            given = json.loads(manifest.read_text())
            for each in given["ranges"]:
                for file in each["files"]:
                    if file["path"] == str(path.relative_to(self.folder)):
                        file |= facts or {"size_bytes": path.stat().st_size}
                        each |= {name: value for name, value in facts.items() if name in each}
            manifest.write_text(json.dumps(given))


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    with Sandbox(nodes=1, topics={"t": PARTITIONS, "back": PARTITIONS}).serve() as served:
        scene = Scene({"bootstrap.servers": served.bootstrap}, tmp_path / "a b#%41?*\n/ü'\"")
        for _ in range(ROUNDS):
            scene.export()
        yield scene


def test_names_with_odd_characters_are_restored(scene: Scene, tmp_path: Path) -> None:
    progress = tmp_path / "%2e%2e ;\n\\"
    assert scene.run(progress=progress).records == PARTITIONS * EACH * ROUNDS
    assert scene.is_complete()
    assert (scene.run(progress=progress).records, len(list(progress.iterdir()))) == (0, PARTITIONS * ROUNDS)


# --- files that are not what the manifest states ----------------------------------------------------------------------


def shorten(scene: Scene, path: Path) -> None:
    del scene
    path.write_bytes(path.read_bytes()[:-1])


def lengthen(scene: Scene, path: Path) -> None:
    del scene
    path.write_bytes(path.read_bytes() + b"\0")


def empty(scene: Scene, path: Path) -> None:
    path.write_bytes(b"")
    scene.stated(path)


def overwrite_end(scene: Scene, path: Path) -> None:
    del scene
    path.write_bytes(path.read_bytes()[:-8] + b"\xff" * 8)


def state_more(scene: Scene, path: Path) -> None:
    scene.stated(path, records=EACH - 1)


def state_no_bytes(scene: Scene, path: Path) -> None:
    scene.stated(path, size_bytes=0)


def rewrite(scene: Scene, path: Path, change: Callable[[pa.Table], pa.Table]) -> None:
    pq.write_table(change(pq.read_table(path)), path, use_dictionary=False)
    scene.stated(path)


def drop_column(scene: Scene, path: Path) -> None:
    rewrite(scene, path, lambda table: table.drop_columns(["headers"]))


def replaced(table: pa.Table, name: str, column: pa.Array) -> pa.Table:
    return table.set_column(table.schema.get_field_index(name), name, column)


def change_type(scene: Scene, path: Path) -> None:
    rewrite(scene, path, lambda table: replaced(table, "value", pa.array(["x"] * EACH)))


def set_null(scene: Scene, path: Path) -> None:
    rewrite(scene, path, lambda table: replaced(table, "offset", pa.nulls(EACH, pa.int64())))


def copy_from(scene: Scene, path: Path, partition: int, number: int) -> None:
    shutil.copy(scene.file(partition, number), path)
    scene.stated(path)


def put_fifo(scene: Scene, path: Path) -> None:
    path.unlink()
    os.mkfifo(path)
    scene.stated(path, size_bytes=0)


def put_folder(scene: Scene, path: Path) -> None:
    del scene
    path.unlink()
    path.mkdir()


def delete(scene: Scene, path: Path) -> None:
    del scene
    path.unlink()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (shorten, "bytes, but its manifest lists"),
        (lengthen, "bytes, but its manifest lists"),
        (state_no_bytes, "bytes, but its manifest lists 0"),
        (empty, "has a damaged file"),
        (overwrite_end, "has a damaged file"),
        (state_more, f"has {EACH} records, but its manifest lists {EACH - 1}"),
        (drop_column, "has no column headers"),
        (change_type, "column value has type string, expected binary"),
        (set_null, "has records with offset None to None"),
        (
            lambda scene, path: copy_from(scene, path, 0, 0),
            "has records with partition 0 to 0, which do not belong to t-1",
        ),
        (
            lambda scene, path: copy_from(scene, path, 1, 0),
            f"has records with offset 0 to {EACH - 1}, which do not belong to t-1",
        ),
        (put_fifo, "not a regular file"),
        (put_folder, "directory"),
        (delete, "No such file"),
    ],
)
def test_file_that_differs_from_its_manifest_is_rejected_and_its_range_is_not_done(
    scene: Scene, tmp_path: Path, change: Callable[[Scene, Path], None], words: str
) -> None:
    """The second file of partition 1."""
    shutil.copytree(scene.folder, tmp_path / "saved")
    path = scene.file(1, 1)
    change(scene, path)
    with pytest.raises(JobError, match=words) as caught:
        scene.run(progress=tmp_path / "progress")
    assert "bug" not in str(caught.value)
    shutil.rmtree(scene.folder)
    shutil.copytree(tmp_path / "saved", scene.folder)
    assert scene.run(progress=tmp_path / "progress").records == EACH, "the range that was not done"
    assert scene.is_complete(), "the first run sent nothing of the file"


# --- changes under way ------------------------------------------------------------------------------------------------


def test_file_that_is_replaced_while_it_is_read_is_read_as_it_was(
    scene: Scene, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    check_types = exported_records._check_types

    def replace(schema: pa.Schema, path: str) -> None:
        (tmp_path / "new").write_bytes(b"x" * Path(path).stat().st_size)
        (tmp_path / "new").rename(path)
        check_types(schema, path)

    monkeypatch.setattr(exported_records, "_check_types", replace)
    scene.run()
    assert scene.is_complete()


def test_file_that_is_cut_while_it_is_read_is_rejected(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    check_types = exported_records._check_types

    def cut(schema: pa.Schema, path: str) -> None:
        os.truncate(path, 0)
        check_types(schema, path)

    monkeypatch.setattr(exported_records, "_check_types", cut)
    with pytest.raises(JobError, match="File too short"):
        scene.run()
    assert scene.rows() == Counter()


def test_export_that_grows_during_an_import_is_continued_by_the_next_import(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    prepare = FolderMarks.prepare

    def grow(self: FolderMarks) -> None:
        scene.export()
        prepare(self)

    with monkeypatch.context() as patched:
        patched.setattr(FolderMarks, "prepare", grow)
        assert scene.run().records == PARTITIONS * EACH * ROUNDS
    assert scene.run().records == PARTITIONS * EACH
    assert scene.is_complete()


# --- runs after others ------------------------------------------------------------------------------------------------


class Killed(BaseException):
    """The end of a process."""


@pytest.mark.parametrize("kind", [FolderMarks, ObjectMarks])
@pytest.mark.parametrize("is_marked", [False, True])
@pytest.mark.parametrize("number", [0, PARTITIONS * ROUNDS - 1])
def test_killed_import_repeats_at_most_the_range_that_was_not_marked(
    scene: Scene, monkeypatch: pytest.MonkeyPatch, number: int, is_marked: bool, kind: type[FolderMarks | ObjectMarks]
) -> None:
    kept = MemoryStore()
    monkeypatch.setattr(store, "_opened", lambda *_: kept)
    progress = StoreUrl("s3://bucket/progress") if kind is ObjectMarks else None
    marks = 0
    add: Any = kind.add

    def die(self: object, name: str) -> None:
        nonlocal marks
        if is_marked or marks < number:
            add(self, name)
        marks += 1
        if marks == number + 1:
            raise Killed

    with monkeypatch.context() as patched:
        patched.setattr(kind, "add", die)
        with pytest.raises(Killed):
            scene.run(progress=progress)
    found = scene.run(progress=progress)
    done = number + is_marked
    assert (found.skipped, found.ranges) == (done, PARTITIONS * ROUNDS - done)
    assert scene.rows("t") - scene.rows() == Counter()
    assert (scene.rows() - scene.rows("t")).total() == (0 if is_marked else EACH)


def recreate(scene: Scene, topic: str) -> None:
    with Admin(scene.properties) as admin:
        admin.delete_topics([topic]).raise_first()
        admin.create_topics([NewTopic(topic, PARTITIONS, 1)]).raise_first()


def test_import_to_a_topic_that_was_recreated_starts_again(scene: Scene) -> None:
    scene.run()
    recreate(scene, "back")
    assert plan_import(scene.request()).done == 0
    scene.run()
    assert scene.is_complete()
    assert scene.run().records == 0


def test_progress_of_a_source_that_was_recreated_does_not_count(scene: Scene, tmp_path: Path) -> None:
    """Another export, with the same ranges and the same progress."""
    progress = tmp_path / "progress"
    scene.run(progress=progress)
    recreate(scene, "t")
    recreated = scene._replace(folder=tmp_path / "other")
    for _ in range(ROUNDS):
        recreated.export()
    assert recreated.run(progress=progress).skipped == 0


def test_topic_that_an_import_creates_has_progress(scene: Scene) -> None:
    scene.run(topic="made", create=True)
    assert scene.rows("made") == scene.rows("t")
    assert scene.run(topic="made", create=True).records == 0


def test_topic_that_brokers_do_not_know_yet_after_its_creation_is_imported_once(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Marks without the topic's id would not count in the next run."""
    create_topics = cluster_facts.create_topics

    def created(admin: Admin, missing: Mapping[str, TopicFacts]) -> list[RefusedConfig]:
        refused = create_topics(admin, missing)
        describe, late = topics._described, [broker_error(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "describe topic made")]

        def described(call: Any, behind: Any, names: list[str], broker_id: int | None = None) -> Any:
            return {"made": late.pop()} if late else describe(call, behind, names, broker_id)

        monkeypatch.setattr(topics, "_described", described)
        return refused

    monkeypatch.setattr(cluster_facts, "create_topics", created)
    for _ in range(2):
        scene.run(topic="made", create=True)
    assert scene.rows("made") == scene.rows("t")
