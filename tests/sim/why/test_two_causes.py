"""Incidents with two causes at once: both are found, the graver first."""

from collections.abc import Callable
from typing import NamedTuple

import pytest

from kctl.client.admin import ConfigResource, ResourceType
from kctl.sandbox import Fault
from kctl.why import Finding, Looks, Scope, Selection, Severity, diagnose
from tests.sim.admin.group_world import settle
from tests.sim.why.scene import Scene, with_scene
from tests.sim.why.test_transaction_stories import begin

EVERYTHING = Selection(groups=None, topics=None, has_brokers=True)
FUTURE_MS = 400 * 24 * 3_600_000


def nothing(_scene: Scene) -> None:
    """Leave it as it is."""


class Cause(NamedTuple):
    """What goes wrong before the first look, and between the two; the finding that it has to be."""

    finding: str
    before: Callable[[Scene], None]
    between: Callable[[Scene], None] = nothing


def set_topic(scene: Scene, **values: str) -> None:
    configs = {name.replace("_", "."): value for name, value in values.items()}
    scene.admin.alter_configs({ConfigResource(ResourceType.TOPIC, "t"): configs}).raise_first()


def leave_group(scene: Scene) -> None:
    scene.produce(9, partition=1)
    scene.world.commit("left", {("t", 0): 0, ("t", 1): 2})


def lose_records(scene: Scene) -> None:
    scene.produce(9, partition=0)
    scene.world.commit("late", {("t", 0): 3, ("t", 1): 0})
    scene.world.sandbox.delete_records("t", 0, 7)


def cut_log(scene: Scene) -> None:
    scene.produce(4, partition=1)
    scene.produce(4, partition=1)
    end = scene.world.sandbox.end_offset("t", 1)
    scene.world.commit("cut", {("t", 0): 0, ("t", 1): end})
    scene.world.sandbox.move_leader("t", 1, scene.world.leader("t", 1), end_offset=end - 4)


def hang(scene: Scene) -> None:
    scene.world.sandbox.lose_markers("copier")
    producer = begin(scene)
    producer.commit_transaction(timeout=10)
    producer.close()
    scene.produce(2)


def come_from_the_future(scene: Scene) -> None:
    set_topic(scene, message_timestamp_after_max_ms=str(1 << 60))
    with scene.world.producer() as producer:
        producer.send("t", b"x", partition=1, timestamp_ms=scene.world.clock.wall_ms() + FUTURE_MS)


def stand_still(scene: Scene) -> None:
    member = scene.enter(scene.world.member("still", enable_auto_commit=False))
    settle(member)
    scene.produce(4)
    for _ in range(3):
        member.poll(timeout=0.2)
    member.commit_sync(timeout=5)
    scene.produce(4)


def lose_replica(scene: Scene) -> None:
    scene.world.sandbox.cluster.create_topic("r", 1, 2, {"min.insync.replicas": "2"})
    partition = scene.world.sandbox.cluster.topics["r"].partitions[0]
    scene.world.sandbox.hold_follower("r", 0, next(each for each in partition.replicas if each != partition.leader_id))


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
        Cause("impossible-min-isr", lambda scene: set_topic(scene, min_insync_replicas="2")),
        Cause("unclean-election", lambda scene: create_unclean(scene)),
        Cause("no-leader", lambda scene: scene.world.sandbox.elect_late("u", 0, 1, ms=60_000)),
        Cause("broker-unreachable", nothing, lambda scene: scene.world.sandbox.start_fault(3, Fault.FREEZE)),
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
]


def create_unclean(scene: Scene) -> None:
    scene.world.sandbox.cluster.create_topic("c", 1, 3, {"unclean.leader.election.enable": "true"})


def look(scene: Scene, causes: list[Cause]) -> tuple[Finding, ...]:
    for cause in causes:
        cause.before(scene)

    def meanwhile() -> None:
        for cause in causes:
            cause.between(scene)

    looks: Looks = scene.looks(EVERYTHING, meanwhile=meanwhile)
    return diagnose(looks, tuple(Scope), severity=Severity.WARNING).findings


@pytest.mark.parametrize("incident", INCIDENTS, ids=" and ".join)
def test_both_causes_are_found_the_graver_first(incident: tuple[str, str]) -> None:
    def story(scene: Scene) -> None:
        found = look(scene, [CAUSES[name] for name in incident])
        ids = [each.id for each in found]
        assert set(incident) <= set(ids)
        severities = [list(Severity).index(each.severity) for each in found]
        assert severities == sorted(severities)
        assert set(ids) & CAUSES.keys() - CONSEQUENCES <= set(incident)

    with_scene(story, topics={"t": 2, "u": 1})


@pytest.mark.parametrize("name", CAUSES)
def test_one_cause_alone_is_found_alone(name: str) -> None:
    def story(scene: Scene) -> None:
        ids = {each.id for each in look(scene, [CAUSES[name]])}
        assert ids & CAUSES.keys() - CONSEQUENCES == {name} - CONSEQUENCES
        assert name in ids

    with_scene(story, topics={"t": 2, "u": 1})
