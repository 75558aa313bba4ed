"""Other people's consumers share a topic of the sandbox in one group, hand over, and find what they committed.

Groups promise each record at least once, and exactly once while nobody's partitions change. A member that a busy
machine holds up longer than its session lasts is thrown out, and what it had not committed is read again.
"""

from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from kctl.sandbox import ClusterSettings, Sandbox
from kctl.sandbox.server import ServedSandbox
from tests.conformance.foreign import CONFLUENT, ForeignRecord
from tests.conformance.foreign.group_member import CONFLUENT_MEMBER, JAVA_MEMBER, GroupMember, MemberClient
from tests.support.bounds import bound
from tests.support.kafka.requirements import have
from tests.support.kafka.waiting import wait_until

pytestmark = pytest.mark.nightly

PATIENCE_MS = bound(30_000)
PROTOCOLS = ["range", "cooperative-sticky", "consumer"]
PAIRS = {
    "java": (JAVA_MEMBER, JAVA_MEMBER),
    "confluent": (CONFLUENT_MEMBER, CONFLUENT_MEMBER),
    "mixed": (JAVA_MEMBER, CONFLUENT_MEMBER),
}


@pytest.fixture
def served() -> Iterator[ServedSandbox]:
    settings = ClusterSettings(
        group_min_session_timeout_ms=1_000,
        group_consumer_session_timeout_ms=10_000,
        group_consumer_heartbeat_interval_ms=200,
    )
    with Sandbox(nodes=3, topics={"t": 4}, settings=settings).serve() as served:
        yield served


@pytest.fixture
def member(served: ServedSandbox) -> Iterator[Callable[..., GroupMember]]:
    """Start members that end with the test."""
    with ExitStack() as stack:

        def start(client: MemberClient, protocol: str, **more: str) -> GroupMember:
            have(client.command)
            return stack.enter_context(GroupMember(client, served.bootstrap, "t", protocol, **more))

        yield start


def produce(served: ServedSandbox, numbers: range) -> None:
    records = [ForeignRecord(b"%d" % number, partition=number % 4) for number in numbers]
    have(CONFLUENT.require)
    CONFLUENT.produce(served.bootstrap, "t", records)


def wait_for(condition: Callable[[], bool], what: str) -> None:
    wait_until(condition, PATIENCE_MS, what)


def shares(one: GroupMember, two: GroupMember) -> bool:
    return len(one.assigned) == len(two.assigned) == 2 and sorted(one.assigned + two.assigned) == [0, 1, 2, 3]


def read(one: GroupMember, two: GroupMember) -> set[int]:
    return set(map(int, one.values + two.values))


def committed(served: ServedSandbox) -> int:
    return sum(found.offset for found in served.sandbox.cluster.groups.offsets.get("g", {}).values())


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("pair", PAIRS)
def test_two_members_share_and_hand_over(
    served: ServedSandbox, member: Callable[..., GroupMember], pair: str, protocol: str
) -> None:
    clients = PAIRS[pair]
    produce(served, range(40))
    first = member(clients[0], protocol)
    wait_for(lambda: first.assigned == [0, 1, 2, 3], "the first member to have all")
    wait_for(lambda: committed(served) == 40, "the first member to have read all")
    second = member(clients[1], protocol)
    wait_for(lambda: shares(first, second), "two members to share")
    changes = first.changes, second.changes
    produce(served, range(40, 80))
    wait_for(lambda: committed(served) == 80, "all to be committed")
    wait_for(lambda: read(first, second) >= set(range(80)), "both to have told what they read")
    assert read(first, second) == set(range(80))
    if (first.changes, second.changes) == changes:
        assert len(first.values + second.values) == 80
        assert {int(value) % 4 for value in second.values} == set(second.assigned)
    first.close()
    wait_for(lambda: second.assigned == [0, 1, 2, 3], "the second member to take over")
    second.close()
    third = member(clients[0], protocol)
    wait_for(lambda: third.assigned == [0, 1, 2, 3], "a third member")
    produce(served, range(80, 84))
    wait_for(lambda: len(third.values) == 4, "what came last")
    assert sorted(third.values) == ["80", "81", "82", "83"]


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("client", [JAVA_MEMBER, CONFLUENT_MEMBER], ids=lambda client: client.name)
def test_a_member_that_dies_is_replaced_and_the_coordinator_moves(
    served: ServedSandbox, member: Callable[..., GroupMember], client: MemberClient, protocol: str
) -> None:
    first, second = member(client, protocol), member(client, protocol)
    wait_for(lambda: shares(first, second), "two members to share")
    changes = first.changes, second.changes
    node_id = served.sandbox.cluster.groups.node_of("g").node_id
    served.sandbox.move_coordinator("g", node_id % 3 + 1)
    produce(served, range(40))
    wait_for(lambda: committed(served) == 40, "commits at the new coordinator")
    wait_for(lambda: read(first, second) >= set(range(40)), "both to have told what they read")
    assert read(first, second) == set(range(40))
    if (first.changes, second.changes) == changes:
        assert len(first.values + second.values) == 40
    first.kill()
    wait_for(lambda: second.assigned == [0, 1, 2, 3], "the other one to take over")


@pytest.mark.parametrize("protocol", ["range", "consumer"])
@pytest.mark.parametrize("client", [JAVA_MEMBER, CONFLUENT_MEMBER], ids=lambda client: client.name)
def test_a_static_member_comes_back_to_its_partitions(
    served: ServedSandbox, member: Callable[..., GroupMember], client: MemberClient, protocol: str
) -> None:
    first, second = (member(client, protocol, group_instance_id=name) for name in "ab")
    wait_for(lambda: shares(first, second), "two members to share")
    changes = second.changes
    had = first.assigned
    first.close()
    back = member(client, protocol, group_instance_id="a")
    wait_for(lambda: back.assigned == had, "the same partitions")
    assert second.changes == changes


@pytest.mark.parametrize("pair", PAIRS)
def test_a_group_goes_over_to_the_consumer_protocol_and_back_while_it_reads(
    served: ServedSandbox, member: Callable[..., GroupMember], pair: str
) -> None:
    clients = PAIRS[pair]
    first = member(clients[0], "cooperative-sticky")
    wait_for(lambda: first.assigned == [0, 1, 2, 3], "the classic member to have all")
    produce(served, range(40))
    second = member(clients[1], "consumer")
    wait_for(lambda: shares(first, second), "members of both protocols to share")
    group = served.sandbox.cluster.groups.get("g")
    assert group is not None
    assert group.kind == "consumer"
    produce(served, range(40, 80))
    wait_for(lambda: committed(served) == 80, "all to be committed")
    assert set(map(int, first.values + second.values)) == set(range(80))
    second.close()
    wait_for(lambda: first.assigned == [0, 1, 2, 3], "the classic member to have all again")
    group = served.sandbox.cluster.groups.get("g")
    assert group is not None
    assert group.kind == "classic"
    produce(served, range(80, 120))
    wait_for(lambda: committed(served) == 120, "all to be committed")
