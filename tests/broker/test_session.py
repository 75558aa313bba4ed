"""SASL sessions of a broker with connections.max.reauth.ms (KIP-368): no connection and no acks=0 record is lost."""

import pytest

from kctl.client.cluster import TopicPartition
from kctl.client.consumer.consumer import Consumer
from kctl.client.events import Event, Lost, RequestSent
from kctl.client.producer import Producer
from tests.support.kafka.cluster import KafkaCluster
from tests.support.kafka.security import MECHANISMS

pytestmark = pytest.mark.nightly

RENEWALS = 3


def test_sessions_of_all_mechanisms_are_renewed_in_place(kafka_newest: KafkaCluster) -> None:
    events: dict[str, list[Event]] = {mechanism: [] for mechanism in MECHANISMS}
    topics = {mechanism: f"session-{mechanism.lower()}" for mechanism in MECHANISMS}
    sent = dict.fromkeys(MECHANISMS, 0)
    producers: dict[str, Producer] = {}

    def handshakes(mechanism: str) -> int:
        """The connection to the bootstrap entry is kept for the node, so there is one a renewal, and the first."""
        return sum(isinstance(event, RequestSent) and event.api == "SaslHandshake" for event in events[mechanism])

    for mechanism in MECHANISMS:
        kafka_newest.create_topic(topics[mechanism])
        config = kafka_newest.client_properties("SASL_SSL", mechanism)
        config |= {"acks": "0", "enable.idempotence": "false", "linger.ms": "0"}
        producers[mechanism] = Producer(config, events=events[mechanism].append)
    while min(map(handshakes, MECHANISMS)) < 2 + RENEWALS:
        for mechanism, producer in producers.items():
            producer.send(topics[mechanism], b"r").result(timeout=10)
            sent[mechanism] += 1
    for producer in producers.values():
        producer.close()
    lost = [event for of_one in events.values() for event in of_one if isinstance(event, Lost)]
    assert lost == []
    with Consumer(kafka_newest.client_properties("PLAINTEXT")) as consumer:
        ends = consumer.end_offsets([TopicPartition(topic, 0) for topic in topics.values()])
    assert ends == {TopicPartition(topics[mechanism], 0): count for mechanism, count in sent.items()}
