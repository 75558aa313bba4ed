"""The fixtures themselves: every version lets foreign clients in by every way and carries their records."""

import pytest

from tests.conformance.foreign import (
    BINARY_CLIENTS,
    CONFLUENT,
    EVERY_CLIENT,
    JAVA,
    KCAT,
    ForeignClient,
    ForeignClientError,
    ForeignRecord,
    contents,
)
from tests.support.bounds import bound
from tests.support.kafka import wire
from tests.support.kafka.cluster import KafkaCluster
from tests.support.kafka.plugin import OwnKafka
from tests.support.kafka.requirements import have
from tests.support.kafka.security import every_way_in
from tests.support.kafka.waiting import wait_for_markers, wait_until

pytestmark = pytest.mark.nightly

FENCED_WITHIN_MS = bound(40_000)
RECORDS = [
    ForeignRecord(b"v0", b"k0", (("h", b"1"), ("h", None), ("", b"")), timestamp_ms=1_600_000_000_000),
    ForeignRecord(None, b"tombstone", timestamp_ms=1_600_000_000_001),
    ForeignRecord(b"", None, timestamp_ms=1_600_000_000_002),
    ForeignRecord(bytes(range(256)) * 20, b"\x00\xff", timestamp_ms=1_600_000_000_000, partition=1),
]


def name_of(client: ForeignClient) -> str:
    return client.name


def need(client: ForeignClient) -> ForeignClient:
    """Return the client, or give up where it is not installed."""
    have(client.require)
    return client


@pytest.mark.parametrize(("listener", "mechanism"), every_way_in())
def test_every_listener_and_mechanism_lets_a_client_in(
    any_kafka: KafkaCluster, listener: str, mechanism: str | None
) -> None:
    topic = any_kafka.create_topic()
    properties = any_kafka.client_properties(listener, mechanism)
    assert topic in need(CONFLUENT).list_topics(any_kafka.bootstrap(listener), properties)


@pytest.mark.parametrize("client", BINARY_CLIENTS, ids=name_of)
@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER"])
def test_every_client_logs_in_over_tls(kafka_newest: KafkaCluster, client: ForeignClient, mechanism: str) -> None:
    topic = kafka_newest.create_topic()
    properties = kafka_newest.client_properties("SASL_SSL", mechanism)
    assert topic in need(client).list_topics(kafka_newest.bootstrap("SASL_SSL"), properties)


def test_mutual_tls_shows_the_client_certificate(any_kafka: KafkaCluster) -> None:
    topic = any_kafka.create_topic()
    properties = any_kafka.client_properties("SSL", mutual_tls=True)
    assert topic in need(CONFLUENT).list_topics(any_kafka.bootstrap("SSL"), properties)


def test_a_wrong_password_is_refused(any_kafka: KafkaCluster) -> None:
    properties = any_kafka.client_properties("SASL_PLAINTEXT", "SCRAM-SHA-256")
    properties["sasl.jaas.config"] = properties["sasl.jaas.config"].replace("-secret", "-guess")
    with pytest.raises(ForeignClientError, match=r"(?i)authentication"):
        need(CONFLUENT).list_topics(any_kafka.bootstrap("SASL_PLAINTEXT"), properties)


def test_an_unknown_authority_is_refused(kafka_newest: KafkaCluster) -> None:
    properties = kafka_newest.client_properties("SSL")
    properties["ssl.truststore.location"] = str(kafka_newest.certificates.stranger_ca)
    with pytest.raises(ForeignClientError, match="certificate"):
        need(CONFLUENT).list_topics(kafka_newest.bootstrap("SSL"), properties)


@pytest.mark.parametrize("producer", BINARY_CLIENTS, ids=name_of)
def test_all_clients_read_what_one_wrote(any_kafka: KafkaCluster, producer: ForeignClient) -> None:
    topic = any_kafka.create_topic(partitions=2)
    records = RECORDS if producer.sends_null_headers else RECORDS[1:]
    need(producer).produce(any_kafka.bootstrap(), topic, records, codec="gzip")
    for consumer in BINARY_CLIENTS:
        assert contents(need(consumer).consume(any_kafka.bootstrap(), topic, len(records))) == contents(records)


@pytest.mark.parametrize("producer", BINARY_CLIENTS, ids=name_of)
def test_every_codec_goes_from_each_client_to_all(kafka_newest: KafkaCluster, producer: ForeignClient) -> None:
    topic = kafka_newest.create_topic(configs={"max.message.bytes": "2097152"})
    bootstrap = kafka_newest.bootstrap()
    wanted = []
    for at, codec in enumerate(need(producer).codecs):
        megabyte = codec.encode().ljust(8, b".") * (1 << 17)
        records = [
            ForeignRecord(codec.encode(), b"k", (("h", b"1"), ("h", b"1")), timestamp_ms=1_600_000_000_000 + at),
            ForeignRecord(megabyte, None, timestamp_ms=1_600_000_000_000),
        ]
        producer.produce(bootstrap, topic, records, codec)
        wanted += records
    for consumer in BINARY_CLIENTS:
        assert contents(need(consumer).consume(bootstrap, topic, len(wanted))) == contents(wanted)


def test_kcat_writes_and_reads_what_it_can(kafka_newest: KafkaCluster) -> None:
    topic = kafka_newest.create_topic(partitions=2)
    records = [
        ForeignRecord(b"v", b"k", (("h", b"1"),)),
        ForeignRecord(None, b"k2"),
        ForeignRecord(b"x\n", partition=1),
    ]
    need(KCAT).produce(kafka_newest.bootstrap(), topic, records, codec="lz4")
    for consumer in (KCAT, CONFLUENT):
        found = need(consumer).consume(kafka_newest.bootstrap(), topic, len(records))
        assert [(record.partition, record.key, record.value, record.headers) for record in found] == [
            (record.partition, record.key, record.value, record.headers) for record in records
        ]


@pytest.mark.parametrize("client", EVERY_CLIENT, ids=name_of)
def test_a_wrong_count_is_an_error(kafka_newest: KafkaCluster, client: ForeignClient) -> None:
    topic = kafka_newest.create_topic()
    with pytest.raises(ForeignClientError, match="consumed 0 records, expected 1"):
        need(client).consume(kafka_newest.bootstrap(), topic, 1)


@pytest.mark.parametrize("client", [JAVA, CONFLUENT], ids=name_of)
def test_an_aborted_transaction_is_hidden_from_the_committed_view(
    kafka_newest: KafkaCluster, client: ForeignClient
) -> None:
    bootstrap, topic = kafka_newest.bootstrap(), kafka_newest.create_topic()
    aborted, committed = RECORDS[:1], RECORDS[1:3]
    transaction = {"transactional.id": topic}
    need(client).produce(bootstrap, topic, aborted, properties={**transaction, "exchange.abort": "true"})
    client.produce(bootstrap, topic, committed, properties=transaction)
    wait_for_markers(bootstrap, topic)
    for reader in BINARY_CLIENTS:
        assert contents(need(reader).consume(bootstrap, topic, 3)) == contents(aborted + committed)
        assert contents(reader.consume(bootstrap, topic, 2, "read_committed")) == contents(committed)


def test_a_frozen_leader_is_replaced_and_comes_back(kafka_three: KafkaCluster) -> None:
    topic = kafka_three.create_topic()
    frozen = kafka_three.leader(topic)
    other = next(node for node in kafka_three.nodes if node is not frozen)

    def leader() -> int:
        return wire.fetch_view(other.ports["PLAINTEXT"], topic).leaders.get(topic, {}).get(0, -1)

    frozen.freeze()
    try:
        wait_until(lambda: leader() not in (-1, frozen.number), FENCED_WITHIN_MS, "another leader")
    finally:
        frozen.thaw()
    kafka_three.wait_ready()


def test_a_killed_node_keeps_its_records(kafka_three: KafkaCluster) -> None:
    topic = kafka_three.create_topic(partitions=2)
    need(CONFLUENT).produce(kafka_three.bootstrap(), topic, RECORDS)
    node = kafka_three.leader(topic)
    node.kill()
    with pytest.raises(ConnectionRefusedError):
        wire.check_api_versions(node.ports["PLAINTEXT"])
    node.start()
    assert contents(CONFLUENT.consume(kafka_three.bootstrap(), topic, len(RECORDS))) == contents(RECORDS)


def test_the_tools_of_a_version_run(any_kafka: KafkaCluster) -> None:
    topic = any_kafka.create_topic()
    main = "kafka.admin.TopicCommand" if any_kafka.with_zookeeper else "org.apache.kafka.tools.TopicCommand"
    assert topic in any_kafka.run_tool(main, "--bootstrap-server", any_kafka.bootstrap(), "--list").splitlines()


def test_a_node_that_cannot_start_says_why(own_kafka: OwnKafka) -> None:
    cluster = own_kafka({"num.network.threads": "none"})
    try:
        cluster.launch()
        with pytest.raises(Exception, match=r"num\.network\.threads") as caught:
            cluster.wait_ready()
        assert str(cluster.kept_logs) in str(caught.value)
    finally:
        cluster.close()
    assert not cluster.folder.exists()
