"""The folder of an export: which files belong to it, where each record's file lies, and how a round becomes part of it.

    FOLDER/orders/orders-0-0-1000.parquet                     layout `topic`
    FOLDER/orders/date=2026-11-22/orders-0-0-1000.parquet     `date` (UTC)
    FOLDER/orders/date=2026-11-22/hour=13/orders-0-...        `hour`
    FOLDER/_manifest/00000001.json                            what the rounds have written; what is in none is no part
    FOLDER/_tmp/RUN/                                          of the run that has the folder

Readers of folders leave out names that begin with `_` or `.`; a topic of such a name gets an `@` before it.

A run is the folder's owner while its own folder below `_tmp` exists. The next run removes it first, and from then on
nothing of the earlier one can come in: its tasks rename their files, and its driver links its manifest, from there.
All of it lies in one file system that the driver and all workers see under one path; a round's files, their folders
and its manifest are synced in that order. Knows neither Spark nor Kafka. Shown by
tests/unit/pipeline/export_files/test_folder.py.
"""

import json
import os
import re
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from kctl.pipeline.job_errors import ExportDataError, FolderError

MANIFESTS, TEMPORARY = "_manifest", "_tmp"
LAYOUTS = ("topic", "date", "hour")
FORMATS = {"parquet": ".parquet", "json": ".jsonl.zst"}
VERSION = 1
LARGEST_MANIFEST_BYTES = 64 * 1024 * 1024
_SETTINGS = ("format", "layout")
_HIDDEN = ("_", ".")
_FILE_NAME = re.compile(r".+-\d+-\d+-\d+(\.\d+)?(" + "|".join(map(re.escape, FORMATS.values())) + ")")


class ExportedFile(NamedTuple):
    """A file of an export; `path` is relative to the folder."""

    path: str
    records: int
    size_bytes: int


class ExportedRange(NamedTuple):
    """A range of offsets, `end` not included, that has become part of an export.

    Attributes: records: fewer than end - start where compaction or transactions left gaps.
    """

    topic: str
    partition: int
    start: int
    end: int
    records: int
    files: tuple[ExportedFile, ...]


class Manifest(NamedTuple):
    """What one round has added."""

    number: int
    settings: Mapping[str, str]
    ranges: tuple[ExportedRange, ...]


def topic_folder(topic: str) -> str:
    """Return the name of a topic's folder, and the beginning of its files' names."""
    return f"@{topic}" if topic.startswith(_HIDDEN) else topic


def file_name(topic: str, partition: int, start: int, end: int, extension: str, part: int = 0) -> str:
    """Return the name of a range's file; `part` counts those that it has in one folder."""
    name = topic_folder(topic)
    if len(name) > 170:  # a file's name has at most 255 bytes; the folder above has the topic in full
        name = name[:170] + "~"
    return f"{name}-{partition}-{start}-{end}{f'.{part}' if part else ''}{extension}"


class ExportFolder:
    """The folder, as the driver of one run sees it."""

    def __init__(self, path: Path) -> None:
        self.path = path.absolute()
        self.manifests: list[Manifest] = []
        self._run: Path | None = None

    @property
    def run(self) -> Path:
        """The folder of this run, from which tasks rename their files."""
        if self._run is None:
            raise FolderError(f"{self.path} has not been taken")
        return self._run

    def read(self) -> None:
        """Read the manifests.

        Raises: FolderError: it cannot be read. ExportDataError: a manifest is damaged, or one is missing.
        """
        self.manifests = read_manifests(self.path)

    def take(self, run_id: str, settings: Mapping[str, str]) -> None:
        """Become the owner: end what an earlier run may still do, read the manifests, remove what is in none.

        Args: settings: format and layout, which all rounds of an export share.
        Raises: FolderError, ExportDataError.
        """
        temporary = self.path / TEMPORARY
        try:
            self._check_is_ours()
            (self.path / MANIFESTS).mkdir(parents=True, exist_ok=True)
            temporary.mkdir(exist_ok=True)
            for other in sorted(temporary.iterdir()):
                gone = temporary / f".gone-{run_id}-{other.name}"[:200]
                other.rename(gone)  # at once, whatever is in it: from here on nobody can rename out of it
                shutil.rmtree(gone)
            self._run = temporary / run_id
            self._run.mkdir()
            _sync(temporary)
        except OSError as e:
            raise _failed(self.path, e) from e
        self.read()
        for manifest in self.manifests[:1]:
            for name in _SETTINGS:
                if manifest.settings.get(name) != settings[name]:
                    raise FolderError(
                        f"{self.path} is an export with {name} {manifest.settings.get(name)}, not {settings[name]}",
                        "go on with what it has, or take another folder",
                    )
        self.remove_orphans()

    def resume_points(self) -> dict[tuple[str, int], int]:
        """Return the next offset to export of each (topic, partition) that has been exported."""
        return resume_points(self.manifests)

    def remove_orphans(self) -> list[str]:
        """Remove data files that no manifest has: what a round left that was not finished. Returns their paths."""
        known = {file.path for manifest in self.manifests for each in manifest.ranges for file in each.files}
        removed = []
        try:
            for path in _data_files(self.path):
                relative = str(path.relative_to(self.path))
                if relative not in known:
                    path.unlink()
                    removed.append(relative)
        except OSError as e:
            raise _failed(self.path, e) from e
        return removed

    def begin_round(self, number: int) -> Path:
        """Make the folder from which the tasks of one round rename their files.

        Raises: FolderError: another run has taken the folder.
        """
        path = self.run / f"round-{number}"
        try:
            path.mkdir()
        except FileNotFoundError:
            raise self._taken() from None
        except OSError as e:
            raise _failed(path, e) from e
        return path

    def commit(self, round_folder: Path, settings: Mapping[str, str], ranges: Sequence[ExportedRange]) -> Manifest:
        """Make ranges part of the export, all or none.

        Raises: FolderError: another run has taken the folder, or it cannot be written.
            ExportDataError: a file is not what its task has written.
        """
        try:
            gone = round_folder.with_name(f".gone-{round_folder.name}")
            round_folder.rename(gone)  # an attempt that was given up and still writes cannot replace a file any more
            shutil.rmtree(gone)
            self._check_files(ranges)
            number = self.manifests[-1].number + 1 if self.manifests else 1
            manifest = Manifest(number, dict(settings), tuple(ranges))
            self._write(manifest)
        except FileNotFoundError:
            raise self._taken() from None
        except OSError as e:
            raise _failed(self.path, e) from e
        self.manifests.append(manifest)
        return manifest

    def leave(self) -> None:
        """Remove the folder of this run; what did not become part of the export goes with the next one."""
        if self._run is not None:
            shutil.rmtree(self._run, ignore_errors=True)

    def _check_is_ours(self) -> None:
        """Refuse a folder of something else: what is in no manifest is removed."""
        if (self.path / MANIFESTS).is_dir() or not self.path.exists() or not any(self.path.iterdir()):
            return
        raise FolderError(f"{self.path} is not empty, and no export", "take a folder that is empty or not there yet")

    def _check_files(self, ranges: Sequence[ExportedRange]) -> None:
        folders = set()
        for each in ranges:
            for file in each.files:
                path = self.path / file.path
                try:
                    size_bytes = path.stat().st_size
                except FileNotFoundError:
                    size_bytes = -1
                if size_bytes != file.size_bytes:
                    raise ExportDataError(
                        f"{path} has {size_bytes} bytes where its task wrote {file.size_bytes}",
                        "is the folder the same on all workers? Run it again: nothing of this round was kept",
                    )
                folders |= {parent for parent in path.parents if parent.is_relative_to(self.path)}
        for folder in sorted(folders):
            _sync(folder)

    def _write(self, manifest: Manifest) -> None:
        target = self.path / MANIFESTS / f"{manifest.number:08}.json"
        draft = self.run / target.name
        with draft.open("w") as file:
            json.dump(_to_json(manifest), file)
            file.flush()
            os.fsync(file.fileno())
        try:
            os.link(draft, target)  # fails where there is one already
        except FileExistsError:
            raise self._taken() from None
        _sync(target.parent)
        draft.unlink()

    def _taken(self) -> FolderError:
        return FolderError(f"another export has taken {self.path} over", "one at a time writes to a folder")


def read_manifests(folder: Path) -> list[Manifest]:
    """Return the manifests of an export in their order; none where it is no export.

    Raises: FolderError: it cannot be read. ExportDataError: a manifest is damaged, or one is missing.
    """
    try:
        paths = sorted(path for path in (folder / MANIFESTS).iterdir() if path.suffix == ".json")
    except FileNotFoundError:
        return []
    except OSError as e:
        raise _failed(folder, e) from e
    found = [_read_manifest(path) for path in paths]
    for expected, (path, manifest) in enumerate(zip(paths, found, strict=True), start=1):
        if manifest.number != expected or path.name != f"{expected:08}.json":
            raise ExportDataError(f"{folder / MANIFESTS}: {path.name} stands where {expected:08}.json should")
    resume_points(found)
    return found


def resume_points(manifests: Iterable[Manifest]) -> dict[tuple[str, int], int]:
    """Return the end of what each (topic, partition) has in manifests.

    Raises: ExportDataError: ranges overlap.
    """
    ends: dict[tuple[str, int], int] = {}
    ranges = [each for manifest in manifests for each in manifest.ranges]
    for each in sorted(ranges, key=lambda r: (r.topic, r.partition, r.start)):
        key = each.topic, each.partition
        if each.start < ends.get(key, each.start):
            raise ExportDataError(
                f"{each.topic}-{each.partition}: offset {each.start} is in two ranges of the manifests"
            )
        ends[key] = each.end
    return ends


def _read_manifest(path: Path) -> Manifest:
    try:
        with path.open("rb") as file:
            content = file.read(LARGEST_MANIFEST_BYTES + 1)
    except OSError as e:
        raise _failed(path, e) from e
    if len(content) > LARGEST_MANIFEST_BYTES:
        raise ExportDataError(f"{path} is larger than a manifest can be")
    try:
        return _of_json(json.loads(content))
    except (ValueError, TypeError, KeyError, AttributeError) as e:
        raise ExportDataError(f"{path} is no manifest of an export: {type(e).__name__}: {e}") from None


def _to_json(manifest: Manifest) -> dict[str, Any]:
    ranges = [
        each._replace(files=())._asdict() | {"files": [file._asdict() for file in each.files]}
        for each in manifest.ranges
    ]
    return {"v": VERSION, "number": manifest.number, "settings": dict(manifest.settings), "ranges": ranges}


def _of_json(given: dict[str, Any]) -> Manifest:
    if given["v"] != VERSION:
        raise ValueError(f"version {given['v']!r}, and {VERSION} is known")
    ranges = []
    for each in given["ranges"]:
        files = tuple(ExportedFile(str(f["path"]), int(f["records"]), int(f["size_bytes"])) for f in each["files"])
        for file in files:
            if os.path.isabs(file.path) or ".." in Path(file.path).parts:
                raise ValueError(f"the path {file.path!r} leads out of the folder")
        partition, start, end, records = (int(each[name]) for name in ("partition", "start", "end", "records"))
        ranges.append(ExportedRange(str(each["topic"]), partition, start, end, records, files))
    settings = {str(name): str(value) for name, value in given["settings"].items()}
    return Manifest(int(given["number"]), settings, tuple(ranges))


def _data_files(folder: Path) -> Iterator[Path]:
    """Yield the files below a folder that are named as those of an export are, and not hidden."""
    for parent, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith(_HIDDEN))
        for name in sorted(files):
            if _FILE_NAME.fullmatch(name) and not name.startswith(_HIDDEN):
                yield Path(parent, name)


def _sync(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _failed(path: Path, error: OSError) -> FolderError:
    return FolderError(f"{error.filename or path}: {error.strerror or error}")
