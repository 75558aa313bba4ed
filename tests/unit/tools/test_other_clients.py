"""Page for programs that use another Python client: the installed clients have its names."""

import re
import warnings
from typing import Any

import pytest

import kctl.client
import kctl.serdes
import kctl.testing
from kctl.client import Admin, Consumer, Producer, aio, otel
from kctl.client.config import ConsumerConfig, ProducerConfig
from kctl.client.config.property import Property
from tools.other_clients import ADMIN, CONSUMER, OTHER, PRODUCER, SECTIONS, SETTINGS, Row, python_clients

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # of their imports
    import confluent_kafka
    import kafka
    import kafka.errors
    from confluent_kafka import admin as confluent_admin
    from confluent_kafka import aio as confluent_aio
    from confluent_kafka import schema_registry
    from confluent_kafka.schema_registry import avro as confluent_avro

LEAST_ROWS = 60
CONFLUENT = (confluent_kafka, confluent_kafka.cimpl, confluent_admin, schema_registry, confluent_avro)
CALLS = (
    (PRODUCER, confluent_kafka.Producer, kafka.KafkaProducer, Producer),
    (CONSUMER, confluent_kafka.Consumer, kafka.KafkaConsumer, Consumer),
    (ADMIN, confluent_admin.AdminClient, kafka.KafkaAdminClient, Admin),
)


def missing(names: str, home: Any) -> list[str]:
    """Return the names of a cell that a class does not have; `iteration` is a loop over its objects."""
    found = [re.split(r"[(.]", name)[0] for name in re.split(r", (?![^(]*\))", names) if name]
    return [name for name in found if not hasattr(home, "__iter__" if name == "iteration" else name)]


@pytest.mark.parametrize(("rows", "confluent", "kafka_python", "own"), CALLS)
def test_calls_are_those_of_the_clients(rows: tuple[Row, ...], confluent: Any, kafka_python: Any, own: Any) -> None:
    assert [each for row in rows for each in missing(row.confluent, confluent)] == []
    assert [each for row in rows for each in missing(row.kafka_python, kafka_python)] == []
    assert [each for row in rows for each in missing(row.kctl, own)] == []


def test_wrong_name_is_found() -> None:
    assert missing("send(...).result, sent, transaction(a, b)", Producer) == ["sent"]


def properties_of(config: type[ConsumerConfig] | type[ProducerConfig]) -> list[Property[Any]]:
    members = [value for base in config.__mro__ for value in vars(base).values()]
    return [value for value in members if isinstance(value, Property)]


def test_settings_are_those_of_the_clients() -> None:
    arguments = {*kafka.KafkaProducer.DEFAULT_CONFIG, *kafka.KafkaConsumer.DEFAULT_CONFIG}
    assert [row.kafka_python for row in SETTINGS if row.kafka_python and row.kafka_python not in arguments] == []
    properties = {each.name for kind in (ConsumerConfig, ProducerConfig) for each in properties_of(kind)}
    own = [row.kctl for row in SETTINGS if "." in row.kctl]
    assert [name for name in own if name not in properties] == []
    for row in SETTINGS:
        if "." in row.confluent:  # librdkafka rejects names that it does not know
            confluent_kafka.Producer(
                {"bootstrap.servers": "127.0.0.1:1", row.confluent: VALUES.get(row.confluent, "1")}
            )


VALUES = {
    "acks": "all",
    "auto.offset.reset": "earliest",
    "bootstrap.servers": "127.0.0.1:1",
    "compression.type": "gzip",
    "enable.auto.commit": "true",
}


def test_classes_are_those_of_the_clients() -> None:
    for row in OTHER:
        for name in filter(None, re.split(r", ", row.confluent)):
            path = name.replace("()", "").split(".")
            if path[0] == "aio":
                assert hasattr(confluent_aio, path[1]), name
            elif path[0] != "test":
                found: Any = next(getattr(home, path[0]) for home in CONFLUENT if hasattr(home, path[0]))
                assert len(path) == 1 or hasattr(found, path[1]), name
    assert issubclass(kafka.errors.KafkaError, Exception)
    assert hasattr(kafka.errors.KafkaError, "retriable")
    for home, names in (
        (aio, ("AsyncProducer", "AsyncConsumer")),
        (kctl.serdes, ("Registry", "TypedProducer", "TypedConsumer")),
        (kctl.testing, ("KafkaSandbox",)),
        (kctl.client.errors, ("KafkaError",)),
        (otel, ("Telemetry",)),
    ):
        for name in names:
            assert name in python_clients()
            assert hasattr(home, name)
    for name in ("value", "headers", "timestamp_ms"):
        assert hasattr(kctl.client.ConsumerRecord, name)


def test_page_has_a_row_for_most_calls() -> None:
    rows = [line for line in python_clients().splitlines() if line.startswith("| ")]
    assert len(rows) - len(SECTIONS) >= LEAST_ROWS
    assert all(len(re.split(r"(?<!\\)\|", line)) == 7 for line in rows), "five cells"
