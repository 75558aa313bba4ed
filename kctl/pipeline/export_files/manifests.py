"""Manifests of an export: the content of each round, and the merging of old manifests.

    _manifest/00000017.json              one round
    _manifest/00000001-00000016.json     rounds 1 to 16, merged: the ranges of all in order

`FANOUT` adjacent manifests of one level are merged, so an export of a million rounds has some dozens. Parts are removed
after the merged manifest is written, synced and linked, so every round is in a manifest at any time. The next run that
claims the directory removes remaining parts. The newest manifest is never merged. If a reader's listing lacks it, the
directory has changed meanwhile.
"""

import json
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple, TypeVar

from kctl.client.config import open_regular
from kctl.client.topic_names import is_topic_name, shown_topic_name
from kctl.grammar.integers import integer_in
from kctl.pipeline.export_files.cluster_facts import (
    LARGEST_OFFSET,
    MOST_PARTITIONS,
    NO_FACTS,
    ClusterFacts,
    facts_from,
    newest_facts,
)
from kctl.pipeline.job_errors import ExportDataError, FolderError, folder_error, listed, reason_of
from kctl.pipeline.resume_point import NO_LOG_END, ResumePoint

MANIFESTS = "_manifest"
COMMITTED_AT = "committed_at_ms"
"""Commit time in the settings of a round."""
_SETTINGS = ("format", "layout", "decode")
"""Settings that all rounds of an export share. `decode` exists only in exports that decode."""
VERSION, MERGED_VERSION = 1, 2
LARGEST_MANIFEST_BYTES = 64 * 1024 * 1024
LARGEST_PARTITION = MOST_PARTITIONS - 1
FANOUT = 16
MERGED_BYTES = 8 * 1024 * 1024
"""Maximum total size of manifests to merge, which limits a merge to a fraction of a second."""
_LISTINGS = 5
"""Maximum number of listings if the directory changes in the meantime, which is rare."""
T = TypeVar("T")
_NAME = re.compile(r"(\d{8,})(?:-(\d{8,}))?\.json")


class ExportedFile(NamedTuple):
    """A file of an export.

    Attributes:
        path: path relative to the directory.
        footer: footer of a Parquet file, for commits that need it. Not stored in manifests.
    """

    path: str
    records: int
    size_bytes: int
    footer: bytes = b""

    @property
    def facts(self) -> dict[str, str | int]:
        return {"path": self.path, "records": self.records, "size_bytes": self.size_bytes}


class ExportedRange(NamedTuple):
    """An exported range of offsets. `end` is exclusive.

    Attributes:
        records: record count, less than end - start if compaction or transactions left gaps.
        topic_id: as Kafka prints it. Empty if the brokers have no topic IDs.
        log_end: end of the partition at planning time. -1 in manifests of older versions of kctl.
        newest_ms: largest timestamp of the records. None without records.
    """

    topic: str
    partition: int
    start: int
    end: int
    records: int
    files: tuple[ExportedFile, ...]
    topic_id: str = ""
    log_end: int = NO_LOG_END
    newest_ms: int | None = None


class Manifest(NamedTuple):
    """Content of the rounds `first` to `number`. Both are equal unless the manifest is merged.

    Attributes:
        schemas: changed types of decoded columns by topic (`decoded_schemas`).
    """

    number: int
    settings: Mapping[str, str]
    ranges: tuple[ExportedRange, ...]
    first: int
    facts: ClusterFacts = NO_FACTS
    schemas: Mapping[str, str] = MappingProxyType({})


class TargetFacts(NamedTuple):
    """Counts of an export.

    Attributes:
        committed_at_ms: time of the last commit. None if unknown.
    """

    records: int
    files: int
    size_bytes: int
    rounds: int
    committed_at_ms: int | None


class ManifestFile(NamedTuple):
    path: Path
    first: int
    number: int
    size_bytes: int


class Listing(NamedTuple):
    """Existing manifests.

    Attributes:
        files: largest manifest of each round, in order.
        superfluous: paths of manifests whose rounds are all in a larger one.
    """

    files: list[ManifestFile]
    superfluous: list[Path]


def manifest_name(first: int, number: int) -> str:
    return f"{number:08}.json" if first == number else f"{first:08}-{number:08}.json"


def check_settings(manifest: Manifest, settings: Mapping[str, str], place: str, kind: str) -> None:
    for name in _SETTINGS:
        found, wanted = manifest.settings.get(name, "none"), settings.get(name, "none")
        if found != wanted:
            raise FolderError(
                f"{place} is an export with {name} {found}, but this run has {name} {wanted}",
                f"repeat the options of the existing export, or choose another {kind}",
            )


# --- reading --------------------------------------------------------------------------------------------------------


def read_manifests(folder: Path) -> list[Manifest]:
    """Return the manifests of an export in order, or an empty list if there is no export.

    Raises:
        FolderError: the directory cannot be read.
        ExportDataError: a manifest is damaged or missing.
    """
    found = settled(lambda: [read_manifest(file) for file in _listed(folder).files])
    resume_points(found)
    return found


def list_manifests(folder: Path) -> Listing:
    return settled(lambda: _listed(folder))


class _HoleError(ExportDataError):
    """A manifest is missing."""


def settled(look: Callable[[], T]) -> T:
    """Return the result of `look`. Repeat it if a manifest is missing, because merging moves manifests."""
    for _ in range(_LISTINGS - 1):
        with suppress(FileNotFoundError, _HoleError):
            return look()
    try:
        return look()
    except FileNotFoundError as e:
        raise folder_error(Path(MANIFESTS), e) from e


def _listed(folder: Path) -> Listing:
    try:
        paths = [path for path in (folder / MANIFESTS).iterdir() if path.suffix == ".json"]
    except FileNotFoundError:
        return Listing([], [])
    except OSError as e:
        raise folder_error(folder, e) from e
    return chosen((named(path, path.stat().st_size) for path in paths), folder / MANIFESTS)


def named(path: Path, size_bytes: int) -> ManifestFile:
    """Return the manifest file with the rounds in its name."""
    name = _NAME.fullmatch(path.name)
    if name is None:
        raise ExportDataError(f"{path} does not have the name of an export manifest")
    first, number = int(name[1]), int(name[2] or name[1])
    return ManifestFile(path, first, number, size_bytes)


def chosen(files: Iterable[ManifestFile], where: object) -> Listing:
    """Return the largest manifest of each round, in order. Raise ExportDataError if a round has none."""
    found: list[ManifestFile] = []
    superfluous = []
    expected = 1
    for file in sorted(files, key=lambda file: (file.first, -file.number)):
        if file.number < expected:
            superfluous.append(file.path)
        elif file.first == expected:
            found.append(file)
            expected = file.number + 1
        else:
            raise _HoleError(
                f"manifest {expected:08}.json is missing in {where}: the next manifest found is {file.path.name}"
            )
    return Listing(found, superfluous)


def read_manifest(file: ManifestFile) -> Manifest:
    try:
        with open_regular(file.path) as opened:
            content = opened.read(LARGEST_MANIFEST_BYTES + 1)
    except FileNotFoundError:
        raise
    except OSError as e:
        raise folder_error(file.path, e) from e
    return parse_manifest(content, file)


def parse_manifest(content: bytes, file: ManifestFile) -> Manifest:
    if len(content) > LARGEST_MANIFEST_BYTES:
        raise ExportDataError(f"{file.path} is too large for an export manifest")
    try:
        manifest = _of_json(json.loads(content))
    except RecursionError:
        raise ExportDataError(f"{file.path} is not an export manifest: its JSON is nested too deeply") from None
    except (ValueError, OverflowError, TypeError, KeyError, AttributeError) as e:
        raise ExportDataError(f"{file.path} is not an export manifest: {reason_of(e)}") from None
    if (manifest.first, manifest.number) != (file.first, file.number):
        stated = manifest_name(manifest.first, manifest.number)
        raise ExportDataError(f"{file.path} contains manifest {stated}, which does not match the file name")
    return manifest


def resume_points(manifests: Iterable[Manifest]) -> dict[tuple[str, int], ResumePoint]:
    points: dict[tuple[str, int], ResumePoint] = {}
    ranges = [each for manifest in manifests for each in manifest.ranges]
    for each in sorted(ranges, key=lambda r: (r.topic, r.partition, r.start)):
        key = each.topic, each.partition
        if key in points and each.start < points[key].offset:
            raise ExportDataError(
                f"the manifests list offset {each.start} of {each.topic}-{each.partition} in two ranges"
            )
        points[key] = continued(points.get(key), each)
    return points


def paths_in(manifests: Iterable[Manifest]) -> set[str]:
    return {file.path for manifest in manifests for each in manifest.ranges for file in each.files}


def unnamed_files(where: object, paths: Sequence[str]) -> ExportDataError:
    return ExportDataError(
        f"{where} has files that no manifest lists, because manifests were deleted: {listed(paths)}",
        "restore the manifests, or export to another location",
    )


def continued(point: ResumePoint | None, exported: ExportedRange) -> ResumePoint:
    before = point or ResumePoint()
    return ResumePoint(
        max(before.offset, exported.end),
        exported.topic_id or before.topic_id,
        max(before.log_end, exported.log_end),
        newer(before.newest_ms, exported.newest_ms),
    )


def facts_of(manifests: Sequence[Manifest]) -> TargetFacts:
    ranges = [each for manifest in manifests for each in manifest.ranges]
    files = [file for each in ranges for file in each.files]
    return TargetFacts(
        sum(each.records for each in ranges),
        len(files),
        sum(file.size_bytes for file in files),
        manifests[-1].number if manifests else 0,
        integer_in(manifests[-1].settings.get(COMMITTED_AT, "")) if manifests else None,
    )


def newer(one: int | None, other: int | None) -> int | None:
    return other if one is None else one if other is None else max(one, other)


def checked(given: ExportedRange) -> ExportedRange:
    """Return a range. Raise ValueError if it is invalid."""
    for file in given.files:
        if os.path.isabs(file.path) or ".." in Path(file.path).parts or "\0" in file.path:
            raise ValueError(f"the path {file.path!r} is outside of the export")
        if not (0 <= file.size_bytes <= LARGEST_OFFSET and 0 <= file.records <= LARGEST_OFFSET):
            raise ValueError(f"invalid size of a file: {file.size_bytes} bytes and {file.records} records")
    topic, partition, start, end, records = given[:5]
    if not is_topic_name(topic):
        raise ValueError(f"{shown_topic_name(topic)} is not a valid topic name")
    is_range = 0 <= partition <= LARGEST_PARTITION and 0 <= start <= end <= LARGEST_OFFSET
    if not is_range or not 0 <= records <= end - start:
        raise ValueError(f"invalid range of {topic}-{partition}: offsets {start} to {end} with {records} records")
    return given


def _of_json(given: dict[str, Any]) -> Manifest:
    if given["v"] not in (VERSION, MERGED_VERSION):
        raise ValueError(f"unsupported version {given['v']!r}: kctl supports {VERSION} and {MERGED_VERSION}")
    ranges = []
    for each in given["ranges"]:
        files = tuple(ExportedFile(str(f["path"]), int(f["records"]), int(f["size_bytes"])) for f in each["files"])
        topic = str(each["topic"])
        partition, start, end, records = (int(each[name]) for name in ("partition", "start", "end", "records"))
        topic_id, log_end = str(each.get("topic_id", "")), int(each.get("log_end", NO_LOG_END))
        newest_ms = None if each.get("newest_ms") is None else int(each["newest_ms"])
        ranges.append(
            checked(ExportedRange(topic, partition, start, end, records, files, topic_id, log_end, newest_ms))
        )
    settings = {str(name): str(value) for name, value in given["settings"].items()}
    number = int(given["number"])
    first = int(given["first"]) if given["v"] == MERGED_VERSION else number
    schemas = {str(topic): str(text) for topic, text in given.get("schemas", {}).items()}
    return Manifest(number, settings, tuple(ranges), first, facts_from(given.get("cluster", {})), schemas)


# --- writing --------------------------------------------------------------------------------------------------------


def write_manifest(folder: Path, manifest: Manifest, drafts: Path) -> ManifestFile:
    """Write a manifest atomically and durably.

    Args:
        drafts: directory of the run. If it does not exist, the write fails.

    Raises:
        FileExistsError: a manifest of these rounds exists.
        FileNotFoundError: another run owns the directory.
        OSError: the manifest cannot be written.
    """
    target = folder / MANIFESTS / manifest_name(manifest.first, manifest.number)
    draft = drafts / target.name
    draft.unlink(missing_ok=True)
    with draft.open("x") as file:  # "w" would follow a planted link
        file.write(manifest_text(manifest))
        file.flush()
        os.fsync(file.fileno())
        size_bytes = os.fstat(file.fileno()).st_size
    os.link(draft, target)  # fails if it exists
    sync(target.parent)
    draft.unlink()
    return ManifestFile(target, manifest.first, manifest.number, size_bytes)


def due_for_merge(files: Sequence[ManifestFile]) -> list[ManifestFile]:
    older = files[:-1]
    levels = [_level(file.number - file.first + 1) for file in older]
    for end in range(FANOUT, len(older) + 1):
        begin = end - FANOUT
        if len(set(levels[begin:end])) == 1 and sum(file.size_bytes for file in older[begin:end]) <= MERGED_BYTES:
            return list(older[begin:end])
    return []


def merge(folder: Path, parts: Sequence[ManifestFile], drafts: Path) -> ManifestFile:
    written = write_manifest(folder, merged_manifest(parts, [read_manifest(part) for part in parts]), drafts)
    for part in parts:
        part.path.unlink(missing_ok=True)
    return written


def merged_manifest(parts: Sequence[ManifestFile], contents: Sequence[Manifest]) -> Manifest:
    ranges = tuple(each for content in contents for each in content.ranges)
    facts = newest_facts(content.facts for content in contents)
    schemas = {topic: text for content in contents for topic, text in content.schemas.items()}
    return Manifest(parts[-1].number, contents[0].settings, ranges, parts[0].first, facts, schemas)


def _level(rounds: int) -> int:
    level = 0
    while rounds >= FANOUT:
        rounds //= FANOUT
        level += 1
    return level


def manifest_text(manifest: Manifest) -> str:
    return json.dumps(_to_json(manifest))


def _range_json(given: ExportedRange) -> dict[str, Any]:
    found = given._replace(files=())._asdict() | {"files": [file.facts for file in given.files]}
    return {name: value for name, value in found.items() if value is not None}


def _to_json(manifest: Manifest) -> dict[str, Any]:
    ranges = [_range_json(each) for each in manifest.ranges]
    head = {"v": VERSION} if manifest.first == manifest.number else {"v": MERGED_VERSION, "first": manifest.first}
    cluster = {"cluster": facts} if (facts := manifest.facts.to_json()) else {}
    schemas = {"schemas": dict(manifest.schemas)} if manifest.schemas else {}
    return {
        **head,
        "number": manifest.number,
        "settings": dict(manifest.settings),
        "ranges": ranges,
        **cluster,
        **schemas,
    }


def sync(folder: Path) -> None:
    """Write the changes of a directory to the disk."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
