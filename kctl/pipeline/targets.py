"""Target: where an export goes, as its driver sees it, and RoundPlace, where the tasks of one round write.

The seam between the jobs and what they write to. A job asks a target where each partition continues, gives its tasks a
place for a round, and commits what they have written: all of a round or nothing of it. How that is exact is the
target's business: a folder renames and links (`export_files.folder`), an object store puts on condition
(`object_store.object_export`), a table commits in its format (`lake_tables.table_target`).
docs/decisions/0019-targets-commit-rounds.md says what each relies on. Imports what a location needs, when it is opened.
"""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol

from kctl.client.errors import ConfigError
from kctl.pipeline.export_files.bad_records import TargetLimits
from kctl.pipeline.export_files.cluster_facts import NO_FACTS, ClusterFacts, newest_facts
from kctl.pipeline.export_files.column_layout import YEAR_1_MS, YEAR_10000_MS
from kctl.pipeline.export_files.folder import ExportFolder
from kctl.pipeline.export_files.manifests import ExportedFile, ExportedRange, Manifest, TargetFacts, read_manifests
from kctl.pipeline.job_errors import ExportDataError, FolderError, listed
from kctl.pipeline.locations import DeltaTable, IcebergTable, Location, StoreUrl
from kctl.pipeline.object_store.store import StoreTimeouts, check_lakes
from kctl.pipeline.resume_point import ResumePoint

if TYPE_CHECKING:
    import pyarrow as pa

    from kctl.pipeline.decoding.record_decoding import DecodedTypes
    from kctl.pipeline.export_files.range_files import RangeName
    from kctl.pipeline.lake_tables.table_target import TableTarget


class FileKind(NamedTuple):
    """What files a round writes: `layout` and `format` as of an export, `level` of zstd.

    Attributes: file_bytes: a file of this size is closed, and another one begun; 0: a range has one in each folder.
    """

    layout: str
    format: str
    compression_level: int
    file_bytes: int = 0


class RangeWriter(Protocol):
    """The files of one range while they are written; a context manager that leaves nothing behind without `finish`."""

    @property
    def records(self) -> int: ...

    @property
    def newest_ms(self) -> int | None: ...

    def __enter__(self) -> "RangeWriter": ...

    def __exit__(self, *error: object) -> None: ...

    def write(self, batch: "pa.RecordBatch", *, is_copy: bool = False) -> None: ...

    def close(self) -> None: ...

    def finish(self) -> tuple[ExportedFile, ...]: ...


class RoundPlace(Protocol):
    """Where the tasks of one round write; pickled to them, so there is no secret in it."""

    def open(self, name: "RangeName", attempt: int) -> RangeWriter:
        """Return what writes one range; an attempt has a number that no other attempt of the session has."""
        ...


class Target(Protocol):
    """Where an export goes.

    Attributes: last_number: of the newest round that was read or committed; 0 where there is none.
    Raises, from everything: FolderError, ExportDataError, StoreError.
    """

    last_number: int

    def read(self) -> object:
        """Read which rounds there are."""
        ...

    def read_facts(self) -> TargetFacts:
        """Read which rounds there are, and return counts of the export."""
        ...

    def fit(self, decoded: "Mapping[str, DecodedTypes]") -> "Mapping[str, DecodedTypes]":
        """Return the types in which decoded keys and values of each topic are written.

        Args: decoded: the types of each topic; empty if nothing is decoded.
        """
        ...

    def check(self, settings: Mapping[str, str]) -> None:
        """Raise what `claim` would, without leaving anything behind."""
        ...

    def claim(self, run_id: str, settings: Mapping[str, str], *, takes_over: bool = True) -> None:
        """Begin to write: finish and clear what earlier runs have left, and read which rounds there are.

        Args: takes_over: False: there is nothing to write, and a run that is under way may continue.
        """
        ...

    def resume_points(self, wanted: Iterable[tuple[str, int]] = ()) -> dict[tuple[str, int], ResumePoint]:
        """Return where each (topic, partition) that has been exported continues, at least of those that are wanted."""
        ...

    def begin(self, number: int, kind: FileKind) -> RoundPlace:
        """Return where the tasks of a round write."""
        ...

    def commit(
        self,
        ranges: Sequence[ExportedRange],
        settings: Mapping[str, str],
        facts: ClusterFacts = NO_FACTS,
        ended: Sequence[RoundPlace] | None = None,
    ) -> object:
        """Make ranges that were written in places of this run part of the export, all or none.

        Args:
            facts: what the export carries beside them.
            ended: places where no task writes any more; None: all of them.
        """
        ...

    def leave(self) -> None:
        """End the run; what did not become part of the export goes with a later one."""
        ...


class FolderTarget(ExportFolder):
    """A folder as a target."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._rounds: dict[RoundPlace, Path] = {}

    def fit(self, decoded: "Mapping[str, DecodedTypes]") -> "Mapping[str, DecodedTypes]":
        """Return the types of each topic, which the files of earlier runs can be merged with."""
        return self.schemas.fit(decoded)

    def begin(self, number: int, kind: FileKind) -> RoundPlace:
        """Make the folder of a round, and return where its tasks write."""
        from kctl.pipeline.export_files.range_files import FolderPlace

        made = self.begin_round(number)
        place = FolderPlace(str(self.path), str(made), kind)
        self._rounds[place] = made
        return place

    def commit(
        self,
        ranges: Sequence[ExportedRange],
        settings: Mapping[str, str],
        facts: ClusterFacts = NO_FACTS,
        ended: Sequence[RoundPlace] | None = None,
    ) -> Manifest:
        """Make ranges part of the export, all or none."""
        over = list(self._rounds if ended is None else ended)
        return self.commit_round([self._rounds.pop(each) for each in over], settings, ranges, facts)


def limits_of(location: Location, kind: FileKind, policy: str) -> TargetLimits:
    """Return the values that files of a kind can hold at a location. Args: policy: for the records with others."""
    limits = TargetLimits(policy, is_exact=kind.format == "json", layout=kind.layout)
    if isinstance(location, IcebergTable) and kind.layout in ("date", "hour"):
        return limits._replace(first_ms=YEAR_1_MS, end_ms=YEAR_10000_MS)
    return limits


def open_target(location: Location, properties: Mapping[str, object]) -> Target:
    """Return the target that a location means.

    Args: properties: Kafka properties, for their timeouts.
    Raises: LakesMissingError, StoreError: it cannot be opened.
    """
    if isinstance(location, Path):
        return FolderTarget(location)
    if isinstance(location, StoreUrl):
        from kctl.pipeline.object_store.object_export import ObjectExport

        return ObjectExport(location, StoreTimeouts.of(properties))
    return _table(location, StoreTimeouts.of(properties))


def _table(location: IcebergTable | DeltaTable, timeouts: "StoreTimeouts") -> "TableTarget":
    check_lakes("pyarrow", "pyiceberg" if isinstance(location, IcebergTable) else "deltalake")
    if isinstance(location, IcebergTable):
        from kctl.pipeline.lake_tables.iceberg import IcebergTarget

        return IcebergTarget(location, timeouts)
    from kctl.pipeline.lake_tables.delta import DeltaTarget

    return DeltaTarget(location, timeouts)


def files_of(location: Location, properties: Mapping[str, object]) -> Path | StoreUrl:
    """Return what the paths of an export's files are relative to. Args, raises: as of `open_target`."""
    if isinstance(location, Path):
        return location.absolute()
    if isinstance(location, StoreUrl):
        return location
    return _table(location, StoreTimeouts.of(properties)).base()


def read_export(location: Location, properties: Mapping[str, object]) -> list[Manifest]:
    """Return the manifests of an export in their order; none where it is no export. Args, raises: as of `files_of`."""
    if isinstance(location, Path):
        return read_manifests(location)
    if not isinstance(location, StoreUrl):
        return _table(location, StoreTimeouts.of(properties)).manifests()
    from kctl.pipeline.object_store.object_export import read_object_manifests
    from kctl.pipeline.object_store.store import ObjectStore

    return read_object_manifests(ObjectStore(location, StoreTimeouts.of(properties)))


def facts_in(location: Location, properties: Mapping[str, object]) -> ClusterFacts:
    """Return what an export carries beside records, also where files were compacted. Args, raises: as of `files_of`."""
    if isinstance(location, Path | StoreUrl):
        return newest_facts(each.facts for each in read_export(location, properties))
    return _table(location, StoreTimeouts.of(properties)).carried_facts()


def exported_ranges(location: Location, topic: str, properties: Mapping[str, object]) -> list[ExportedRange]:
    """Return what an export has of a topic, in order; nothing of one that had no records.

    Raises: ConfigError: the export is not of this topic. Others as `read_raw_export`.
    """
    manifests = read_raw_export(location, properties)
    ranges = sorted(each for manifest in manifests for each in manifest.ranges)
    topics = {each.topic for each in ranges} | newest_facts(manifest.facts for manifest in manifests).topics.keys()
    if topic not in topics:
        raise ConfigError(f"topic {topic} is not in {location}, which has {listed(sorted(topics))}")
    return [each for each in ranges if each.topic == topic]


def read_raw_export(location: Location, properties: Mapping[str, object]) -> list[Manifest]:
    """Return the manifests of an export that has the bytes of its records.

    Args: as of `files_of`.
    Raises: FolderError: it is no export. ExportDataError: it has decoded columns; or as `files_of`.
    """
    manifests = read_export(location, properties)
    if not manifests:
        raise FolderError(f"{location} is not an export: it has no manifest", "kctl pipeline export creates one")
    decode = manifests[0].settings.get("decode")
    if decode is not None:
        raise ExportDataError(
            f"{location} has decoded columns ({decode}), not the bytes of its records",
            "export without --decode to another folder",
        )
    return manifests
