"""Calls of the library on real Kafka: topics awaited, fenced producers, tokens, directories, features, voters, stored
offsets, and assignors and partitioners of the application."""

from collections.abc import Mapping, Sequence

import pytest

from kctl.client import Admin, Consumer, OffsetTracker, Producer, TopicPartition
from kctl.client.admin import FeatureUpdate, NewTopic, Replica, VoterEndpoint
from kctl.client.broker_errors import ErrorCode, error_class
from kctl.client.cluster import PartitionInfo
from kctl.client.consumer.assignors import Assignment, MemberSubscription
from kctl.client.errors import BrokerError, TransactionError, UnsupportedVersionError
from kctl.client.producer import ProducerRecord
from tests.support.bounds import bound
from tests.support.kafka.cluster import KafkaCluster
from tests.support.kafka.plugin import OwnKafka
from tests.support.kafka.waiting import wait_until

POLLS = 60
PATIENCE_MS = bound(30_000)


def test_topics_are_awaited_and_replicas_found_in_their_directory(kafka_newest: KafkaCluster) -> None:
    with Admin({"bootstrap.servers": kafka_newest.bootstrap()}) as admin:
        name = f"{kafka_newest.create_topic()}-awaited"
        admin.create_topics([NewTopic(name, 3, 1)]).raise_first()
        found = admin.wait_for_topics([name], timeout=30)[name]
        replica = Replica(name, 0, found.partitions[0].leader_id)
        with Producer({"bootstrap.servers": kafka_newest.bootstrap()}) as producer:
            producer.send(name, b"v", partition=0)  # the broker makes the log after it has told of the leader
        place = admin.describe_replica_log_dirs([replica])[replica]
        assert (place.future_path, place.lag) == (None, 0)
        assert admin.alter_replica_log_dirs({replica: place.path}).failed == {}
        (error,) = admin.alter_replica_log_dirs({replica: "/not/there"}).failed.values()
        assert isinstance(error, error_class(ErrorCode.LOG_DIR_NOT_FOUND))


def test_fenced_producer_cannot_commit(kafka_newest: KafkaCluster) -> None:
    topic = kafka_newest.create_topic()
    config = {"bootstrap.servers": kafka_newest.bootstrap()}
    with Producer({**config, "transactional.id": topic}) as producer, Admin(config) as admin:
        producer.init_transactions(30)
        producer.begin_transaction()
        producer.send(topic, b"v").result(30)
        fenced = admin.fence_producers([topic], timeout=30)[topic]
        assert fenced.epoch > 0
        with pytest.raises(TransactionError):
            producer.commit_transaction(30)
        assert admin.describe_transactions([topic])[topic].state != "Ongoing"


def test_features_voters_and_brokers_are_changed_or_refused_with_kafkas_error(kafka_newest: KafkaCluster) -> None:
    with Admin({"bootstrap.servers": kafka_newest.bootstrap()}) as admin:
        levels = {each.name: each.level for each in admin.describe_features()}
        same = {"transaction.version": FeatureUpdate(levels["transaction.version"])}
        assert admin.update_features(same, validate_only=True).failed == {}
        (error,) = admin.update_features({"transaction.version": FeatureUpdate(99)}).failed.values()
        assert isinstance(error, error_class(ErrorCode.INVALID_UPDATE_VERSION))
        directory = admin.describe_quorum().replicas[0].directory_id or bytes(15) + b"\x01"
        endpoint = VoterEndpoint("CONTROLLER", "127.0.0.1", 1)
        with pytest.raises((UnsupportedVersionError, BrokerError)):
            admin.add_raft_voter(99, directory, [endpoint], timeout=30)
        with pytest.raises((UnsupportedVersionError, BrokerError)):
            admin.remove_raft_voter(99, directory, timeout=30)
        with pytest.raises(error_class(ErrorCode.BROKER_ID_NOT_REGISTERED)):
            admin.unregister_broker(99, timeout=30)


@pytest.mark.nightly
def test_client_logs_in_with_a_token_until_it_expires(own_kafka: OwnKafka) -> None:
    with own_kafka({"delegation.token.secret.key": "0123456789abcdef"}) as kafka:
        login = kafka.client_properties("SASL_SSL", "SCRAM-SHA-256")
        with Admin(login) as admin:
            token = admin.create_delegation_token(renewers=["User:bob"], max_lifetime_ms=600_000)
            assert token.renewers == ("User:bob",)
            tokens = admin.describe_delegation_tokens
            wait_until(
                lambda: [each.token_id for each in tokens()] == [token.token_id], PATIENCE_MS, "the token is known"
            )
            assert admin.renew_delegation_token(token.hmac, renew_period_ms=300_000) > token.issued_at_ms
            jaas = (
                "org.apache.kafka.common.security.scram.ScramLoginModule required "
                f'username="{token.token_id}" password="{token.password}" tokenauth="true";'
            )
            with Admin({**login, "sasl.jaas.config": jaas}) as guest:
                assert guest.describe_cluster().nodes
                with pytest.raises(error_class(ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED)):
                    guest.create_delegation_token()
            admin.expire_delegation_token(token.hmac)
            wait_until(lambda: tokens() == [], PATIENCE_MS, "the token is gone")


def to_the_first(members: Mapping[str, MemberSubscription], partitions_of: Mapping[str, int]) -> Assignment:
    return {min(members): [TopicPartition(topic, n) for topic, count in partitions_of.items() for n in range(count)]}


def last_partition(_record: ProducerRecord, partitions: Sequence[PartitionInfo]) -> int:
    return len(partitions) - 1


def test_tracked_offsets_of_an_own_assignor_are_committed_when_stored(kafka_newest: KafkaCluster) -> None:
    topic = kafka_newest.create_topic(partitions=3)
    servers = {"bootstrap.servers": kafka_newest.bootstrap()}
    with Producer(servers, partitioner=last_partition) as producer:
        for number in range(20):
            producer.send(topic, b"%d" % number, b"key")
    config = {
        **servers,
        "group.id": topic,
        "auto.offset.reset": "earliest",
        "enable.auto.offset.store": False,
        "partition.assignment.strategy": [to_the_first],
    }
    tracker = OffsetTracker()
    with Consumer(config) as consumer:
        consumer.subscribe([topic], tracker)
        records = []
        for _ in range(POLLS):
            records += consumer.poll(1)
            if len(records) == 20:
                break
        for record in records:
            tracker.add(record)
        for record in reversed(records[:-5]):
            tracker.done(record)
        for record in records[-3:]:
            tracker.done(record)
        consumer.store_offsets(tracker.offsets())
    with Admin(servers) as admin:
        committed = admin.list_group_offsets(topic).done
    assert {tp: each.offset for tp, each in committed.items() if each} == {TopicPartition(topic, 2): 15}
