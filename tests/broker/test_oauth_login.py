"""OAUTHBEARER with fetched tokens on Kafka 4.3.1: a token endpoint (KIP-768), a callback, tokens that expire."""

from pathlib import Path

import pytest

from kctl.cli.exit_codes import ExitCode
from kctl.client.admin import Admin
from kctl.client.clock import SystemClock
from kctl.client.cluster import TopicPartition
from kctl.client.consumer.consumer import Consumer
from kctl.client.errors import ConnectionRefused, RequestTimeout
from kctl.client.events import Event, Lost
from kctl.client.producer import Producer
from tests.cli.processes import kctl
from tests.support.kafka.cluster import KafkaCluster
from tests.support.token_endpoint import CLIENT_ID, CLIENT_SECRET, TokenEndpoint, running_endpoint

TOKENS = 3


def login(kafka: KafkaCluster, endpoint: TokenEndpoint) -> dict[str, object]:
    properties = dict(kafka.client_properties("SASL_PLAINTEXT", "OAUTHBEARER"))
    del properties["sasl.jaas.config"]
    return {
        **properties,
        "sasl.oauthbearer.token.endpoint.url": endpoint.url,
        "sasl.oauthbearer.client.credentials.client.id": CLIENT_ID,
        "sasl.oauthbearer.client.credentials.client.secret": CLIENT_SECRET,
    }


@pytest.mark.nightly
@pytest.mark.parametrize("way", ["endpoint", "callback"])
def test_tokens_that_expire_under_load_lose_nothing(kafka_newest: KafkaCluster, way: str) -> None:
    topic, events, sent = kafka_newest.create_topic(), list[Event](), 0
    with running_endpoint(lifetime_s=3) as endpoint:
        properties = login(kafka_newest, endpoint)
        calls: list[int] = []
        if way == "callback":

            def give() -> str:
                calls.append(1)
                return endpoint.token()

            properties = {**kafka_newest.client_properties("SASL_PLAINTEXT", "OAUTHBEARER")}
            del properties["sasl.jaas.config"]
            properties["sasl.oauthbearer.token.callback"] = lambda: (give(), _expiry_s(endpoint))
        with Producer(properties, events=events.append) as producer:
            while max(endpoint.given, len(calls)) < TOKENS:
                producer.send(topic, b"%d" % sent).result(timeout=20)
                sent += 1
    assert [event for event in events if isinstance(event, Lost)] == []
    partition = TopicPartition(topic, 0)
    with Consumer({**kafka_newest.client_properties("PLAINTEXT"), "auto.offset.reset": "earliest"}) as consumer:
        assert consumer.end_offsets([partition]) == {partition: sent}


def _expiry_s(endpoint: TokenEndpoint) -> float:
    return SystemClock().wall_ms() / 1000 + endpoint.lifetime_s


def test_command_logs_in_by_the_endpoint_and_shows_no_secret(kafka_newest: KafkaCluster, tmp_path: Path) -> None:
    with running_endpoint() as endpoint:
        file, trace = tmp_path / "client.properties", tmp_path / "trace.jsonl"
        given = login(kafka_newest, endpoint)
        file.write_text("".join(f"{name}={value}\n" for name, value in given.items()))
        options = ("--command-config", str(file), "-v", "--trace-file", str(trace))
        ended = kctl("topics", "list", *options)
        assert ended.code == 0, ended.stderr
        assert endpoint.given == 1
        assert CLIENT_SECRET not in ended.stderr + ended.stdout.decode() + trace.read_text()
        file.write_text(file.read_text().replace(CLIENT_SECRET, "wrong-canary"))
        refused = kctl("topics", "list", *options)
    assert refused.code == ExitCode.AUTHENTICATION
    assert "who are you?" in refused.stderr
    assert "wrong-canary" not in refused.stderr


def test_endpoint_that_is_not_there_is_named(kafka_newest: KafkaCluster, tmp_path: Path) -> None:
    file = tmp_path / "client.properties"
    with running_endpoint() as endpoint:
        file.write_text("".join(f"{name}={value}\n" for name, value in login(kafka_newest, endpoint).items()))
    ended = kctl("topics", "list", "--command-config", str(file), "--api-timeout", "5s")
    assert ended.code == ExitCode.REFUSED
    assert "cannot get an OAUTHBEARER token: 127.0.0.1:" in ended.stderr
    assert "connection refused" in ended.stderr


def test_endpoint_that_does_not_respond_at_first_is_asked_again(kafka_newest: KafkaCluster) -> None:
    with running_endpoint() as endpoint:
        failures = [
            ConnectionRefused("id:80: connection refused"),
            RequestTimeout("waiting", timeout_ms=1, elapsed_ms=1),
        ]

        def give() -> str:
            if failures:
                raise failures.pop()
            return endpoint.token()

        properties: dict[str, object] = {**kafka_newest.client_properties("SASL_PLAINTEXT", "OAUTHBEARER")}
        del properties["sasl.jaas.config"]
        with Admin({**properties, "sasl.oauthbearer.token.callback": give}) as admin:
            assert admin.list_topics(timeout=20) is not None
    assert failures == []
