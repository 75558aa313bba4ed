"""Tables of Iceberg and Delta as targets, on the local disk: positions with the data, one of two runs, other writers.

What is in a table is read by the formats' own libraries, which know nothing of kctl.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyiceberg.catalog
import pytest
from pyiceberg.table import Transaction
from pyiceberg.utils.config import Config

from kctl.client.clock import ManualClock, SystemClock
from kctl.pipeline.decoding.record_decoding import DecodedTypes, error_schema
from kctl.pipeline.export_files.cluster_facts import ClusterFacts, TopicFacts
from kctl.pipeline.export_files.exported_records import read_exported
from kctl.pipeline.export_files.manifests import COMMITTED_AT, MANIFESTS, ExportedRange
from kctl.pipeline.export_files.range_files import RangeName
from kctl.pipeline.job_errors import ExportDataError, FolderError, StoreTimeoutError
from kctl.pipeline.jobs.replay import ReplayRequest, replay
from kctl.pipeline.lake_tables.iceberg import IcebergTarget
from kctl.pipeline.lake_tables.table_files import TablePlace
from kctl.pipeline.lake_tables.table_target import Round, TableTarget
from kctl.pipeline.locations import DeltaTable, IcebergTable, Location
from kctl.pipeline.record_columns import COLUMN_NAMES, schema_of
from kctl.pipeline.resume_point import ResumePoint
from kctl.pipeline.targets import FileKind, facts_in, files_of, open_target, read_export, read_raw_export

pytestmark = pytest.mark.slow  # the libraries of tables take seconds

SCHEMA = schema_of(COLUMN_NAMES)
DAY_US = 86_400_000_000
Open = Callable[[], TableTarget]
WANTED = [("t", 0), ("t", 1)]


@pytest.fixture(params=["iceberg", "delta"])
def location(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Location:
    if request.param == "delta":
        return DeltaTable(str(tmp_path / "table"))
    return iceberg_table(tmp_path, monkeypatch)


def iceberg_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> IcebergTable:
    """Return a table of a catalog in SQLite, which a process reads from its environment when it starts."""
    monkeypatch.setenv("PYICEBERG_CATALOG__LAKE__URI", f"sqlite:///{tmp_path}/catalog.db")
    monkeypatch.setenv("PYICEBERG_CATALOG__LAKE__WAREHOUSE", (tmp_path / "warehouse").as_uri())
    monkeypatch.setattr(pyiceberg.catalog, "_ENV_CONFIG", Config())
    return IcebergTable("lake.db.orders")


def claimed(location: Location, run_id: str = "run", layout: str = "topic") -> TableTarget:
    target = open_target(location, {})
    assert isinstance(target, TableTarget)
    target.claim(run_id, {"format": "parquet", "layout": layout})
    target.resume_points(WANTED)
    return target


def written(target: TableTarget, start: int, end: int, layout: str = "topic") -> ExportedRange:
    """Write a range as a task does, a record a day."""
    name = RangeName("t", 0, start, end)
    with target.begin(1, FileKind(layout, "parquet", 1)).open(name, 0) as files:
        rows = [
            {"topic": "t", "partition": 0, "offset": offset, "timestamp": offset * DAY_US, "value": b"%d" % offset}
            for offset in range(start, end)
        ]
        files.write(pa.RecordBatch.from_pylist(rows, SCHEMA))
        return ExportedRange(*name, files.records, files.finish(), "an-id", 99)


def commit(target: TableTarget, start: int, end: int, layout: str = "topic") -> None:
    target.commit([written(target, start, end, layout)], {})


def rows(location: Location) -> list[tuple[int, Any]]:
    """Return what the format's own library reads."""
    found: Any
    if isinstance(location, IcebergTable):
        from pyiceberg.catalog import load_catalog

        found = load_catalog(location.catalog).load_table(location.identifier).scan().to_arrow()
    else:
        import deltalake

        found = deltalake.DeltaTable(location).to_pyarrow_table()
    return sorted((row["offset"], row["value"]) for row in found.select(["offset", "value"]).to_pylist())


def expected(*offsets: int) -> list[tuple[int, bytes]]:
    return [(offset, b"%d" % offset) for offset in offsets]


def append_as_another_program(location: Location) -> None:
    """Commit a row as a program that is no export does."""
    row = pa.Table.from_pylist([{"topic": "other", "partition": 0, "offset": 7, "timestamp": 0, "value": b"7"}], SCHEMA)
    if isinstance(location, IcebergTable):
        from pyiceberg.catalog import load_catalog

        load_catalog(location.catalog).load_table(location.identifier).append(row)
    else:
        import deltalake

        deltalake.write_deltalake(location, row, mode="append")


@pytest.mark.parametrize("layout", ["topic", "date", pytest.param("hour", marks=pytest.mark.slow)])
def test_rounds_are_continued_by_the_next_run(location: Location, layout: str) -> None:
    first = claimed(location, layout=layout)
    commit(first, 0, 3, layout)
    commit(first, 3, 5, layout)
    second = claimed(location, "second", layout)
    assert second.last_number == 2
    point = second.resume_points(WANTED)[("t", 0)]
    assert point.offset == 5
    assert point.topic_id == "an-id"
    assert rows(location) == expected(*range(5))


@pytest.mark.parametrize(
    "content", [b"{garbage", b"", b"\xff\xfe\x00", b'{"add":{"path":3}}\n'], ids=["text", "empty", "binary", "other"]
)
def test_damaged_log_of_a_delta_table_is_an_error_of_the_data(tmp_path: Path, content: bytes) -> None:
    location = DeltaTable(str(tmp_path / "table"))
    commit(claimed(location), 0, 3)
    (tmp_path / "table/_delta_log/00000000000000000000.json").write_bytes(content)
    target = open_target(location, {})
    for use in (target.read, lambda: read_export(location, {})):
        with pytest.raises(ExportDataError, match="table: the log of the table is damaged: ") as caught:
            use()
        assert "\n" not in str(caught.value)


def test_size_of_files_is_that_of_the_option_or_of_the_tables_own_property(location: Location) -> None:
    def place(target: TableTarget, file_bytes: int) -> int:
        found = target.begin(1, FileKind("topic", "parquet", 1, file_bytes))
        assert isinstance(found, TablePlace)
        return found.kind.file_bytes

    first = claimed(location)
    commit(first, 0, 3)
    assert (place(first, 0), place(first, 5000)) == (0, 5000)
    if isinstance(location, IcebergTable):
        with pyiceberg.catalog.load_catalog("lake").load_table(location.identifier).transaction() as change:
            change.set_properties({"write.target-file-size-bytes": "1048576"})
    else:
        import deltalake

        table = deltalake.DeltaTable(location)
        table.alter.set_table_properties({"delta.targetFileSize": "1MiB"})
    second = claimed(location, "second")
    assert (place(second, 0), place(second, 5000)) == (1 << 20, 5000)


def test_table_carries_the_newest_configs_and_groups(location: Location) -> None:
    target = claimed(location)
    topics = {"t": TopicFacts(2, {"retention.ms": "-1"})}
    target.commit([written(target, 0, 3)], {}, ClusterFacts(topics, {"g": {"t": {0: 1}}}))
    commit(target, 3, 5)
    second = claimed(location, "second")
    second.begin(1, FileKind("topic", "parquet", 1))
    second.commit([], {}, ClusterFacts({}, {"g": {"t": {0: 4}}, "h": {"t": {1: 0}}}))
    (manifest,) = read_export(location, {})
    assert manifest.facts == ClusterFacts(topics, {"g": {"t": {0: 4}}, "h": {"t": {1: 0}}}) == facts_in(location, {})
    assert rows(location) == expected(*range(5))


def test_commit_logs_nothing_to_the_terminal(location: Location, caplog: pytest.LogCaptureFixture) -> None:
    commit(claimed(location), 0, 3)
    assert caplog.messages == []


def test_files_of_no_commit_are_no_part_of_the_table(location: Location) -> None:
    target = claimed(location)
    written(target, 0, 3)
    assert rows(location) == []
    assert claimed(location, "second").resume_points(WANTED) == {}


def test_of_two_runs_at_once_one_commits_and_the_other_ends(location: Location) -> None:
    first, second = claimed(location, "first"), claimed(location, "second")
    mine = written(first, 0, 3)
    commit(second, 0, 3)
    with pytest.raises(FolderError, match=r"another export wrote to .* during this run"):
        first.commit([mine], {})
    assert rows(location) == expected(0, 1, 2)


def test_commit_of_another_program_in_between_is_no_conflict(location: Location) -> None:
    target = claimed(location)
    commit(target, 0, 3)
    append_as_another_program(location)
    commit(target, 3, 5)
    assert rows(location) == sorted([*expected(0, 1, 2, 3, 4), (7, b"7")])
    assert claimed(location, "next").resume_points(WANTED)[("t", 0)].offset == 5


def racing(target: TableTarget, act: Callable[[], None], monkeypatch: pytest.MonkeyPatch) -> None:
    """Have something happen between a target's look at its table and its commit, once."""
    name = "_commit" if isinstance(target, IcebergTarget) else "_round_of"
    whole = getattr(target, name)
    happened: list[bool] = []

    def interrupted(*arguments: object) -> object:
        found = None if isinstance(target, IcebergTarget) else whole(*arguments)
        if not happened:
            happened.append(True)
            act()
        return whole(*arguments) if isinstance(target, IcebergTarget) else found

    monkeypatch.setattr(target, name, interrupted)


def test_commit_of_another_program_within_a_commit_is_passed(
    location: Location, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = claimed(location)
    done = written(target, 0, 3)
    racing(target, lambda: append_as_another_program(location), monkeypatch)
    target.commit([done], {})
    assert rows(location) == sorted([*expected(0, 1, 2), (7, b"7")])


def test_commit_of_another_run_within_a_commit_ends_this_one(
    location: Location, monkeypatch: pytest.MonkeyPatch
) -> None:
    target, other = claimed(location), claimed(location, "other")
    done = written(target, 0, 3)
    racing(target, lambda: commit(other, 0, 3), monkeypatch)
    with pytest.raises(FolderError, match=r"another export wrote to .* during this run"):
        target.commit([done], {})
    assert rows(location) == expected(0, 1, 2)


def test_offsets_without_a_record_are_passed_over(location: Location) -> None:
    target = claimed(location)
    target.commit([ExportedRange("t", 0, 0, 10, 0, (), "an-id", 10)], {})
    assert claimed(location, "next").resume_points(WANTED)[("t", 0)].offset == 10


def test_records_of_a_table_are_read_back_to_be_compared(location: Location) -> None:
    target = claimed(location, layout="date")
    commit(target, 0, 3, "date")
    commit(target, 3, 5, "date")
    base = files_of(location, {})
    ranges = [each for manifest in read_export(location, {}) for each in manifest.ranges]
    assert [(each.start, each.end, each.records) for each in ranges] == [(0, 3, 3), (3, 5, 2)]
    offsets = [
        offset for each in ranges for batch in read_exported(base, each, {}) for offset in batch["offset"].to_pylist()
    ]
    assert offsets == list(range(5))


def test_files_of_another_program_cannot_be_compared(location: Location) -> None:
    commit(claimed(location), 0, 3)
    append_as_another_program(location)
    with pytest.raises(ExportDataError, match="was not written by kctl"):
        read_export(location, {})


def test_table_without_the_columns_of_records_is_no_export(location: Location) -> None:
    if isinstance(location, DeltaTable):
        import deltalake

        deltalake.DeltaTable.create(location, pa.schema([("topic", pa.string())]))
    else:
        catalog = pyiceberg.catalog.load_catalog("lake")
        catalog.create_namespace("db")
        catalog.create_table("db.orders", pa.schema([("topic", pa.string())]))
    with pytest.raises(ExportDataError, match="the table was not written by kctl: it has no column key"):
        read_export(location, {})


def test_replay_of_a_table_that_does_not_exist_is_refused(location: Location) -> None:
    request = ReplayRequest("t", {}, {}, folder=location, to_topic="t")
    with pytest.raises(FolderError, match="is not an export"):
        replay(request)


def test_other_layout_is_refused(location: Location) -> None:
    commit(claimed(location), 0, 3)
    with pytest.raises(FolderError, match="is partitioned by nothing, which does not match layout date"):
        claimed(location, "second", "date")


def test_rolled_back_table_is_exported_again_from_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from pyiceberg.catalog import load_catalog

    location = iceberg_table(tmp_path, monkeypatch)
    target = claimed(location)
    commit(target, 0, 3)
    commit(target, 3, 5)
    table = load_catalog("lake").load_table("db.orders")
    table.manage_snapshots().set_current_snapshot(table.history()[0].snapshot_id).commit()
    again = claimed(location, "again")
    assert again.resume_points() == {("t", 0): ResumePoint(3, "an-id", 99)}
    commit(again, 3, 5)
    assert rows(location) == expected(*range(5))


@pytest.mark.parametrize(
    ("given", "region"),
    [
        ({}, None),
        ({"AWS_REGION": "eu-west-1"}, "eu-west-1"),
        ({"AWS_DEFAULT_REGION": "eu-west-2"}, "eu-west-2"),
        ({"PYICEBERG_CATALOG__LAKE__S3__ENDPOINT": "http://127.0.0.1:9"}, "us-east-1"),
        ({"PYICEBERG_CATALOG__LAKE__S3__REGION": "here", "AWS_REGION": "eu-west-1"}, "here"),
    ],
)
def test_region_of_a_bucket_is_not_asked_of_amazon_where_it_is_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: dict[str, str], region: str | None
) -> None:
    """Amazon is asked for it where the properties of a table's file system have none: six seconds without a network."""
    for name in ("AWS_REGION", "AWS_DEFAULT_REGION"):
        monkeypatch.delenv(name, raising=False)
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    target = claimed(iceberg_table(tmp_path, monkeypatch))
    assert isinstance(target, IcebergTarget)
    table = target._loaded()
    assert table is not None
    assert table.io.properties.get("s3.region") == region


def test_commit_that_happened_after_its_timeout_is_continued(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The thread that waits for a catalog is left behind, so what it has sent may still be accepted."""
    location = iceberg_table(tmp_path, monkeypatch)
    target = claimed(location)
    commit(target, 0, 3)
    done = written(target, 3, 5)
    late: list[Callable[[], object]] = []

    def leave_behind(transaction: Transaction) -> None:
        late.append(lambda: accept(transaction))
        raise StoreTimeoutError("the catalog did not respond within 60s")

    accept = Transaction.commit_transaction
    with monkeypatch.context() as patched:
        patched.setattr(Transaction, "commit_transaction", leave_behind)
        with pytest.raises(StoreTimeoutError, match="the catalog did not respond"):
            target.commit([done], {})
    planned = claimed(location, "second")
    assert planned.resume_points() == {("t", 0): ResumePoint(3, "an-id", 99)}
    again = written(planned, 3, 5)
    late[0]()
    with pytest.raises(FolderError, match=r"another export wrote to .* during this run"):
        planned.commit([again], {})
    third = claimed(location, "third")
    assert third.resume_points() == {("t", 0): ResumePoint(5, "an-id", 99)}
    commit(third, 5, 6)
    assert rows(location) == expected(*range(6))


STRUCT = DecodedTypes(None, pa.struct([("id", pa.int32())]))


def decoding(
    location: Location, run_id: str = "run", types: DecodedTypes = STRUCT, layout: str = "topic"
) -> TableTarget:
    target = open_target(location, {})
    assert isinstance(target, TableTarget)
    assert target.fit({"t": types})
    target.claim(run_id, {"format": "parquet", "layout": layout, "decode": "value=avro"})
    target.resume_points(WANTED)
    return target


def decoded(target: TableTarget, start: int, end: int, layout: str = "topic") -> ExportedRange:
    """Write a range whose first record does not decode."""
    name = RangeName("t", 0, start, end)
    schema = pa.schema([field for field in target.schema if field.name in COLUMN_NAMES])
    with target.begin(1, FileKind(layout, "parquet", 1)).open(name, 0) as files:
        rows = [
            {"topic": "t", "partition": 0, "offset": n, "timestamp": n, "value": {"id": n}}
            for n in range(start + 1, end)
        ]
        files.write(pa.RecordBatch.from_pylist(rows, schema))
        wrong = {"topic": "t", "partition": 0, "offset": start, "timestamp": 0, "value": b"?", "reason": "why"}
        files.write(pa.RecordBatch.from_pylist([wrong], error_schema(SCHEMA)))
        return ExportedRange(*name, files.records, files.finish(), "an-id", 99)


def wrong_rows(location: Location) -> list[int]:
    found: Any
    if isinstance(location, IcebergTable):
        from pyiceberg.catalog import load_catalog

        found = load_catalog("lake").load_table(f"{location.identifier}_errors").scan().to_arrow()
    else:
        import deltalake

        found = deltalake.DeltaTable(f"{location}_errors").to_pyarrow_table()
    assert set(found.column("reason").to_pylist()) <= {"why"}
    return sorted(found.column("offset").to_pylist())


def decoded_ids(location: Location) -> list[object]:
    return sorted(value["id"] for _, value in rows(location))


def test_records_that_do_not_decode_are_in_a_table_of_errors(location: Location) -> None:
    target = decoding(location)
    target.commit([decoded(target, 0, 3)], {})
    target.commit([decoded(target, 3, 5)], {})
    assert decoded_ids(location) == [1, 2, 4]
    assert wrong_rows(location) == [0, 3]
    assert decoding(location, "next").resume_points(WANTED)[("t", 0)].offset == 5
    assert wrong_rows(location) == [0, 3]


@pytest.mark.slow
def test_commit_to_the_table_of_errors_that_a_kill_left_out_is_made_by_the_next_run(
    location: Location, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = decoding(location)
    target.commit([decoded(target, 0, 3)], {})

    def killed(*_arguments: object) -> None:
        raise KeyboardInterrupt

    done = decoded(target, 3, 5)
    with monkeypatch.context() as patched:
        patched.setattr(TableTarget, "_append_errors", killed)
        with pytest.raises(KeyboardInterrupt):
            target.commit([done], {})
    assert wrong_rows(location) == [0]
    again = decoding(location, "second")
    assert again.resume_points(WANTED)[("t", 0)].offset == 5
    assert wrong_rows(location) == [0, 3]
    again.commit([decoded(again, 5, 7)], {})
    assert wrong_rows(location) == [0, 3, 5]
    assert decoded_ids(location) == [1, 2, 4, 6]


@pytest.mark.slow
def test_field_that_is_new_becomes_a_column(location: Location) -> None:
    target = decoding(location)
    target.commit([decoded(target, 0, 3)], {})
    wider = DecodedTypes(None, pa.struct([("note", pa.string())]))
    later = decoding(location, "later", wider)
    assert later.schema.field("value").type == pa.struct([("id", pa.int32()), ("note", pa.string())])
    later.commit([decoded(later, 3, 5)], {})
    assert [value for _, value in rows(location)] == [{"id": n, "note": None} for n in (1, 2, 4)]


def test_table_with_decoded_columns_takes_no_bytes_and_the_other_way_round(location: Location) -> None:
    decoding(location)
    with pytest.raises(FolderError, match="value is a struct, not binary"):
        open_target(location, {}).fit({})


@pytest.mark.slow
def test_decoded_columns_are_not_compared(location: Location) -> None:
    target = decoding(location)
    target.commit([decoded(target, 0, 3)], {})
    with pytest.raises(ExportDataError, match="has decoded columns"):
        read_raw_export(location, {})


def test_table_of_topics_that_are_empty_yet_is_created_with_the_first_round(location: Location) -> None:
    target = open_target(location, {})
    assert isinstance(target, TableTarget)
    target.claim("run", {"format": "parquet", "layout": "topic", "decode": "value=avro"})
    assert target.columns() is None
    target.fit({"t": STRUCT})
    target.commit([decoded(target, 0, 3)], {})
    assert decoded_ids(location) == [1, 2]
    assert wrong_rows(location) == [0]


@pytest.mark.slow
@pytest.mark.parametrize("column", ["value.id", "partition", "topic"])
def test_table_is_partitioned_by_a_column(location: Location, column: str) -> None:
    layout = f"column:{column}"
    target = decoding(location, layout=layout)
    target.commit([decoded(target, 0, 4, layout)], {})
    again = decoding(location, "again", layout=layout)
    assert again.resume_points(WANTED)[("t", 0)].offset == 4
    again.commit([decoded(again, 4, 6, layout)], {})
    assert decoded_ids(location) == [1, 2, 3, 5]
    assert wrong_rows(location) == [0, 4]
    assert len(partitions(location)) == (4 if column == "value.id" else 1)
    with pytest.raises(FolderError, match=r"is partitioned by .*, which does not match layout topic"):
        decoding(location, "other")


def partitions(location: Location) -> set[str]:
    """Return the partitions that the format's own library finds."""
    if isinstance(location, IcebergTable):
        from pyiceberg.catalog import load_catalog

        table = load_catalog("lake").load_table(location.identifier)
        return {str(each) for each in table.inspect.partitions().column("partition").to_pylist()}
    import deltalake

    return {str(each) for each in deltalake.DeltaTable(str(location)).partitions()}


IDLE = ("t", 1)


def expiring(tmp_path: Path) -> tuple[DeltaTable, TableTarget]:
    """Return a Delta table whose positions expire after a minute, and a run that writes to it an hour ago."""
    import deltalake

    location = DeltaTable(str(tmp_path / "table"))
    target = claimed(location)
    table = deltalake.DeltaTable(location)
    table.alter.set_table_properties(
        {"delta.setTransactionRetentionDuration": "interval 1 minutes"}, raise_if_not_exists=False
    )
    target._clock = ManualClock(wall_ms=SystemClock().wall_ms() - 3_600_000)
    return location, target


def without_history(monkeypatch: pytest.MonkeyPatch, *, version: int = 7) -> None:
    """Have the log of Delta tables cleaned up, but for one commit of another program."""
    import deltalake

    commits = [{"version": version, "operation": "OPTIMIZE"}]
    monkeypatch.setattr(deltalake.DeltaTable, "history", lambda _table, _most=None: commits)


def test_position_whose_transaction_expired_is_that_of_the_newest_commit(tmp_path: Path) -> None:
    location, target = expiring(tmp_path)
    target.commit([written(target, 0, 3), ExportedRange(*IDLE, 0, 10, 0, (), "an-id", 10)], {})
    commit(target, 3, 5)
    again = claimed(location, "again")
    assert again.last_number == 2
    assert again.resume_points(WANTED) == {("t", 0): ResumePoint(5, "an-id", 99), IDLE: ResumePoint(10, "an-id", 10)}
    commit(again, 5, 6)
    assert rows(location) == expected(*range(6))


def test_commit_renews_the_transactions_of_idle_partitions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    location, target = expiring(tmp_path)
    target.commit([ExportedRange(*IDLE, 0, 10, 0, (), "an-id", 10)], {})
    target._clock = SystemClock()
    commit(target, 0, 3)
    without_history(monkeypatch)
    points = claimed(location, "again").resume_points(WANTED)
    assert {key: point.offset for key, point in points.items()} == {("t", 0): 3, IDLE: 10}


def test_expired_position_of_an_exported_topic_is_not_a_first_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    location, target = expiring(tmp_path)
    target.commit([ExportedRange(*IDLE, 0, 10, 0, (), "an-id", 10)], {})
    without_history(monkeypatch)
    with pytest.raises(ExportDataError, match="has an earlier export, but no position of t-0, t-1"):
        claimed(location, "again")


def test_files_without_a_position_are_not_a_first_run(location: Location, monkeypatch: pytest.MonkeyPatch) -> None:
    """As of brokers without topic ids, or of a table that was copied by its files."""
    target = claimed(location)
    target.commit([written(target, 0, 3)._replace(topic_id="")], {})
    if isinstance(target, IcebergTarget):
        monkeypatch.setattr(IcebergTarget, "_words_of", lambda *_: {})
    else:
        import deltalake

        without_history(monkeypatch)
        monkeypatch.setattr(deltalake.DeltaTable, "transaction_version", lambda *_: None)
    with pytest.raises(ExportDataError, match="has an earlier export, but no position of t-0"):
        claimed(location, "again")


def test_partition_that_was_added_is_exported_from_its_start(location: Location) -> None:
    commit(claimed(location), 0, 3)
    assert IDLE not in claimed(location, "again").resume_points(WANTED)


def test_first_run_that_was_killed_before_its_first_commit_is_run_again(tmp_path: Path) -> None:
    """The ids of topics are properties of the table by then."""
    location = DeltaTable(str(tmp_path / "table"))
    target: Any = claimed(location)
    target._keep_properties(Round(1, (), [written(target, 0, 3)], {}, {}))
    commit(claimed(location, "again"), 0, 3)
    assert rows(location) == expected(0, 1, 2)


def test_restored_delta_table_is_exported_again_from_there(tmp_path: Path) -> None:
    import deltalake

    location = DeltaTable(str(tmp_path / "table"))
    target = claimed(location)
    commit(target, 0, 3)
    version = deltalake.DeltaTable(location).version()
    commit(target, 3, 5)
    deltalake.DeltaTable(location).restore(version)
    again = claimed(location, "again")
    assert again.resume_points(WANTED) == {("t", 0): ResumePoint(3, "an-id", 99)}
    commit(again, 3, 6)
    assert rows(location) == expected(*range(6))
    assert claimed(location, "third").resume_points(WANTED)["t", 0].offset == 6


def test_table_that_is_restored_during_a_run_ends_the_run(tmp_path: Path) -> None:
    import deltalake

    location = DeltaTable(str(tmp_path / "table"))
    target = claimed(location)
    commit(target, 0, 3)
    version = deltalake.DeltaTable(location).version()
    commit(target, 3, 5)
    done = written(target, 5, 6)
    deltalake.DeltaTable(location).restore(version)
    with pytest.raises(FolderError, match=r"another export wrote to .* during this run"):
        target.commit([done], {})
    assert rows(location) == expected(0, 1, 2)


def test_table_restored_to_a_time_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import deltalake

    location = DeltaTable(str(tmp_path / "table"))
    commit(claimed(location), 0, 3)
    before = deltalake.DeltaTable(location).history()
    restored = {"version": 9, "operation": "RESTORE", "operationParameters": {"version": None, "timestamp": "2026"}}
    monkeypatch.setattr(deltalake.DeltaTable, "history", lambda _table, most=None: [restored, *before][:most])
    with pytest.raises(ExportDataError, match="was restored to a version without export positions"):
        open_target(location, {}).read()


@pytest.mark.parametrize("is_expired", [False, True])
def test_table_rolled_back_to_before_the_first_round_is_exported_from_the_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_expired: bool
) -> None:
    """The properties of the table still have the positions of the round that was rolled back."""
    location = iceberg_table(tmp_path, monkeypatch)
    target = claimed(location)
    append_as_another_program(location)
    target.commit([written(target, 0, 3)], {COMMITTED_AT: str(SystemClock().wall_ms())})
    table = pyiceberg.catalog.load_catalog("lake").load_table("db.orders")
    newest = table.metadata.current_snapshot_id
    assert newest is not None
    table.manage_snapshots().set_current_snapshot(table.history()[0].snapshot_id).commit()
    if is_expired:
        table.refresh().maintenance.expire_snapshots().by_id(newest).commit()
    again = claimed(location, "again")
    assert again.resume_points(WANTED) == {}
    commit(again, 0, 3)
    assert rows(location) == sorted([*expected(0, 1, 2), (7, b"7")])


def test_delta_table_in_the_directory_of_an_export_is_refused(tmp_path: Path) -> None:
    """Readers of the directory would read the files of both."""
    (tmp_path / MANIFESTS).mkdir()
    location, settings = DeltaTable(str(tmp_path)), {"format": "parquet", "layout": "topic"}
    for use in (lambda: open_target(location, {}).check(settings), lambda: claimed(location)):
        with pytest.raises(FolderError, match="is not empty and is not a Delta table"):
            use()
    assert [path.name for path in tmp_path.iterdir()] == [MANIFESTS]


RULED = pa.schema([*SCHEMA, pa.field("tenant", pa.string())])


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        ("not null", "column tenant does not allow null"),
        ("null key", "column key does not allow null"),
        ("constraint", r"constraint late \(offset >= 1000000\)"),
        ("invariant", "column tenant has an invariant constraint"),
        ("generated", "column tenant has a generation expression"),
        ("identity", "column tenant has an identity definition"),
        ("mapping", "delta.columnMapping.mode=name"),
    ],
)
def test_delta_table_with_rules_is_refused_before_anything_is_written(tmp_path: Path, rule: str, words: str) -> None:
    import deltalake

    location = DeltaTable(str(tmp_path / "table"))
    schema, facts = RULED, {}
    if rule in ("not null", "null key"):
        name = "tenant" if rule == "not null" else "key"
        at = RULED.get_field_index(name)
        schema = RULED.set(at, RULED.field(at).with_nullable(False))
    table = deltalake.DeltaTable.create(location, schema)
    if rule == "constraint":
        table.alter.add_constraint({"late": "offset >= 1000000"})
    if rule in ("invariant", "generated", "identity"):
        key = {"invariant": "delta.invariants", "generated": "delta.generationExpression"}.get(
            rule, "delta.identity.start"
        )
        facts = {key: "1"}
    log = tmp_path / "table/_delta_log/00000000000000000000.json"
    if facts or rule == "mapping":
        actions = [json.loads(line) for line in log.read_text().splitlines()]
        (metadata,) = [each["metaData"] for each in actions if "metaData" in each]
        fields = json.loads(metadata["schemaString"])
        fields["fields"][-1]["metadata"] = facts
        metadata["schemaString"] = json.dumps(fields)
        if rule == "mapping":
            metadata["configuration"] = {"delta.columnMapping.mode": "name"}
        log.write_text("\n".join(map(json.dumps, actions)))
    before = sorted(str(path) for path in tmp_path.rglob("*"))
    for use in (
        lambda: open_target(location, {}).check({"format": "parquet", "layout": "topic"}),
        lambda: claimed(location),
    ):
        with pytest.raises(FolderError, match=f"has constraints that kctl does not support: {words}"):
            use()
    assert sorted(str(path) for path in tmp_path.rglob("*")) == before


def iceberg_with(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, required: str = "") -> tuple[IcebergTable, Any]:
    """Return a table that another program has created."""
    location = iceberg_table(tmp_path, monkeypatch)
    catalog = pyiceberg.catalog.load_catalog("lake")
    catalog.create_namespace("db")
    fields = [each.with_nullable(each.name != required) for each in RULED if each.name != "headers"]
    return location, catalog.create_table("db.orders", pa.schema(fields))


@pytest.mark.parametrize("required", ["tenant", "key", "offset"])
def test_iceberg_table_with_a_required_column_is_refused_unchanged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], required: str
) -> None:
    location, table = iceberg_with(tmp_path, monkeypatch, required=required)
    with pytest.raises(
        FolderError, match=f"has constraints that kctl does not support: column {required} does not allow null"
    ):
        claimed(location, layout="date")
    assert table.refresh().schema().as_arrow().names == [each.name for each in RULED if each.name != "headers"]
    assert table.spec().fields == ()
    assert capfd.readouterr() == ("", "")


def test_empty_iceberg_table_with_a_partition_spec_of_others_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pyiceberg.transforms import BucketTransform

    location, table = iceberg_with(tmp_path, monkeypatch)
    with table.update_spec() as update:
        update.add_field("offset", BucketTransform(16), "spread")
    with pytest.raises(FolderError, match=r"is partitioned by bucket\[16\], which does not match layout topic"):
        open_target(location, {}).check({"format": "parquet", "layout": "topic"})


def test_timestamp_after_year_9999_is_written_to_a_table(location: Location) -> None:
    target = claimed(location)
    name, late_us = RangeName("t", 0, 0, 2), 1_700_000_000_000_000_000
    with target.begin(1, FileKind("topic", "parquet", 1)).open(name, 0) as files:
        rows_of = [
            {"topic": "t", "partition": 0, "offset": offset, "timestamp": at_us, "value": b"%d" % offset}
            for offset, at_us in enumerate([0, late_us])
        ]
        files.write(pa.RecordBatch.from_pylist(rows_of, SCHEMA))
        target.commit([ExportedRange(*name, files.records, files.finish(), "an-id", 99)], {})
    assert rows(location) == expected(0, 1)
    commit(target, 2, 3)
    assert rows(location) == expected(0, 1, 2)


def test_delta_log_has_the_bounds_of_each_file(tmp_path: Path) -> None:
    import deltalake

    location = DeltaTable(str(tmp_path / "table"))
    target = claimed(location)
    commit(target, 0, 3)
    commit(target, 3, 5)
    added = pa.table(deltalake.DeltaTable(location).get_add_actions(flatten=True)).sort_by("min.offset")
    assert added.column("min.offset").to_pylist() == [0, 3]
    assert added.column("max.offset").to_pylist() == [2, 4]
    assert added.column("null_count.offset").to_pylist() == [0, 0]
    assert [each.timestamp() for each in added.column("max.timestamp").to_pylist()] == [2 * 86_400, 4 * 86_400]
    found = deltalake.DeltaTable(location).to_pyarrow_table(filters=[("offset", ">", 2)])
    assert sorted(found.column("offset").to_pylist()) == [3, 4]
