"""confluent-kafka as a member of a group until its standard input ends; its lines are told in group_member.py."""

from collections.abc import Mapping
from threading import Event

from confluent_kafka import Consumer, KafkaException, TopicPartition

from tests.conformance.foreign.login import librdkafka_settings
from tests.conformance.foreign.member_words import MemberWords, run_member


def be_member(topic: str, properties: dict[str, str], ends: Event) -> None:
    """Read and commit until `ends` is set."""
    consumer = Consumer(librdkafka_settings(properties))

    def commit(offsets: Mapping[int, int]) -> None:
        wanted = [TopicPartition(topic, partition, offset) for partition, offset in offsets.items()]
        for done in consumer.commit(offsets=wanted, asynchronous=False):
            if done.error is not None:
                raise KafkaException(done.error)

    words = MemberWords(commit, KafkaException)
    consumer.subscribe(
        [topic],
        on_assign=lambda _, found: words.takes(one.partition for one in found),
        on_revoke=lambda _, found: words.gives(one.partition for one in found),
        on_lost=lambda _, found: words.loses(one.partition for one in found),
    )
    try:
        while not ends.is_set():
            for message in consumer.consume(500, 0.05):
                error = message.error()
                if error is not None:
                    raise KafkaException(error)
                value, partition, offset = message.value(), message.partition(), message.offset()
                assert isinstance(value, bytes)
                assert partition is not None
                assert offset is not None
                words.read(partition, offset, value)
            words.commit()
    finally:
        consumer.close()


run_member(be_member)
