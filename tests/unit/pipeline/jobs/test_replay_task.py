"""Transactions of `replay` at low rates, and requests that it refuses before it looks at any broker."""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from kctl.client.clock import ManualClock
from kctl.client.errors import ConfigError
from kctl.pipeline.export_files.manifests import MANIFESTS, ExportedRange, Manifest, write_manifest
from kctl.pipeline.filter_process import FilterProcess
from kctl.pipeline.job_errors import ExportDataError
from kctl.pipeline.jobs import replay_task
from kctl.pipeline.jobs.mirror_positions import POSITIONS_TOPIC, MirrorTarget
from kctl.pipeline.jobs.replay import ReplayRequest, WantedOffsets, replay
from kctl.pipeline.jobs.replay_task import COMMIT_MS, Destination, Replayed, ReplayTask
from kctl.pipeline.ranges import OffsetRange
from kctl.pipeline.record_columns import schema_of
from kctl.pipeline.record_filter import COLUMNS, RecordFilter

ROWS = [{"value": b"%d" % offset, "topic": "t", "partition": 0, "offset": offset} for offset in range(5)]


class NotingProducer:
    """Notes how long each transaction was open after its first record, and the values that were committed."""

    def __init__(self, clock: ManualClock) -> None:
        self.clock = clock
        self.open_ms: list[int] = []
        self.committed: list[bytes | None] = []
        self.positions: list[dict[str, Any]] = []
        self._sent: list[bytes | None] = []
        self._since_ms: int | None = None

    def begin_transaction(self) -> None:
        assert not self._sent
        self._since_ms = None

    def send_columns(self, _topic: str, values: list[bytes | None], *_: object) -> None:
        self._since_ms = self.clock.now_ms() if self._since_ms is None else self._since_ms
        self._sent += values

    def send(self, *_: object, value: bytes, **__: object) -> None:
        """Take a position."""
        self.positions.append(json.loads(value))

    def commit_transaction(self) -> None:
        if self._since_ms is not None:
            self.open_ms.append(self.clock.now_ms() - self._since_ms)
        self.committed += self._sent
        self._sent = []


def test_topics_that_headers_name_are_not_created() -> None:
    task = ReplayTask(
        "run",
        OffsetRange("t", 0, 0, 5),
        (),
        None,
        MirrorTarget("t", "kctl-replay.test"),
        RecordFilter(),
        Destination(None, "to", None, 3, False, False),
        None,
        {},
        {"bootstrap.servers": "unused:1"},
        True,
    )
    assert task.producer_properties()["allow.auto.create.topics"] == "false"
    own = task._replace(target_properties={**task.target_properties, "allow.auto.create.topics": "true"})
    assert own.producer_properties()["allow.auto.create.topics"] == "true"


@pytest.mark.parametrize(
    ("rate_per_s", "offsets"), [(0.001, [1, 2, 3, 4, 5, 5]), (0.5, [3, 5]), (100.0, [5]), (None, [5])]
)
def test_no_transaction_is_open_while_a_low_rate_is_kept(
    monkeypatch: pytest.MonkeyPatch, rate_per_s: float | None, offsets: list[int]
) -> None:
    clock = ManualClock()
    batch = pa.RecordBatch.from_pylist(ROWS, schema_of(COLUMNS))
    monkeypatch.setattr(replay_task, "_batches", lambda _task, _start: iter([batch]))
    target = MirrorTarget("t", "kctl-replay.test")
    destination = Destination("u", None, None, 3, False, False)
    task = ReplayTask(
        "run", OffsetRange("t", 0, 0, 5), (), None, target, RecordFilter(), destination, rate_per_s, {}, {}, True
    )
    producer = NotingProducer(clock)
    begun_at_ms = clock.now_ms()
    chosen = FilterProcess(task.wanted, 1)
    copy = replay_task._Copy(task, producer, chosen, clock, lambda wait_s: clock.advance(round(wait_s * 1000)))  # type: ignore[arg-type]
    assert copy.run(0, Replayed()).records == 5
    assert [(each["offset"], each["counts"][0]) for each in producer.positions] == [
        (offset, offset) for offset in offsets
    ], "each position has the count of what is before it"
    assert producer.committed == [row["value"] for row in ROWS]
    assert max(producer.open_ms) < COMMIT_MS
    assert clock.now_ms() - begun_at_ms == (0 if rate_per_s is None else pytest.approx(5000 / rate_per_s, abs=2))


@pytest.mark.parametrize(
    ("offsets", "problem"),
    [
        (
            (WantedOffsets(0, 1, 2), WantedOffsets(0, 5, 6)),
            "--offset appears twice for partition 0: use one range for each partition",
        ),
        ((WantedOffsets(None, 1, 2), WantedOffsets(None, 5, None)), "--offset appears twice for all partitions"),
        ((WantedOffsets(3, 2, 1),), "invalid --offset '2:1' for partition 3: use an end that is not before the start"),
    ],
)
def test_offsets_of_which_some_would_be_left_out_are_refused(offsets: tuple[WantedOffsets, ...], problem: str) -> None:
    with pytest.raises(ConfigError, match=problem):
        replay(ReplayRequest("t", {}, {}, to_topic="u", offsets=offsets))


@pytest.mark.parametrize("to_topic", [None, "u"])
def test_records_that_name_a_topic_of_kafka_or_kctl_itself_are_misplaced(to_topic: str | None) -> None:
    names = [
        "__consumer_offsets",
        "__transaction_state",
        "__share_group_state",
        POSITIONS_TOPIC,
        "source",
        "",
        "a/b",
        "w",
    ]
    rows = [
        {**row, "headers": [{"key": "to", "value": name.encode()}]} for row, name in zip(ROWS * 2, names, strict=False)
    ]
    batch = pa.RecordBatch.from_pylist([*rows, ROWS[0]], schema_of(COLUMNS))
    destination = Destination(to_topic, "to", "source", 3, False, False)
    target = MirrorTarget("source", "kctl-replay.test")
    offsets = OffsetRange("source", 0, 0, 9)
    task = ReplayTask("run", offsets, (), None, target, RecordFilter(), destination, None, {}, {}, True)
    placed, counts = replay_task._placed(task, batch, FilterProcess(task.wanted, 1))
    without_header = [] if to_topic is None else [to_topic]
    assert placed.column("topic").to_pylist() == ["w", *without_header]
    assert (counts.read, counts.misplaced) == (9, 8 - len(without_header))


def test_export_with_decoded_columns_is_refused(tmp_path: Path) -> None:
    exported = ExportedRange("t", 0, 0, 1, 1, ())
    (tmp_path / MANIFESTS).mkdir()
    write_manifest(tmp_path, Manifest(1, {"format": "parquet", "decode": "value=avro"}, (exported,), 1), tmp_path)
    with pytest.raises(ExportDataError, match=r"has decoded columns \(value=avro\)"):
        replay(ReplayRequest("t", {}, {}, folder=tmp_path, to_topic="u"))
