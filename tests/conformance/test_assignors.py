"""Assignors against the Java client's: hundreds of random groups through their rebalances, one Java process for all.

Java serves the members of a sticky group in the order of a hash table; the ids here are single characters, which it
keeps in their own order, so that the order is the same as ours.
"""

import subprocess
from functools import cache
from pathlib import Path
from random import Random

import pytest

from kctl.client.cluster import TopicPartition
from kctl.client.consumer.assignors import Assignment, MemberSubscription, assignor_by_name
from kctl.client.consumer.assignors.protocol import encode_assignment, encode_subscription
from tests.support.bounds import bound
from tests.support.kafka.requirements import have
from tests.support.kafka.toolchain import compiled_class_path, java_command
from tests.unit.consumer.assignors.groups import CONTESTED, Group, changed, imbalance, kept, random_group

PROGRAM = Path(__file__).parent / "java" / "ShareOut.java"
SEED = 20_260
GROUPS = 120
ROUNDS = 4
EAGER = ("range", "roundrobin")
STICKY = ("sticky", "cooperative-sticky")


def java(lines: list[str]) -> list[str]:
    """One answer of the Java program for each line."""
    command = have(lambda: java_command(compiled_class_path(PROGRAM), "ShareOut"))
    done = subprocess.run(
        command, input="\n".join(lines) + "\n", capture_output=True, encoding="utf-8", timeout=bound(120)
    )
    assert done.returncode == 0, done.stderr[-2000:]
    answers = done.stdout.splitlines()
    assert len(answers) == len(lines)
    return answers


@cache
def groups(name: str, equal: bool) -> list[Group]:
    """Random groups, each through some rebalances of its own making."""
    rng = Random(f"{SEED} {name} {equal}")
    assignor = assignor_by_name(name)
    found = []
    for _ in range(GROUPS):
        group = random_group(rng, equal=equal)
        for generation in range(ROUNDS):
            found.append(group)
            group = changed(rng, group.after(group.assign(assignor), generation), equal=equal)
    return found


@cache
def answers_of_java(name: str, equal: bool) -> list[Assignment]:
    return [parsed(answer) for answer in java([question(name, group) for group in groups(name, equal)])]


def question(name: str, group: Group) -> str:
    """The group as a line; topics that nobody wants are never handed to Java's assignors."""
    wanted = {topic for member in group.members.values() for topic in member.topics}
    topics = ",".join(f"{topic}:{count}" for topic, count in group.partitions_of.items() if topic in wanted)
    members = [
        f"{member_id}/{member.group_instance_id or ''}/{member.generation}/{','.join(member.topics)}"
        f"/{words(member.owned)}/{member.user_data.hex()}"
        for member_id, member in group.told(assignor_by_name(name)).items()
    ]
    return " ".join(["assign", name, topics, *members])


def words(partitions: tuple[TopicPartition, ...]) -> str:
    return ",".join(f"{topic}:{partition}" for topic, partition in partitions)


def parsed(answer: str) -> Assignment:
    shares = [word.split("=") for word in answer.split(" ")]
    return {member_id: partitions(text) for member_id, text in shares}


def partitions(text: str) -> list[TopicPartition]:
    pairs = [word.split(":") for word in text.split(",") if word]
    return sorted(TopicPartition(topic, int(number)) for topic, number in pairs)


def in_order(assignment: Assignment) -> Assignment:
    return {member_id: sorted(share) for member_id, share in assignment.items()}


@pytest.mark.parametrize("equal", [True, False], ids=["same topics", "different topics"])
@pytest.mark.parametrize("name", EAGER)
def test_range_and_round_robin_are_the_same(name: str, equal: bool) -> None:
    for group, theirs in zip(groups(name, equal), answers_of_java(name, equal), strict=True):
        assert in_order(group.assign(assignor_by_name(name))) == theirs, group


@pytest.mark.parametrize("name", STICKY)
def test_sticky_is_the_same_where_all_want_the_same_topics(name: str) -> None:
    for group, theirs in zip(groups(name, True), answers_of_java(name, True), strict=True):
        assert in_order(group.assign(assignor_by_name(name))) == theirs, question(name, group)


@pytest.mark.parametrize("name", STICKY)
def test_sticky_keeps_the_same_of_two_partitions_of_which_one_is_contested(name: str) -> None:
    [theirs] = java([question(name, CONTESTED)])
    assert in_order(CONTESTED.assign(assignor_by_name(name))) == parsed(theirs)
    assert parsed(theirs)["b"] == [TopicPartition("t", 0)]


def test_sticky_is_as_even_and_as_sticky_where_topics_differ() -> None:
    """Never less even; where it is as even, it keeps as much over all groups, and one less at most in any."""
    kept_more = 0
    for group, theirs in zip(groups("sticky", False), answers_of_java("sticky", False), strict=True):
        ours = group.assign(assignor_by_name("sticky"))
        assert imbalance(ours) <= imbalance(theirs), question("sticky", group)
        if imbalance(ours) == imbalance(theirs):
            more = kept(group, ours) - kept(group, theirs)
            assert more >= -1, question("sticky", group)
            kept_more += more
    assert kept_more >= 0


@pytest.mark.parametrize("name", STICKY)
def test_user_data_is_the_same(name: str) -> None:
    owned = (TopicPartition("t", 3), TopicPartition("t", 5))
    [theirs] = java([f"userdata {name} 7 {words(owned)}"])
    assert assignor_by_name(name).subscription_user_data(owned, 7).hex() == theirs


def test_subscriptions_and_assignments_are_read_and_written_alike() -> None:
    owned = (TopicPartition("t", 0), TopicPartition("t", 5), TopicPartition("u", 1))
    full = encode_subscription(MemberSubscription(("t", "u"), owned, 7, "rack", b"data"))
    least = encode_subscription(MemberSubscription(()))
    assigned = encode_assignment(owned, b"data")
    nothing = encode_assignment(())
    lines = [f"subscription {full.hex()}", f"subscription {least.hex()}"]
    lines += [f"assignment {assigned.hex()}", f"assignment {nothing.hex()}"]
    assert java(lines) == [full.hex(), least.hex(), assigned.hex(), nothing.hex()]
