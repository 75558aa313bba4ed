"""Looks at clusters that only half respond: bounded by time and requests, read-only, with gaps that have a reason."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import pytest

from kctl.client import metadata
from kctl.client.admin import Admin, ConfigEntry, ConfigResource, ResourceType, Results
from kctl.client.broker_errors import ErrorCode
from kctl.client.cluster import TopicPartition
from kctl.client.errors import ApiTimeout
from kctl.client.network.in_flight import Answer, Outgoing
from kctl.client.network.network_client import NetworkClient
from kctl.client.protocol.api.api_versions import ApiVersion
from kctl.client.protocol.api.committed_offsets import OffsetFetchRequest
from kctl.client.protocol.schema import Request
from kctl.sandbox import Fault
from kctl.sandbox.apis import api_versions
from kctl.why import Scope, Selection, diagnose
from kctl.why.finding import PROBE
from kctl.why.look import FUTURE_MS
from tests.sim.why.story import Story, run_story

ALL = Selection(groups=None, topics=None, has_brokers=True)
ConfigResults = Results[ConfigResource, dict[str, ConfigEntry]]
READ_ONLY = {
    "ApiVersions", "ConsumerGroupDescribe", "DescribeCluster", "DescribeConfigs", "DescribeGroups", "DescribeLogDirs",
    "DescribeProducers", "DescribeQuorum", "DescribeTransactions", "Fetch", "FindCoordinator", "ListGroups",
    "ListOffsets", "ListPartitionReassignments", "ListTransactions", "Metadata", "OffsetFetch",
}  # fmt: skip


def _offered_of(request: type[Request]) -> ApiVersion:
    return next(each for each in api_versions.response().api_keys if each.api_key == request.API_KEY)


@pytest.mark.parametrize("fault", [Fault.FREEZE, Fault.SILENCE, Fault.BLACKHOLE, Fault.REFUSE, Fault.RESET_ON_REQUEST])
@pytest.mark.parametrize("sick", [(2,), (1, 3)])
@pytest.mark.parametrize("timeout_ms", [2_000, 20_000])
def test_half_dead_cluster_is_looked_at_within_the_timeout(
    fault: Fault, sick: tuple[int, ...], timeout_ms: int
) -> None:
    def body(story: Story) -> None:
        story.produce(5)
        story.sim.commit("g", {("t", 0): 2})
        for node_id in sick:
            story.sim.sandbox.start_fault(node_id, fault)
        started_ms = story.sim.clock.now_ms()
        looks = story.looks(ALL, timeout_ms=timeout_ms)
        assert story.sim.clock.now_ms() - started_ms <= timeout_ms
        diagnosis = diagnose(looks, tuple(Scope))
        silent = {each.subject for each in diagnosis.findings if each.id == "broker-unreachable"}
        assert silent == {f"broker {node_id}" for node_id in sick}
        assert all(gap.reason for gap in looks.now.gaps)

    run_story(body)


def test_dead_cluster_raises_at_the_timeout() -> None:
    def body(story: Story) -> None:
        story.admin.describe_cluster()
        for node_id in (1, 2, 3):
            story.sim.sandbox.start_fault(node_id, Fault.FREEZE)
        started_ms = story.sim.clock.now_ms()
        with pytest.raises(ApiTimeout):
            story.looks(ALL, timeout_ms=3_000)
        assert story.sim.clock.now_ms() - started_ms == 3_000

    run_story(body)


def test_only_requests_that_read_are_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    sent: dict[str, None] = {}
    send = NetworkClient.send

    def record(self: NetworkClient, outgoing: Outgoing) -> None:
        sent[outgoing.request.NAME] = None
        send(self, outgoing)

    def body(story: Story) -> None:
        story.produce(5)
        story.sim.commit("g", {("t", 0): 2})
        monkeypatch.setattr(NetworkClient, "send", record)
        story.looks(ALL, meanwhile=lambda: None)
        assert {"DescribeLogDirs", "ListOffsets", "OffsetFetch"} <= sent.keys() <= READ_ONLY

    run_story(body)


def test_at_most_two_requests_to_a_broker_are_in_flight(monkeypatch: pytest.MonkeyPatch) -> None:
    open_now: Counter[int] = Counter()
    most: Counter[int] = Counter()
    send = NetworkClient.send

    def record(self: NetworkClient, outgoing: Outgoing) -> None:
        def done(answer: Answer) -> None:
            open_now[outgoing.node_id] -= 1
            on_done(answer)

        on_done = outgoing.on_done
        open_now[outgoing.node_id] += 1
        most[outgoing.node_id] = max(most[outgoing.node_id], open_now[outgoing.node_id])
        send(self, outgoing._replace(on_done=done))

    def body(story: Story) -> None:
        story.produce(5)
        for number in range(30):
            story.sim.commit(f"g{number}", {("t", 0): 2})
        monkeypatch.setattr(NetworkClient, "send", record)
        story.looks(ALL, meanwhile=lambda: None)
        assert {1, 2, 3} <= most.keys()
        assert max(most.values()) <= 2

    run_story(body)


def test_values_that_are_marked_sensitive_are_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    describe = Admin.describe_configs

    def marked(self: Admin, resources: Sequence[ConfigResource], **given: Any) -> ConfigResults:
        found = describe(self, resources, **given)
        secret = {
            resource: {name: entry._replace(is_sensitive=name == "retention.ms") for name, entry in entries.items()}
            for resource, entries in found.done.items()
        }
        return Results(secret, found.failed)

    def body(story: Story) -> None:
        assert "retention.ms" in story.looks(ALL).now.topic_configs["t"]
        monkeypatch.setattr(Admin, "describe_configs", marked)
        configs = story.looks(ALL).now.topic_configs["t"]
        assert "retention.ms" not in configs
        assert "min.insync.replicas" in configs

    run_story(body)


@pytest.mark.parametrize("budget", [1, 2, 5, 10, 20, 60])
def test_no_request_is_sent_beyond_the_budget(budget: int) -> None:
    def body(story: Story) -> None:
        story.sim.commit("g", {("t", 0): 2})
        sent = story.admin.requests_sent
        looks = story.looks(ALL, budget=budget)
        assert story.admin.requests_sent - sent <= budget
        diagnosis = diagnose(looks, tuple(Scope))
        assert bool(diagnosis.unchecked) == (budget < 60)
        assert {each.gap.reason for each in diagnosis.unchecked} <= {"the request limit is reached (--max-requests)"}

    run_story(body)


@pytest.mark.parametrize(
    ("api", "code", "ids"),
    [
        ("DescribeLogDirs", ErrorCode.CLUSTER_AUTHORIZATION_FAILED, {"disk-filling", "log-dir-offline"}),
        ("ListGroups", ErrorCode.CLUSTER_AUTHORIZATION_FAILED, {"group-no-members", "lost-data", "no-assignment"}),
        ("DescribeQuorum", ErrorCode.CLUSTER_AUTHORIZATION_FAILED, {"quorum-lag", "controller-clock"}),
        ("DescribeConfigs", ErrorCode.TOPIC_AUTHORIZATION_FAILED, {"under-min-isr", "unclean-election"}),
    ],
)
def test_missing_right_is_a_gap_and_the_rest_is_checked(api: str, code: ErrorCode, ids: set[str]) -> None:
    def body(story: Story) -> None:
        story.sim.sandbox.fail_requests(api, code, times=100)
        diagnosis = diagnose(story.looks(ALL), tuple(Scope))
        unchecked = {name for each in diagnosis.unchecked for name in each.ids}
        assert ids <= unchecked
        assert "no-leader" in diagnosis.checked
        assert {each.gap.request for each in diagnosis.unchecked} == {api}

    run_story(body)


def test_partitions_whose_leader_is_not_registered_are_not_fully_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    def body(story: Story) -> None:
        story.produce(5)
        partition = metadata._partition
        monkeypatch.setattr(metadata, "_partition", lambda *given: partition(*given)._replace(leader_id=77))
        diagnosis = diagnose(story.looks(Selection(groups=(), topics=("t",))), (Scope.TOPIC,))
        assert "no-leader" in {each.id for each in diagnosis.findings}
        (gap,) = (each.gap for each in diagnosis.unchecked if each.gap.request == "ListOffsets")
        assert gap.of.startswith("t-0")
        assert gap.reason == "Metadata lists broker 77 as the leader, but this broker is not registered"

    run_story(body)


def test_many_groups_are_read_by_few_requests() -> None:
    def body(story: Story) -> None:
        for number in range(40):
            story.sim.commit(f"g{number}", {("t", 0): 0})
        looks = story.looks(ALL, budget=90)
        assert len(looks.now.groups) == 40
        assert looks.now.requests <= 70
        assert looks.now.gaps == ()

    run_story(body)


def test_many_groups_of_old_coordinators_leave_requests_for_topics_and_brokers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_offered_of(OffsetFetchRequest), "max_version", 7)

    def body(story: Story) -> None:
        for number in range(40):
            story.sim.commit(f"g{number}", {("t", 0): 0})
        looks = story.looks(ALL, budget=90)
        assert 5 < len(looks.now.groups) < 40
        assert looks.now.ends
        assert looks.now.topic_configs
        assert looks.now.log_dirs
        [gap] = looks.now.gaps
        assert (gap.request, gap.reason) == ("OffsetFetch", "the request limit is reached (--max-requests)")
        assert gap.of == f"{40 - len(looks.now.groups)} groups"

    run_story(body)


def test_sizes_of_replicas_are_kept_for_compacted_topics_alone() -> None:
    def body(story: Story) -> None:
        compacted = ConfigResource(ResourceType.TOPIC, "u")
        story.admin.alter_configs({compacted: {"cleanup.policy": "compact"}}).raise_first()
        look = story.looks(ALL).now
        sizes = [each.replica_bytes for dirs in look.log_dirs.values() for each in dirs]
        assert set(look.log_dirs) == {1, 2, 3}
        assert {tp.topic for of_dir in sizes for tp in of_dir} == {"u"}

    run_story(body)


def test_requests_go_to_groups_and_topics_before_disks() -> None:
    def body(story: Story) -> None:
        story.sim.commit("g", {("t", 0): 2})
        whole = story.looks(ALL).now
        look = story.looks(ALL, budget=whole.requests - 20).now
        assert (look.groups, look.ends, look.topic_configs) == (whole.groups, whole.ends, whole.topic_configs)
        assert {gap.request for gap in look.gaps} <= {
            PROBE,
            "DescribeLogDirs",
            "DescribeQuorum",
            "ApiVersions",
            "ListTransactions",
        }

    run_story(body)


def test_brokers_beyond_the_limit_are_counted_and_get_no_request(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kctl.why.gathering.gatherer.MOST_ASKED", 2)

    def body(story: Story) -> None:
        looks = story.looks(ALL)
        assert set(looks.now.responding) == {1, 2}
        assert len(looks.now.nodes) == 3
        unchecked = diagnose(looks, tuple(Scope)).unchecked
        gap = next(each.gap for each in unchecked if each.gap.request == "Metadata")
        assert (gap.of, gap.reason) == ("1 more broker", "kctl checks at most 2 brokers")

    run_story(body)


def test_topics_beyond_the_limit_are_counted_and_named_topics_come_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kctl.why.gathering.topics.MOST_NAMED", 1)

    def body(story: Story) -> None:
        story.sim.commit("g", {("t", 0): 0})
        looks = story.looks(Selection(groups=("g",), topics=("u",)))
        assert list(looks.now.topics) == ["u"]
        gap = next(gap for gap in looks.now.gaps if gap.request == "Metadata")
        assert (gap.of, gap.reason) == ("1 more topic", "kctl checks at most 1 topics")

    run_story(body)


@pytest.mark.parametrize("most", [1, 20])
def test_offsets_of_topics_that_no_group_reads_are_dropped(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kctl.why.gathering.offsets.MOST_LEADERS", most)

    def body(story: Story) -> None:
        story.produce(2, "t", 1)
        story.sim.commit("g", {("u", 0): 0})
        topic = ConfigResource(ResourceType.TOPIC, "t")
        story.admin.alter_configs({topic: {"message.timestamp.after.max.ms": str(1 << 60)}}).raise_first()
        late_ms = story.sim.clock.wall_ms() + 2 * FUTURE_MS
        with story.sim.producer() as producer:
            producer.send("t", b"x", partition=0, timestamp_ms=late_ms)
        look = story.looks(ALL).now
        assert {tp.topic for tp in (*look.starts, *look.ends, *look.stable_ends)} == {"u", "__consumer_offsets"}
        assert [tp for tp in look.newest if tp.topic == "t"] == [TopicPartition("t", 0)]
        named = story.looks(Selection(topics=("t",))).now
        assert {number: named.ends[TopicPartition("t", number)].offset for number in range(4)} == {
            0: 1,
            1: 2,
            2: 0,
            3: 0,
        }
        compared = story.looks(ALL, meanwhile=lambda: None).now
        assert "t" in {tp.topic for tp in compared.ends}

    run_story(body)
