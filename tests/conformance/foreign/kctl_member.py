"""kctl itself as a member of a group until its standard input ends; its lines are told in group_member.py."""

from collections.abc import Mapping, Sequence
from threading import Event

from kctl.client import Consumer, TopicPartition
from kctl.client.consumer.group.application_side import RebalanceListener
from kctl.client.errors import KafkaError
from tests.conformance.foreign.member_words import MemberWords, run_member


class _Telling(RebalanceListener):
    def __init__(self, words: MemberWords) -> None:
        self._words = words

    def on_partitions_assigned(self, topic_partitions: Sequence[TopicPartition]) -> None:
        self._words.takes(tp.partition for tp in topic_partitions)

    def on_partitions_revoked(self, topic_partitions: Sequence[TopicPartition]) -> None:
        self._words.gives(tp.partition for tp in topic_partitions)

    def on_partitions_lost(self, topic_partitions: Sequence[TopicPartition]) -> None:
        self._words.loses(tp.partition for tp in topic_partitions)


def be_member(topic: str, properties: dict[str, str], ends: Event) -> None:
    """Read and commit until `ends` is set."""
    with Consumer(properties) as consumer:

        def commit(offsets: Mapping[int, int]) -> None:
            wanted = {TopicPartition(topic, partition): offset for partition, offset in offsets.items()}
            consumer.commit_sync(wanted, timeout=10)

        words = MemberWords(commit, KafkaError)
        consumer.subscribe([topic], _Telling(words))
        while not ends.is_set():
            for record in consumer.poll(0.05):
                words.read(record.partition, record.offset, record.value or b"")
            words.commit()


run_member(be_member)
