"""Other people's consumers fetch from the sandbox in sessions, from followers, and behind elections with losses."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from kctl.sandbox import ClusterSettings, Sandbox
from kctl.sandbox.server import ServedSandbox
from tests.conformance.foreign import CONFLUENT, JAVA, ForeignClient, ForeignRecord
from tests.conformance.foreign.group_member import CONFLUENT_MEMBER, JAVA_MEMBER, GroupMember, MemberClient
from tests.support.bounds import bound
from tests.support.kafka.requirements import have
from tests.support.kafka.waiting import wait_until

pytestmark = pytest.mark.nightly

PATIENCE_MS = bound(30_000)
CLIENTS = pytest.mark.parametrize("client", [JAVA, CONFLUENT], ids=lambda client: client.name)
MEMBERS = pytest.mark.parametrize("client", [JAVA_MEMBER, CONFLUENT_MEMBER], ids=lambda client: client.name)


def replicated(partitions: int = 1, racks: list[str] | None = None, slots: int = 1_000) -> Sandbox:
    settings = ClusterSettings(group_min_session_timeout_ms=1_000, max_incremental_fetch_session_cache_slots=slots)
    sandbox = Sandbox(nodes=3, settings=settings, racks=racks)
    sandbox.create_topic("t", partitions, replication_factor=3)
    return sandbox


def produce(served: ServedSandbox, numbers: range, partitions: int = 1) -> None:
    records = [ForeignRecord(b"%d" % number, partition=number % partitions) for number in numbers]
    have(CONFLUENT.require)
    CONFLUENT.produce(served.bootstrap, "t", records, properties={"linger.ms": "0", "batch.num.messages": "1"})


def sessions_opened(served: ServedSandbox) -> int:
    return sum(node.fetch_sessions.opened for node in served.sandbox.cluster.nodes.values())


@pytest.fixture
def member() -> Iterator[Callable[..., GroupMember]]:
    """Start members that end with the test."""
    with ExitStack() as stack:

        def start(client: MemberClient, served: ServedSandbox, **more: str) -> GroupMember:
            have(client.command)
            return stack.enter_context(GroupMember(client, served.bootstrap, "t", "range", **more))

        yield start


def wait_for_values(one: GroupMember, numbers: list[int]) -> None:
    wait_until(lambda: sorted(map(int, one.values)) == sorted(numbers), PATIENCE_MS, f"{len(numbers)} records")


@CLIENTS
def test_a_consumer_reads_from_the_follower_in_its_rack(client: ForeignClient) -> None:
    have(client.require)
    with replicated(racks=["a", "b", "c"]).serve() as served:
        produce(served, range(50))
        # A leader answers this consumer with the name of the follower and with nothing else: who reads all has gone
        # there.
        leader = served.sandbox.cluster.topics["t"].partitions[0].leader_id
        rack = "c" if leader != 3 else "b"
        read = client.consume(served.bootstrap, "t", 50, properties={"client.rack": rack})
        assert [record.value for record in read] == [b"%d" % number for number in range(50)]


@CLIENTS
def test_a_consumer_goes_back_to_the_leader_for_what_the_follower_lacks(client: ForeignClient) -> None:
    have(client.require)
    with replicated(racks=["a", "b", "c"]).serve() as served:
        produce(served, range(20))
        leader = served.sandbox.cluster.topics["t"].partitions[0].leader_id
        follower = 3 if leader != 3 else 2
        served.sandbox.hold_follower("t", 0, follower)
        produce(served, range(20, 40))
        rack = served.sandbox.cluster.nodes[follower].rack
        read = client.consume(served.bootstrap, "t", 40, properties={"client.rack": str(rack)})
        assert [record.value for record in read] == [b"%d" % number for number in range(40)]


def test_java_reads_in_sessions_and_goes_on_when_they_are_forgotten(member: Callable[..., GroupMember]) -> None:
    with replicated(6).serve() as served:
        one = member(JAVA_MEMBER, served)
        produce(served, range(60), 6)
        wait_for_values(one, list(range(60)))
        opened = sessions_opened(served)
        assert opened == 3, "one a node"
        for node_id in (1, 2, 3):
            served.sandbox.forget_fetch_sessions(node_id)
        produce(served, range(60, 120), 6)
        wait_for_values(one, list(range(120)))
        assert sessions_opened(served) == 6


def test_java_reads_where_there_is_no_slot_for_a_session(member: Callable[..., GroupMember]) -> None:
    with replicated(6, slots=0).serve() as served:
        one = member(JAVA_MEMBER, served)
        produce(served, range(60), 6)
        wait_for_values(one, list(range(60)))
        assert sessions_opened(served) == 0


@MEMBERS
def test_leaders_move_under_a_consumer(member: Callable[..., GroupMember], client: MemberClient) -> None:
    with replicated(3).serve() as served:
        one = member(client, served)
        for step in range(3):
            produce(served, range(30 * step, 30 * step + 30), 3)
            wait_for_values(one, list(range(30 * step + 30)))
            for partition in served.sandbox.cluster.topics["t"].partitions.values():
                served.sandbox.move_leader("t", partition.index, partition.leader_id % 3 + 1)


@MEMBERS
def test_a_consumer_notices_that_what_it_has_read_was_lost(
    member: Callable[..., GroupMember], client: MemberClient
) -> None:
    with replicated().serve() as served:
        one = member(client, served)
        produce(served, range(20))
        wait_for_values(one, list(range(20)))
        leader = served.sandbox.cluster.topics["t"].partitions[0].leader_id
        served.sandbox.move_leader("t", 0, leader % 3 + 1, end_offset=12)
        # The new leader writes at offsets that the consumer believes to have behind it.
        produce(served, range(100, 108))
        wait_for_values(one, [*range(20), *range(100, 108)])
