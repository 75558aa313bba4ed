"""Assignors of the application: functions and objects that share out the partitions of a classic group."""

from collections.abc import Mapping
from typing import Any

import pytest

from kctl.client import Consumer, TopicPartition
from kctl.client.consumer.assignors import Assignment, MemberSubscription
from kctl.client.errors import ConfigError, IllegalStateError
from tests.sim.kit import SimCluster, run, settle

Members = Mapping[str, MemberSubscription]


def all_to_one(members: Members, partitions_of: Mapping[str, int]) -> Assignment:
    """Give everything to the last member."""
    return {max(members): [TopicPartition(topic, n) for topic, count in partitions_of.items() for n in range(count)]}


class Even:
    """Deals partitions out in turn, whatever topic they are of."""

    name = "even"
    supports_cooperative = True

    def subscription_user_data(self, owned: object, generation: int) -> bytes:
        return b"hello"

    def assign(self, members: Members, partitions_of: Mapping[str, int]) -> Assignment:
        assert {member.user_data for member in members.values()} == {b"hello"}
        tps = [TopicPartition(topic, n) for topic, count in partitions_of.items() for n in range(count)]
        return {each: tps[at :: len(members)] for at, each in enumerate(sorted(members))}


def poll_often(consumer: Consumer) -> None:
    for _ in range(20):
        consumer.poll(1)


def member(cluster: SimCluster, strategy: object) -> Consumer:
    return cluster.enter(cluster.classic_member("g", partition_assignment_strategy=strategy))


def test_function_shares_out_the_partitions() -> None:
    def app(cluster: SimCluster) -> None:
        members = [member(cluster, [all_to_one, "range"]) for _ in range(2)]
        for _ in range(10):
            for each in members:
                each.poll(1)
        assert sorted(len(each.assignment) for each in members) == [0, 4]

    run(app, topics={"t": 4})


def test_object_shares_out_the_partitions_and_sends_its_data() -> None:
    def app(cluster: SimCluster) -> None:
        members = [member(cluster, Even()) for _ in range(2)]
        settle(*members)
        assert [len(each.assignment) for each in members] == [2, 2]

    run(app, topics={"t": 4})


def test_member_without_the_function_makes_the_group_agree_on_another_assignor() -> None:
    def app(cluster: SimCluster) -> None:
        members = [member(cluster, [all_to_one, "range"]), member(cluster, "range")]
        settle(*members)
        assert [len(each.assignment) for each in members] == [2, 2]

    run(app, topics={"t": 4})


def missing(members: Members, partitions_of: Mapping[str, int]) -> Assignment:
    return {each: [TopicPartition("t", 7)] for each in members}


def stranger(members: Members, partitions_of: Mapping[str, int]) -> Assignment:
    return {"nobody": []}


def other_topic(members: Members, partitions_of: Mapping[str, int]) -> Assignment:
    return {each: [TopicPartition("u", 0)] for each in members}


def twice(members: Members, partitions_of: Mapping[str, int]) -> Assignment:
    return {each: [TopicPartition("t", 0)] * 2 for each in members}


def with_floats(members: Members, partitions_of: Mapping[str, int]) -> Any:
    return {each: [("t", 1.0)] for each in members}


def exiting(members: Members, partitions_of: Mapping[str, int]) -> Assignment:
    raise SystemExit(3)


def raising(members: Members, partitions_of: Mapping[str, int]) -> Assignment:
    raise KeyError("weights")


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        (missing, "t-7 does not exist"),
        (stranger, "'nobody' is not a member of the group"),
        (other_topic, "u-0 does not exist"),
        (twice, "t-0 is assigned twice"),
        (raising, "'weights'"),
        (with_floats, r"partition 1\.0 of t is not an integer"),
        (exiting, "3"),
    ],
)
def test_wrong_assignment_is_the_error_of_the_leaders_poll(function: object, reason: str) -> None:
    def app(cluster: SimCluster) -> None:
        consumer = member(cluster, function)
        text = f"assignor {function.__name__} cannot assign the partitions: .*{reason}"  # type: ignore[attr-defined]
        with pytest.raises(IllegalStateError, match=text):
            poll_often(consumer)

    run(app, topics={"t": 4, "u": 1})


class Silent(Even):
    """An assignor without bytes for the group."""

    name = "silent"

    def subscription_user_data(self, owned: object, generation: int) -> Any:
        return "text"


class Refusing(Even):
    """An assignor that ends the program while its member joins."""

    name = "refusing"

    def subscription_user_data(self, owned: object, generation: int) -> bytes:
        raise SystemExit("no weights")


@pytest.mark.parametrize(
    ("assignor", "reason"),
    [(Silent(), r"subscription_user_data\(\) must return bytes, not str"), (Refusing(), "no weights")],
)
def test_user_data_that_cannot_be_sent_is_the_error_of_poll(assignor: Even, reason: str) -> None:
    def app(cluster: SimCluster) -> None:
        consumer = member(cluster, assignor)
        for _ in range(2):
            with pytest.raises(
                IllegalStateError,
                match=f"assignor {assignor.name} cannot return the user data of the subscription: {reason}",
            ):
                poll_often(consumer)
        assert consumer.close(5).committed

    run(app, topics={"t": 4})


def using_up(members: dict[str, MemberSubscription], partitions_of: dict[str, int]) -> Assignment:
    """Share partitions out, and remove the members and topics that are done from the arguments."""
    found: Assignment = {member_id: [] for member_id in members}
    while partitions_of:
        topic, count = partitions_of.popitem()
        found[members.popitem()[0]] += [TopicPartition(topic, n) for n in range(count)]
    return found


def test_assignor_that_changes_what_it_gets_shares_out_the_partitions_once() -> None:
    def app(cluster: SimCluster) -> None:
        consumer = member(cluster, using_up)
        settle(consumer)
        assert len(consumer.assignment) == 4
        poll_often(consumer)
        assert len(consumer.assignment) == 4
        assert len(cluster.sent("SyncGroup")) == 1

    run(app, topics={"t": 4})


@pytest.mark.parametrize("strategy", [object(), 7, [None], [lambda *_: {}]])
def test_value_that_is_no_assignor_is_rejected(strategy: object) -> None:
    def app(cluster: SimCluster) -> None:
        with pytest.raises(
            ConfigError, match=r"invalid partition\.assignment\.strategy .*: use a comma-separated list"
        ):
            cluster.consumer(group_id="g", partition_assignment_strategy=strategy)

    run(app)


def test_function_may_not_have_the_name_of_an_assignor_of_kafka() -> None:
    def range(members: Members, partitions_of: Mapping[str, int]) -> Assignment:
        return {}

    def app(cluster: SimCluster) -> None:
        with pytest.raises(ConfigError, match="Kafka already has an assignor named range"):
            cluster.consumer(group_id="g", partition_assignment_strategy=range)

    run(app)
