"""TableTarget: common part of Iceberg and Delta tables as export targets.

Commits include positions. A run commits only on top of the state that it has read. If another export has moved a
position, the run fails. After other commits, it tries again.

Bad records go to a second table, `..._errors`. No format commits to two tables together, so the commit to the first
table lists the files of the second. If the second commit is missing, the next run completes it.
"""

import json
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any, NamedTuple

from kctl.client.clock import Clock, SystemClock, Timer, duration_text
from kctl.client.errors import ConfigError
from kctl.grammar.integers import integer_in
from kctl.grammar.sizes import parse_size_bytes
from kctl.pipeline.bad_record_policies import FAIL
from kctl.pipeline.export_files.bad_records import POLICY
from kctl.pipeline.export_files.cluster_facts import NO_FACTS, ClusterFacts, facts_from, newest_facts
from kctl.pipeline.export_files.folder import COLUMN_LAYOUT, ERRORS
from kctl.pipeline.export_files.manifests import (
    COMMITTED_AT,
    ExportedFile,
    ExportedRange,
    Manifest,
    TargetFacts,
    continued,
)
from kctl.pipeline.job_errors import ExportDataError, FolderError, StoreError, listed, reason_of
from kctl.pipeline.locations import StoreUrl
from kctl.pipeline.object_store.store import StoreTimeouts
from kctl.pipeline.resume_point import ResumePoint

if TYPE_CHECKING:
    import pyarrow as pa

    from kctl.pipeline.decoding.record_decoding import DecodedTypes
    from kctl.pipeline.targets import FileKind, RoundPlace

Points = dict[tuple[str, int], ResumePoint]
RUN, ROUND, ERROR_FILES, POSITIONS = "kctl.run", "kctl.round", "kctl.errors", "kctl.positions"
"""Facts of a commit: the run, its round, the files of the round in the error table, and all positions."""
COMMIT_TIME = "kctl.committed-at-ms"
"""Fact with the time of a commit."""
FILLED = frozenset({"topic", "partition", "offset", "timestampType", "date", "hour"})
"""Columns that are never null."""
CARRIED = "kctl.cluster"
"""Table property with the partitions and configs of topics, and the offsets of groups."""
LONGEST_NUMBER = 18
"""Maximum number of digits of a round number."""
BACKOFF_MS, MOST_BACKOFF_MS = 20, 1000
"""Waits between commit attempts in ms, randomized so that two writers do not collide repeatedly."""


class CommitConflictError(StoreError):
    """Another writer changed the table during a commit, which may be repeated by the rules of the format."""


class Round(NamedTuple):
    """Content of one commit.

    Attributes:
        ranges: ranges of the round.
        points: new positions of all partitions.
        facts: RUN and other facts.
        carried: new cluster facts of the table as JSON. Empty if unchanged.
    """

    number: int
    files: tuple[ExportedFile, ...]
    ranges: Sequence[ExportedRange]
    points: Points
    facts: Mapping[str, str]
    carried: str = ""


class TableTarget(ABC):
    """Table as a Target (`kctl.pipeline.targets`), for the driver of one run.

    Attributes:
        can_widen: whether the format supports changes of column types.
        target_property: name of the format's table property for the file size.
        takes_footers: whether a commit uses the footers of files.
    """

    can_widen = takes_footers = False
    target_property = ""

    def __init__(self, name: str, timeouts: StoreTimeouts) -> None:
        self.last_number = 0
        self.name = name
        self._timeouts = timeouts
        self._clock: Clock = SystemClock()
        self._sleep: Callable[[float], object] = threading.Event().wait
        self._points: Points = {}
        self._run_id = self._layout = ""
        self._is_made = False
        self._schema: pa.Schema | None = None
        self._errors: TableTarget | None = None
        self._property_bytes: int | None = None

    @property
    def schema(self) -> "pa.Schema":
        from kctl.pipeline.record_columns import COLUMN_NAMES, schema_of

        return schema_of(COLUMN_NAMES) if self._schema is None else self._schema

    def fit(self, decoded: "Mapping[str, DecodedTypes]") -> "Mapping[str, DecodedTypes]":
        """Return the types for writing keys and values, which are equal for all topics.

        Raises: FolderError: the table cannot hold the types. The message lists the columns.
        """
        from kctl.pipeline.decoding.record_decoding import DecodedTypes
        from kctl.pipeline.export_files.merged_schema import evolved

        schema = self.columns()
        for types in list(decoded.values()) or [DecodedTypes(None, None)]:
            wanted = types.schema()
            schema = evolved(wanted if schema is None else schema, wanted, self.name, can_widen=self.can_widen)
        if not decoded or schema is None:
            return {}
        self._schema = schema
        key, value = next(iter(decoded.values()))
        types = DecodedTypes(key and schema.field("key").type, value and schema.field("value").type)
        return dict.fromkeys(decoded, types)

    def read(self) -> object:
        self.last_number, self._points = self.positions()
        return self._points

    def check(self, settings: Mapping[str, str]) -> None:
        if settings["format"] != "parquet":
            raise ConfigError(f"invalid format {settings['format']!r} for a table: use parquet", key="format")
        self.read()
        if rules := self.rules():
            raise FolderError(
                f"{self.name} has constraints that kctl does not support: {listed(rules)}",
                "choose another table, or remove the constraints",
            )
        self.check_layout(settings["layout"])

    def claim(
        self,
        run_id: str,
        settings: Mapping[str, str],
        *,
        takes_over: bool = True,  # noqa: ARG002 - the commit decides between two runs
    ) -> None:
        """Read the positions of the table. Create the table if it does not exist.

        If its columns depend on unknown schemas, the table is created with the first round.
        """
        self.check(settings)
        self._run_id, self._layout = run_id, settings["layout"]
        if "decode" in settings or settings.get(POLICY, FAIL) != FAIL:
            self._open_errors()
        if "decode" not in settings or self._schema is not None or self.columns() is not None:
            self._make()

    def _open_errors(self) -> None:
        from kctl.pipeline.decoding.record_decoding import error_schema

        self._errors = self.sibling("_errors")
        self._errors._schema = error_schema(self._errors.schema)

    def _make(self) -> None:
        self.create(self._layout)
        if self._errors is None and self.newest_facts().get(ERROR_FILES, "[]") != "[]":
            self._open_errors()
        if self._errors is not None:
            layout = "topic" if self._layout.startswith(COLUMN_LAYOUT) else self._layout  # a field of decoded data
            self._errors.claim(self._run_id, {"format": "parquet", "layout": layout})
            self._finish(self._errors)
        self.read()
        self._is_made = True

    def resume_points(self, wanted: Iterable[tuple[str, int]] = ()) -> Points:
        """Return the position of each exported (topic, partition).

        Raises: ExportDataError: the table has records of a wanted partition, but no position.
        """
        self._refuse_lost([key for key in wanted if key not in self._points])
        return dict(self._points)

    def _refuse_lost(self, fresh: Collection[tuple[str, int]]) -> None:
        if fresh and (lost := sorted(self.live_partitions(fresh))):
            raise self.lost(lost)

    def lost(self, partitions: Sequence[tuple[str, int]]) -> ExportDataError:
        names = listed(f"{topic}-{number}" for topic, number in partitions)
        return ExportDataError(
            f"{self.name} has an earlier export, but no position of {names}", "export to another table"
        )

    def begin(self, number: int, kind: "FileKind") -> "RoundPlace":  # noqa: ARG002 - names come from content
        from kctl.pipeline.lake_tables.table_files import TablePlace

        if not self._is_made:
            self._make()
        errors = None if self._errors is None else self._errors.base()
        if not kind.file_bytes:
            kind = kind._replace(file_bytes=self._target_bytes())
        return TablePlace(self.base(), errors, self._timeouts, kind, self._run_id, self.takes_footers)

    def _target_bytes(self) -> int:
        if self._property_bytes is None:
            text = self.properties().get(self.target_property, "").strip()
            try:
                self._property_bytes = int(text) if text.isdecimal() else parse_size_bytes(text)
            except ValueError:
                self._property_bytes = 0
        return self._property_bytes

    def commit(
        self,
        ranges: Sequence[ExportedRange],
        settings: Mapping[str, str],
        facts: ClusterFacts = NO_FACTS,
        ended: "Sequence[RoundPlace] | None" = None,  # noqa: ARG002 - attempts never reuse names
    ) -> object:
        points = dict(self._points)
        for each in ranges:
            key = each.topic, each.partition
            points[key] = continued(points.get(key), each)
        number = self.last_number + 1
        files = [file for each in ranges for file in each.files]
        wrong = tuple(file for file in files if file.path.startswith(f"{ERRORS}/"))
        own = {RUN: self._run_id, ROUND: str(number), COMMIT_TIME: settings.get(COMMITTED_AT, "")}
        if self._errors is not None:
            own[ERROR_FILES] = json.dumps([[*file.facts.values()] for file in wrong])
        carried = ""
        if facts != NO_FACTS:
            known = self.carried_facts()
            newest = newest_facts([known, facts])
            carried = json.dumps(newest.to_json(), separators=(",", ":")) if newest != known else ""
        self.append(Round(number, tuple(file for file in files if file not in wrong), ranges, points, own, carried))
        self.last_number, self._points = number, points
        if self._errors is not None and wrong:
            self._errors._append_errors(own, wrong)
        return None

    def _finish(self, errors: "TableTarget") -> None:
        facts = self.newest_facts()
        wrong = files_from(facts.get(ERROR_FILES, "[]"), self.name)
        done = errors.newest_facts()
        if wrong and any(facts.get(name) != done.get(name) for name in (RUN, ROUND)):
            errors._append_errors(facts, wrong)

    def _append_errors(self, facts: Mapping[str, str], wrong: Sequence[ExportedFile]) -> None:
        files = tuple(file._replace(path=file.path.removeprefix(f"{ERRORS}/")) for file in wrong)
        number = self.number_in(facts)
        self.append(Round(number, files, (), {}, {RUN: facts.get(RUN, ""), ROUND: str(number)}))
        self.last_number = number

    def leave(self) -> None:  # noqa: B027 - files outside of commits need no cleanup
        """Do nothing: files outside of commits are not part of the table."""

    def points_in(self, facts: Mapping[str, str]) -> Points:
        try:
            return {
                (topic, int(partition)): ResumePoint(int(offset), str(of_topic["id"]), int(log_end), *map(int, newest))
                for topic, of_topic in json.loads(facts[POSITIONS]).items()
                for partition, (offset, log_end, *newest) in of_topic["at"].items()
            }
        except (ValueError, OverflowError, TypeError, KeyError, AttributeError, RecursionError) as e:
            raise ExportDataError(f"{self.name}: property {POSITIONS} is damaged: {reason_of(e)}") from None

    def number_in(self, facts: Mapping[str, str]) -> int:
        text = facts.get(ROUND, "0")
        if not (text.isascii() and text.isdecimal()) or len(text) > LONGEST_NUMBER:
            raise ExportDataError(f"{self.name}: property {ROUND} is damaged: {text[:100]!r} is not a round number")
        return int(text)

    def until_committed(self, attempt: Callable[[], None], number: int) -> None:
        """Commit a round. Repeat the attempt while other writers' commits conflict with it.

        Raises: StoreError: the commit still conflicts after the API timeout.
        """
        timer, attempts = Timer(self._clock, self._timeouts.api_ms), 0
        while True:
            try:
                return attempt()
            except CommitConflictError as e:
                timer.update()
                if timer.is_expired:
                    timeout = duration_text(timer.timeout_ms)
                    raise StoreError(
                        f"cannot commit round {number} to {self.name} within {timeout} (--api-timeout): other "
                        f"writers changed the table during each of {attempts + 1} attempts: {e}"
                    ) from None
                self._sleep(min(_backoff_ms(attempts), timer.remaining_ms) / 1000)
                attempts += 1

    def taken(self) -> FolderError:
        return FolderError(
            f"another export wrote to {self.name} during this run", "run only one export at a time to a table"
        )

    @abstractmethod
    def positions(self) -> tuple[int, Points]:
        """Return the number of the newest round, and the current positions of the table."""

    @abstractmethod
    def check_layout(self, layout: str) -> None:
        """Raise FolderError if an existing table has another partitioning or lacks columns."""

    @abstractmethod
    def rules(self) -> list[str]:
        """Return the rules of the table that records may violate, each with its column."""

    @abstractmethod
    def create(self, layout: str) -> None:
        """Create the table unless it exists."""

    @abstractmethod
    def base(self) -> Path | StoreUrl:
        """Return the location to which the paths of files are relative."""

    @abstractmethod
    def columns(self) -> "pa.Schema | None":
        """Return the columns of the table, except columns used only for partitioning, or None if there is no table."""

    @abstractmethod
    def newest_facts(self) -> Mapping[str, str]:
        """Return the facts of the newest commit of an export."""

    def carried_facts(self) -> ClusterFacts:
        text = self.properties().get(CARRIED, "{}")
        try:
            return facts_from(json.loads(text))
        except (ValueError, OverflowError, TypeError, KeyError, AttributeError, RecursionError) as e:
            raise ExportDataError(f"{self.name}: property {CARRIED} is damaged: {reason_of(e)}") from None

    @abstractmethod
    def properties(self) -> Mapping[str, str]:
        """Return the properties of the table, or an empty mapping if it does not exist."""

    @abstractmethod
    def sibling(self, suffix: str) -> "TableTarget":
        """Return the table whose name has a suffix."""

    @abstractmethod
    def append(self, added: Round) -> None:
        """Commit files, positions and facts together.

        Raises: FolderError: another export has committed before. CommitConflictError: another writer conflicts.
        """

    @abstractmethod
    def live_partitions(self, wanted: Collection[tuple[str, int]]) -> set[tuple[str, int]]:
        """Return the wanted partitions whose records are in live files. May be empty if the table has positions."""

    def read_facts(self) -> TargetFacts:
        self.read()
        newest = self.newest_facts()
        return TargetFacts(*self.sizes(), self.number_in(newest), integer_in(newest.get(COMMIT_TIME, "")))

    @abstractmethod
    def sizes(self) -> tuple[int, int, int]:
        """Return the number of records, the number of files, and the bytes of the files."""

    @abstractmethod
    def manifests(self) -> list[Manifest]:
        """Return the live files of the table as one round of an export."""


def _backoff_ms(attempts: int) -> float:
    most = min(BACKOFF_MS * 2 ** min(attempts, 10), MOST_BACKOFF_MS)
    return Random().uniform(most / 2, most)


def positions_text(points: Points) -> str:
    """Return positions as JSON: an object from topic to ID, and offset, log end and newest timestamp by partition."""
    found: dict[str, dict[str, Any]] = {}
    for (topic, partition), point in sorted(points.items()):
        of_topic = found.setdefault(topic, {"id": point.topic_id, "at": {}})
        of_topic["id"] = point.topic_id or of_topic["id"]
        newest = [] if point.newest_ms is None else [point.newest_ms]
        of_topic["at"][str(partition)] = [point.offset, point.log_end, *newest]
    return json.dumps(found, separators=(",", ":"))


def files_from(text: str, name: str) -> tuple[ExportedFile, ...]:
    try:
        return tuple(ExportedFile(str(path), int(records), int(size)) for path, records, size in json.loads(text))
    except (ValueError, OverflowError, TypeError, RecursionError) as e:
        raise ExportDataError(f"{name}: property {ERROR_FILES} is damaged: {reason_of(e)}") from None
