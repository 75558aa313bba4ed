"""Runs of the programs in examples/ that must hold on any cluster: on the sandbox and on Kafka."""

import os
import signal
import sqlite3
import threading
from collections.abc import Callable, Mapping
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow.parquet as pq
import pytest
from starlette.testclient import TestClient

from examples import (
    admin_report,
    avro_registry,
    dead_letters,
    delivery_reports,
    exactly_once,
    fastapi_service,
    graceful_worker,
    manual_commits,
    parquet_batches,
    replay_by_time,
    worker_threads,
)
from kctl.client import Admin, Consumer, ConsumerRecord, NewTopic, Producer, TopicPartition
from kctl.client.clock import SystemClock
from tests.support.bounds import bound
from tests.support.registry.server import FakeRegistry, running

CALLS = 30
IDLE_S = 2.0
NO_CONFIGS: Mapping[str, str] = {}
PATIENCE_S = bound(60)


class Place(NamedTuple):
    """A cluster, a name that no other test uses on it, and a directory."""

    servers: str
    name: str
    directory: Path

    def topic(self, suffix: str = "", partitions: int = 3, configs: Mapping[str, str] = NO_CONFIGS) -> str:
        """Create a topic and return its name."""
        topic = f"{self.name}{suffix}"
        with Admin({"bootstrap.servers": self.servers}) as admin:
            admin.create_topics([NewTopic(topic, partitions, 1, configs=configs)]).raise_first()
            admin.wait_for_topics([topic], timeout=PATIENCE_S)
        return topic

    def fill(self, topic: str, count: int, *, first_ms: int | None = None) -> None:
        """Write the numbers from 0 with the keys k0 to k9, to all partitions, a second apart."""
        with Producer({"bootstrap.servers": self.servers}) as producer:
            for number in range(count):
                at_ms = None if first_ms is None else first_ms + 1000 * number
                producer.send(topic, b"%d" % number, b"k%d" % (number % 10), timestamp_ms=at_ms)

    def read(self, topic: str, count: int) -> list[ConsumerRecord]:
        """Return the first committed records of a topic."""
        config = {
            "bootstrap.servers": self.servers,
            "auto.offset.reset": "earliest",
            "isolation.level": "read_committed",
        }
        found: list[ConsumerRecord] = []
        with Consumer(config) as consumer:
            consumer.assign([TopicPartition(topic, each.partition) for each in consumer.partitions_for(topic)])
            while len(found) < count and (more := consumer.poll(PATIENCE_S)):
                found += more
            found += consumer.poll(0)
        return found

    def committed(self, group: str) -> int:
        """Return the sum of the committed offsets of a group."""
        with Admin({"bootstrap.servers": self.servers}) as admin:
            found = admin.list_group_offsets(group).done.values()
            return sum(each.offset for each in found if each is not None)


def in_calls(count: int, call: Callable[[], int]) -> int:
    """Call until that many records are processed; return their number. A call ends early if its group starts slowly."""
    processed = 0
    for _ in range(CALLS):
        processed += call()
        if processed >= count:
            break
    return processed


def numbers(count: int) -> list[bytes]:
    return sorted(b"%d" % number for number in range(count))


def delivery_reports_name_the_place_of_each_record(place: Place) -> None:
    topic = place.topic(partitions=1)
    reports = delivery_reports.send(place.servers, topic, [b"a", b"b"])
    assert reports == [f"{topic}-0 offset 0", f"{topic}-0 offset 1"]


def delivery_reports_name_the_error_of_a_record(place: Place) -> None:
    topic = place.topic(partitions=1, configs={"max.message.bytes": "100"})
    assert "not delivered" in delivery_reports.send(place.servers, topic, [bytes(1000)])[0]


def stored_records_are_committed_and_stored_once(place: Place) -> None:
    topic, database = place.topic(), str(place.directory / "records.sqlite")
    place.fill(topic, 30)
    assert in_calls(30, lambda: manual_commits.store(place.servers, topic, topic, database, IDLE_S)) == 30
    assert place.committed(topic) == 30
    assert manual_commits.store(place.servers, topic, topic, database, IDLE_S) == 0
    assert in_calls(30, lambda: manual_commits.store(place.servers, topic, f"{topic}-again", database, IDLE_S)) == 30
    with closing(sqlite3.connect(database)) as tables:
        assert tables.execute("select count(*) from records").fetchone() == (30,)


def copied_records_are_in_the_target_once(place: Place) -> None:
    source, target = place.topic("-in"), place.topic("-out")
    place.fill(source, 30)
    assert in_calls(30, lambda: exactly_once.copy(place.servers, source, target, place.name, IDLE_S)) == 30
    assert exactly_once.copy(place.servers, source, target, place.name, IDLE_S) == 0
    assert sorted(record.value or b"" for record in place.read(target, 30)) == numbers(30)


def exported_files_have_all_records(place: Place) -> None:
    topic = place.topic()
    place.fill(topic, 30)
    values: list[bytes] = []

    def export() -> int:
        files = parquet_batches.export(place.servers, topic, topic, place.directory, IDLE_S)
        found = [value for file in files for value in pq.read_table(file).column("value").to_pylist()]
        values.extend(found)
        return len(found)

    assert in_calls(30, export) == 30
    assert sorted(values) == numbers(30)
    assert place.committed(topic) == 30
    assert list(place.directory.glob("*.partial")) == []


def records_of_threads_are_committed_up_to_the_first_unfinished_one(place: Place) -> None:
    topic = place.topic(partitions=1)
    place.fill(topic, 40)
    done: list[bytes] = []
    may_end = threading.Event()

    def work(record: ConsumerRecord) -> None:
        if record.value == b"7":
            raise ValueError("no such order")
        if record.value == b"3":
            may_end.wait(PATIENCE_S)
        done.append(record.value or b"")
        if len(done) == 30:
            may_end.set()

    worker_threads.process(place.servers, topic, topic, work, 40, threads=4)
    assert sorted(done) == sorted({*numbers(40)} - {b"7"})
    assert done.index(b"3") >= 30, "the records were processed out of order"
    assert place.committed(topic) == 7


def service_acknowledges_orders_and_counts_them(place: Place) -> None:
    topic = place.topic()
    with TestClient(fastapi_service.make_app(place.servers, topic, topic)) as client:
        for number in range(3):
            response = client.post("/orders/ann", content=b"%d" % number)
            assert (response.status_code, response.json()["offset"]) == (200, number)
        counts: dict[str, int] = {}
        for _ in range(100):
            counts = client.get("/orders").json()
            if counts == {"ann": 3}:
                break
            client.post("/orders/bob", content=b"wait")
        assert counts["ann"] == 3
    assert place.committed(topic) >= 3


def orders_travel_as_avro_by_the_registry(place: Place) -> None:
    topic = place.topic()
    orders = {"ann": avro_registry.Order("apples", 2), "bob": avro_registry.Order("pears", 3)}
    with running(FakeRegistry()) as fake:
        avro_registry.send(place.servers, fake.url, topic, orders)
        assert avro_registry.read(place.servers, fake.url, topic, topic, 2) == orders
    assert all((record.value or b"")[:1] == b"\0" for record in place.read(topic, 2))


def report_has_the_lag_of_each_group(place: Place) -> None:
    with Admin({"bootstrap.servers": place.servers}) as admin:
        for _ in range(2):
            admin_report.prepare(admin, place.name, "User:ann")
        assert place.name in {rule.resource_name for rule in admin.describe_acls()}
        place.fill(place.name, 30)
        admin.alter_group_offsets(place.name, {TopicPartition(place.name, 0): 0}).raise_first()
        (lag,) = admin_report.lags(admin)[place.name].values()
        assert lag == admin.list_offsets({TopicPartition(place.name, 0): -1}).done[TopicPartition(place.name, 0)].offset


def replay_has_the_records_of_the_period(place: Place) -> None:
    topic = place.topic()
    first_ms = SystemClock().wall_ms() - 3_600_000
    place.fill(topic, 30, first_ms=first_ms)

    def at(second: int) -> datetime:
        return datetime.fromtimestamp(first_ms / 1000 + second, UTC)

    def found(start: int, end: int) -> list[int]:
        records = replay_by_time.records_between(place.servers, topic, at(start), at(end))
        return sorted(int(record.value or b"") for record in records)

    assert found(5, 20) == list(range(5, 20))
    assert found(-5, 100) == list(range(30))
    assert found(40, 50) == []


def unusable_records_become_dead_letters(place: Place) -> None:
    topic, dead = place.topic(partitions=1), place.topic("-dead", partitions=1)
    with Producer({"bootstrap.servers": place.servers}) as producer:
        for value in (b'{"id": 1}', b"{", b'{"id": -2}', b'{"id": 3}'):
            producer.send(topic, value, b"k", headers=[("trace", b"a1")])
    processed: list[int] = []

    def work(order: Any) -> None:
        if order["id"] < 0:
            raise ValueError("a negative id")
        processed.append(order["id"])

    assert in_calls(2, lambda: dead_letters.process(place.servers, topic, dead, topic, work, IDLE_S)) == 2
    assert processed == [1, 3]
    letters = place.read(dead, 2)
    assert [letter.value for letter in letters] == [b"{", b'{"id": -2}']
    for letter, offset in zip(letters, (b"1", b"2"), strict=True):
        headers: Mapping[str, bytes | None] = dict(letter.headers)
        assert (headers["trace"], headers["__connect.errors.offset"]) == (b"a1", offset)
    assert place.committed(topic) == 4


def worker_stops_on_sigterm_and_commits_its_records(place: Place) -> None:
    topic = place.topic(partitions=1)
    place.fill(topic, 30)
    done: list[bytes] = []

    def work(value: bytes) -> None:
        done.append(value)
        if len(done) == 25:
            os.kill(os.getpid(), signal.SIGTERM)

    result = graceful_worker.run(place.servers, topic, topic, work)
    assert result.left_group
    assert len(done) >= 25
    assert place.committed(topic) == len(done)
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


RUNS: tuple[Callable[[Place], None], ...] = (
    delivery_reports_name_the_place_of_each_record,
    delivery_reports_name_the_error_of_a_record,
    stored_records_are_committed_and_stored_once,
    copied_records_are_in_the_target_once,
    exported_files_have_all_records,
    records_of_threads_are_committed_up_to_the_first_unfinished_one,
    service_acknowledges_orders_and_counts_them,
    orders_travel_as_avro_by_the_registry,
    report_has_the_lag_of_each_group,
    replay_has_the_records_of_the_period,
    unusable_records_become_dead_letters,
    worker_stops_on_sigterm_and_commits_its_records,
)
in_every_run = pytest.mark.parametrize("run", RUNS, ids=lambda run: run.__name__)
