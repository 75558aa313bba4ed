"""A consumer's properties."""

import pytest

from kctl.client.config import ConsumerConfig
from kctl.client.config.consumer import iso_duration_ms
from kctl.client.errors import ConfigError


def parse(**properties: object) -> ConsumerConfig:
    given = {name.replace("_", "."): value for name, value in properties.items()}
    return ConsumerConfig.parse({"bootstrap.servers": "a:1", **given})


def refused(why: str, **properties: object) -> None:
    with pytest.raises(ConfigError, match=why):
        parse(**properties)


def test_auto_commit_needs_a_group() -> None:
    assert parse(group_id="g").enable_auto_commit
    assert not parse().enable_auto_commit
    refused("enable.auto.commit=true needs group.id", enable_auto_commit=True)
    refused("invalid group.id '.*': use a non-empty string", group_id=" ")


@pytest.mark.parametrize(
    ("text", "reset", "duration_ms"),
    [
        ("Earliest", "earliest", None),
        ("latest", "latest", None),
        ("none", "none", None),
        ("by_duration:PT1H30M", "by_duration:PT1H30M", 5_400_000),
        ("by_duration:p1dt0.25s", "by_duration:P1DT0.25S", 86_400_250),
    ],
)
def test_offset_reset(text: str, reset: str, duration_ms: int | None) -> None:
    config = parse(auto_offset_reset=text)
    assert (config.auto_offset_reset, config.auto_offset_reset_duration_ms) == (reset, duration_ms)


@pytest.mark.parametrize("text", ["", "smallest", "by_duration", "by_duration:", "by_duration:1h", "by_duration:-PT1H"])
def test_bad_offset_reset(text: str) -> None:
    refused(
        "invalid auto.offset.reset .*: use one of latest, earliest, none, by_duration:PnDTnHnMnS",
        auto_offset_reset=text,
    )


@pytest.mark.parametrize("text", ["", "P", "PT", "P1DT", "PT1", "P1Y", "PT1.S", "1S", "PT-1S"])
def test_bad_durations(text: str) -> None:
    with pytest.raises(ValueError, match="is not an ISO 8601 duration"):
        iso_duration_ms(text)


def test_assignors_by_name_or_java_class() -> None:
    java = "org.apache.kafka.clients.consumer.CooperativeStickyAssignor, RoundRobinAssignor,range"
    assert parse(partition_assignment_strategy=java).partition_assignment_strategy == (
        "cooperative-sticky",
        "roundrobin",
        "range",
    )
    refused("each item: one of range, roundrobin", partition_assignment_strategy="org.example.Mine")
    refused("is empty: add at least one assignor", partition_assignment_strategy="")


def test_the_new_protocol_leaves_some_to_the_broker() -> None:
    assert parse(group_protocol="CONSUMER", group_remote_assignor="uniform").group_protocol == "consumer"
    for name in ("session_timeout_ms", "heartbeat_interval_ms"):
        refused("the broker has this setting", group_protocol="consumer", **{name: 5000})
    refused("the broker has this setting", group_protocol="consumer", partition_assignment_strategy="range")
    refused("server-side assignors need", group_remote_assignor="uniform")


def test_a_heartbeat_comes_before_the_session_ends() -> None:
    refused("heartbeat.interval.ms=3000 conflicts with session.timeout.ms=3000", session_timeout_ms=3000)
    assert parse(session_timeout_ms=3001).session_timeout_ms == 3001


def test_an_idle_fetch_is_answered_before_its_request_times_out() -> None:
    assert parse(request_timeout_ms=400).fetch_max_wait_ms == 200
    assert parse(fetch_max_wait_ms=40_000).request_timeout_ms == 80_000
    refused("the fetch wait must be shorter than the request timeout", fetch_max_wait_ms=400, request_timeout_ms=400)
    assert parse(fetch_max_wait_ms=399, request_timeout_ms=400).fetch_max_wait_ms == 399
