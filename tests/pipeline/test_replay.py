"""`replay` on a local Spark with a real broker: what is wanted arrives once, whatever is killed; attempts count up."""

import json
import signal
from pathlib import Path
from typing import Any

import pytest

from kctl.client.errors import BrokerError, ConfigError
from kctl.client.producer import Producer
from kctl.pipeline.job_errors import FilterTimeoutError, RecordDataError
from kctl.pipeline.jobs.export import ExportRequest, export
from kctl.pipeline.jobs.replay import ReplayRequest, WantedOffsets, replay
from kctl.pipeline.jobs.replay_task import ATTEMPTS_HEADER
from kctl.pipeline.ranges import Selection
from kctl.pipeline.record_filter import RecordFilter
from kctl.pipeline.session import Session
from tests.pipeline.copies import committed_rows, run_job
from tests.pipeline.exports import Row, on_topic, produce
from tests.pipeline.processes import JobProcess
from tests.support.kafka.cluster import KafkaCluster

# PySpark leaves sockets to the garbage collector.
pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")

ORIGIN = "origin"


def replaying(kafka: KafkaCluster, topic: str, to_topic: str | None = None, **more: Any) -> ReplayRequest:
    given = {"bootstrap.servers": kafka.bootstrap(), "default.api.timeout.ms": "30000", "max.block.ms": "30000"}
    return ReplayRequest(topic, given, given, to_topic=to_topic, **more)


def values(rows: list[Row]) -> list[bytes | None]:
    return sorted((row.value for row in rows), key=lambda value: value or b"")


def attempts(rows: list[Row]) -> set[bytes | None]:
    return {value for row in rows for name, value in row.headers if name == ATTEMPTS_HEADER}


def dead_letters(kafka: KafkaCluster, *topics: str | None) -> str:
    """Return a topic that has ten records of each of these topics, by turns, in two partitions."""
    topic = kafka.create_topic(partitions=2)
    with Producer(kafka.client_properties()) as producer:
        for number in range(10 * len(topics)):
            origin = topics[number % len(topics)]
            headers = [(ORIGIN, origin.encode())] if origin is not None else []
            value = json.dumps({"number": number}).encode()
            producer.send(topic, value, b"key %d" % number, number % 2, headers, 1_700_000_000_000 + number)
    return topic


@pytest.mark.smoke
def test_records_go_to_the_topics_that_they_name_once(kafka_newest: KafkaCluster, session: Session) -> None:
    one, two = kafka_newest.create_topic(partitions=2), kafka_newest.create_topic(partitions=3)
    dead = dead_letters(kafka_newest, one, two, None, f"{two}/no topic")
    request = replaying(kafka_newest, dead, topic_header=ORIGIN)
    counted = replay(request._replace(writes=False), session=session)
    assert committed_rows(kafka_newest, one) == []
    found = replay(request, session=session)
    assert counted == found
    assert (found.read, dict(found.topics), found.misplaced) == (40, {one: 10, two: 10}, 20)
    for each in (one, two):
        rows = committed_rows(kafka_newest, each)
        assert len({row.value for row in rows}) == len(rows) == 10
        assert attempts(rows) == {b"1"}
        assert all((ORIGIN, each.encode()) in row.headers for row in rows)
    assert replay(request, session=session).records == 0, "it was replayed already"
    assert len(committed_rows(kafka_newest, one)) == 10
    rest = replay(request._replace(to_topic=two), session=session)
    assert dict(rest.topics) == {one: 10, two: 20}, "another replay: what names no topic has one now"
    assert rest.misplaced == 10


def test_only_what_is_wanted_is_replayed(kafka_newest: KafkaCluster, session: Session) -> None:
    dead, to = dead_letters(kafka_newest, None), kafka_newest.create_topic(partitions=2)
    for wanted, offsets, numbers in (
        (RecordFilter(jq=".value | fromjson | .number >= 8"), (), [8, 9]),
        (RecordFilter(since_ms=1_700_000_000_001, until_ms=1_700_000_000_003), (), [1, 2]),
        (RecordFilter(key=" [67]$"), (), [6, 7]),
        (RecordFilter(), (WantedOffsets(1, 1, 3),), [3, 5]),
        (RecordFilter(), (WantedOffsets(None, None, 1),), [0, 1]),
    ):
        request = replaying(kafka_newest, dead, to, wanted=wanted, offsets=offsets, keep_partitions=True)
        before = committed_rows(kafka_newest, to)
        assert replay(request, session=session).records == 2
        added = committed_rows(kafka_newest, to)[:]
        for row in before:
            added.remove(row)
        assert values(added) == [json.dumps({"number": number}).encode() for number in numbers]
        assert all(row.partition == json.loads(row.value or b"")["number"] % 2 for row in added)


def test_a_record_is_replayed_as_often_as_is_allowed(kafka_newest: KafkaCluster, session: Session) -> None:
    topic = kafka_newest.create_topic(partitions=1)
    dead = dead_letters(kafka_newest, topic)
    request = replaying(kafka_newest, dead, topic_header=ORIGIN, max_attempts=2)
    assert replay(request, session=session).records == 10
    back = replaying(kafka_newest, topic, dead, max_attempts=2)
    assert replay(back, session=session).records == 10, "they failed again"
    found = replay(request, session=session)
    assert (found.read, found.records, found.exhausted, found.resumed) == (10, 0, 10, True)
    assert attempts(committed_rows(kafka_newest, dead)) == {b"2"}


def test_an_export_is_replayed_with_times_and_partitions(
    kafka_newest: KafkaCluster, session: Session, tmp_path: Path
) -> None:
    topic, to = kafka_newest.create_topic(partitions=2), kafka_newest.create_topic(partitions=2)
    produce(kafka_newest.bootstrap(), topic, 600, partitions=2)
    request = replaying(kafka_newest, topic, to, folder=tmp_path / "out", keep_partitions=True, keep_timestamps=True)
    export(ExportRequest(Selection(topics=(topic,)), tmp_path / "out", request.properties), session=session)
    assert replay(request, session=session).records == 600
    replayed = committed_rows(kafka_newest, to)
    wanted = committed_rows(kafka_newest, topic)
    assert [row[1:2] + row[3:6] for row in replayed] == [row[1:2] + row[3:6] for row in wanted]
    assert [row.headers for row in replayed] == [(*row.headers, (ATTEMPTS_HEADER, b"1")) for row in wanted]
    assert replay(request, session=session).records == 0


def test_a_driver_that_is_killed_is_continued_without_a_second_copy(kafka_newest: KafkaCluster, tmp_path: Path) -> None:
    topic, to = kafka_newest.create_topic(partitions=2), kafka_newest.create_topic(partitions=1)
    produce(kafka_newest.bootstrap(), topic, 1000, partitions=2)
    arguments = ("replay", topic, "--to-topic", to, "-b", kafka_newest.bootstrap(), "--master", "local[2]")
    job = JobProcess(tmp_path, *arguments, "--rate", "100/s")
    committed = {**kafka_newest.client_properties(), "isolation.level": "read_committed"}
    try:
        job.wait_for(lambda: len(on_topic(committed, to)) > 0, "records")
        job.signal(signal.SIGKILL)
        job.ended()
        job.wait_for_children()
    finally:
        job.close()
    ended = run_job(*arguments, "--output", "json")
    assert ended.code == 0, ended.stderr
    document = json.loads(ended.stdout)
    assert 0 < document["read"] < 1000
    assert f"replayed {document['rows'][0]['records']} records (records read: {document['read']})" in ended.stderr
    assert values(committed_rows(kafka_newest, to)) == values(committed_rows(kafka_newest, topic))


def test_invalid_requests_fail_before_spark_starts(kafka_newest: KafkaCluster) -> None:
    topic = kafka_newest.create_topic(partitions=1)
    with pytest.raises(ConfigError, match=r"cannot replay topic .* to itself"):
        replay(replaying(kafka_newest, topic, topic))
    with pytest.raises(ConfigError, match="--offset lists partition 3"):
        replay(replaying(kafka_newest, topic, topic_header="h", offsets=(WantedOffsets(3, 0, 1),)))
    with pytest.raises(BrokerError, match="missing"):
        replay(replaying(kafka_newest, topic, "missing"))


def test_a_program_that_fails_names_the_record(kafka_newest: KafkaCluster, session: Session) -> None:
    dead, to = dead_letters(kafka_newest, None), kafka_newest.create_topic(partitions=1)
    with pytest.raises(RecordDataError, match=rf"cannot evaluate --jq on {dead}-\d offset \d"):
        replay(replaying(kafka_newest, dead, to, wanted=RecordFilter(jq=".value + 1")), session=session)
    assert committed_rows(kafka_newest, to) == []


def test_a_program_that_never_ends_is_ended_and_nothing_is_replayed(
    kafka_newest: KafkaCluster, session: Session
) -> None:
    dead, to = dead_letters(kafka_newest, None), kafka_newest.create_topic(partitions=1)
    request = replaying(kafka_newest, dead, to, wanted=RecordFilter(jq="last(repeat(1))"))
    request = request._replace(properties={**request.properties, "default.api.timeout.ms": "2000"})
    with pytest.raises(
        FilterTimeoutError,
        match=rf"cannot evaluate --jq on {dead}-\d offset 0 within 2s "
        rf"\(--api-timeout\)",
    ):
        replay(request, session=session)
    assert committed_rows(kafka_newest, to) == []
