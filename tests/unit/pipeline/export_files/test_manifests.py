"""Manifests become few, and whatever is killed on the way each round stays in exactly one that counts.

A kill is an exception before or after any call by which the file system is changed, that nothing handles.
"""

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kctl.pipeline.export_files import manifests as manifests_module
from kctl.pipeline.export_files.folder import ExportFolder, hidden
from kctl.pipeline.export_files.manifests import (
    COMMITTED_AT,
    MANIFESTS,
    ExportedFile,
    ExportedRange,
    Manifest,
    ManifestFile,
    TargetFacts,
    facts_of,
    list_manifests,
    parse_manifest,
    read_manifests,
    write_manifest,
)
from kctl.pipeline.job_errors import ExportDataError, FolderError
from kctl.pipeline.resume_point import ResumePoint

SETTINGS = {"format": "parquet", "layout": "topic"}
CHANGES = ("fsync", "link", "mkdir", "rename", "rmdir", "unlink")


class Killed(BaseException):
    """What a kill is to the code that it hits."""


class FileSystem:
    """Counts the calls that change something, and is killed before one of them, or after."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.calls = 0
        self.dies_at = -1
        self.on_call: Callable[[], None] = lambda: None
        for name in CHANGES:
            monkeypatch.setattr(os, name, self._counted(getattr(os, name)))

    def _counted(self, call: Callable[..., Any]) -> Callable[..., Any]:
        def counted(*args: Any, **kwargs: Any) -> Any:
            self._step()
            result = call(*args, **kwargs)
            self._step()
            return result

        return counted

    def _step(self) -> None:
        self.on_call()
        self.calls += 1
        if self.calls == self.dies_at:
            raise Killed


@pytest.fixture
def by_fours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(manifests_module, "FANOUT", 4)


def taken(path: Path, run_id: str = "run") -> ExportFolder:
    folder = ExportFolder(path)
    folder.claim(run_id, SETTINGS)
    return folder


def add(folder: ExportFolder, offset: int) -> None:
    """Export one record, with its file, as a round of its own."""
    file = folder.path / "t" / f"t-0-{offset}-{offset + 1}.parquet"
    file.parent.mkdir(exist_ok=True)
    hidden(file).write_bytes(b"x")
    exported = ExportedRange("t", 0, offset, offset + 1, 1, (ExportedFile(f"t/{file.name}", 1, 1),))
    folder.commit_round([folder.begin_round(offset + 1)], SETTINGS, [exported])


def offsets(path: Path) -> list[int]:
    """Return what readers find, in the order of the manifests."""
    return [each.start for manifest in read_manifests(path) for each in manifest.ranges]


def names(path: Path) -> list[str]:
    return sorted(each.name for each in (path / MANIFESTS).iterdir())


def test_pipe_in_the_place_of_a_manifest_is_named(tmp_path: Path) -> None:
    folder = taken(tmp_path / "x")
    path = folder.path / MANIFESTS / "00000001.json"
    os.mkfifo(path)
    with pytest.raises(FolderError, match=f"{path}: not a regular file"):
        read_manifests(folder.path)


@pytest.mark.slow
def test_a_thousand_rounds_are_some_dozens_of_files(tmp_path: Path) -> None:
    folder = taken(tmp_path / "x")
    for offset in range(1_000):
        add(folder, offset)
        assert len(names(folder.path)) <= 15 * 3 + 1
    assert names(folder.path)[0] == "00000001-00000256.json"
    assert names(folder.path)[-1] == "00001000.json"
    assert offsets(folder.path) == list(range(1_000))
    assert taken(folder.path, "second").resume_points() == {("t", 0): ResumePoint(1_000)}
    assert len(list((folder.path / "t").iterdir())) == 1_000, "files of merged rounds were taken for orphans"


def test_large_manifests_are_not_merged(tmp_path: Path, by_fours: None, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = taken(tmp_path / "x")
    add(folder, 0)
    one = (folder.path / MANIFESTS / "00000001.json").stat().st_size
    monkeypatch.setattr(manifests_module, "MERGED_BYTES", 6 * one)
    for offset in range(1, 40):
        add(folder, offset)
    assert {name.count("-") for name in names(folder.path)} == {0, 1}
    found = read_manifests(folder.path)
    assert max(manifest.number - manifest.first for manifest in found) == 3
    assert offsets(folder.path) == list(range(40))


@pytest.mark.slow
def test_killed_at_any_point_each_round_counts_once_and_the_next_run_goes_on(
    tmp_path: Path, by_fours: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The seventeenth round merges four manifests into one, and four of those into one of sixteen rounds."""
    prepared = 16
    before = taken(tmp_path / "before")
    for offset in range(prepared):
        add(before, offset)
    link = os.link
    disk = FileSystem(monkeypatch)
    died = 0
    for step in range(1, 200):
        path = tmp_path / str(step)
        shutil.copytree(before.path, path, copy_function=link)
        folder = taken(path, "killed")
        disk.calls, disk.dies_at = 0, step
        try:
            add(folder, prepared)
        except Killed:
            died += 1
        disk.dies_at = -1
        found = offsets(path)
        assert found in (list(range(prepared)), list(range(prepared + 1))), f"after step {step}"
        after = taken(path, "after")
        assert after.resume_points() == {("t", 0): ResumePoint(len(found))}
        assert offsets(path) == found
        for offset in range(len(found), prepared + 2):
            add(after, offset)
        assert offsets(path) == list(range(prepared + 2))
        assert names(path) == ["00000001-00000016.json", "00000017.json", "00000018.json"]
        assert len(list((path / "t").iterdir())) == prepared + 2
        if disk.calls and died < step:
            break
    assert died > 40, "the merge was not reached"


def test_readers_see_every_round_once_at_each_step_of_a_merge(
    tmp_path: Path, by_fours: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = taken(tmp_path / "x")
    for offset in range(16):
        add(folder, offset)
    disk = FileSystem(monkeypatch)
    seen = []
    disk.on_call = lambda: seen.append(offsets(folder.path))
    add(folder, 16)
    assert all(found in (list(range(16)), list(range(17))) for found in seen)
    assert len(seen) > 40
    assert names(folder.path) == ["00000001-00000016.json", "00000017.json"]


@pytest.mark.parametrize("stale", ["all before", "all but what merging left alone"])
def test_a_listing_that_a_merge_has_overtaken_is_made_again(
    tmp_path: Path, by_fours: None, monkeypatch: pytest.MonkeyPatch, stale: str
) -> None:
    """A listing may have files that are gone, or lack both the merged manifest and those it has replaced."""
    folder = taken(tmp_path / "x")
    for offset in range(4):
        add(folder, offset)
    before = sorted((folder.path / MANIFESTS).iterdir())
    add(folder, 4)
    listing = before if stale == "all before" else [folder.path / MANIFESTS / "00000005.json"]
    listings = [listing]
    iterdir = Path.iterdir
    monkeypatch.setattr(Path, "iterdir", lambda path: iter(listings.pop()) if listings else iterdir(path))
    assert offsets(folder.path) == list(range(5))
    assert listings == []


def test_an_export_from_before_manifests_were_merged_is_read_and_becomes_few(tmp_path: Path) -> None:
    path = tmp_path / "x"
    (path / MANIFESTS).mkdir(parents=True)
    (path / "t").mkdir()
    for offset in range(40):
        name = f"t/t-0-{offset}-{offset + 1}.parquet"
        (path / name).write_bytes(b"x")
        files = [{"path": name, "records": 1, "size_bytes": 1}]
        one = {"topic": "t", "partition": 0, "start": offset, "end": offset + 1, "records": 1, "files": files}
        manifest = {"v": 1, "number": offset + 1, "settings": SETTINGS, "ranges": [one]}
        (path / MANIFESTS / f"{offset + 1:08}.json").write_text(json.dumps(manifest))
    assert offsets(path) == list(range(40))
    folder = taken(path)
    assert names(path)[:2] == ["00000001-00000016.json", "00000017-00000032.json"]
    assert len(names(path)) == 2 + 8
    add(folder, 40)
    assert offsets(path) == list(range(41))


def test_a_run_that_has_lost_the_folder_merges_nothing(tmp_path: Path, by_fours: None) -> None:
    first = taken(tmp_path / "x")
    for offset in range(4):
        add(first, offset)
    second = taken(tmp_path / "x", "second")
    first._files = list_manifests(first.path).files
    first._files.append(first._files[-1])
    before = names(first.path)
    with pytest.raises(FolderError, match="another export started in"):
        first._merge()
    assert names(first.path) == before
    add(second, 4)
    assert offsets(second.path) == list(range(5))


def test_merged_manifests_are_plain_json_too(tmp_path: Path, by_fours: None) -> None:
    folder = taken(tmp_path / "x")
    for offset in range(5):
        add(folder, offset)
    found = json.loads((folder.path / MANIFESTS / "00000001-00000004.json").read_text())
    assert (found["v"], found["first"], found["number"], found["settings"]) == (2, 1, 4, SETTINGS)
    assert [each["start"] for each in found["ranges"]] == [0, 1, 2, 3]


@pytest.mark.parametrize(
    ("gone", "words"),
    [
        ("00000001-00000004.json", "manifest 00000001.json is missing in .*: the next manifest found is 00000005.json"),
        ("nothing", "the name of an export manifest"),
    ],
)
def test_a_manifest_that_is_missing_or_named_as_none_is_told(
    tmp_path: Path, by_fours: None, gone: str, words: str
) -> None:
    folder = taken(tmp_path / "x")
    for offset in range(6):
        add(folder, offset)
    (folder.path / MANIFESTS / gone).unlink(missing_ok=True)
    if gone == "nothing":
        (folder.path / MANIFESTS / "copy of 00000001.json").write_text("{}")
    with pytest.raises(ExportDataError, match=words):
        read_manifests(folder.path)


def _with_range(**changed: object) -> bytes:
    whole = {"topic": "t", "partition": 0, "start": 0, "end": 5, "records": 5, "files": [], **changed}
    return json.dumps({"v": 1, "number": 1, "settings": {}, "ranges": [whole]}).encode()


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"[" * 200_000, "nested too deeply"),
        (b'{"v": 1, "number": 1e999, "settings": {}, "ranges": []}', "infinity"),
        (_with_range(end=1e999), "infinity"),
        (_with_range(partition=-1), "invalid range of"),
        (_with_range(start=9), "offsets 9 to 5"),
        (_with_range(start=-2), "invalid range of"),
        (_with_range(end=2**63), "invalid range of"),
        (_with_range(records=-1), "with -1 records"),
        (_with_range(files=[{"path": "/etc/passwd", "records": 1, "size_bytes": 1}]), "is outside of the export"),
        (_with_range(files=[{"path": "t/../../x", "records": 1, "size_bytes": 1}]), "is outside of the export"),
        (_with_range(files=[{"path": "t/\0", "records": 1, "size_bytes": 1}]), "is outside of the export"),
        (_with_range(files=[{"path": "t/x", "records": 5, "size_bytes": -1}]), "invalid size of a file: -1 bytes"),
        (_with_range(files=[{"path": "t/x", "records": -1, "size_bytes": 1}]), "1 bytes and -1 records"),
        (_with_range(topic="../x"), "not a valid topic name"),
    ],
    ids=lambda each: repr(each)[:40],
)
def test_a_manifest_that_kctl_did_not_write_is_an_error_that_names_it(content: bytes, words: str) -> None:
    with pytest.raises(ExportDataError, match=f"00000001.json is not an export manifest: .*{words}"):
        parse_manifest(content, ManifestFile(Path("00000001.json"), 1, 1, len(content)))


def test_draft_of_a_manifest_does_not_follow_a_link(tmp_path: Path) -> None:
    victim, drafts = tmp_path / "victim", tmp_path / "run"
    victim.write_text("precious")
    drafts.mkdir()
    (tmp_path / MANIFESTS).mkdir()
    (drafts / "00000001.json").symlink_to(victim)
    written = write_manifest(tmp_path, Manifest(1, {}, (), 1), drafts)
    assert victim.read_text() == "precious"
    assert written.path == tmp_path / MANIFESTS / "00000001.json"
    assert not written.path.is_symlink()


def test_counts_are_of_all_manifests_and_rounds_and_time_of_the_newest() -> None:
    file = ExportedFile("t/a", 2, 30)
    ranges = (ExportedRange("t", 0, 0, 5, 2, (file,)),)
    made = [Manifest(number, {COMMITTED_AT: f"{number}000"}, ranges, number) for number in (1, 2)]
    assert facts_of(made) == TargetFacts(4, 2, 60, 2, 2000)
    for settings in ({}, {COMMITTED_AT: "9" * 5000}):
        assert facts_of([made[0]._replace(settings=settings)]).committed_at_ms is None
    assert facts_of([]) == TargetFacts(0, 0, 0, 0, None)
