"""Directory of an export: its files, their names, and commits of rounds.

    FOLDER/orders/orders-0-0-1000.parquet                     layout `topic`
    FOLDER/orders/date=2026-11-22/orders-0-0-1000.parquet     `date` (UTC)
    FOLDER/orders/date=2026-11-22/hour=13/orders-0-...        `hour`
    FOLDER/orders/value_country=de/orders-0-0-1000.parquet    `column:value.country`
    FOLDER/_errors/orders/...                                 undecodable records
    FOLDER/_manifest/                                         files of the rounds (`manifests`); no other file counts
    FOLDER/_tmp/RUN/                                          of the run that owns the directory
    FOLDER/orders/.orders-0-1000-2000.parquet                 complete, not yet in a manifest

Readers ignore names that begin with `_` or `.`. Topics with such names get the prefix `@`. Files have hidden names
until their manifest is written. If the run is killed before it renames them, kctl finds both names, and the next run
renames the files.

A run owns the directory while its own directory below `_tmp` exists. The next run first removes that directory. The
earlier run can then add nothing, because its tasks rename files and its driver links manifests from it. The driver and
all workers see one file system at one path. Files, directories and manifest of a round are synced in this order.
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
"""Directory of undecodable records, which readers of the whole export ignore."""
_HIDDEN = ("_", ".")
_FILE_NAME = re.compile(r".+-\d+-\d+-\d+(\.\d+)?(" + "|".join(map(re.escape, FORMATS.values())) + ")")


def topic_folder(topic: str) -> str:
    return f"@{topic}" if topic.startswith(_HIDDEN) else topic


def hidden(path: Path) -> Path:
    return path.with_name(f".{path.name}")


def placed(path: Path) -> Path:
    """Return the existing path of a file. The file still has its hidden name if a run was killed."""
    return path if path.exists() or not hidden(path).exists() else hidden(path)


def file_name(topic: str, partition: int, start: int, end: int, extension: str, part: int = 0) -> str:
    """Return the name of a range's file.

    Args:
        part: number of the file within its directory.
    """
    name = topic_folder(topic)
    if len(name) > 170:  # a file name has at most 255 bytes; the parent directory has the whole topic
        name = name[:170] + "~"
    return f"{name}-{partition}-{start}-{end}{f'.{part}' if part else ''}{extension}"


def inside(folder: Path, name: str) -> Path:
    """Return the path of a name, from a manifest, below `folder`. Raise FolderError for other paths."""
    path = folder / name
    if not Path(os.path.normpath(path)).is_relative_to(os.path.normpath(folder)) or "\0" in name:
        raise FolderError(
            f"the path {name[:250]!r} is outside of {folder}", "check the directory: nothing was written to this path"
        )
    return path


class ExportFolder:
    """Directory of an export, for the driver of one run.

    Attributes:
        last_number: number of the newest round. 0 without rounds.
        schemas: types of decoded columns.
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
        """Directory of this run, from which tasks rename their files."""
        if self._run is None:
            raise FolderError(f"internal error: this run has not claimed {self.path}")
        return self._run

    def read(self) -> list[Manifest]:
        manifests = read_manifests(self.path)
        self.schemas.read(manifests)
        self._points = resume_points(manifests)
        self.last_number = manifests[-1].number if manifests else 0
        return manifests

    def read_facts(self) -> TargetFacts:
        return facts_of(self.read())

    def check(self, settings: Mapping[str, str]) -> None:
        """Raise the errors of `claim` that can be found without side effects.

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
        """Start a run: stop an earlier run, read the manifests, and remove files without a manifest.

        Args:
            takes_over: False if this run will write nothing. Then only rename files of finished rounds, and do not stop
                an active run.
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
            self._run = temporary / run_id
            self._run.mkdir()  # before the listing: at least one of two claims finds the other directory
            for other in sorted(set(temporary.iterdir()) - {self._run}):
                gone = temporary / f".gone-{run_id}-{other.name}"[:200]
                with suppress(FileNotFoundError):  # its run has ended, or a third run also removes it
                    other.rename(gone)  # atomic: from now on no other run can rename files out of it
                    shutil.rmtree(gone)
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
        wanted: Iterable[tuple[str, int]] = (),  # noqa: ARG002 - all are known
    ) -> dict[tuple[str, int], ResumePoint]:
        return dict(self._points)

    def _check_named(self, manifests: Iterable[Manifest]) -> None:
        """Raise ExportDataError if a visible file is in no manifest. Its records would be exported again."""
        known = paths_in(manifests)
        try:
            paths = [str(path.relative_to(self.path)) for path in _data_files(self.path) if path.name[0] != "."]
        except OSError as e:
            raise folder_error(self.path, e) from e
        if any(path not in known for path in paths):  # an active run may have just finished a round
            known = paths_in(read_manifests(self.path))
            if unnamed := [path for path in paths if path not in known]:
                raise unnamed_files(self.path, unnamed)

    def _settle_files(self, manifests: Iterable[Manifest]) -> None:
        """Clean up after a killed run: give the files of its last manifest their final names, and remove the others."""
        known = paths_in(manifests)
        try:
            for path in _data_files(self.path):
                shown = path.with_name(path.name.removeprefix("."))
                with suppress(FileNotFoundError):  # another run also settles it
                    if str(shown.relative_to(self.path)) not in known or (shown != path and shown.exists()):
                        if not self.run.exists():
                            raise self._taken()
                        path.unlink()
                    elif shown != path:
                        path.rename(shown)
        except OSError as e:
            raise folder_error(self.path, e) from e

    def _tidy(self) -> None:
        listing = list_manifests(self.path)
        try:
            for path in listing.superfluous:
                path.unlink(missing_ok=True)  # the earlier run may remove it in parallel
        except OSError as e:
            raise folder_error(self.path, e) from e
        self._files = listing.files
        self._merge()

    def begin_round(self, number: int) -> Path:
        """Create the directory from which the tasks of one round rename their files.

        Raises: FolderError: another run has taken the directory.
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
        """Add ranges to the export, either all of them or none.

        Args:
            round_folders: directories in which no task writes, including the directories of all ranges.

        Raises:
            FolderError: another run has taken the directory, or it cannot be written.
            ExportDataError: a file was changed.
        """
        try:
            for round_folder in round_folders:
                gone = round_folder.with_name(f".gone-{round_folder.name}")
                round_folder.rename(gone)  # an abandoned attempt can no longer replace a file
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
        try:
            while parts := due_for_merge(self._files):
                at = self._files.index(parts[0])
                self._files[at : at + len(parts)] = [merge(self.path, parts, self.run)]
        except (FileNotFoundError, FileExistsError):
            raise self._taken() from None
        except OSError as e:
            raise folder_error(self.path, e) from e

    def leave(self) -> None:
        if self._run is not None:
            shutil.rmtree(self._run, ignore_errors=True)

    def _check_is_ours(self) -> None:
        """Raise FolderError for a directory with other content, because a run removes files without a manifest."""
        if (self.path / MANIFESTS).is_dir() or not self.path.exists() or not any(self.path.iterdir()):
            return
        raise FolderError(
            f"{self.path} is not empty and is not an export", "choose a directory that is empty or does not exist"
        )

    def _show_finished(self, manifests: Iterable[Manifest]) -> None:
        """Give the hidden files of existing manifests their final names."""
        known = paths_in(manifests)
        for path in _data_files(self.path):
            shown = path.with_name(path.name.removeprefix("."))
            if shown != path and str(shown.relative_to(self.path)) in known:
                with suppress(FileNotFoundError):  # the other run has renamed it
                    path.rename(shown)

    def _show(self, ranges: Iterable[ExportedRange]) -> None:
        """Give the files of the new manifest their final names, unless another run has done so."""
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
                        f"{path} has {size_bytes} bytes, but its task wrote {file.size_bytes}",
                        "share the directory with all workers, and run the command again. This round was discarded",
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
        return FolderError(f"another export has taken over {self.path}", "run only one export at a time to a directory")


def _check_makeable(path: Path) -> None:
    """Raise the OSError that creating a directory would raise.

    Creates and removes a temporary directory, because file modes do not show read-only or remote file systems.
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
    for parent, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith(_HIDDEN) or name == ERRORS)
        for name in sorted(files):
            if _FILE_NAME.fullmatch(name.removeprefix(".")):
                yield Path(parent, name)
