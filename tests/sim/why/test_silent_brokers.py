"""Silent brokers: named once, with what was waited for and the timeout of the user, and not waited for twice."""

from kctl.client.admin import Admin
from kctl.client.clock import Timer
from kctl.sandbox import Fault
from kctl.why import Diagnosis, Gatherer, Looks, Scope, Selection, diagnose
from tests.sim.why.story import Story, run_story

ALL = Selection(groups=None, topics=None, has_brokers=True)
TIMEOUT_MS = 30_000


def address(story: Story, node_id: int) -> str:
    node = story.sim.sandbox.cluster.nodes[node_id]
    return f"{node.host}:{node.port}"


def look_at_silent(story: Story, selection: Selection) -> tuple[Diagnosis, int]:
    """Return what a new client finds while broker 2 is frozen, and how long that took; the timeout is 30 s."""
    story.sim.sandbox.start_fault(2, Fault.FREEZE)
    started_ms = story.sim.clock.now_ms()
    bootstrap = story.sim.bootstrap
    with Admin({"bootstrap.servers": bootstrap}, story.sim.runtime) as admin, admin.within(TIMEOUT_MS / 1000):
        timer = Timer(story.sim.clock, TIMEOUT_MS)
        look = Gatherer(admin, story.sim.runtime, timer, selection).look()
    return diagnose(Looks(look), tuple(Scope)), story.sim.clock.now_ms() - started_ms


def test_silent_broker_is_named_once_with_the_timeout_of_the_user() -> None:
    def body(story: Story) -> None:
        for number in range(9):
            story.sim.commit(f"g{number}", {("t", 0): 0})
        diagnosis, took_ms = look_at_silent(story, ALL)
        topics = story.sim.sandbox.cluster.topics.values()  # __consumer_offsets is one of them
        leaders = [each.leader_id for topic in topics for each in topic.partitions.values()]
        [finding] = [each for each in diagnosis.findings if each.id == "broker-unreachable"]
        assert finding.sentence == (
            f"broker 2 ({address(story, 2)}) is part of the cluster and does not respond: it accepted the "
            "connection and sent no ApiVersions response within 10s (its share of --api-timeout 30s); it leads "
            f"{leaders.count(2)} of the {len(leaders)} partitions looked at"
        )
        assert {each.gap.reason for each in diagnosis.unchecked} == {"broker 2 does not respond"}
        assert took_ms < 15_000

    run_story(body)


def test_groups_that_a_silent_broker_coordinates_are_not_checked() -> None:
    def body(story: Story) -> None:
        story.sim.commit("lost", {("t", 0): 0})
        story.sim.sandbox.move_coordinator("lost", 2)
        diagnosis, _ = look_at_silent(story, ALL)
        assert [each.subject for each in diagnosis.findings if each.id == "group-no-members"] == []
        unchecked = {each.gap.request: each for each in diagnosis.unchecked}
        assert {"lost-data", "group-no-members", "no-assignment"} <= set(unchecked["ListGroups"].ids)
        assert unchecked["ListGroups"].gap.of == "broker 2"

    run_story(body)


def test_group_of_a_silent_coordinator_is_not_checked_and_no_partition_is_counted() -> None:
    def body(story: Story) -> None:
        story.sim.commit("lost", {("t", 0): 0})
        story.sim.sandbox.move_coordinator("lost", 2)
        diagnosis, took_ms = look_at_silent(story, Selection(groups=("lost",)))
        [finding] = diagnosis.findings
        assert finding.sentence.endswith("within 10s (its share of --api-timeout 30s)")
        [unchecked] = diagnosis.unchecked
        assert (unchecked.gap.request, unchecked.gap.of) == ("DescribeGroups", "lost")
        assert unchecked.gap.reason == "broker 2 does not respond"
        assert "lost-data" in unchecked.ids
        assert took_ms <= 20_000

    run_story(body)
