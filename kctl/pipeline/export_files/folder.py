"""The folder of an export: which files belong to it, where each record's file lies, and how a round becomes part of it.

    FOLDER/orders/orders-0-0-1000.parquet                     layout `topic`
    FOLDER/orders/date=2026-11-22/orders-0-0-1000.parquet     `date` (UTC)
    FOLDER/orders/date=2026-11-22/hour=13/orders-0-...        `hour`
    FOLDER/orders/value_country=de/orders-0-0-1000.parquet    `column:value.country`
    FOLDER/_errors/orders/...                                 records that do not decode, of an export that decodes
    FOLDER/_manifest/                                         what the rounds have written (`manifests`); what is in
                                                              none of them is no part
    FOLDER/_tmp/RUN/                                          of the run that has the folder
    FOLDER/orders/.orders-0-1000-2000.parquet                 complete, and in no manifest yet

Readers of folders leave out names that begin with `_` or `.`; a topic of such a name gets an `@` before it. A file has
such a name until its manifest is written, so that a plain reader sees records of finished rounds alone. A run that is
killed between the two leaves files for the next one to rename; kctl's own readers find them by either name.

A run is the folder's owner while its own folder below `_tmp` exists. The next run removes it first, and from then on
nothing of the earlier one can come in: its tasks rename their files, and its driver links its manifest, from there. All
of it lies in one file system that the driver and all workers see under one path; a round's files, their folders and its
manifest are synced in that order. Knows neither Spark nor Kafka.
"""

import errno
import os
import re
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from kctl.pipeline.export_files.cluster_facts import NO_FACTS, ClusterFacts
from kctl.pipeline.export_files.decoded_schemas import DecodedSchemas
from kctl.pipeline.export_files.manifests import (
    MANIFESTS,
    ExportedRange,
    Manifest,
    ManifestFile,
    TargetFacts,
    check_settings,
    continued,
    due_for_merge,
    facts_of,
    list_manifests,
    merge,
    paths_in,
    read_manifests,
    resume_points,
    sync,
    unnamed_files,
    write_manifest,
)
from kctl.pipeline.job_errors import ExportDataError, FolderError, folder_error
from kctl.pipeline.resume_point import ResumePoint

TEMPORARY = "_tmp"
LAYOUTS = ("topic", "date", "hour")
COLUMN_LAYOUT = "column:"
"""Prefix of a layout by the values of a column."""
FORMATS = {"parquet": ".parquet", "json": ".jsonl.zst"}
ERRORS = "_errors"
"""The folder of the topics' records that do not decode; readers of the whole export leave it out."""
_HIDDEN = ("_", ".")
_FILE_NAME = re.compile(r".+-\d+-\d+-\d+(\.\d+)?(" + "|".join(map(re.escape, FORMATS.values())) + ")")


def topic_folder(topic: str) -> str:
    """Return the name of a topic's folder, and the beginning of its files' names."""
    return f"@{topic}" if topic.startswith(_HIDDEN) else topic


def hidden(path: Path) -> Path:
    """Return the name of a file that is in no manifest yet."""
    return path.with_name(f".{path.name}")


def placed(path: Path) -> Path:
    """Return where a file of a manifest lies: a run that was killed may have left it under its hidden name."""
    return path if path.exists() or not hidden(path).exists() else hidden(path)


def file_name(topic: str, partition: int, start: int, end: int, extension: str, part: int = 0) -> str:
    """Return the name of a range's file; `part` counts those that it has in one folder."""
    name = topic_folder(topic)
    if len(name) > 170:  # a file's name has at most 255 bytes; the folder above has the topic in full
        name = name[:170] + "~"
    return f"{name}-{partition}-{start}-{end}{f'.{part}' if part else ''}{extension}"


def inside(folder: Path, name: str) -> Path:
    """Return the path of a file or folder below `folder`; paths made of names from outside all come from here.

    Raises: FolderError: the name leads out of it.
    """
    path = folder / name
    if not Path(os.path.normpath(path)).is_relative_to(os.path.normpath(folder)) or "\0" in name:
        raise FolderError(f"the path {name[:250]!r} leads out of {folder}", "nothing was written to it")
    return path


class ExportFolder:
    """The folder, as the driver of one run sees it: no more of its manifests than a run of any length can keep.

    Attributes:
        last_number: of the newest round; 0 where there is none.
        schemas: the types of decoded columns.
    """

    def __init__(self, path: Path) -> None:
        self.path = path.absolute()
        self.last_number = 0
        self._points: dict[tuple[str, int], ResumePoint] = {}
        self._files: list[ManifestFile] = []
        self._run: Path | None = None
        self.schemas = DecodedSchemas(self.path)

    @property
    def run(self) -> Path:
        """The folder of this run, from which tasks rename their files."""
        if self._run is None:
            raise FolderError(f"{self.path} has not been taken")
        return self._run

    def read(self) -> list[Manifest]:
        """Read the manifests, and return them.

        Raises: FolderError: it cannot be read. ExportDataError: a manifest is damaged, or one is missing.
        """
        manifests = read_manifests(self.path)
        self.schemas.read(manifests)
        self._points = resume_points(manifests)
        self.last_number = manifests[-1].number if manifests else 0
        return manifests

    def read_facts(self) -> TargetFacts:
        """Read the manifests, and return counts of the export."""
        return facts_of(self.read())

    def check(self, settings: Mapping[str, str]) -> None:
        """Raise what `take` would, as far as that is known without leaving anything behind.

        Raises: FolderError, ExportDataError.
        """
        try:
            self._check_is_ours()
            for name in (MANIFESTS, TEMPORARY):
                _check_makeable(self.path / name)
        except OSError as e:
            raise folder_error(self.path, e) from e
        manifests = self.read()
        self._check_settings(manifests, settings)
        self._check_named(manifests)

    def claim(self, run_id: str, settings: Mapping[str, str], *, takes_over: bool = True) -> None:
        """Become the owner: end what an earlier run may still do, read the manifests, remove what is in none.

        Args:
            settings: format and layout, which all rounds of an export share.
            takes_over: False: nothing is to be written, and a run that is under way keeps the folder; only the files of
                its last manifest get their names.
        Raises: FolderError, ExportDataError.
        """
        temporary = self.path / TEMPORARY
        try:
            self._check_is_ours()
            (self.path / MANIFESTS).mkdir(parents=True, exist_ok=True)
            if not takes_over:
                manifests = self.read()
                self._check_settings(manifests, settings)
                self._show_finished(manifests)
                return
            temporary.mkdir(exist_ok=True)
            for other in sorted(temporary.iterdir()):
                gone = temporary / f".gone-{run_id}-{other.name}"[:200]
                other.rename(gone)  # at once, whatever is in it: from here on no other run can rename out of it
                shutil.rmtree(gone)
            self._run = temporary / run_id
            self._run.mkdir()
            sync(temporary)
        except OSError as e:
            raise folder_error(self.path, e) from e
        manifests = self.read()
        self._check_settings(manifests, settings)
        self._check_named(manifests)
        self._settle_files(manifests)
        self._tidy()

    def _check_settings(self, manifests: Sequence[Manifest], settings: Mapping[str, str]) -> None:
        if manifests:
            check_settings(manifests[0], settings, str(self.path), "folder")

    def resume_points(
        self,
        wanted: Iterable[tuple[str, int]] = (),  # noqa: ARG002 - all are at hand
    ) -> dict[tuple[str, int], ResumePoint]:
        """Return where each (topic, partition) that has been exported continues."""
        return dict(self._points)

    def _check_named(self, manifests: Iterable[Manifest]) -> None:
        """Raise ExportDataError if a file of a finished round is in no manifest: it would be exported again."""
        known = paths_in(manifests)
        try:
            paths = [str(path.relative_to(self.path)) for path in _data_files(self.path) if path.name[0] != "."]
        except OSError as e:
            raise folder_error(self.path, e) from e
        if any(path not in known for path in paths):  # or a run that is under way has just finished a round
            known = paths_in(read_manifests(self.path))
            if unnamed := [path for path in paths if path not in known]:
                raise unnamed_files(self.path, unnamed)

    def _settle_files(self, manifests: Iterable[Manifest]) -> None:
        """Finish what an earlier run was killed in: show the files of its last manifest, remove those of none."""
        known = paths_in(manifests)
        try:
            for path in _data_files(self.path):
                shown = path.with_name(path.name.removeprefix("."))
                if str(shown.relative_to(self.path)) not in known or (shown != path and shown.exists()):
                    path.unlink()
                elif shown != path:
                    path.rename(shown)
        except OSError as e:
            raise folder_error(self.path, e) from e

    def _tidy(self) -> None:
        """Remove manifests that merged ones have, which a run left that was killed, and merge what is many."""
        listing = list_manifests(self.path)
        try:
            for path in listing.superfluous:
                path.unlink(missing_ok=True)  # the run before this one may be about to remove it itself
        except OSError as e:
            raise folder_error(self.path, e) from e
        self._files = listing.files
        self._merge()

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
            raise folder_error(path, e) from e
        return path

    def commit_round(
        self,
        round_folders: Iterable[Path],
        settings: Mapping[str, str],
        ranges: Sequence[ExportedRange],
        facts: ClusterFacts = NO_FACTS,
    ) -> Manifest:
        """Make ranges part of the export, all or none.

        Args: round_folders: where no task writes any more, all of the ranges' among them.
        Raises: FolderError: another run has taken the folder, or it cannot be written.
            ExportDataError: a file is not what its task has written.
        """
        try:
            for round_folder in round_folders:
                gone = round_folder.with_name(f".gone-{round_folder.name}")
                round_folder.rename(gone)  # an abandoned attempt that still writes cannot replace a file any more
                shutil.rmtree(gone)
            self._check_files(ranges)
            number = self.last_number + 1
            manifest = Manifest(number, dict(settings), tuple(ranges), number, facts, self.schemas.changes(ranges))
            self._files.append(self._written(manifest))
            self.schemas.keep(manifest.schemas)
            self._show(ranges)
        except FileNotFoundError:
            raise self._taken() from None
        except OSError as e:
            raise folder_error(self.path, e) from e
        self.last_number = number
        for each in ranges:
            key = each.topic, each.partition
            self._points[key] = continued(self._points.get(key), each)
        self._merge()
        return manifest

    def _merge(self) -> None:
        """Merge manifests until they are few."""
        try:
            while parts := due_for_merge(self._files):
                at = self._files.index(parts[0])
                self._files[at : at + len(parts)] = [merge(self.path, parts, self.run)]
        except (FileNotFoundError, FileExistsError):
            raise self._taken() from None
        except OSError as e:
            raise folder_error(self.path, e) from e

    def leave(self) -> None:
        """Remove the folder of this run; what did not become part of the export goes with the next one."""
        if self._run is not None:
            shutil.rmtree(self._run, ignore_errors=True)

    def _check_is_ours(self) -> None:
        """Refuse a folder of something else: what is in no manifest is removed."""
        if (self.path / MANIFESTS).is_dir() or not self.path.exists() or not any(self.path.iterdir()):
            return
        raise FolderError(
            f"{self.path} is not empty and is not an export", "choose a folder that is empty or does not exist yet"
        )

    def _show_finished(self, manifests: Iterable[Manifest]) -> None:
        """Give files of manifests their names where a run was killed before it did, or is about to."""
        known = paths_in(manifests)
        for path in _data_files(self.path):
            shown = path.with_name(path.name.removeprefix("."))
            if shown != path and str(shown.relative_to(self.path)) in known:
                with suppress(FileNotFoundError):  # that run was faster
                    path.rename(shown)

    def _show(self, ranges: Iterable[ExportedRange]) -> None:
        """Give the files of a manifest that is written their names; another run may have done that."""
        renamed = set()
        for path in [self.path / file.path for each in ranges for file in each.files]:
            try:
                hidden(path).rename(path)
            except FileNotFoundError:
                if not path.exists():
                    raise
                continue
            renamed.add(path.parent)
        for folder in sorted(renamed):
            sync(folder)

    def _check_files(self, ranges: Sequence[ExportedRange]) -> None:
        folders = set()
        for each in ranges:
            for file in each.files:
                path = hidden(inside(self.path, file.path))
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
            sync(folder)

    def _written(self, manifest: Manifest) -> ManifestFile:
        try:
            return write_manifest(self.path, manifest, self.run)
        except FileExistsError:
            raise self._taken() from None

    def _taken(self) -> FolderError:
        return FolderError(
            f"another export has taken over {self.path}", "only one export at a time can write to a folder"
        )


def _check_makeable(path: Path) -> None:
    """Raise the OSError with which making a folder, or something in it, would fail; leaves nothing behind.

    A folder of another name is made and removed: modes alone say little of file systems that are read-only or remote.
    """
    missing = path
    while True:
        try:
            path.lstat()
            break
        except FileNotFoundError:
            missing, path = path, path.parent
    if not path.is_dir():
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(path))
    try:
        Path(tempfile.mkdtemp(prefix=".kctl-", dir=path)).rmdir()
    except OSError as e:
        raise OSError(e.errno, e.strerror, str(missing)) from None


def _data_files(folder: Path) -> Iterator[Path]:
    """Yield the files below a folder that are named as those of an export are, whether hidden or not."""
    for parent, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith(_HIDDEN) or name == ERRORS)
        for name in sorted(files):
            if _FILE_NAME.fullmatch(name.removeprefix(".")):
                yield Path(parent, name)
