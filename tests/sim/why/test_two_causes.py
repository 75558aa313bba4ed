"""Incidents with two simultaneous causes: both are found, the more severe one first."""

from collections.abc import Callable
from typing import NamedTuple

import pytest

from kctl.client.admin import ConfigResource, QuotaEntity, ResourceType
from kctl.client.cluster import TopicPartition
from kctl.sandbox import ClusterSettings, Fault
from kctl.why import Finding, Looks, Scope, Selection, Severity, diagnose
from tests.sim.kit import settle
from tests.sim.why.story import Story, run_story
from tests.sim.why.test_transaction_stories import begin

NEVER_MS = 1 << 40
SETTINGS = ClusterSettings(log_cleaner_backoff_ms=NEVER_MS)
EVERYTHING = Selection(groups=None, topics=None, has_brokers=True)
FUTURE_MS = 400 * 24 * 3_600_000


def nothing(_scene: Story) -> None:
    """Leave it as it is."""


class Cause(NamedTuple):
    """Expected finding, and its causes before the first look and between the looks."""

    finding: str
    before: Callable[[Story], None]
    between: Callable[[Story], None] = nothing


def set_topic(story: Story, **values: str) -> None:
    configs = {name.replace("_", "."): value for name, value in values.items()}
    story.admin.alter_configs({ConfigResource(ResourceType.TOPIC, "t"): configs}).raise_first()


def leave_group(story: Story) -> None:
    story.produce(9, partition=1)
    story.sim.commit("left", {("t", 0): 0, ("t", 1): 2})


def lose_records(story: Story) -> None:
    story.produce(9, partition=0)
    story.sim.commit("late", {("t", 0): 3, ("t", 1): 0})
    story.sim.sandbox.delete_records("t", 0, 7)


def cut_log(story: Story) -> None:
    story.produce(4, partition=1)
    story.produce(4, partition=1)
    end = story.sim.sandbox.end_offset("t", 1)
    story.sim.commit("cut", {("t", 0): 0, ("t", 1): end})
    story.sim.sandbox.move_leader("t", 1, story.sim.leader(1), end_offset=end - 4)


def hang(story: Story) -> None:
    story.sim.sandbox.lose_markers("copier")
    producer = begin(story)
    producer.commit_transaction(timeout=10)
    producer.close()
    story.produce(2)


def come_from_the_future(story: Story) -> None:
    set_topic(story, message_timestamp_after_max_ms=str(1 << 60))
    with story.sim.producer() as producer:
        producer.send("t", b"x", partition=1, timestamp_ms=story.sim.clock.wall_ms() + FUTURE_MS)


def stand_still(story: Story) -> None:
    member = story.enter(story.sim.classic_member("still", enable_auto_commit=False))
    settle(member)
    story.produce(4)
    for _ in range(3):
        member.poll(timeout=0.2)
    member.commit_sync(timeout=5)
    story.produce(4)


def stall_compaction(story: Story) -> None:
    """Leave three hours old records that no log cleaner has seen: it comes once in `NEVER_MS`."""
    configs = {"cleanup.policy": "compact", "segment.bytes": "20000"}
    story.sim.sandbox.cluster.create_topic("k", 1, 3, configs)
    old_ms = story.sim.clock.wall_ms() - 3 * 3_600_000
    with story.sim.producer({"linger.ms": "5"}) as producer:
        for number in range(300):
            producer.send("k", b"x" * 200, key=b"%d" % (number % 10), partition=0, timestamp_ms=old_ms)
            if number % 50 == 0:
                producer.flush(timeout=5)


def write_acknowledged(story: Story) -> None:
    story.sim.sandbox.cluster.create_topic("l", 1, 3)
    for _ in range(3):
        story.produce(2, "l")


def elect_shorter(story: Story) -> None:
    led = story.sim.sandbox.cluster.topics["l"].partitions[0]
    other = next(each for each in led.replicas if each != led.leader_id)
    story.sim.sandbox.move_leader("l", 0, other, end_offset=2)


def throttle(story: Story) -> None:
    """Leave a member with a quota near zero that moves on a little between the looks."""
    story.sim.sandbox.cluster.create_topic("q", 1, 3)
    member = story.enter(story.sim.classic_member("slow", "q", client_id="slow", enable_auto_commit=False))
    settle(member)
    story.produce(40, "q")
    member.commit_sync({TopicPartition("q", 0): 2}, timeout=5)
    story.admin.alter_client_quotas({QuotaEntity.of({"client-id": "slow"}): {"consumer_byte_rate": 10}}).raise_first()
    story.members["slow"] = member


def crawl(story: Story) -> None:
    story.members["slow"].commit_sync({TopicPartition("q", 0): 3}, timeout=5)


def gather_members(story: Story) -> None:
    story.sim.sandbox.cluster.create_topic("s", 4, 3)
    story.members["calm"] = story.enter(story.sim.kip_848_member("stormy", "s"))
    settle(story.members["calm"])


def come_and_go(story: Story) -> None:
    for _ in range(3):
        with story.sim.kip_848_member("stormy", "s") as member:
            settle(member, story.members["calm"])


def lose_replica(story: Story) -> None:
    story.sim.sandbox.cluster.create_topic("r", 1, 2, {"min.insync.replicas": "2"})
    partition = story.sim.sandbox.cluster.topics["r"].partitions[0]
    story.sim.sandbox.hold_follower("r", 0, next(each for each in partition.replicas if each != partition.leader_id))


CAUSES = {
    cause.finding: cause
    for cause in (
        Cause("group-no-members", leave_group),
        Cause("lost-data", lose_records),
        Cause("log-truncated", cut_log),
        Cause("transaction-hanging", hang),
        Cause("future-timestamps", come_from_the_future),
        Cause("group-stuck", stand_still),
        Cause("under-min-isr", lose_replica),
        Cause("compaction-stalled", stall_compaction),
        Cause("records-lost", write_acknowledged, elect_shorter),
        Cause("group-throttled", throttle, crawl),
        Cause("rebalance-storm", gather_members, come_and_go),
        Cause("impossible-min-isr", lambda story: set_topic(story, min_insync_replicas="2")),
        Cause("unclean-election", lambda story: create_unclean(story)),
        Cause("no-leader", lambda story: story.sim.sandbox.elect_late("u", 0, 1, ms=60_000)),
        Cause("broker-unreachable", nothing, lambda story: story.sim.sandbox.start_fault(3, Fault.FREEZE)),
    )
}
CONSEQUENCES = {"group-no-members"}
"""The groups of other incidents have no members either."""
INCIDENTS = [
    ("group-stuck", "under-min-isr"),
    ("lost-data", "future-timestamps"),
    ("log-truncated", "no-leader"),
    ("transaction-hanging", "group-no-members"),
    ("group-no-members", "impossible-min-isr"),
    ("unclean-election", "lost-data"),
    ("no-leader", "future-timestamps"),
    ("under-min-isr", "transaction-hanging"),
    ("under-min-isr", "broker-unreachable"),
    ("impossible-min-isr", "unclean-election"),
    ("group-stuck", "group-no-members"),
    ("records-lost", "compaction-stalled"),
    ("log-truncated", "group-throttled"),
    ("records-lost", "rebalance-storm"),
    ("lost-data", "compaction-stalled"),
    ("log-truncated", "records-lost"),
    ("group-throttled", "rebalance-storm"),
    ("group-stuck", "group-throttled"),
]


def create_unclean(story: Story) -> None:
    story.sim.sandbox.cluster.create_topic("c", 1, 3, {"unclean.leader.election.enable": "true"})


def look(story: Story, causes: list[Cause]) -> tuple[Finding, ...]:
    for cause in causes:
        cause.before(story)

    def meanwhile() -> None:
        for cause in causes:
            cause.between(story)

    looks: Looks = story.looks(EVERYTHING, meanwhile=meanwhile)
    return diagnose(looks, tuple(Scope), severity=Severity.WARNING).findings


@pytest.mark.slow
@pytest.mark.parametrize("incident", INCIDENTS, ids=" and ".join)
def test_both_causes_are_found_the_graver_first(incident: tuple[str, str]) -> None:
    def body(story: Story) -> None:
        found = look(story, [CAUSES[name] for name in incident])
        ids = [each.id for each in found]
        assert set(incident) <= set(ids)
        severities = [list(Severity).index(each.severity) for each in found]
        assert severities == sorted(severities)
        assert set(ids) & CAUSES.keys() - CONSEQUENCES <= set(incident)

    run_story(body, topics={"t": 2, "u": 1}, settings=SETTINGS)


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] if name == "rebalance-storm" else []) for name in CAUSES]
)
def test_one_cause_alone_is_found_alone(name: str) -> None:
    def body(story: Story) -> None:
        ids = {each.id for each in look(story, [CAUSES[name]])}
        assert ids & CAUSES.keys() - CONSEQUENCES == {name} - CONSEQUENCES
        assert name in ids

    run_story(body, topics={"t": 2, "u": 1}, settings=SETTINGS)
