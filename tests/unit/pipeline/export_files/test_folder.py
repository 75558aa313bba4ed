"""The folder of an export: rounds become part of it whole, one run owns it, and what is no part of it goes."""

import json
import os
import tempfile
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

from kctl.pipeline.export_files.folder import TEMPORARY, ExportFolder, file_name, hidden, inside, placed
from kctl.pipeline.export_files.manifests import MANIFESTS, ExportedFile, ExportedRange, Manifest, read_manifests
from kctl.pipeline.job_errors import ExportDataError, FolderError
from kctl.pipeline.resume_point import ResumePoint

SETTINGS = {"format": "parquet", "layout": "topic"}
AT_ONCE, CLAIMS = 4, 30


def taken(path: Path, run_id: str = "run") -> ExportFolder:
    folder = ExportFolder(path)
    folder.claim(run_id, SETTINGS)
    return folder


def written(folder: ExportFolder, start: int, end: int, topic: str = "t") -> ExportedRange:
    name = f"{topic}/{file_name(topic, 0, start, end, '.parquet')}"
    path = hidden(folder.path / name)
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(b"x" * (end - start))
    file = ExportedFile(name, end - start, end - start)
    return ExportedRange(topic, 0, start, end, end - start, (file,), "an-id", log_end=99)


def names(path: Path) -> list[str]:
    return sorted(each.name for each in path.rglob("*.parquet"))


@contextmanager
def unprivileged() -> Iterator[None]:
    """Be subject to the modes of files, which root is not."""
    before = os.geteuid()
    if before == 0:
        os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(before)


def test_run_without_work_leaves_the_folder_to_the_run_under_way(tmp_path: Path) -> None:
    first = taken(tmp_path / "x")
    first.commit_round([first.begin_round(1)], SETTINGS, [written(first, 0, 10)])
    (first.path / "t/t-0-0-10.parquet").rename(hidden(first.path / "t/t-0-0-10.parquet"))  # as after a kill
    round_folder = first.begin_round(2)
    second = ExportFolder(tmp_path / "x")
    second.claim("second", SETTINGS, takes_over=False)
    second.leave()
    assert second.last_number == 1
    assert names(tmp_path) == ["t-0-0-10.parquet"]
    added = written(first, 10, 15)
    ExportFolder(tmp_path / "x").claim("third", SETTINGS, takes_over=False)
    first.commit_round([round_folder], SETTINGS, [added])
    assert names(tmp_path) == ["t-0-0-10.parquet", "t-0-10-15.parquet"]


def test_rounds_are_read_again_by_the_next_run(tmp_path: Path) -> None:
    first = taken(tmp_path / "x")
    for number, (start, end) in enumerate([(0, 10), (10, 15)]):
        first.commit_round([first.begin_round(number)], SETTINGS, [written(first, start, end)])
    first.leave()
    second = taken(tmp_path / "x", "second")
    assert second.resume_points() == {("t", 0): ResumePoint(15, "an-id", 99)}
    assert [manifest.number for manifest in read_manifests(second.path)] == [1, 2]
    assert (second.last_number, second.resume_points()) == (first.last_number, first.resume_points())
    assert names(tmp_path) == ["t-0-0-10.parquet", "t-0-10-15.parquet"]


def test_file_without_manifest_is_removed_by_the_next_run(tmp_path: Path) -> None:
    first = taken(tmp_path / "x")
    first.commit_round([first.begin_round(0)], SETTINGS, [written(first, 0, 10)])
    written(first, 10, 20)
    notes = tmp_path / "x" / "t" / "notes.parquet"
    notes.write_bytes(b"not of this name")
    taken(tmp_path / "x", "second")
    assert names(tmp_path) == ["notes.parquet", "t-0-0-10.parquet"]


def test_files_are_hidden_until_their_manifest_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = taken(tmp_path / "x")
    round_folder = first.begin_round(0)
    ranges = [written(first, 0, 10)]
    assert names(tmp_path) == [".t-0-0-10.parquet"]
    monkeypatch.setattr(ExportFolder, "_show", lambda *_: None)  # killed between the manifest and the names
    first.commit_round([round_folder], SETTINGS, ranges)
    assert [manifest.number for manifest in read_manifests(tmp_path / "x")] == [1]
    path = tmp_path / "x" / "t" / "t-0-0-10.parquet"
    assert placed(path) == hidden(path), "kctl's own readers find it"
    monkeypatch.undo()
    second = taken(tmp_path / "x", "second")
    assert names(tmp_path) == ["t-0-0-10.parquet"]
    assert placed(path) == path
    second.commit_round([second.begin_round(0)], SETTINGS, [written(second, 10, 20)])
    assert names(tmp_path) == ["t-0-0-10.parquet", "t-0-10-20.parquet"]


def test_nothing_of_an_earlier_run_comes_in_once_another_has_the_folder(tmp_path: Path) -> None:
    first = taken(tmp_path / "x")
    round_folder = first.begin_round(0)
    draft = round_folder / "t-0-0-10.1.0"
    draft.write_bytes(b"x" * 10)
    ranges = [written(first, 0, 10)]
    second = taken(tmp_path / "x", "second")
    with pytest.raises(FileNotFoundError):
        draft.rename(tmp_path / "x" / "t" / "late.parquet")
    with pytest.raises(FolderError, match="another export has taken"):
        first.commit_round([round_folder], SETTINGS, ranges)
    with pytest.raises(FolderError, match="another export has taken"):
        first.begin_round(1)
    assert read_manifests(tmp_path / "x") == []
    second.commit_round([second.begin_round(0)], SETTINGS, [written(second, 0, 12)])
    assert names(tmp_path) == ["t-0-0-12.parquet"]


def test_of_claims_at_once_at_most_one_has_the_folder(tmp_path: Path) -> None:
    first = taken(tmp_path / "x")
    first.commit_round([first.begin_round(0)], SETTINGS, [written(first, 0, 10)])
    barrier = threading.Barrier(AT_ONCE)

    def claim(run_id: str) -> ExportFolder:
        folder = ExportFolder(tmp_path / "x")
        barrier.wait()
        folder.claim(run_id, SETTINGS)
        return folder

    with ThreadPoolExecutor(AT_ONCE) as pool:
        for number in range(CLAIMS):
            folders = list(pool.map(claim, [f"{number}-{who}" for who in range(AT_ONCE)]))
            assert sum(folder.run.exists() for folder in folders) <= 1
    taken(tmp_path / "x", "last").leave()
    assert list((tmp_path / "x" / TEMPORARY).iterdir()) == []
    assert names(tmp_path) == ["t-0-0-10.parquet"]


def test_run_that_has_lost_the_folder_removes_nothing_of_the_run_that_has_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow, settle = ExportFolder(tmp_path / "x"), ExportFolder._settle_files

    def settle_late(folder: ExportFolder, manifests: Sequence[Manifest]) -> None:
        monkeypatch.undo()
        written(taken(tmp_path / "x", "fast"), 0, 10)
        settle(folder, manifests)

    monkeypatch.setattr(ExportFolder, "_settle_files", settle_late)
    with pytest.raises(FolderError, match="another export has taken"):
        slow.claim("slow", SETTINGS)
    assert names(tmp_path) == [".t-0-0-10.parquet"]


def test_an_attempt_that_is_late_cannot_replace_a_file_of_a_committed_round(tmp_path: Path) -> None:
    folder = taken(tmp_path / "x")
    round_folder = folder.begin_round(0)
    late = round_folder / "t-0-0-10.2.0"
    late.write_bytes(b"y" * 10)
    folder.commit_round([round_folder], SETTINGS, [written(folder, 0, 10)])
    with pytest.raises(FileNotFoundError):
        late.rename(tmp_path / "x" / "t" / "t-0-0-10.parquet")


def test_a_manifest_is_never_written_over(tmp_path: Path) -> None:
    folder = taken(tmp_path / "x")
    other = folder.path / MANIFESTS / "00000001.json"
    other.write_text("theirs")
    with pytest.raises(FolderError, match="another export has taken"):
        folder.commit_round([folder.begin_round(0)], SETTINGS, [written(folder, 0, 10)])
    assert other.read_text() == "theirs"


@pytest.mark.parametrize("damage", ["shorter", "gone"])
def test_a_file_that_is_not_what_its_task_wrote_stops_the_round(tmp_path: Path, damage: str) -> None:
    folder = taken(tmp_path / "x")
    done = written(folder, 0, 10)
    path = hidden(folder.path / done.files[0].path)
    if damage == "gone":
        path.unlink()
    else:
        path.write_bytes(b"x")
    with pytest.raises(ExportDataError, match="but its task wrote 10"):
        folder.commit_round([folder.begin_round(0)], SETTINGS, [done])
    assert read_manifests(folder.path) == []


def test_a_folder_of_something_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "t-0-0-10.parquet").write_bytes(b"somebody's")
    with pytest.raises(FolderError, match="not empty and is not an export"):
        taken(tmp_path)
    assert names(tmp_path) == ["t-0-0-10.parquet"]
    assert not (tmp_path / TEMPORARY).exists()


@pytest.mark.parametrize(
    "name", ["file", "file/x", "link", "link/x", "n" * 300, "n" * 300 + "/x", "closed/x", "/proc/x", "other"]
)
def test_check_fails_as_taking_the_folder_would_and_makes_nothing(name: str) -> None:
    with unprivileged(), tempfile.TemporaryDirectory() as made:  # pytest's folders are for their owner alone
        root = Path(made)
        (root / "file").touch()
        (root / "link").symlink_to("nowhere")
        (root / "other").mkdir()
        (root / "other" / "x").touch()
        (root / "closed").mkdir(mode=0o500)
        before = sorted(root.rglob("*"))
        with pytest.raises(FolderError) as checked:
            ExportFolder(root / name).check(SETTINGS)
        assert sorted(root.rglob("*")) == before
        with pytest.raises(FolderError) as taken:
            ExportFolder(root / name).claim("run", SETTINGS)
        assert (str(checked.value), checked.value.hint) == (str(taken.value), taken.value.hint)
        assert name.partition("/")[0] in str(checked.value)


def test_check_of_a_folder_that_can_be_taken_returns(tmp_path: Path) -> None:
    ExportFolder(tmp_path / "new" / "below").check(SETTINGS)
    assert list(tmp_path.iterdir()) == []
    folder = taken(tmp_path)
    folder.check(SETTINGS)
    folder.commit_round([folder.begin_round(0)], SETTINGS, [written(folder, 0, 10)])
    with pytest.raises(FolderError, match="export with layout topic, but this run has layout date"):
        folder.check(SETTINGS | {"layout": "date"})


def test_an_export_keeps_its_layout(tmp_path: Path) -> None:
    folder = taken(tmp_path / "x")
    folder.commit_round([folder.begin_round(0)], SETTINGS, [written(folder, 0, 10)])
    with pytest.raises(FolderError, match="export with layout topic, but this run has layout date"):
        ExportFolder(tmp_path / "x").claim("second", SETTINGS | {"layout": "date"})


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (lambda text: text[:-5], "is not an export manifest"),
        (lambda text: text.replace("t/t-0", "../t-0"), "is outside of the export"),
        (lambda text: text.replace('"v": 1', '"v": 3'), "version 3"),
        (lambda text: text.replace('"number": 1', '"number": 3'), "the content of the manifest 00000003.json"),
        (lambda _: "[]", "is not an export manifest"),
    ],
)
def test_a_damaged_manifest_is_told(tmp_path: Path, damage: object, words: str) -> None:
    folder = taken(tmp_path / "x")
    folder.commit_round([folder.begin_round(0)], SETTINGS, [written(folder, 0, 10)])
    path = folder.path / MANIFESTS / "00000001.json"
    assert callable(damage)
    path.write_text(damage(path.read_text()))
    with pytest.raises(ExportDataError, match=words):
        read_manifests(folder.path)


def test_an_offset_in_two_ranges_is_told(tmp_path: Path) -> None:
    folder = taken(tmp_path / "x")
    folder.commit_round([folder.begin_round(0)], SETTINGS, [written(folder, 0, 10)])
    folder.commit_round([folder.begin_round(1)], SETTINGS, [written(folder, 9, 12)])
    with pytest.raises(ExportDataError, match="offset 9 of t-0 in two ranges"):
        read_manifests(folder.path)


def test_names_are_never_hidden_or_too_long() -> None:
    assert file_name("orders", 3, 0, 10, ".parquet") == "orders-3-0-10.parquet"
    assert file_name("__consumer_offsets", 3, 0, 10, ".parquet") == "@__consumer_offsets-3-0-10.parquet"
    assert len(file_name("t" * 249, 2**31 - 1, 2**63 - 1, 2**63 - 1, ".jsonl.zst", part=9999)) <= 255


def test_manifests_are_plain_json_for_others(tmp_path: Path) -> None:
    folder = taken(tmp_path / "x")
    folder.commit_round([folder.begin_round(0)], SETTINGS, [written(folder, 0, 10)])
    assert json.loads((folder.path / MANIFESTS / "00000001.json").read_text()) == {
        "v": 1,
        "number": 1,
        "settings": SETTINGS,
        "ranges": [
            {
                "topic": "t", "partition": 0, "start": 0, "end": 10, "records": 10,
                "files": [{"path": "t/t-0-0-10.parquet", "records": 10, "size_bytes": 10}],
                "topic_id": "an-id", "log_end": 99,
            }
        ],
    }  # fmt: skip


@pytest.mark.parametrize("name", ["../x", "/etc/x", "a/../../x", "a/../../../../../etc/x", "a\0b"])
def test_no_path_leads_out_of_the_folder(tmp_path: Path, name: str) -> None:
    with pytest.raises(FolderError, match="is outside of"):
        inside(tmp_path / "export", name)


def test_paths_below_the_folder_are_returned(tmp_path: Path) -> None:
    assert inside(tmp_path, "a/date=2026-11-22/b.parquet") == tmp_path / "a/date=2026-11-22/b.parquet"
    assert inside(Path("relative"), "a") == Path("relative/a")


@pytest.mark.parametrize("lost", [1, 2], ids=["first round", "later round"])
def test_folder_whose_manifests_were_deleted_is_no_first_run(tmp_path: Path, lost: int) -> None:
    first = taken(tmp_path / "x")
    for start in (0, 10)[:lost]:
        first.commit_round([first.begin_round(start)], SETTINGS, [written(first, start, start + 10)])
    first.leave()
    (tmp_path / "x" / "_manifest" / f"{lost:08}.json").unlink()
    kept = names(tmp_path)
    for use in (lambda: ExportFolder(tmp_path / "x").check(SETTINGS), lambda: taken(tmp_path / "x", "second")):
        with pytest.raises(
            ExportDataError,
            match=r"x has files that no manifest lists, because manifests were "
            "deleted: t/t-0-.*parquet",
        ):
            use()
    assert names(tmp_path) == kept
