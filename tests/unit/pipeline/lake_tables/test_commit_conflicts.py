"""Commits that conflict with those of other programs: made again until the API timeout, and reported then."""

from pathlib import Path
from typing import Any

import deltalake
import pytest
from pyiceberg.exceptions import CommitFailedException

from kctl.client.clock import ManualClock
from kctl.pipeline.export_files.manifests import ExportedRange
from kctl.pipeline.job_errors import FolderError, StoreError
from kctl.pipeline.lake_tables.iceberg import IcebergTarget
from kctl.pipeline.lake_tables.table_target import TableTarget
from kctl.pipeline.locations import DeltaTable, Location
from kctl.pipeline.object_store.store import StoreTimeouts
from tests.unit.pipeline.lake_tables.test_table_targets import claimed, iceberg_table

pytestmark = pytest.mark.slow  # the libraries of tables take seconds

API_MS = 20_000
GAP = ExportedRange("t", 0, 0, 10, 0, (), "an-id", 10)


@pytest.fixture(params=["iceberg", "delta"])
def location(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Location:
    return DeltaTable(str(tmp_path / "t")) if request.param == "delta" else iceberg_table(tmp_path, monkeypatch)


def conflicting(target: TableTarget, times: float, monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Have a target's commits conflict a number of times, in virtual time; return the waits that it makes."""
    clock, waits = ManualClock(), list[float]()
    monkeypatch.setattr(target, "_clock", clock)
    monkeypatch.setattr(target, "_timeouts", StoreTimeouts(1000, 1000, API_MS))

    def wait(seconds: float) -> None:
        waits.append(seconds)
        clock.advance(round(seconds * 1000))

    monkeypatch.setattr(target, "_sleep", wait)
    left = [times]

    def conflicts() -> bool:
        left[0] -= 1
        clock.advance(1)
        return left[0] >= 0

    if isinstance(target, IcebergTarget):
        commit = target._commit

        def commit_or_conflict(*given: Any) -> None:
            if conflicts():
                raise CommitFailedException("branch main has changed")
            commit(*given)

        monkeypatch.setattr(target, "_commit", commit_or_conflict)
    else:
        write: Any = deltalake.DeltaTable.create_write_transaction

        def write_or_conflict(*given: Any, **more: Any) -> None:
            if conflicts():
                raise deltalake.exceptions.CommitFailedError("Metadata changed since last commit.")
            write(*given, **more)

        monkeypatch.setattr(deltalake.DeltaTable, "create_write_transaction", write_or_conflict)
    return waits


@pytest.mark.slow
def test_commit_is_made_again_until_no_other_writer_is_faster(
    location: Location, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = claimed(location)
    waits = conflicting(target, 12, monkeypatch)
    target.commit([GAP], {})
    assert len(waits) == 12
    assert sum(waits) * 1000 < API_MS
    assert claimed(location, "next").resume_points([("t", 0)])["t", 0].offset == 10


def test_conflicts_without_end_are_an_error_at_the_api_timeout(
    location: Location, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = claimed(location)
    waits = conflicting(target, float("inf"), monkeypatch)
    with pytest.raises(
        StoreError,
        match=r"within 20s \(--api-timeout\): other writers changed the table during "
        r"each of \d+ attempts",
    ):
        target.commit([GAP], {})
    assert API_MS - 100 < sum(waits) * 1000 <= API_MS
    assert claimed(location, "next").resume_points([("t", 0)]) == {}


def test_conflict_with_another_export_is_not_tried_again(location: Location, monkeypatch: pytest.MonkeyPatch) -> None:
    target, other = claimed(location), claimed(location, "other")
    other.commit([GAP], {})
    waits = conflicting(target, float("inf"), monkeypatch)
    with pytest.raises(FolderError, match="another export wrote to"):
        target.commit([GAP], {})
    assert waits == []


def test_properties_that_another_run_has_just_set_are_a_conflict(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ids of topics are written before the first round: of two runs that begin, both write them."""
    location = DeltaTable(str(tmp_path / "t"))
    target: Any = claimed(location)
    loaded = target._loaded
    raced: list[bool] = []

    def load_then_race() -> Any:
        table = loaded()
        if not raced:
            raced.append(True)
            deltalake.DeltaTable(location).alter.set_table_properties({"other": "1"}, raise_if_not_exists=False)
        return table

    monkeypatch.setattr(target, "_loaded", load_then_race)
    target.commit([GAP], {})
    assert claimed(location, "next").resume_points([("t", 0)])["t", 0].offset == 10
