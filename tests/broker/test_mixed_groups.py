"""Java, confluent-kafka and kctl in one group of Kafka 4.3.1: they share, leave, die, come back; nothing is lost."""

from collections.abc import Iterator
from contextlib import ExitStack
from itertools import chain

import pytest

from tests.conformance.foreign.group_history import check_history
from tests.conformance.foreign.group_member import (
    CONFLUENT_MEMBER,
    JAVA_MEMBER,
    KCTL_MEMBER,
    GroupMember,
    MemberClient,
)
from tests.conformance.foreign.group_view import GroupView
from tests.conformance.foreign.numbered_topic import NumberedTopic
from tests.support.bounds import bound
from tests.support.kafka.cluster import KafkaCluster
from tests.support.kafka.requirements import have
from tests.support.kafka.waiting import wait_until

pytestmark = pytest.mark.nightly

PARTITIONS = 6
PATIENCE_MS = bound(60_000)


class _Group:
    """One group that reads a topic; its members are of any client."""

    def __init__(self, kafka: KafkaCluster, topic: str, protocol: str, stack: ExitStack) -> None:
        self.every: dict[str, GroupMember] = {}
        self._present: dict[str, GroupMember] = {}
        self._kafka, self._topic, self._protocol, self._stack = kafka, topic, protocol, stack

    def join(self, client: MemberClient) -> str:
        """Start a member, wait until it has its share, and return its name."""
        have(client.command)
        member = GroupMember(client, self._kafka.bootstrap(), self._topic, self._protocol, group=self._topic)
        self._stack.enter_context(member)
        name = f"{client.name}-{len(self.every)}"
        self.every[name] = self._present[name] = member
        self._wait_shared(f"{name} joined")
        return name

    def leave(self, name: str) -> None:
        self._present.pop(name).close()
        self._wait_shared(f"{name} left")

    def die(self, name: str) -> None:
        self._present.pop(name).kill()
        self._wait_shared(f"{name} was killed")

    def close_all(self) -> None:
        while self._present:
            self._present.popitem()[1].close()

    def _wait_shared(self, why: str) -> None:
        """Return when those who are here have all partitions, and each at most one more than any other."""

        def is_shared() -> bool:
            has = [one.assigned for one in self._present.values()]
            counts = [len(each) for each in has]
            return sorted(chain(*has)) == list(range(PARTITIONS)) and max(counts) - min(counts) <= 1

        wait_until(is_shared, PATIENCE_MS, f"equal shares, as {why}")


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


@pytest.mark.parametrize("protocol", ["range", "cooperative-sticky", "consumer"])
def test_members_of_three_clients_share_and_hand_over(
    kafka_newest: KafkaCluster, stack: ExitStack, protocol: str
) -> None:
    topic = kafka_newest.create_topic(partitions=PARTITIONS)
    group = _Group(kafka_newest, topic, protocol, stack)
    with NumberedTopic(kafka_newest.bootstrap(), topic, PARTITIONS) as numbered:
        java, confluent, kctl = (group.join(client) for client in (JAVA_MEMBER, CONFLUENT_MEMBER, KCTL_MEMBER))
        group.leave(java)
        java = group.join(JAVA_MEMBER)
        group.leave(confluent)
        group.leave(kctl)
        kctl = group.join(KCTL_MEMBER)
        group.join(CONFLUENT_MEMBER)
        group.die(kctl)
        group.die(java)
        group.join(KCTL_MEMBER)
        ends = numbered.stop()
        with GroupView(kafka_newest.bootstrap()) as view:

            def is_read() -> bool:
                return view.committed(topic, topic, PARTITIONS) == ends

            wait_until(is_read, PATIENCE_MS, "everything to be read and committed", interval_ms=200)
    group.close_all()
    check_history(group.every, ends)
