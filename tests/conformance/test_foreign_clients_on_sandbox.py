"""Other people's clients take the sandbox for Kafka: they list its topics, produce to it, consume from it, log in.

The sandbox is checked by clients that share no code with it; what one client wrote, another one reads.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from kctl.client.security.tls import server_context
from kctl.sandbox import ClusterSettings, Fault, ListenerSecurity, Sandbox
from kctl.sandbox.identity import SaslUsers
from kctl.sandbox.server import ServedSandbox
from tests.conformance.foreign import (
    BINARY_CLIENTS,
    CONFLUENT,
    EVERY_CLIENT,
    JAVA,
    KAFKA_PYTHON,
    ForeignClient,
    ForeignRecord,
    contents,
)
from tests.conformance.foreign.client import run_bounded
from tests.support.kafka.certificates import Certificates, make_certificates
from tests.support.kafka.requirements import have
from tests.support.kafka.toolchain import NEWEST_KAFKA, java_command, kafka_class_path

pytestmark = pytest.mark.nightly

RECORDS = [
    ForeignRecord(b"v0", b"k0", (("h", b"1"), ("h", None), ("", b"")), timestamp_ms=1_600_000_000_000),
    ForeignRecord(None, b"tombstone", timestamp_ms=1_600_000_000_001),
    ForeignRecord(b"", None, timestamp_ms=1_600_000_000_002),
    ForeignRecord(b"x" * 900_000, b"\x00\xff", timestamp_ms=1_600_000_000_000, partition=1),
    *(ForeignRecord(b"%d" % n, timestamp_ms=1_600_000_000_003 + n, partition=2) for n in range(200)),
]
PASSWORDS = {"alice": "alice-secret"}


def name_of(client: ForeignClient) -> str:
    return client.name


def need(client: ForeignClient) -> ForeignClient:
    have(client.require)
    return client


@pytest.fixture
def served() -> Iterator[ServedSandbox]:
    with Sandbox(nodes=3, topics={"t": 3}).serve() as served:
        yield served


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    folder = tmp_path_factory.mktemp("certificates")
    return have(lambda: make_certificates(folder))


def plain_records(client: ForeignClient) -> list[ForeignRecord]:
    """Return records that the client can carry."""
    if client in BINARY_CLIENTS and client.sends_null_headers:
        return RECORDS
    if client in BINARY_CLIENTS:
        return [ForeignRecord(b"v", b"k", (("h", b"1"),), timestamp_ms=1_600_000_000_000), *RECORDS[1:]]
    return [ForeignRecord(b"%d" % n, b"k", partition=n // 34) for n in range(100)]


@pytest.mark.parametrize("client", EVERY_CLIENT, ids=name_of)
def test_lists_topics(served: ServedSandbox, client: ForeignClient) -> None:
    served.sandbox.create_topic("other.topic", 2)
    assert need(client).list_topics(served.bootstrap) == ["other.topic", "t"]


@pytest.mark.parametrize("client", EVERY_CLIENT, ids=name_of)
def test_produces_and_consumes_with_every_codec(served: ServedSandbox, client: ForeignClient) -> None:
    records = plain_records(client)
    for codec in need(client).codecs:
        client.produce(served.bootstrap, "t", records, codec)
    expected = sorted(records * len(client.codecs), key=lambda record: record.partition)
    read = client.consume(served.bootstrap, "t", len(expected))
    if client in BINARY_CLIENTS:
        assert contents(read) == contents(expected)
    assert [(record.partition, record.value) for record in read] == [(r.partition, r.value) for r in expected]
    if client is not JAVA:
        assert contents(need(JAVA).consume(served.bootstrap, "t", len(expected))) == contents(read)


@pytest.mark.parametrize("client", EVERY_CLIENT, ids=name_of)
def test_idempotent_producers_are_answered(served: ServedSandbox, client: ForeignClient) -> None:
    properties = {"enable.idempotence": "true", "acks": "all"}
    records = [ForeignRecord(b"%d" % n) for n in range(50)]
    need(client).produce(served.bootstrap, "t", records, "none", properties)
    assert served.sandbox.end_offset("t", 0) == 50


def test_many_small_batches_to_a_slow_node_stay_in_order(served: ServedSandbox) -> None:
    served.sandbox.start_fault(1, Fault.DELAY, ms=40)
    records = [ForeignRecord(b"%d" % n) for n in range(500)]
    properties = {"enable.idempotence": "true", "batch.size": "200", "request.timeout.ms": "20000"}
    need(CONFLUENT).produce(served.bootstrap, "t", records, "none", properties)
    served.sandbox.heal()
    assert [record.value for record in CONFLUENT.consume(served.bootstrap, "t", 500)] == [r.value for r in records]


@pytest.mark.parametrize("client", EVERY_CLIENT, ids=name_of)
def test_topics_are_created_on_first_use(served: ServedSandbox, client: ForeignClient) -> None:
    need(client).produce(served.bootstrap, "fresh", [ForeignRecord(b"v")])
    assert served.sandbox.end_offset("fresh", 0) == 1


def login(certificates: Certificates, protocol: str, mechanism: str | None) -> dict[str, str]:
    """Return Kafka's properties of a client that gets in."""
    properties = {"security.protocol": protocol}
    if "SSL" in protocol:
        properties |= {"ssl.truststore.type": "PEM", "ssl.truststore.location": str(certificates.ca)}
    if mechanism == "OAUTHBEARER":
        module = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule"
        jaas = f'{module} required unsecuredLoginStringClaim_sub="alice";'
        properties |= {"sasl.mechanism": mechanism, "sasl.jaas.config": jaas}
    elif mechanism is not None:
        kind = "plain.Plain" if mechanism == "PLAIN" else "scram.Scram"
        module = f"org.apache.kafka.common.security.{kind}LoginModule"
        jaas = f'{module} required username="alice" password="{PASSWORDS["alice"]}";'
        properties |= {"sasl.mechanism": mechanism, "sasl.jaas.config": jaas}
    return properties


WAYS_IN = [
    ("SSL", None),
    ("SASL_PLAINTEXT", "PLAIN"),
    ("SASL_PLAINTEXT", "SCRAM-SHA-512"),
    ("SASL_SSL", "PLAIN"),
    ("SASL_SSL", "SCRAM-SHA-256"),
    ("SASL_SSL", "SCRAM-SHA-512"),
    ("SASL_SSL", "OAUTHBEARER"),
]


def secured(certificates: Certificates, protocol: str, mechanism: str | None) -> Sandbox:
    """Return a sandbox that asks for this."""
    context = server_context(certificates.broker.read_text()) if "SSL" in protocol else None
    security = ListenerSecurity(context, SaslUsers(PASSWORDS) if mechanism else None)
    assert security.protocol == protocol
    return Sandbox(nodes=2, topics={"t": 2}, security=security)


@pytest.mark.parametrize(("protocol", "mechanism"), WAYS_IN)
def test_every_way_in(certificates: Certificates, protocol: str, mechanism: str | None) -> None:
    properties = login(certificates, protocol, mechanism)
    records = [ForeignRecord(b"v" * 100_000, partition=1)]
    with secured(certificates, protocol, mechanism).serve() as served:
        need(CONFLUENT).produce(served.bootstrap, "t", records, "none", properties)
        (record,) = CONFLUENT.consume(served.bootstrap, "t", 1, properties=properties)
        assert record.value == b"v" * 100_000


@pytest.mark.parametrize("client", [JAVA, KAFKA_PYTHON], ids=name_of)
@pytest.mark.parametrize("mechanism", [None, "SCRAM-SHA-512", "OAUTHBEARER"])
def test_other_clients_log_in(certificates: Certificates, client: ForeignClient, mechanism: str | None) -> None:
    protocol = "SASL_SSL" if mechanism else "SSL"
    properties = login(certificates, protocol, mechanism)
    with secured(certificates, protocol, mechanism).serve() as served:
        need(client).produce(served.bootstrap, "t", [ForeignRecord(b"v", partition=1)], "none", properties)
        assert served.sandbox.end_offset("t", 1) == 1


def java_tool(main: str, *words: str, text: bytes = b"") -> str:
    """Return what a console tool of Apache Kafka prints."""
    command = have(lambda: java_command(kafka_class_path(NEWEST_KAFKA), main, *words))
    return run_bounded(main, command, text, 60.0).decode()


def test_console_tools_of_java(served: ServedSandbox, tmp_path: Path) -> None:
    server = ["--bootstrap-server", served.bootstrap]
    topics = "org.apache.kafka.tools.TopicCommand"
    java_tool(topics, *server, "--create", "--topic", "made", "--partitions", "2", "--replication-factor", "3")
    assert java_tool(topics, *server, "--list").split() == ["made", "t"]
    java_tool(
        "org.apache.kafka.tools.ConsoleProducer", *server, "--topic", "made",
        "--reader-property", "parse.key=true", "--reader-property", "key.separator=:", text=b"k:one\nk:two\n",
    )  # fmt: skip
    partition = next(index for index in (0, 1) if served.sandbox.end_offset("made", index) == 2)
    printed = java_tool(
        "org.apache.kafka.tools.consumer.ConsoleConsumer", *server, "--topic", "made", "--partition", str(partition),
        "--offset", "earliest", "--max-messages", "2", "--timeout-ms", "20000",
    )  # fmt: skip
    assert printed.split() == ["one", "two"]
    offsets = java_tool("org.apache.kafka.tools.GetOffsetShell", *server, "--topic", "made", "--time", "latest")
    assert f"made:{partition}:2" in offsets.split()
    java_tool(topics, *server, "--delete", "--topic", "made")
    assert java_tool(topics, *server, "--list").split() == ["t"]


def test_a_broker_with_a_small_limit_is_believed() -> None:
    settings = ClusterSettings(message_max_bytes=10_000)
    with Sandbox(nodes=1, topics={"t": 1}, settings=settings).serve() as served:
        with pytest.raises(Exception, match=r"(?i)too.?large|larger"):
            need(JAVA).produce(served.bootstrap, "t", [ForeignRecord(b"x" * 20_000)])
        assert served.sandbox.end_offset("t", 0) == 0
