"""Target: destination of an export, for the driver. RoundPlace: destination of the tasks of one round.

A directory commits with renames and links, an object store with conditional writes, and a table with its format. See
docs/decisions/0019-targets-commit-rounds.md.
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
    """Kind of files that a round writes: `layout` and `format` of the export.

    Attributes:
        compression_level: level of zstd.
        file_bytes: size at which a new file starts. 0 writes one file for each range and directory.
    """

    layout: str
    format: str
    compression_level: int
    file_bytes: int = 0


class RangeWriter(Protocol):
    """Writer of the files of one range; a context manager that removes the files unless `finish` is called."""

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
    """Destination of the tasks of one round. Contains no secrets, because Spark pickles it for the tasks."""

    def open(self, name: "RangeName", attempt: int) -> RangeWriter: ...


class Target(Protocol):
    """Destination of an export.

    Attributes:
        last_number: number of the newest round that was read or committed. 0 without rounds.

    Raises: FolderError, ExportDataError, StoreError: from every method.
    """

    last_number: int

    def read(self) -> object: ...

    def read_facts(self) -> TargetFacts:
        """Read the list of rounds, and return counts of the export."""
        ...

    def fit(self, decoded: "Mapping[str, DecodedTypes]") -> "Mapping[str, DecodedTypes]":
        """Return the types for writing decoded keys and values of each topic."""
        ...

    def check(self, settings: Mapping[str, str]) -> None:
        """Raise the errors that `claim` would raise, without side effects."""
        ...

    def claim(self, run_id: str, settings: Mapping[str, str], *, takes_over: bool = True) -> None:
        """Start writing: complete or remove the remains of earlier runs, and read the list of rounds.

        Args:
            takes_over: False if this run will write nothing. Another active run may then continue.
        """
        ...

    def resume_points(self, wanted: Iterable[tuple[str, int]] = ()) -> dict[tuple[str, int], ResumePoint]:
        """Return a dict from exported (topic, partition) to its position, with at least the wanted ones."""
        ...

    def begin(self, number: int, kind: FileKind) -> RoundPlace:
        """Return the place where the tasks of a round write."""
        ...

    def commit(
        self,
        ranges: Sequence[ExportedRange],
        settings: Mapping[str, str],
        facts: ClusterFacts = NO_FACTS,
        ended: Sequence[RoundPlace] | None = None,
    ) -> object:
        """Add ranges that this run wrote to the export, either all of them or none.

        Args:
            facts: cluster facts to store with the export.
            ended: places in which no task writes. None means all places.
        """
        ...

    def leave(self) -> None:
        """End the run. A later run removes files that were not committed."""
        ...


class FolderTarget(ExportFolder):
    """A directory as a target."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._rounds: dict[RoundPlace, Path] = {}

    def fit(self, decoded: "Mapping[str, DecodedTypes]") -> "Mapping[str, DecodedTypes]":
        return self.schemas.fit(decoded)

    def begin(self, number: int, kind: FileKind) -> RoundPlace:
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
        over = list(self._rounds if ended is None else ended)
        return self.commit_round([self._rounds.pop(each) for each in over], settings, ranges, facts)


def limits_of(location: Location, kind: FileKind, policy: str) -> TargetLimits:
    """Return the values that files of this kind can hold at a location, and the policy for other values."""
    limits = TargetLimits(policy, is_exact=kind.format == "json", layout=kind.layout)
    if isinstance(location, IcebergTable) and kind.layout in ("date", "hour"):
        return limits._replace(first_ms=YEAR_1_MS, end_ms=YEAR_10000_MS)
    return limits


def open_target(location: Location, properties: Mapping[str, object]) -> Target:
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
    if isinstance(location, Path):
        return location.absolute()
    if isinstance(location, StoreUrl):
        return location
    return _table(location, StoreTimeouts.of(properties)).base()


def read_export(location: Location, properties: Mapping[str, object]) -> list[Manifest]:
    """Return the manifests of an export in order, or an empty list if there is no export."""
    if isinstance(location, Path):
        return read_manifests(location)
    if not isinstance(location, StoreUrl):
        return _table(location, StoreTimeouts.of(properties)).manifests()
    from kctl.pipeline.object_store.object_export import read_object_manifests
    from kctl.pipeline.object_store.store import ObjectStore

    return read_object_manifests(ObjectStore(location, StoreTimeouts.of(properties)))


def facts_in(location: Location, properties: Mapping[str, object]) -> ClusterFacts:
    """Return the cluster facts of an export, even if its files were compacted. Args, raises: as `read_export`."""
    if isinstance(location, Path | StoreUrl):
        return newest_facts(each.facts for each in read_export(location, properties))
    return _table(location, StoreTimeouts.of(properties)).carried_facts()


def exported_ranges(location: Location, topic: str, properties: Mapping[str, object]) -> list[ExportedRange]:
    """Return the exported ranges of a topic in order. Raise ConfigError if the export does not have the topic."""
    manifests = read_raw_export(location, properties)
    ranges = sorted(each for manifest in manifests for each in manifest.ranges)
    topics = {each.topic for each in ranges} | newest_facts(manifest.facts for manifest in manifests).topics.keys()
    if topic not in topics:
        raise ConfigError(f"topic {topic} is not in {location}. Exported topics: {listed(sorted(topics))}")
    return [each for each in ranges if each.topic == topic]


def read_raw_export(location: Location, properties: Mapping[str, object]) -> list[Manifest]:
    """Return the manifests of an export with undecoded records.

    Raises:
        FolderError: it is not an export.
        ExportDataError: it has decoded columns.
    """
    manifests = read_export(location, properties)
    if not manifests:
        raise FolderError(
            f"{location} is not an export: it has no manifest", "create an export with: kctl pipeline export"
        )
    decode = manifests[0].settings.get("decode")
    if decode is not None:
        raise ExportDataError(
            f"cannot read the bytes of records from {location}: it has decoded columns ({decode})",
            "export the topic to another location without --decode",
        )
    return manifests
