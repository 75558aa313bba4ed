"""Silent brokers: reported once with the missing response and the user's timeout, without a second wait."""

import re

import pytest

from kctl.cli.exit_codes import ExitCode
from kctl.cli.why.run import exit_code
from kctl.client.admin import Admin
from kctl.client.broker_errors import ErrorCode
from kctl.client.clock import Timer
from kctl.client.errors import RemoteProtocolError
from kctl.sandbox import Fault
from kctl.why import Diagnosis, Gatherer, Looks, Scope, Selection, diagnose, take_looks
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
            f"broker 2 ({address(story, 2)}) does not respond: the broker accepted the "
            "connection but sent no ApiVersions response within 10s (part of --api-timeout 30s). The broker leads "
            f"{leaders.count(2)} of the {len(leaders)} partitions that kctl checked"
        )
        assert {each.gap.reason for each in diagnosis.unchecked} == {"broker 2 does not respond"}
        assert took_ms < 15_000

    run_story(body)


def test_broker_that_refuses_and_is_no_bootstrap_server_has_one_finding() -> None:
    """The probe finds that the address does not work, which is the same problem if the broker responds nowhere else."""

    def body(story: Story) -> None:
        story.sim.sandbox.start_fault(2, Fault.REFUSE)
        config = {"bootstrap.servers": address(story, 1)}
        with Admin(config, story.sim.runtime) as admin, admin.within(TIMEOUT_MS / 1000):
            looks = take_looks(admin, story.sim.runtime, Timer(story.sim.clock, TIMEOUT_MS), ALL, 0)
        assert "advertised-unusable" in {each.id for each in looks.now.probed.findings}
        found = diagnose(looks, tuple(Scope)).findings
        assert [each.id for each in found] == ["broker-unreachable"]

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
        assert finding.sentence.endswith("within 10s (part of --api-timeout 30s)")
        [unchecked] = diagnosis.unchecked
        assert (unchecked.gap.request, unchecked.gap.of) == ("DescribeGroups", "lost")
        assert unchecked.gap.reason == "broker 2 does not respond"
        assert "lost-data" in unchecked.ids
        assert took_ms <= 20_000

    run_story(body)


def watch_with(story: Story, after_s: float | None) -> Diagnosis:
    """Return what two looks find of broker 2, which is frozen during the first, and thaws after so many seconds."""
    sim = story.sim
    sim.sandbox.start_fault(2, Fault.FREEZE)
    if after_s is not None:
        sim.hub.call_at(
            (sim.clock.now_ms() + int(after_s * 1000)) * 1000, "thaw", lambda: sim.sandbox.stop_fault(2, Fault.FREEZE)
        )
    with Admin({"bootstrap.servers": sim.bootstrap}, sim.runtime) as admin, admin.within(60):
        looks = take_looks(admin, sim.runtime, Timer(sim.clock, 60_000), ALL, 30_000)
    assert 2 in (looks.before.silent if looks.before is not None else ())
    return diagnose(looks, tuple(Scope))


def test_broker_that_responds_in_the_second_look_is_no_finding() -> None:
    def body(story: Story) -> None:
        diagnosis = watch_with(story, 20)
        assert diagnosis.findings == ()
        assert diagnosis.unchecked == ()

    run_story(body)


def test_broker_that_stays_silent_is_found_in_the_second_look() -> None:
    def body(story: Story) -> None:
        started_ms = story.sim.clock.now_ms()
        diagnosis = watch_with(story, None)
        [finding] = [each for each in diagnosis.findings if each.id == "broker-unreachable"]
        assert finding.subject == "broker 2"
        assert story.sim.clock.now_ms() - started_ms < 40_000

    run_story(body)


def test_brokers_that_the_budget_does_not_reach_are_not_silent() -> None:
    def body(story: Story) -> None:
        for budget in range(1, 8):
            timer = Timer(story.sim.clock, TIMEOUT_MS)
            with story.admin.within(TIMEOUT_MS / 1000), story.admin.request_budget(budget):
                look = Gatherer(story.admin, story.sim.runtime, timer, ALL).look()
            assert look.silent == {}
            assert {gap.reason for gap in look.gaps} == {"the request limit is reached (--max-requests)"}
            checked = diagnose(Looks(look), tuple(Scope)).checked
            assert "future-timestamps" not in checked

    run_story(body)


@pytest.mark.parametrize("slow", [(2,), (2, 3)])
def test_slow_broker_that_has_sent_something_is_not_silent(slow: tuple[int, ...]) -> None:
    def body(story: Story) -> None:
        for node_id in slow:
            story.sim.sandbox.start_fault(node_id, Fault.DELAY, ms=400)
        with Admin({"bootstrap.servers": story.sim.bootstrap}, story.sim.runtime) as admin, admin.within(4):
            admin.describe_cluster()
            look = Gatherer(admin, story.sim.runtime, Timer(story.sim.clock, 2000), ALL).look()
        assert look.silent == {}
        unanswered = {gap.of: gap.reason for gap in look.gaps if gap.request == "Metadata"}
        assert {f"broker {node_id}" for node_id in slow} == set(unanswered)
        assert unanswered["broker 2"].startswith("no Metadata response within ")
        assert [
            each.id for each in diagnose(Looks(look), tuple(Scope)).findings if each.id == "broker-unreachable"
        ] == []

    run_story(body)


@pytest.mark.parametrize(("timeout_ms", "is_found"), [(450, False), (4_500, True)])
def test_broker_that_had_hardly_any_time_has_not_answered_yet(timeout_ms: int, is_found: bool) -> None:
    def body(story: Story) -> None:
        story.sim.commit("g", {("t", 0): 0})
        story.sim.sandbox.start_fault(2, Fault.FREEZE)
        with Admin({"bootstrap.servers": story.sim.bootstrap}, story.sim.runtime) as admin, admin.within(4):
            admin.describe_cluster()
            look = Gatherer(admin, story.sim.runtime, Timer(story.sim.clock, timeout_ms), ALL).look()
        diagnosis = diagnose(Looks(look), tuple(Scope))
        assert ("broker-unreachable" in {each.id for each in diagnosis.findings}) is is_found
        unchecked = {each.gap.request: each for each in diagnosis.unchecked if "broker 2" in each.gap.of}
        says_so = [each.gap.request for each in diagnosis.unchecked if each.gap.reason == "broker 2 does not respond"]
        if is_found:
            assert "DescribeLogDirs" in says_so
            return
        assert says_so == []
        assert "broker-unreachable" in unchecked["Metadata"].ids
        assert re.fullmatch(
            r"the broker accepted the connection but sent no ApiVersions response within 1\d\dms \(part of "
            "--api-timeout 450ms\\)",
            unchecked["Metadata"].gap.reason,
        )
        assert unchecked["DescribeLogDirs"].gap.reason == "no response from broker 2 yet"
        assert exit_code(diagnosis) == ExitCode.CONNECT_TIMEOUT

    run_story(body)


def test_each_of_several_silent_brokers_has_what_it_was_waited_for() -> None:
    def body(story: Story) -> None:
        story.sim.sandbox.start_fault(2, Fault.FREEZE)
        story.sim.sandbox.start_fault(3, Fault.FREEZE)
        with Admin({"bootstrap.servers": story.sim.bootstrap}, story.sim.runtime) as admin, admin.within(30):
            look = Gatherer(admin, story.sim.runtime, Timer(story.sim.clock, TIMEOUT_MS), ALL).look()
        assert {node_id: each.phase for node_id, each in look.silent.items()} == {2: "apiversions", 3: "apiversions"}
        for each in look.silent.values():
            assert each.reason.startswith("the broker accepted the connection but sent no ApiVersions response within ")

    run_story(body)


def test_refused_metadata_is_reported_and_no_broker_is_silent() -> None:
    def body(story: Story) -> None:
        story.sim.sandbox.fail_requests("Metadata", ErrorCode.CLUSTER_AUTHORIZATION_FAILED, times=1000)
        with Admin({"bootstrap.servers": story.sim.bootstrap}, story.sim.runtime) as admin, admin.within(10):
            gatherer = Gatherer(admin, story.sim.runtime, Timer(story.sim.clock, 10_000), ALL)
            with pytest.raises(RemoteProtocolError, match="the response lists no brokers"):
                gatherer.look()

    run_story(body)
