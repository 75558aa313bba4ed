"""A producer's properties."""

import pytest

from kctl.client.config import ProducerConfig
from kctl.client.errors import ConfigError


def parse(**properties: object) -> ProducerConfig:
    given = {name.replace("_", "."): value for name, value in properties.items()}
    return ProducerConfig.parse({"bootstrap.servers": "a:1", **given})


def refused(why: str, **properties: object) -> None:
    with pytest.raises(ConfigError, match=why):
        parse(**properties)


@pytest.mark.parametrize(("raw", "acks"), [("all", -1), ("ALL", -1), ("-1", -1), ("0", 0), (1, 1), (-1, -1)])
def test_acks(raw: object, acks: int) -> None:
    assert parse(acks=raw).acks == acks


@pytest.mark.parametrize("raw", ["2", 2, True, "leader", ""])
def test_bad_acks(raw: object) -> None:
    refused("invalid acks .*: use one of all, -1, 0, 1", acks=raw)


def test_delivery_covers_a_batch_and_one_request() -> None:
    refused(
        r"delivery.timeout.ms=1000 conflicts with request.timeout.ms=1000: "
        r"the delivery timeout must be at least linger.ms \+ request.timeout.ms = 1005",
        delivery_timeout_ms=1000,
        request_timeout_ms=1000,
    )
    refused("delivery.timeout.ms=1000 conflicts with linger.ms=900", delivery_timeout_ms=1000, linger_ms=900)
    assert parse(delivery_timeout_ms=1000).delivery_timeout_ms == 1000
    assert parse(request_timeout_ms=200_000).delivery_timeout_ms == 200_005
    assert parse(delivery_timeout_ms=1005, request_timeout_ms=1000).delivery_timeout_ms == 1005


@pytest.mark.parametrize("undoing", [{"acks": "1"}, {"retries": 0}])
def test_idempotence_is_given_up_unless_it_was_asked_for(undoing: dict[str, object]) -> None:
    assert parse().enable_idempotence
    assert not parse(**undoing).enable_idempotence
    refused("enable.idempotence=true conflicts with", enable_idempotence=True, **undoing)
    refused("transactional.id=t conflicts with", transactional_id="t", **undoing)


def test_order_needs_few_in_flight() -> None:
    refused(
        "max.in.flight.requests.per.connection=6 needs enable.idempotence=false",
        **{"max_in_flight_requests_per_connection": 6},
    )
    config = parse(max_in_flight_requests_per_connection=6, enable_idempotence="false")
    assert config.max_in_flight_requests_per_connection == 6


def test_transactions_need_idempotence() -> None:
    refused(
        "transactional.id=t conflicts with enable.idempotence=false", transactional_id="t", enable_idempotence=False
    )
    assert parse(transactional_id="t").transactional_id == "t"


@pytest.mark.parametrize(
    ("raw", "partitioner"),
    [
        ("org.apache.kafka.clients.producer.RoundRobinPartitioner", "round_robin"),
        ("RoundRobinPartitioner", "round_robin"),
        ("round_robin", "round_robin"),
        ("org.apache.kafka.clients.producer.internals.DefaultPartitioner", "default"),
    ],
)
def test_partitioners(raw: str, partitioner: str) -> None:
    assert parse(partitioner_class=raw).partitioner_class == partitioner


def test_a_partitioner_of_ones_own_cannot_run_here() -> None:
    refused("invalid partitioner.class .*: use one of default, round_robin", partitioner_class="org.example.Mine")


def test_levels_have_bounds() -> None:
    refused("compression.lz4.level 0: use an integer from 1 to 17", compression_lz4_level=0)
    refused("compression.zstd.level 23: use an integer from -131072 to 22", compression_zstd_level=23)
    refused("compression.gzip.level 10: use -1", compression_gzip_level=10)
