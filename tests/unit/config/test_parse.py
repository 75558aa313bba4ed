"""Parsing a whole config: names, aliases, what is ignored and what is refused, and that secrets stay secret."""

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

from kctl.client.admin import Admin
from kctl.client.config import KINDS, AdminConfig, ClientConfig, ConsumerConfig, ProducerConfig
from kctl.client.config.foreign import IGNORED, REFUSED
from kctl.client.consumer.consumer import Consumer
from kctl.client.errors import ConfigError
from kctl.client.producer import Producer

HERE: dict[str, object] = {"bootstrap.servers": "a:9092"}


def test_defaults_and_types() -> None:
    config = ConsumerConfig.parse(HERE)
    assert config.request_timeout_ms == 30_000
    assert config.bootstrap_attempt_delay_ms == 100
    assert config.check_crcs is True
    assert config.partition_assignment_strategy == ("range", "cooperative-sticky")
    assert [str(endpoint) for endpoint in config.bootstrap_servers] == ["a:9092"]
    assert config.given == HERE
    assert config.ignored == {}


def test_kinds_differ_in_their_defaults() -> None:
    kinds = {kind.KIND: kind.parse(HERE) for kind in KINDS}
    assert [config.connections_max_idle_ms for config in kinds.values()] == [540_000, 540_000, 300_000]
    assert [config.receive_buffer_bytes for config in kinds.values()] == [65_536, 32_768, 65_536]
    assert [config.api_timeout_ms for config in kinds.values()] == [60_000] * 3
    assert list(kinds) == ["consumer", "producer", "admin"]


def test_values_as_text_and_as_native_types() -> None:
    written = {"request.timeout.ms": "5000", "check.crcs": "false", "partition.assignment.strategy": "sticky,range"}
    native = {"request.timeout.ms": 5000, "check.crcs": False, "partition.assignment.strategy": ["sticky", "range"]}
    assert ConsumerConfig.parse({**HERE, **written}).values == ConsumerConfig.parse({**HERE, **native}).values


def test_none_is_not_given() -> None:
    config = ClientConfig.parse({**HERE, "request.timeout.ms": None})
    assert not config.is_given(ClientConfig.request_timeout_ms)
    assert config.request_timeout_ms == 30_000


def test_parse_of_a_parsed_config_returns_it_and_refuses_another_kind() -> None:
    config = ProducerConfig.parse(HERE)
    assert ProducerConfig.parse(config) is config
    with pytest.raises(TypeError, match="a ConsumerConfig or a mapping, not a ProducerConfig"):
        ConsumerConfig.parse(config)  # type: ignore[arg-type]  # what the test is about


@pytest.mark.parametrize(
    ("client", "kind"), [(Admin, AdminConfig), (Consumer, ConsumerConfig), (Producer, ProducerConfig)]
)
def test_every_client_accepts_a_parsed_config(client: Callable[[object], Any], kind: type[ClientConfig]) -> None:
    with client(kind.parse({"bootstrap.servers": "127.0.0.1:1", "request.timeout.ms": 7000})) as made:
        config = made._config if client is Consumer else made.config
        assert config.request_timeout_ms == 7000


def test_a_config_does_not_change() -> None:
    config = ClientConfig.parse(HERE)
    with pytest.raises(AttributeError, match="parsed configs are immutable"):
        config.request_timeout_ms = 1  # type: ignore[assignment]  # what the test is about
    with pytest.raises(AttributeError):
        config.nonsense = 1  # type: ignore[attr-defined]  # what the test is about


@pytest.mark.parametrize(
    ("name", "nearest"),
    [
        ("requst.timeout.ms", "request.timeout.ms"),
        ("request_timeout_ms", "request.timeout.ms"),
        ("REQUEST.TIMEOUT.MS", "request.timeout.ms"),
        ("bootstrap.server", "bootstrap.servers"),
        ("connection.timeout.ms", "connections.timeout.ms"),
        ("group.ids", "group.id"),
    ],
)
def test_an_unknown_name_offers_the_nearest(name: str, nearest: str) -> None:
    with pytest.raises(ConfigError) as caught:
        ConsumerConfig.parse({**HERE, name: "1"})
    assert str(caught.value) == f"unknown property {name!r}: did you mean {nearest}?"
    assert caught.value.key == name


def test_a_name_like_no_other() -> None:
    with pytest.raises(ConfigError, match=r"^unknown property 'zzz'$"):
        ConsumerConfig.parse({**HERE, "zzz": "1"})
    with pytest.raises(ConfigError, match="property names must be strings, not 5"):
        ConsumerConfig.parse({**HERE, 5: "1"})  # type: ignore[dict-item]  # what the test is about
    with pytest.raises(ConfigError, match="unknown property 'xx"):
        ConsumerConfig.parse({**HERE, "x" * 1_000_000: "1"})


def test_properties_of_other_clients_are_ignored_and_told() -> None:
    shared = {**HERE, "acks": "all", "group.id": "g", "retries": "3", "key.serializer": "org.X", "metrics.x": "1"}
    assert ConsumerConfig.parse(shared).ignored == {
        "acks": "it is a property of the producer",
        "retries": "it is a property of the producer and the admin",
        "key.serializer": "kctl accepts keys as bytes: serialize keys before send()",
        "metrics.x": "the property configures metrics of Java clients",
    }
    assert ProducerConfig.parse(shared).ignored.keys() == {"group.id", "key.serializer", "metrics.x"}
    assert AdminConfig.parse(shared).ignored.keys() == {"acks", "group.id", "key.serializer", "metrics.x"}


def test_a_producer_has_another_api_timeout() -> None:
    config = ProducerConfig.parse({**HERE, "default.api.timeout.ms": 5, "max.block.ms": 70_000})
    assert config.ignored == {"default.api.timeout.ms": "producers use max.block.ms instead"}
    assert config.api_timeout_ms == 70_000
    assert config.api_timeout_property().name == "max.block.ms"


@pytest.mark.parametrize("name", REFUSED)
def test_property_that_changes_the_meaning_of_others_is_refused(name: str) -> None:
    with pytest.raises(ConfigError, match=f"^{name}: "):
        ConsumerConfig.parse({**HERE, name: "true"})
    ConsumerConfig.parse({**HERE, name: ""})
    assert ProducerConfig.parse({**HERE, "transaction.two.phase.commit.enable": "False"}).ignored == {}


def test_the_lists_of_foreign_properties_hold_none_of_ours() -> None:
    for kind in KINDS:
        assert not kind.PROPERTIES.keys() & {*IGNORED, *REFUSED}


def test_bootstrap_servers_are_needed() -> None:
    with pytest.raises(ConfigError, match=r"bootstrap.servers is not set"):
        ClientConfig.parse({})
    with pytest.raises(
        ConfigError, match=r"invalid bootstrap.servers .*: use a comma-separated list .*the list is empty"
    ):
        ClientConfig.parse({"bootstrap.servers": ""})


def test_an_alias_is_the_same_property() -> None:
    config = ClientConfig.parse({**HERE, "connections.timeout.ms": "2000"})
    assert config.socket_connection_setup_timeout_ms == 2000
    assert config.is_given(ClientConfig.socket_connection_setup_timeout_ms)
    both = {"connections.timeout.ms": "2000", "socket.connection.setup.timeout.ms": 2000}
    assert ClientConfig.parse({**HERE, **both}).socket_connection_setup_timeout_ms == 2000
    with pytest.raises(ConfigError, match="are names of the same property but have different values"):
        ClientConfig.parse({**HERE, **both, "connections.timeout.ms": "3000"})
    with pytest.raises(ConfigError, match=r"^invalid connections.timeout.ms '0': use an integer of 1 or more"):
        ClientConfig.parse({**HERE, "connections.timeout.ms": "0"})


def test_ca_file_has_the_name_of_librdkafka_too() -> None:
    config = ClientConfig.parse({**HERE, "ssl.ca.location": "/ca.pem"})
    assert config.ssl_truststore_location == "/ca.pem"
    assert config.is_given(ClientConfig.ssl_truststore_location)


@pytest.mark.parametrize("name", ["connections.timeout.ms", "socket.connection.setup.timeout.ms"])
def test_a_connect_timeout_given_alone_limits_every_attempt(name: str) -> None:
    config = ClientConfig.parse({**HERE, name: "2000"})
    assert (config.socket_connection_setup_timeout_ms, config.socket_connection_setup_timeout_max_ms) == (2000, 2000)
    growing = ClientConfig.parse({**HERE, name: "2000", "socket.connection.setup.timeout.max.ms": "9000"})
    assert (growing.socket_connection_setup_timeout_ms, growing.socket_connection_setup_timeout_max_ms) == (2000, 9000)
    default = ClientConfig.parse(HERE)
    assert (default.socket_connection_setup_timeout_ms, default.socket_connection_setup_timeout_max_ms) == (
        10_000,
        30_000,
    )


def test_a_connect_timeout_above_the_api_timeout_is_accepted() -> None:
    """The deadline of the call cuts it."""
    config = ClientConfig.parse({**HERE, "connections.timeout.ms": "3000", "default.api.timeout.ms": "2000"})
    assert (config.socket_connection_setup_timeout_ms, config.api_timeout_ms) == (3000, 2000)
    producer = ProducerConfig.parse({**HERE, "connections.timeout.ms": "3000", "max.block.ms": "2000"})
    assert (producer.socket_connection_setup_timeout_ms, producer.api_timeout_ms) == (3000, 2000)


@pytest.mark.parametrize("name", ["socket.connection.setup.timeout", "reconnect.backoff", "retry.backoff"])
def test_a_first_limit_and_its_ceiling(name: str) -> None:
    first, ceiling = f"{name}.ms", f"{name}.max.ms"
    config = ClientConfig.parse({**HERE, first: 50_000})
    assert (config.values[first], config.values[ceiling]) == (50_000, 50_000)
    config = ClientConfig.parse({**HERE, ceiling: 10})
    assert (config.values[first], config.values[ceiling]) == (10, 10)
    with pytest.raises(ConfigError, match=f"{first}=11 conflicts with {ceiling}=10"):
        ClientConfig.parse({**HERE, first: 11, ceiling: 10})


def test_secrets_are_never_shown() -> None:
    secrets = {
        "ssl.key.password": "hunter2",
        "ssl.keystore.key": "hunter2",
        "ssl.truststore.password": "hunter2",
        "sasl.jaas.config": "hunter2",
        "sasl.oauthbearer.token": "hunter2",
    }
    config = ClientConfig.parse({**HERE, **secrets})
    assert "hunter2" not in repr(config)
    assert "sasl.jaas.config='***'" in repr(config)
    assert config.to_properties()["ssl.key.password"] == "***"
    assert config.to_properties(secrets=True)["ssl.key.password"] == "hunter2"


def test_a_config_can_be_written_and_read_again() -> None:
    config = ProducerConfig.parse({**HERE, "acks": 1, "linger.ms": 7, "compression.type": "ZSTD", "client.id": ""})
    written = config.to_properties(secrets=True)
    assert written["compression.type"] == "zstd"
    assert ProducerConfig.parse(dict(written)).values == config.values


def test_reading_a_config_imports_neither_ssl_nor_difflib() -> None:
    code = (
        "import sys; from kctl.client.config import ConsumerConfig; import kctl.client.security.tls;"
        "ConsumerConfig.parse({'bootstrap.servers': 'a:1'});"
        "print([name for name in ('ssl', 'difflib', 'socket', 'dataclasses') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() in ("[]", "['dataclasses']")
