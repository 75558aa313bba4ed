"""`kctl pipeline stats` as a whole process on real Kafka: what it counts is what was produced."""

import json
from pathlib import Path

from kctl.client.producer import Producer
from tests.pipeline.copies import run_job
from tests.pipeline.exports import on_topic, produce
from tests.support.in_process import run_in_process
from tests.support.kafka.cluster import KafkaCluster

RECORDS = 900


def test_counts_are_those_of_the_records(kafka_newest: KafkaCluster, tmp_path: Path) -> None:
    topic = kafka_newest.create_topic(partitions=4)
    produce(kafka_newest.bootstrap(), topic, RECORDS, partitions=3)
    framed = [b"\x00" + number.to_bytes(4, "big") + b"<x>" for number in [7] * 20 + [300] * 10]
    writing = {"bootstrap.servers": kafka_newest.bootstrap(), "transactional.id": topic}
    with Producer(writing) as producer:
        producer.init_transactions()
        producer.begin_transaction()
        for value in framed:
            producer.send(topic, value, b"<script>", 0, timestamp_ms=1)
        producer.commit_transaction()
    rows = on_topic(kafka_newest.client_properties(), topic)
    page = tmp_path / "stats.html"

    at = (topic, "-b", kafka_newest.bootstrap(), "--master", "local[2]", "--output", "json")
    planned = run_in_process("pipeline", "stats", *at, "--dry-run")
    assert sum(row["offsets"] for row in json.loads(planned.stdout)["rows"]) == RECORDS + len(framed) + 1
    ended = run_job("stats", *at, "--html", str(page))
    assert ended.code == 0, ended.stderr
    document = json.loads(ended.stdout)
    assert [row["partition"] for row in document["rows"]] == [0, 1, 2, 3]
    for found in document["rows"]:
        mine = [row for row in rows if row.partition == found["partition"]]
        values = [row.value for row in mine if row.value is not None]
        assert found["records"] == len(mine)
        assert found["gaps"] == (1 if found["partition"] == 0 else 0), "the marker of the transaction"
        assert found["null_keys"] == sum(row.key is None for row in mine)
        assert found["null_values"] == len(mine) - len(values)
        assert found["value_bytes"] == sum(map(len, values))
        assert found["max_value_bytes"] == max(map(len, values), default=0)
        assert found["first_timestamp_ms"] == min((row.timestamp_ms for row in mine), default=None)
        assert found["unordered"] == (1 if found["partition"] == 0 else 0)
    assert document["total"]["schema_ids"] == [{"schema_id": 7, "records": 20}, {"schema_id": 300, "records": 10}]
    assert document["skew"] == max(row["records"] for row in document["rows"]) * 4 / (RECORDS + len(framed))
    assert f"{RECORDS + len(framed)} records, about " in ended.stderr
    written = page.read_text()
    assert "&lt;script&gt;" in written
    assert "<script>" not in written
