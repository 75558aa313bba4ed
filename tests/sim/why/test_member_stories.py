"""Members that slow down, leave, fence each other or miss partitions, on the sandbox; each with its healthy twin."""

from collections.abc import Callable
from typing import Any

from kctl.client.clock import Timer
from kctl.client.cluster import TopicPartition
from kctl.client.consumer.consumer import Consumer
from kctl.client.producer import Producer
from kctl.why import Finding, Gatherer, Looks, Scope, Selection, diagnose
from kctl.why.findings.group_members import LOOP_IDS
from kctl.why.findings.transactions import LOOP_STARTS
from tests.sim.kit import settle
from tests.sim.why.story import BUDGET, TIMEOUT_MS, Story, run_story

ARRIVING, BACKLOG = 20, 500


def glimpsed(story: Story, selection: Selection, step: Callable[[], None], times: int) -> dict[str, Finding]:
    """Return what two looks find between which something is done several times, each time followed by a glimpse."""
    sim, timer = story.sim, Timer(story.sim.clock, TIMEOUT_MS)
    with story.admin.within(TIMEOUT_MS / 1000), story.admin.request_budget(BUDGET):
        gatherer = Gatherer(story.admin, sim.runtime, timer, selection)
        first = gatherer.look()
        between = gatherer.glimpses(first, 0)
        for _ in range(times):
            step()
            between.take(timer.deadline_at_ms)
        looks = Looks(gatherer.look(first), first, tuple(between.taken))
    return {each.id: each for each in diagnose(looks, tuple(Scope)).findings}


def poll(*members: Consumer, rounds: int = 10) -> None:
    for _ in range(rounds):
        for member in members:
            member.poll(0.2)


def test_static_member_whose_process_is_replaced_keeps_its_partition() -> None:
    def body(story: Story) -> None:
        properties: dict[str, Any] = {"client_id": "app", "auto_commit_interval_ms": 100}
        one = story.sim.classic_member("g", group_instance_id="pod-1", **properties)
        two = story.enter(story.sim.classic_member("g", group_instance_id="pod-2", **properties))
        settle(one, two)

        def arrive(*members: Consumer) -> None:
            for partition in (0, 1):
                story.produce(4, partition=partition)
            poll(*members)

        arrive(one, two)
        assert "static-member-gone" not in story.group(meanwhile=lambda: arrive(one, two))
        one.close()
        arrive(two)
        stuck = story.group(meanwhile=lambda: arrive(two))["group-stuck"]
        assert "Member pod-1 (" in stuck.sentence
        assert stuck.cure.endswith(
            ". If the process of this member is gone, run: kctl groups remove-members g --instance pod-1 --execute"
        )

    run_story(body, topics={"t": 2})


def test_group_that_reads_more_slowly_than_records_arrive_is_found() -> None:
    def body(story: Story) -> None:
        member = story.enter(story.sim.classic_member("g", enable_auto_commit=False))
        settle(member)
        tp = TopicPartition("t", 0)

        def more(committed: int) -> None:
            story.produce(ARRIVING)
            poll(member, rounds=1)
            member.commit_sync({tp: committed}, timeout=5)

        story.produce(BACKLOG)
        member.commit_sync({tp: BACKLOG}, timeout=5)
        found = story.group(meanwhile=lambda: more(BACKLOG + ARRIVING))
        assert found.keys() & {"falling-behind", "group-stuck"} == set()
        story.produce(BACKLOG)
        slow = story.group(meanwhile=lambda: more(BACKLOG + ARRIVING + 1), apart_ms=30_000)["falling-behind"]
        waiting = BACKLOG + ARRIVING - 1
        assert slow.sentence.startswith(f"g is falling behind on t: {ARRIVING} records arrived in 30")
        assert slow.sentence.endswith(f"but the group read only 1. {waiting} records are unread")

    run_story(body, topics={"t": 1})


def test_processes_that_fence_each_others_instance_id_are_found() -> None:
    def body(story: Story) -> None:
        def start() -> None:
            with story.sim.classic_member("g", group_instance_id="pod-1", client_id="app") as member:
                poll(member)

        group = Selection(groups=("g",))
        start()
        assert "duplicate-instance-id" not in glimpsed(story, group, start, 1)
        found = glimpsed(story, group, start, LOOP_IDS)["duplicate-instance-id"]
        assert f"group.instance.id pod-1 of g had {LOOP_IDS + 1} member IDs within " in found.sentence

    run_story(body)


def test_new_partitions_that_no_member_has_are_found() -> None:
    def body(story: Story) -> None:
        settle(story.enter(story.sim.classic_member("g")))
        assert "no-assignment" not in story.group()
        story.admin.create_partitions({"t": 5}).raise_first()
        found = story.group()["no-assignment"]
        assert found.sentence == (
            "g is stable (1 member) and subscribes to t, but no member owns 3 partitions of the topic"
        )

    run_story(body, topics={"t": 2})


def test_producers_that_fence_each_other_are_found() -> None:
    def body(story: Story) -> None:
        def start() -> None:
            producer = story.sim.enter(story.sim.producer({"transactional.id": "copier"}))
            producer.init_transactions()

        def work() -> None:
            with story.sim.producer({"transactional.id": "copier"}) as producer:
                producer.init_transactions()
                for _ in range(3):
                    transact(producer)

        cluster = Selection(topics=None, has_brokers=True)
        work()
        assert "producer-fenced" not in glimpsed(story, cluster, work, 1)
        found = glimpsed(story, cluster, start, LOOP_STARTS)["producer-fenced"]
        assert f"copier: producers were initialized at least {LOOP_STARTS} times within " in found.sentence

    run_story(body)


def transact(producer: Producer) -> None:
    producer.begin_transaction()
    producer.send("t", b"x", partition=0)
    producer.commit_transaction(timeout=10)
