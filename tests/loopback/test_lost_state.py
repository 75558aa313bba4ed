"""Copies whose state was deleted or is older than it was: the next run is rejected, or has each record once."""

import io
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import deltalake
import obstore
import pyarrow.dataset
import pyarrow.parquet
import pytest
from obstore.store import MemoryStore
from pyiceberg.catalog import Catalog, load_catalog
from pyiceberg.table import Table

from kctl.client.producer import Producer
from kctl.pipeline.job_errors import JobError
from kctl.pipeline.jobs.export import ExportRequest, export, plan_export
from kctl.pipeline.jobs.sync import SyncRequest, plan_sync
from kctl.pipeline.locations import DeltaTable, IcebergTable, Location, StoreUrl
from kctl.pipeline.object_store import store
from kctl.pipeline.ranges import Selection
from kctl.sandbox.sandbox import Sandbox
from tests.support.spark_in_process import session_in_process
from tests.unit.pipeline.lake_tables.test_table_targets import iceberg_table

EACH = 5
ROUNDS = 3
URL = StoreUrl("s3://bucket/x")
Rows = list[tuple[int, int]]


@pytest.fixture
def bootstrap() -> Iterator[str]:
    with Sandbox(nodes=1, topics={"t": 2}).serve() as served:
        yield served.bootstrap


def request(bootstrap: str, location: Location) -> ExportRequest:
    return ExportRequest(Selection(topics=("t",)), location, {"bootstrap.servers": bootstrap})


def produce(bootstrap: str) -> None:
    """Send EACH more records to both partitions."""
    with Producer({"bootstrap.servers": bootstrap}) as producer:
        for number in range(2 * EACH):
            producer.send("t", b"%d" % number, partition=number % 2)


def run(bootstrap: str, location: Location) -> None:
    """Export EACH more records of both partitions."""
    produce(bootstrap)
    with session_in_process() as session:
        export(request(bootstrap, location), session=session)


def expected(rounds: int) -> Rows:
    return [(partition, offset) for partition in range(2) for offset in range(rounds * EACH)]


def rows_of(*tables: Any) -> Rows:
    """Return partitions and offsets."""
    found: Rows = []
    for table in tables:
        found += zip(table.column("partition").to_pylist(), table.column("offset").to_pylist(), strict=True)
    return sorted(found)


def check(bootstrap: str, location: Location, read: Callable[[], Rows], *, is_rejected: bool) -> None:
    """Check that the next run, its dry run and a sync are rejected and change nothing, or that all is there once."""
    if not is_rejected:
        run(bootstrap, location)
        assert read() == expected(ROUNDS + 1)
        return
    before = read()
    produce(bootstrap)
    wanted = request(bootstrap, location)
    with pytest.raises(JobError), session_in_process() as session:
        export(wanted, session=session)
    with pytest.raises(JobError):
        plan_export(wanted)
    with pytest.raises(JobError):
        plan_sync(SyncRequest(wanted, Path("checkpoint")))
    assert read() == before


# --- directories and object stores -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("lose", "is_rejected"),
    [
        pytest.param(lambda folder: shutil.rmtree(folder / "_manifest"), True, id="all manifests"),
        pytest.param(lambda folder: (folder / "_manifest/00000003.json").unlink(), True, id="newest manifest"),
        pytest.param(lambda folder: (folder / "_manifest/00000002.json").unlink(), True, id="middle manifest"),
        pytest.param(lambda folder: (folder / "_manifest/00000001.json").unlink(), True, id="first manifest"),
        pytest.param(lambda folder: (folder / "_manifest/00000003.json").write_text(""), True, id="empty manifest"),
        pytest.param(
            lambda folder: shutil.copy(folder / "_manifest/00000002.json", folder / "_manifest/00000003.json"),
            True,
            id="older manifest in place of the newest",
        ),
        pytest.param(lambda folder: shutil.rmtree(folder / "_tmp"), False, id="temporary files"),
    ],
)
def test_directory_without_a_part_of_its_state(
    bootstrap: str, tmp_path: Path, lose: Callable[[Path], object], is_rejected: bool
) -> None:
    folder = tmp_path / "x"
    for _ in range(ROUNDS):
        run(bootstrap, folder)
    lose(folder)

    def read() -> Rows:
        return rows_of(pyarrow.dataset.dataset(folder / "t").to_table())

    check(bootstrap, folder, read, is_rejected=is_rejected)


def delete(kept: MemoryStore, *numbers: int) -> None:
    obstore.delete(kept, [f"_manifest/{number:08}.json" for number in numbers])


def put(kept: MemoryStore, content: bytes) -> None:
    obstore.put(kept, "_manifest/00000003.json", content)


@pytest.mark.parametrize(
    ("lose", "is_rejected"),
    [
        pytest.param(lambda kept: delete(kept, 1, 2, 3), True, id="all manifests"),
        pytest.param(lambda kept: delete(kept, 3), True, id="newest manifest"),
        pytest.param(lambda kept: delete(kept, 2, 3), True, id="newer manifests"),
        pytest.param(lambda kept: delete(kept, 1), True, id="first manifest"),
        pytest.param(lambda kept: put(kept, b""), True, id="empty manifest"),
        pytest.param(
            lambda kept: put(kept, bytes(obstore.get(kept, "_manifest/00000002.json").bytes())),
            True,
            id="older manifest in place of the newest",
        ),
        pytest.param(lambda kept: obstore.put(kept, "_tmp/clock", b""), False, id="clock of a killed run"),
    ],
)
def test_prefix_without_a_part_of_its_state(
    bootstrap: str, monkeypatch: pytest.MonkeyPatch, lose: Callable[[MemoryStore], object], is_rejected: bool
) -> None:
    kept = MemoryStore()
    monkeypatch.setattr(store, "_opened", lambda *_: kept)
    for _ in range(ROUNDS):
        run(bootstrap, URL)
    lose(kept)

    def read() -> Rows:
        names = [each["path"] for page in obstore.list(kept) for each in page]
        shown = [name for name in names if name.startswith("t/t-")]
        return rows_of(*(pyarrow.parquet.read_table(io.BytesIO(obstore.get(kept, name).bytes())) for name in shown))

    check(bootstrap, URL, read, is_rejected=is_rejected)


# --- tables ---------------------------------------------------------------------------------------------------------


def log_of(path: Path) -> list[Path]:
    """Return the commits of a Delta table, oldest first."""
    return sorted((path / "_delta_log").glob("*.json"))


def clean_log(path: Path, *, keeps_hint: bool = True) -> None:
    """Write a checkpoint, and delete all commits that are older."""
    table = deltalake.DeltaTable(path)
    table.create_checkpoint()
    for each in log_of(path)[:-1]:
        each.unlink()
    if not keeps_hint:
        (path / "_delta_log/_last_checkpoint").unlink()


def delete_first_commit(path: Path) -> None:
    log_of(path)[0].unlink()


def delete_log(path: Path) -> None:
    shutil.rmtree(path / "_delta_log")


def compact(path: Path) -> None:
    table = deltalake.DeltaTable(path)
    table.optimize.compact()
    table.vacuum(0, dry_run=False, enforce_retention_duration=False)


def unset(path: Path, *names: str) -> None:
    """Rename facts of kctl in the log."""
    for each in log_of(path):
        text = each.read_text()
        for name in names:
            text = text.replace(name, "other")
        each.write_text(text)


def lose_positions(path: Path) -> None:
    """Compact the files, and remove each position, as in a copy of the rows by another program."""
    compact(path)
    unset(path, "kctl.topic-id.", "kctl.run", "kctl.positions", "kctl:", "kctl.cluster")


@pytest.mark.parametrize(
    ("lose", "is_rejected"),
    [
        pytest.param(lambda path: log_of(path)[-1].unlink(), False, id="newest commit"),
        pytest.param(delete_first_commit, True, id="first commit"),
        pytest.param(delete_log, True, id="log"),
        pytest.param(clean_log, False, id="commits before a checkpoint"),
        pytest.param(lambda path: clean_log(path, keeps_hint=False), False, id="commits and the hint of a checkpoint"),
        pytest.param(compact, False, id="files, by compaction"),
        pytest.param(lambda path: unset(path, "kctl:"), False, id="transactions"),
        pytest.param(lambda path: unset(path, "kctl.positions"), False, id="positions of commits"),
        pytest.param(lambda path: unset(path, "kctl.topic-id."), False, id="ids of topics"),
        pytest.param(lambda path: unset(path, "kctl:", "kctl.positions", "kctl.run"), True, id="all but ids"),
        pytest.param(lambda path: unset(path, "kctl:", "kctl.positions", "kctl.run", "kctl.topic-id."), True, id="all"),
        pytest.param(lose_positions, True, id="all, after compaction"),
        pytest.param(lambda path: deltalake.DeltaTable(path).restore(2), False, id="rounds, by a restore"),
    ],
)
def test_delta_table_without_a_part_of_its_state(
    bootstrap: str, tmp_path: Path, lose: Callable[[Path], object], is_rejected: bool
) -> None:
    path = tmp_path / "x"
    for _ in range(ROUNDS):
        run(bootstrap, DeltaTable(str(path)))
    lose(path)
    is_readable = lose is not delete_log and lose is not delete_first_commit

    def read() -> Rows:
        return rows_of(deltalake.DeltaTable(path).to_pyarrow_table()) if is_readable else []

    check(bootstrap, DeltaTable(str(path)), read, is_rejected=is_rejected)


def expire(table: Table, *, keeps_newest: bool = True) -> Table:
    """Expire the snapshots but the newest, which is one of another program unless it is kept."""
    if not keeps_newest:
        table.overwrite(table.scan().to_arrow())
        table = table.refresh()
    newest = table.metadata.current_snapshot_id
    old = [each.snapshot_id for each in table.metadata.snapshots if each.snapshot_id != newest]
    table.maintenance.expire_snapshots().by_ids(old).commit()
    return table.refresh()


def forget(table: Table) -> Table:
    """Remove the properties of ours."""
    with table.transaction() as change:
        change.remove_properties(*(name for name in table.properties if name.startswith("kctl.")))
    return table.refresh()


def roll_back(table: Table) -> Table:
    table.manage_snapshots().rollback_to_snapshot(table.metadata.snapshots[0].snapshot_id).commit()
    return table.refresh()


def drop(catalog: Catalog, table: Table) -> None:
    catalog.drop_table(table.name())


@pytest.mark.parametrize(
    ("lose", "is_rejected"),
    [
        pytest.param(lambda _, table: expire(table, keeps_newest=True), False, id="older snapshots"),
        pytest.param(lambda _, table: expire(table, keeps_newest=False), False, id="snapshots"),
        pytest.param(lambda _, table: forget(table), False, id="properties"),
        pytest.param(lambda _, table: forget(expire(table, keeps_newest=False)), True, id="all, compacted"),
        pytest.param(lambda _, table: roll_back(table), False, id="rounds, by a rollback"),
        pytest.param(lambda _, table: forget(roll_back(table)), False, id="rounds and properties"),
        pytest.param(lambda _, table: expire(roll_back(table)), False, id="rounds and their snapshots"),
        pytest.param(drop, False, id="table"),
    ],
)
def test_iceberg_table_without_a_part_of_its_state(
    bootstrap: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    lose: Callable[[Catalog, Table], object],
    is_rejected: bool,
) -> None:
    location: IcebergTable = iceberg_table(tmp_path, monkeypatch)
    for _ in range(ROUNDS):
        run(bootstrap, location)
    catalog = load_catalog("lake")
    lose(catalog, catalog.load_table(location.identifier))

    def read() -> Rows:
        return rows_of(catalog.load_table(location.identifier).scan().to_arrow())

    check(bootstrap, location, read, is_rejected=is_rejected)
