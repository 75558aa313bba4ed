"""An export in an object store, over obstore's store in memory: what is committed, by whom, and what is cleared."""

import os
import pickle
import resource
from pathlib import Path
from random import Random

import obstore
import pyarrow as pa
import pytest
from obstore.store import MemoryStore

from kctl.pipeline.export_files import range_files
from kctl.pipeline.export_files.exported_records import read_exported
from kctl.pipeline.export_files.json_lines import SCHEMA
from kctl.pipeline.export_files.manifests import FANOUT, ExportedRange
from kctl.pipeline.export_files.range_files import FolderPlace, RangeName
from kctl.pipeline.job_errors import ExportDataError, FolderError, StoreUnreachableError
from kctl.pipeline.locations import StoreUrl
from kctl.pipeline.object_store import object_export, store
from kctl.pipeline.object_store.object_export import ObjectExport, read_object_manifests
from kctl.pipeline.object_store.store import ObjectStore, StoreTimeouts, hidden_key
from kctl.pipeline.targets import FileKind

URL = StoreUrl("s3://bucket/kafka")
SETTINGS = {"format": "parquet", "layout": "topic"}
KIND = FileKind("topic", "parquet", 1)


@pytest.fixture(autouse=True)
def memory(monkeypatch: pytest.MonkeyPatch) -> MemoryStore:
    """One store in memory behind every URL."""
    kept = MemoryStore()
    monkeypatch.setattr(store, "_opened", lambda *_: kept)
    return kept


def claimed(run_id: str = "run") -> ObjectExport:
    export = ObjectExport(URL, StoreTimeouts())
    export.claim(run_id, SETTINGS)
    return export


def written(export: ObjectExport, start: int, end: int, attempt: int = 0) -> ExportedRange:
    """Write a range as a task does."""
    name = RangeName("t", 0, start, end)
    with export.begin(1, KIND).open(name, attempt) as files:
        rows = [{"topic": "t", "partition": 0, "offset": offset, "timestamp": offset} for offset in range(start, end)]
        files.write(pa.RecordBatch.from_pylist(rows, SCHEMA))
        return ExportedRange(*name, files.records, files.finish(), "an-id", 99)


def keys() -> list[str]:
    return sorted(each.key for each in ObjectStore(URL).list())


def offsets() -> list[int]:
    """Return the offsets that kctl's own readers find."""
    return [
        offset
        for manifest in read_object_manifests(ObjectStore(URL))
        for each in manifest.ranges
        for batch in read_exported(URL, each, {})
        for offset in batch.column("offset").to_pylist()
    ]


def test_rounds_are_read_again_by_the_next_run() -> None:
    first = claimed()
    for start in (0, 10):
        first.commit([written(first, start, start + 10)], SETTINGS)
    second = claimed("second")
    assert second.resume_points() == first.resume_points()
    assert second.last_number == 2
    assert offsets() == list(range(20))
    assert [key.split(".")[0] for key in keys()] == [
        "_manifest/00000001",
        "_manifest/00000002",
        "t/t-0-0-10",
        "t/t-0-10-20",
    ]


def test_of_two_runs_at_once_one_commits_a_round_and_the_other_ends() -> None:
    first, second = claimed("first"), claimed("second")
    mine, theirs = written(first, 0, 10), written(second, 0, 10)
    second.commit([theirs], SETTINGS)
    with pytest.raises(FolderError, match="another export wrote to s3://bucket/kafka during this run"):
        first.commit([mine], SETTINGS)
    assert offsets() == list(range(10))


def test_run_that_wakes_up_after_its_number_was_merged_does_not_commit() -> None:
    sleeping, awake = claimed("sleeping"), claimed("awake")
    mine = written(sleeping, 0, 10)
    for number in range(FANOUT + 1):
        awake.commit([written(awake, number, number + 1)], SETTINGS)
    assert "_manifest/00000001.json" not in keys()
    with pytest.raises(FolderError, match="another export wrote"):
        sleeping.commit([mine], SETTINGS)
    assert offsets() == list(range(FANOUT + 1))
    assert claimed("next").last_number == FANOUT + 1


def test_objects_are_hidden_until_their_manifest_is_there() -> None:
    export = claimed()
    done = written(export, 0, 10)
    assert [key.startswith("t/.t-0-0-10.") for key in keys()] == [True]
    export.commit([done], SETTINGS)
    assert done.files[0].path in keys()


def test_round_whose_run_was_killed_after_its_manifest_is_finished_by_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    export = claimed()
    done = written(export, 0, 10)

    def killed(*_: object) -> None:
        raise StoreUnreachableError("killed")

    with monkeypatch.context() as patched:
        patched.setattr(ObjectStore, "copy", killed)
        with pytest.raises(StoreUnreachableError):
            export.commit([done], SETTINGS)
    assert offsets() == list(range(10)), "kctl's own readers find it under its hidden name"
    assert done.files[0].path not in keys()
    assert claimed("next").last_number == 1
    assert keys() == ["_manifest/00000001.json", done.files[0].path]


def test_orphan_is_deleted_at_its_age_and_not_before(monkeypatch: pytest.MonkeyPatch) -> None:
    orphan = written(claimed(), 0, 10).files[0].path
    claimed("early")
    assert keys() == [hidden_key(orphan)]
    monkeypatch.setattr(object_export, "ORPHAN_AGE_MS", -1)
    claimed("late")
    assert keys() == []


def test_round_that_took_too_long_is_not_committed(monkeypatch: pytest.MonkeyPatch) -> None:
    export = claimed()
    done = written(export, 0, 10)
    monkeypatch.setattr(object_export, "ORPHAN_AGE_MS", -2)
    with pytest.raises(FolderError, match="another run may have deleted its objects"):
        export.commit([done], SETTINGS)
    assert offsets() == []


def test_names_of_one_attempt_or_run_are_never_written_by_another() -> None:
    export = claimed("one")
    runs = [written(export, 0, 10), written(export, 0, 10, attempt=1), written(claimed("two"), 0, 10)]
    assert len({each.files[0].path for each in runs}) == len(keys()) == 3


def test_spill_is_not_synced_to_the_disk_and_a_file_of_a_folder_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Syncs take longer than the upload; what a crash of the machine loses of a spill is written again."""
    synced: list[int] = []
    monkeypatch.setattr(os, "fsync", synced.append)
    written(claimed(), 0, 10)
    assert not synced
    (tmp_path / "round").mkdir()
    with FolderPlace(str(tmp_path), str(tmp_path / "round"), KIND).open(RangeName("t", 0, 0, 1), 0) as files:
        files.write(pa.RecordBatch.from_pylist([{"topic": "t", "partition": 0, "offset": 0, "timestamp": 0}], SCHEMA))
        files.finish()
    assert synced


def test_hidden_objects_of_a_round_are_deleted_by_one_request(monkeypatch: pytest.MonkeyPatch) -> None:
    export = claimed()
    done = [written(export, start, start + 10) for start in (0, 10, 20)]
    requests: list[object] = []
    delete = obstore.delete

    def counted(at: MemoryStore, paths: tuple[str, ...]) -> None:
        requests.append(paths)
        delete(at, paths)

    monkeypatch.setattr(obstore, "delete", counted)
    export.commit(done, SETTINGS)
    assert requests == [tuple(hidden_key(each.files[0].path) for each in done)]
    assert keys() == ["_manifest/00000001.json", *(each.files[0].path for each in done)]


def test_objects_are_deleted_though_another_run_has_deleted_the_first_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """Google's store ends a deletion of several with the first that is not there, as here."""
    kept = {"b", "c"}

    def deleted(_store: MemoryStore, paths: tuple[str, ...]) -> None:
        for path in paths:
            if path not in kept:
                raise FileNotFoundError(path)
            kept.remove(path)

    monkeypatch.setattr(obstore, "delete", deleted)
    ObjectStore(URL).delete("a", "b", "c")
    ObjectStore(URL).delete()
    assert kept == set()


def test_ranges_of_a_task_share_the_connections_of_one_store(
    memory: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[StoreUrl] = []

    def counted(url: StoreUrl, _timeouts: StoreTimeouts) -> MemoryStore:
        opened.append(url)
        return memory

    place = claimed().begin(1, KIND)
    monkeypatch.setattr(store, "_opened", counted)
    for start in (0, 10):
        with pickle.loads(pickle.dumps(place)).open(RangeName("t", 0, start, 1), 0) as files:
            files.finish()
    assert opened == [URL, URL], "of two tasks"
    for start in (0, 10):
        with place.open(RangeName("t", 0, start, 1), 0) as files:
            files.finish()
    assert opened == [URL] * 3, "of one task"


def test_prefix_of_something_else_is_refused() -> None:
    ObjectStore(URL).put("report.csv", b"1")
    with pytest.raises(FolderError, match="is not empty and is not an export"):
        claimed()
    assert keys() == ["report.csv"]


def test_other_layout_is_refused() -> None:
    export = claimed()
    export.commit([written(export, 0, 10)], SETTINGS)
    with pytest.raises(FolderError, match="is an export with layout topic, but this run has layout date"):
        ObjectExport(URL, StoreTimeouts()).check({**SETTINGS, "layout": "date"})


def test_own_put_whose_answer_was_lost_is_no_conflict() -> None:
    ObjectStore(URL).create("_manifest/x", b"mine")
    ObjectStore(URL).create("_manifest/x", b"mine")
    with pytest.raises(FileExistsError):
        ObjectStore(URL).create("_manifest/x", b"another")


def test_spill_is_gone_after_a_range(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPARK_LOCAL_DIRS", str(tmp_path))
    written(claimed(), 0, 10)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("group_bytes", [1 << 25, 1 << 10], ids=["at the end", "in the middle"])
def test_disk_of_the_spill_that_is_full_is_named_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, group_bytes: int
) -> None:
    monkeypatch.setattr(range_files, "ROW_GROUP_BYTES", group_bytes)
    monkeypatch.setenv("SPARK_LOCAL_DIRS", str(tmp_path))
    place = claimed().begin(1, KIND)
    row = {"topic": "t", "partition": 0, "offset": 0, "timestamp": 0, "value": Random(1).randbytes(200_000)}

    def write() -> None:
        with place.open(RangeName("t", 0, 0, 1), 0) as files:
            files.write(pa.RecordBatch.from_pylist([row], SCHEMA))
            files.finish()

    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, before[1]))  # a file that grows further ends with EFBIG
    try:
        with pytest.raises(FolderError, match="File too large") as caught:
            write()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert "spark.local.dir" in caught.value.hint
    assert str(tmp_path) in str(caught.value)
    assert keys() == []
    assert list(tmp_path.iterdir()) == []


def test_prefix_whose_newest_manifest_was_deleted_is_not_exported_again() -> None:
    export = claimed()
    for start in (0, 10):
        export.commit([written(export, start, start + 10)], SETTINGS)
    ObjectStore(URL).delete("_manifest/00000002.json")
    kept = keys()
    with pytest.raises(ExportDataError, match=r"no manifest lists, because manifests were deleted: t/t-0-10-20"):
        claimed("second")
    assert keys() == kept
