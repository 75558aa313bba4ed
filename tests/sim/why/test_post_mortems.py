"""Incidents of public post-mortems: the cause is found, the fix fits, and the finding stays until the fault is gone."""

from typing import Any

from kctl.client.admin import ElectionType
from kctl.client.cluster import TopicPartition
from kctl.client.consumer.consumer import Consumer
from kctl.why import Scope, Selection, diagnose
from tests.sim.kit import settle
from tests.sim.why.story import Story, run_story


def poll_and_commit(*members: Consumer) -> None:
    for _ in range(5):
        for member in members:
            member.poll(0.2)
            member.commit_sync(timeout=5)


def test_static_member_that_stands_still_has_the_fix_for_a_process_that_is_gone_too() -> None:
    """A pod is killed: its group.instance.id keeps the partition for the rest of session.timeout.ms."""

    def body(story: Story) -> None:
        properties: dict[str, Any] = {"client_id": "app", "enable_auto_commit": False}
        killed = story.enter(story.sim.classic_member("g", group_instance_id="pod-1", **properties))
        other = story.enter(story.sim.classic_member("g", group_instance_id="pod-2", **properties))
        settle(killed, other)

        def arrive(*members: Consumer) -> None:
            for partition in (0, 1):
                story.produce(4, partition=partition)
            poll_and_commit(*members)

        arrive(killed, other)
        arrive()
        found = story.group(meanwhile=lambda: arrive(other))
        stuck = found["group-stuck"]
        assert "restart it" in stuck.cure
        assert "kctl groups remove-members g --instance pod-1 --execute" in stuck.cure
        again = story.group(meanwhile=lambda: arrive(other))
        assert "group-stuck" in again, "until the member reads"
        assert story.group(meanwhile=lambda: arrive(killed, other)) == {}

    run_story(body, topics={"t": 2})


def test_partition_that_stands_while_others_of_its_member_move_shows_the_record_and_the_reset() -> None:
    """A consumer retries one record for ever, and reads its other partitions."""

    def body(story: Story) -> None:
        member = story.enter(story.sim.classic_member("g", client_id="app", enable_auto_commit=False))
        settle(member)
        stuck, moving = sorted(member.assignment)

        def arrive(*partitions: Any) -> None:
            for tp in (stuck, moving):
                story.produce(4, partition=tp.partition)
            for _ in range(5):
                member.poll(0.2)
                member.commit_sync({tp: member.position(tp) for tp in partitions}, timeout=5)

        arrive(stuck, moving)
        arrive()
        found = story.group(meanwhile=lambda: arrive(moving))["group-stuck"]
        committed = member.committed([stuck])[stuck]
        assert committed is not None
        assert f"kctl consume t -p {stuck.partition} -o {committed.offset} -n 1 --output jsonl" in found.cure
        assert "kctl groups reset-offsets g" in found.cure
        assert story.group(meanwhile=lambda: arrive(stuck, moving)) == {}

    run_story(body, topics={"t": 2})


def test_coordinator_without_a_leader_is_found_for_the_cluster() -> None:
    """The replicas of a partition of __consumer_offsets are down: its groups cannot commit."""

    def body(story: Story) -> None:
        story.sim.commit("g", {("t", 0): 0})
        topic = story.sim.sandbox.cluster.topics["__consumer_offsets"]
        story.sim.sandbox.elect_late(topic.name, 7, 2, ms=600_000)
        found = story.cluster()["coordinator-offline"]
        assert found.sentence.startswith("__consumer_offsets-7 has no leader: ")
        assert "groups" in found.leads_to

    run_story(body, topics={"t": 1})


def test_leaders_that_stay_on_one_broker_after_a_rolling_restart_are_found() -> None:
    """Each restart moves leaders away; without an election the last broker that was restarted leads nothing."""

    def body(story: Story) -> None:
        sandbox = story.sim.sandbox
        sandbox.cluster.create_topic("r", 12, 3, {})
        for partition in range(12):
            sandbox.move_leader("r", partition, 1)
        looks = story.looks(Selection(topics=None, has_brokers=True))
        found = {each.id: each for each in diagnose(looks, (Scope.CLUSTER,)).findings}
        assert found["preferred-leader-away"].cure == "kctl partitions elect --all"
        partitions = [TopicPartition("r", partition) for partition in range(12)]
        story.admin.elect_leaders(ElectionType.PREFERRED, partitions).raise_first()
        looks = story.looks(Selection(topics=None, has_brokers=True))
        assert diagnose(looks, (Scope.CLUSTER,)).findings == ()

    run_story(body)
