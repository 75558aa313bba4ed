"""Random records through each target and back: whole int64 timestamps, empty and null keys, headers, codecs, aborts."""

from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
from obstore.store import MemoryStore

from kctl.client.admin import Admin, ConfigResource, NewTopic, ResourceType
from kctl.client.producer import Producer
from kctl.client.records import LAST_TIMESTAMP_MS
from kctl.pipeline import isolation
from kctl.pipeline.export_files.bad_records import LARGEST_MS
from kctl.pipeline.export_files.exported_records import read_exported
from kctl.pipeline.jobs.export import ExportRequest, export
from kctl.pipeline.jobs.file_import import ImportRequest, import_files
from kctl.pipeline.jobs.mirror import MirrorRequest, mirror
from kctl.pipeline.jobs.replay import ReplayRequest, replay
from kctl.pipeline.jobs.replay_task import ATTEMPTS_HEADER
from kctl.pipeline.jobs.verify import VerifyRequest, verify
from kctl.pipeline.locations import DeltaTable, Location, StoreUrl
from kctl.pipeline.object_store import store
from kctl.pipeline.range_reader import read_range
from kctl.pipeline.ranges import Selection, plan_ranges
from kctl.pipeline.targets import exported_ranges, files_of
from kctl.sandbox.sandbox import Sandbox
from tests.support.spark_in_process import session_in_process
from tests.unit.pipeline.lake_tables.test_table_targets import iceberg_table

CODECS = ["none", "gzip", "lz4", "snappy"]
EDGES_MS = [
    *(-(2**63), LAST_TIMESTAMP_MS, LARGEST_MS, LARGEST_MS + 1, -LARGEST_MS - 1),
    *(-1, 0, -62_135_596_800_001, 253_402_300_800_000),
]
UNLIMITED = {"message.timestamp.after.max.ms": str(2**63 - 1), "retention.ms": "-1"}
Record = tuple[int, int, int | None, bytes | None, bytes | None, tuple[tuple[str, bytes | None], ...]]
"""Partition, offset, timestamp, key, value and headers."""


def records(rng: Random, count: int) -> list[tuple[bytes | None, bytes | None, int, list[tuple[str, bytes | None]]]]:
    """Return random records: key, value, timestamp and headers."""

    def content() -> bytes | None:
        return rng.choice([None, b"", rng.randbytes(rng.randrange(40))])

    return [
        (
            content(),
            content(),
            rng.choice([*EDGES_MS, rng.randrange(-(2**63), 2**63), rng.randrange(2 * 10**12)]),
            [(rng.choice(["", "a", "\u00e9-x"]), content()) for _ in range(rng.randrange(3))],
        )
        for _ in range(count)
    ]


@pytest.fixture(scope="module")
def bootstrap() -> Iterator[str]:
    """A cluster with random records in both partitions of `t`, some in transactions that were aborted."""
    rng = Random(36)
    with Sandbox(nodes=1, topics={"t": 2}).serve() as served:
        given: dict[str, object] = {"bootstrap.servers": served.bootstrap}
        with Admin(given) as admin:
            admin.alter_configs({ConfigResource(ResourceType.TOPIC, "t"): UNLIMITED}).raise_first()
        for number, codec in enumerate(CODECS):
            with Producer({**given, "compression.type": codec, "transactional.id": f"x-{number}"}) as producer:
                producer.init_transactions()
                for is_committed in (True, False, True):
                    producer.begin_transaction()
                    for key, value, at_ms, headers in records(rng, 20):
                        producer.send("t", value, key, timestamp_ms=at_ms, headers=headers, partition=rng.randrange(2))
                    (producer.commit_transaction if is_committed else producer.abort_transaction)()
        yield served.bootstrap


def of_batch(batch: Any) -> list[Record]:
    times = batch.column("timestamp")
    rows = zip(
        batch.column("partition").to_pylist() if "partition" in batch.schema.names else [0] * batch.num_rows,
        batch.column("offset").to_pylist(),
        [at if at is None or times.type.unit == "ms" else at // 1000 for at in times.view("int64").to_pylist()],
        batch.column("key").to_pylist(),
        batch.column("value").to_pylist(),
        (tuple((each["key"], each["value"]) for each in row or ()) for row in batch.column("headers").to_pylist()),
        strict=True,
    )
    return list(rows)


def in_topic(bootstrap: str, topic: str) -> list[Record]:
    reading = isolation.of_source({"bootstrap.servers": bootstrap})
    columns = ("partition", "offset", "timestamp", "key", "value", "headers")
    whole = plan_ranges(reading, Selection(topics=(topic,)))
    found = [
        row for each in whole for batch in read_range(reading, each, columns, is_exact=True) for row in of_batch(batch)
    ]
    return sorted(found, key=lambda row: row[:2])


@pytest.mark.parametrize("layout", ["topic", "hour", "column:hour(timestamp)", "column:partition"])
@pytest.mark.parametrize("kind", ["parquet", "json", "store", "delta", "iceberg"])
def test_copy_has_each_committed_record_once(
    bootstrap: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, layout: str
) -> None:
    location: Location = tmp_path / "x"
    if kind in ("delta", "iceberg"):
        location = DeltaTable(str(tmp_path / "x")) if kind == "delta" else iceberg_table(tmp_path, monkeypatch)
    if kind == "store":
        location, kept = StoreUrl("s3://bucket/x"), MemoryStore()
        monkeypatch.setattr(store, "_opened", lambda *_: kept)
    given: dict[str, object] = {"bootstrap.servers": bootstrap}
    request = ExportRequest(
        *(Selection(topics=("t",)), location, given),
        format="json" if kind == "json" else "parquet",
        layout=layout,
        on_bad_record="null",
        range_bytes=2_000,
    )
    source = in_topic(bootstrap, "t")
    assert len(source) == 40 * len(CODECS)
    with session_in_process() as session:
        result = export(request, session=session)
        assert export(request, session=session).records == 0
        compared = verify(VerifyRequest("t", given, folder=location), session=session)
    first, end = (-LARGEST_MS, LARGEST_MS + 1)
    if kind == "iceberg" and layout == "hour":
        first, end = -62_135_596_800_000, 253_402_300_800_000

    def held(row: Record) -> Record:
        at_ms = row[2]
        is_held = kind == "json" or (at_ms is not None and first <= at_ms < end)
        return row if is_held else (*row[:2], None, *row[3:])

    base = files_of(location, {})
    copied = [
        row
        for each in exported_ranges(location, "t", {})
        for batch in read_exported(base, each, {})
        for row in of_batch(batch)
    ]
    assert sorted(copied, key=lambda row: row[:2]) == [held(row) for row in source]
    assert result.records == len(source)
    assert sum(each.differences.all for each in compared.partitions) == result.bad_records
    assert result.bad_records == sum(held(row) != row for row in source)


def test_import_of_json_lines_writes_every_record_back(bootstrap: str, tmp_path: Path) -> None:
    given: dict[str, object] = {"bootstrap.servers": bootstrap}
    with Admin(given) as admin:
        admin.create_topics([NewTopic("back", 2, configs=UNLIMITED)]).raise_first()
    with session_in_process() as session:
        export(ExportRequest(Selection(topics=("t",)), tmp_path / "x", given, format="json"), session=session)
        request = ImportRequest(tmp_path / "x", given, topic="back", keep_partitions=True, keep_timestamps=True)
        import_files(request, session=session)
    back = [(row[0], *row[2:]) for row in in_topic(bootstrap, "back")]
    assert back == [(row[0], *row[2:]) for row in in_topic(bootstrap, "t")]


@pytest.mark.parametrize("copy", ["mirror", "replay"])
def test_copy_of_a_topic_has_each_committed_record_once(bootstrap: str, copy: str) -> None:
    given: dict[str, object] = {"bootstrap.servers": bootstrap}
    with Admin(given) as admin:
        admin.create_topics([NewTopic(copy, 2, configs=UNLIMITED)]).raise_first()
    with session_in_process() as session:
        for expected in (40 * len(CODECS), 0):
            if copy == "mirror":
                copied = mirror(MirrorRequest(("t",), given, given, target_topic=copy), session=session).records
            else:
                request = ReplayRequest("t", given, given, to_topic=copy, keep_partitions=True, keep_timestamps=True)
                copied = replay(request, session=session).records
            assert copied == expected
        compared = verify(VerifyRequest("t", given, target_topic=copy, target_properties=given), session=session)
    source, found = in_topic(bootstrap, "t"), in_topic(bootstrap, copy)
    added = ((ATTEMPTS_HEADER, b"1"),) if copy == "replay" else ()
    assert [(row[0], *row[2:5], row[5]) for row in found] == [(row[0], *row[2:5], row[5] + added) for row in source]
    assert compared.is_equal == (copy == "mirror")
