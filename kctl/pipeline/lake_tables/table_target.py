"""TableTarget: what the tables of Iceberg and Delta have in common as targets of an export.

Positions are part of each commit, so that data and position count together or not at all. A run commits only on what it
has read: where another export has moved a position of the table meanwhile, the run ends with an error; where another
program has committed something else, the commit is made again by the rules of the format.
Shown by tests/unit/pipeline/lake_tables.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from kctl.client.errors import ConfigError
from kctl.pipeline.export_files.manifests import ExportedRange, Manifest, continued
from kctl.pipeline.job_errors import FolderError
from kctl.pipeline.locations import StoreUrl
from kctl.pipeline.object_store.store import StoreTimeouts
from kctl.pipeline.resume_point import ResumePoint

if TYPE_CHECKING:
    from kctl.pipeline.targets import FileKind, RoundPlace

Points = dict[tuple[str, int], ResumePoint]
MOST_ATTEMPTS = 8
"""How often a commit is made again because others, which are no exports, have committed meanwhile."""


class TableTarget(ABC):
    """A table as the driver of one run sees it; a Target (`kctl.pipeline.targets`)."""

    def __init__(self, name: str, timeouts: StoreTimeouts) -> None:
        self.last_number = 0
        self.name = name
        self._timeouts = timeouts
        self._points: Points = {}
        self._run_id = ""

    def read(self) -> object:
        """Read the positions of the table; none where there is no table yet."""
        self.last_number, self._points = self.positions()
        return self._points

    def check(self, settings: Mapping[str, str]) -> None:
        """Raise what `claim` would, as far as reading shows it."""
        if settings["format"] != "parquet":
            raise ConfigError(f"the files of a table are parquet, not {settings['format']}", key="format")
        self.read()
        self.check_layout(settings["layout"])

    def claim(self, run_id: str, settings: Mapping[str, str]) -> None:
        """Create the table where there is none, and read its positions."""
        self.check(settings)
        self._run_id = run_id
        self.create(settings["layout"])
        self.read()

    def resume_points(self, wanted: Iterable[tuple[str, int]] = ()) -> Points:  # noqa: ARG002 - all are at hand
        """Return where each (topic, partition) that has been exported continues."""
        return dict(self._points)

    def begin(self, number: int, kind: "FileKind") -> "RoundPlace":  # noqa: ARG002 - names come from content
        """Return where the tasks of a round write."""
        from kctl.pipeline.lake_tables.table_files import TablePlace

        return TablePlace(self.base(), self._timeouts, kind, self._run_id)

    def commit(self, ranges: Sequence[ExportedRange], settings: Mapping[str, str]) -> object:  # noqa: ARG002
        """Make ranges part of the table, all or none, together with their positions."""
        points = dict(self._points)
        for each in ranges:
            key = each.topic, each.partition
            points[key] = continued(points.get(key), each)
        number = self.last_number + 1
        self.append(number, ranges, points)
        self.last_number, self._points = number, points
        return None

    def leave(self) -> None:  # noqa: B027 - what no commit names is no part of a table
        """Do nothing: what no commit names is no part of the table."""

    def taken(self) -> FolderError:
        """Return the error of a run that commits second."""
        return FolderError(f"another export has written to {self.name} meanwhile", "one at a time writes to a table")

    @abstractmethod
    def positions(self) -> tuple[int, Points]:
        """Return the number of the newest round and the positions of the table as it is now."""

    @abstractmethod
    def check_layout(self, layout: str) -> None:
        """Raise FolderError where the table that is there is partitioned otherwise, or lacks columns."""

    @abstractmethod
    def create(self, layout: str) -> None:
        """Create the table unless there is one."""

    @abstractmethod
    def base(self) -> Path | StoreUrl:
        """Return what the paths of files are relative to."""

    @abstractmethod
    def append(self, number: int, ranges: Sequence[ExportedRange], points: Points) -> None:
        """Commit files and positions at once. Raises: FolderError: another export was first."""

    @abstractmethod
    def manifests(self) -> list[Manifest]:
        """Return the live files of the table as one round of an export."""
