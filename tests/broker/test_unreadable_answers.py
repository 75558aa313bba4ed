"""Answers of real brokers that a proxy makes unreadable: nothing is lost, doubled or reported wrongly."""

from uuid import uuid4

import pytest

from kctl.client.cluster import TopicPartition
from kctl.client.consumer.consumer import Consumer
from kctl.client.consumer.group.events import GroupMetadata
from kctl.client.producer import Producer
from tests.broker.damaging_proxy import DamagingProxy
from tests.broker.test_transactions import seen
from tests.sim.chaos.damages import CHANGES
from tests.support.kafka.cluster import KafkaCluster

PRODUCE, INIT_PRODUCER_ID, END_TXN, TXN_OFFSET_COMMIT = 0, 22, 26, 28
EACH_DAMAGE = pytest.mark.parametrize(
    "how", [0, *(pytest.param(how, marks=pytest.mark.nightly) for how in range(1, len(CHANGES)))]
)


def port_of(kafka: KafkaCluster) -> int:
    return int(kafka.bootstrap().rpartition(":")[2])


@EACH_DAMAGE
@pytest.mark.parametrize("window", [1, 5])
def test_records_behind_an_unreadable_answer_are_in_the_log_once_and_in_order(
    kafka_newest: KafkaCluster, how: int, window: int
) -> None:
    topic = f"unreadable-{uuid4().hex}"
    kafka_newest.create_topic(topic)
    with DamagingProxy(port_of(kafka_newest)) as proxy:
        properties = {
            "bootstrap.servers": kafka_newest.bootstrap(),
            "max.in.flight.requests.per.connection": window,
            "batch.size": 0,
        }
        producer = Producer(properties, proxy.runtime())
        producer.send(topic, b"00").result(30)
        proxy.damage(PRODUCE, CHANGES[how])
        futures = [producer.send(topic, b"%02d" % number) for number in range(1, 20)]
        assert [future.result(30).offset for future in futures] == list(range(1, 20))
        assert producer.close(10)[:3] == (20, 0, 0)
        assert proxy.damaged == [PRODUCE]
    assert seen(kafka_newest, topic) == [b"%02d" % number for number in range(20)]


@EACH_DAMAGE
@pytest.mark.parametrize("is_committed", [True, False])
def test_transactions_complete_after_unreadable_answers(any_kafka: KafkaCluster, how: int, is_committed: bool) -> None:
    topic = f"unreadable-{uuid4().hex}"
    any_kafka.create_topic(topic)
    apis = [PRODUCE, TXN_OFFSET_COMMIT, END_TXN]
    with DamagingProxy(port_of(any_kafka)) as proxy:
        properties = {"bootstrap.servers": any_kafka.bootstrap(), "transactional.id": topic, "linger.ms": 0}
        producer = Producer(properties, proxy.runtime())
        proxy.damage(INIT_PRODUCER_ID, CHANGES[how])
        producer.init_transactions(30)
        for number, api in enumerate(apis):
            producer.begin_transaction()
            proxy.damage(api, CHANGES[how])
            producer.send(topic, b"%d" % number)
            producer.send_offsets_to_transaction({TopicPartition(topic, 0): number}, GroupMetadata(topic), 30)
            if is_committed:
                producer.commit_transaction(30)
            else:
                producer.flush(30)
                producer.abort_transaction(30)
        assert producer.close(10).transaction is None
        assert proxy.damaged == [INIT_PRODUCER_ID, *apis]
    assert seen(any_kafka, topic) == ([b"0", b"1", b"2"] if is_committed else [])
    stable = {"bootstrap.servers": any_kafka.bootstrap(), "group.id": topic, "isolation.level": "read_committed"}
    with Consumer(stable) as consumer:
        found = consumer.committed([TopicPartition(topic, 0)])[TopicPartition(topic, 0)]
        assert (found.offset if found else None) == (2 if is_committed else None)
