"""Admin against the sandbox in virtual time: results per item, and every call by its deadline."""

import pytest

from kctl.client.admin import EARLIEST, LATEST, MAX_TIMESTAMP, Admin, CloseResult, NewTopic
from kctl.client.broker_errors import error_class
from kctl.client.cluster import NO_NODE, TopicPartition
from kctl.client.errors import ApiTimeout, ConnectTimeout, IllegalStateError, KafkaError
from kctl.sandbox import Fault
from tests.sim.chaos.replies import Replies
from tests.sim.kit import SimCluster, run, run_with_admin

FAULTS = [Fault.FREEZE, Fault.SILENCE, Fault.BLACKHOLE, Fault.REFUSE, Fault.RESET, Fault.RESET_ON_REQUEST]


def test_topics_are_created_described_listed_and_deleted() -> None:
    def use(cluster: SimCluster, admin: Admin) -> None:
        results = admin.create_topics([NewTopic("a", 3, 2), NewTopic("b", configs={"retention.ms": "1"})])
        assert {name: created.num_partitions for name, created in results.done.items()} == {"a": 3, "b": 1}
        assert list(admin.list_topics()) == admin.list_topic_names() == ["a", "b"]
        info = admin.describe_topics(["a"])["a"]
        assert [len(part.replicas) for part in info.partitions.values()] == [2, 2, 2]
        assert info.topic_id == results["a"].topic_id
        assert admin.delete_topics(["a"]).failed == {}
        assert list(admin.list_topics()) == ["b"]

    run_with_admin(use, topics={})


def test_every_item_has_its_own_fate() -> None:
    def use(cluster: SimCluster, admin: Admin) -> None:
        results = admin.create_topics([NewTopic("old", 1), NewTopic("no good", 1), NewTopic("new", 1)])
        assert list(results.done) == ["new"]
        names = {name: type(error) for name, error in results.failed.items()}
        assert names == {"old": error_class(36), "no good": error_class(17)}
        with pytest.raises(error_class(36), match="already exists"):
            results["old"]
        with pytest.raises(KafkaError):
            results.raise_first()
        deleted = admin.delete_topics(["old", "never"])
        assert list(deleted.done) == ["old"]
        assert isinstance(deleted.failed["never"], error_class(3))
        described = admin.describe_topics(["new", "never"])
        assert (list(described.done), list(described.failed)) == (["new"], ["never"])
        assert list(admin.list_topics()) == ["new"]  # describing created nothing

    run_with_admin(use, topics={"old": 1})


def test_the_cluster_is_described() -> None:
    def use(cluster: SimCluster, admin: Admin) -> None:
        description = admin.describe_cluster()
        assert [node.node_id for node in description.nodes] == [1, 2, 3]
        assert description.cluster_id == cluster.sandbox.cluster.settings.cluster_id
        assert description.controller_id == NO_NODE, "the quorum has the controller"
        assert admin.describe_quorum().leader_id == cluster.sandbox.cluster.quorum.leader_id

    run_with_admin(use, topics={})


def test_offsets_of_several_leaders_by_place_and_time() -> None:
    def use(cluster: SimCluster, admin: Admin) -> None:
        with cluster.producer() as producer:
            for number in range(6):
                producer.send("t", b"x", partition=number % 3, timestamp_ms=1000 + number)
        latest = admin.list_offsets({TopicPartition("t", number): LATEST for number in range(3)})
        assert {key.partition: found.offset for key, found in latest.done.items()} == {0: 2, 1: 2, 2: 2}
        first = TopicPartition("t", 0)
        assert admin.list_offsets({first: EARLIEST})[first].offset == 0
        assert admin.list_offsets({first: 1001})[first] == (1, 1003, 0)
        assert admin.list_offsets({first: 9999})[first].offset == -1
        assert admin.list_offsets({first: MAX_TIMESTAMP})[first].offset == 1

    run_with_admin(use, topics={"t": 3})


def test_offsets_of_what_does_not_exist_fail_soon() -> None:
    def use(cluster: SimCluster, admin: Admin) -> None:
        before_ms = cluster.clock.now_ms()
        results = admin.list_offsets(
            {TopicPartition("t", 0): LATEST, TopicPartition("t", 9): LATEST, TopicPartition("nowhere", 0): LATEST}
        )
        assert list(results.done) == [("t", 0)]
        assert {key: type(error) for key, error in results.failed.items()} == dict.fromkeys(
            [TopicPartition("t", 9), TopicPartition("nowhere", 0)], error_class(3)
        )
        assert cluster.clock.now_ms() - before_ms < 1000

    run_with_admin(use, topics={"t": 1})


def test_offsets_follow_a_leader_that_moves() -> None:
    def use(cluster: SimCluster, admin: Admin) -> None:
        first = TopicPartition("t", 0)
        admin.list_offsets({first: LATEST})
        cluster.sandbox.move_leader("t", 0, 3 if cluster.leader(0) != 3 else 2)
        assert admin.list_offsets({first: LATEST})[first].offset == 0

    run_with_admin(use, topics={"t": 1})


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("timeout_ms", [0, 100, 1000, pytest.param(70_000, marks=pytest.mark.slow)])
def test_every_call_ends_at_its_deadline_and_says_where_the_time_went(fault: Fault, timeout_ms: int) -> None:
    def use(cluster: SimCluster, admin: Admin) -> None:
        cluster.break_all(fault)
        timeout = timeout_ms / 1000
        for call in (
            lambda: admin.list_topics(timeout=timeout),
            lambda: admin.create_topics([NewTopic("a", 1)], timeout=timeout),
            lambda: admin.describe_cluster(timeout=timeout),
            lambda: admin.list_offsets({TopicPartition("t", 0): LATEST}, timeout=timeout),
        ):
            before_ms = cluster.clock.now_ms()
            with pytest.raises(ApiTimeout) as caught:
                call()
            assert cluster.clock.now_ms() - before_ms == timeout_ms
            assert (caught.value.timeout_ms, caught.value.elapsed_ms) == (timeout_ms, timeout_ms)
            assert sum(int(entry.split()[-2]) for entry in caught.value.time_breakdown) == timeout_ms

    run_with_admin(use, topics={"t": 1})


def test_a_timeout_names_its_cause() -> None:
    def use(cluster: SimCluster, admin: Admin) -> None:
        cluster.break_all(Fault.BLACKHOLE)
        with pytest.raises(ApiTimeout, match="listing topics: waiting for an available broker") as caught:
            admin.list_topics(timeout=15)
        assert isinstance(caught.value.cause, ConnectTimeout)

    run_with_admin(use, topics={})


def test_one_dead_node_is_passed_over() -> None:
    def use(cluster: SimCluster, admin: Admin) -> None:
        for node_id in (1, 2):
            cluster.sandbox.start_fault(node_id, Fault.BLACKHOLE)
        before_ms = cluster.clock.now_ms()
        admin.list_topics()
        assert cluster.clock.now_ms() - before_ms < 300

    run_with_admin(use, topics={})


def test_a_request_lost_with_its_connection_is_asked_again() -> None:
    def use(cluster: SimCluster, admin: Admin) -> None:
        admin.list_topics()
        cluster.break_all(Fault.RESET_ON_REQUEST)
        cluster.at(300, cluster.sandbox.heal)
        assert list(admin.list_topics()) == ["t"]

    run_with_admin(use, topics={"t": 1})


def test_a_closed_admin_refuses_and_closes_again() -> None:
    def app(cluster: SimCluster) -> None:
        admin = Admin({"bootstrap.servers": cluster.bootstrap}, cluster.runtime)
        admin.list_topics()
        assert admin.close() == CloseResult(elapsed_ms=0)
        admin.close()
        with pytest.raises(IllegalStateError):
            admin.list_topics()

    run(app)


@pytest.mark.parametrize(
    ("fault", "phase", "words"),
    [(Fault.BLACKHOLE, "tcp", "no SYN-ACK yet"), (Fault.SILENCE, "apiversions", "no ApiVersions response yet")],
)
def test_a_call_shorter_than_the_connect_limit_says_what_the_connect_hangs_in(
    fault: Fault, phase: str, words: str
) -> None:
    def use(cluster: SimCluster, admin: Admin) -> None:
        cluster.break_all(fault)
        with pytest.raises(ApiTimeout, match=words) as caught:
            admin.list_topics(timeout=1)
        cause = caught.value.cause
        assert isinstance(cause, ConnectTimeout)
        assert (cause.phase, cause.limit_ms, cause.elapsed_ms) == (phase, 10_000, 1000)

    run_with_admin(use, topics={})


def test_a_call_that_ends_during_a_look_up_blames_dns() -> None:
    def app(cluster: SimCluster) -> None:
        cluster.runtime.resolver.add("slow.example", ["10.0.0.1"], delay_ms=60_000)  # type: ignore[attr-defined]  # SimResolver
        with (
            Admin({"bootstrap.servers": "slow.example:9092"}, cluster.runtime) as admin,
            pytest.raises(ApiTimeout, match="no DNS response yet") as caught,
        ):
            admin.list_topics(timeout=1)
        assert isinstance(caught.value.cause, ConnectTimeout)
        assert caught.value.cause.phase == "dns"

    run(app, topics={})


def test_timeout_names_the_broker_that_throttles_and_for_how_long() -> None:
    """Throttle times are limited to one minute (tests/sim/network/test_requests.py)."""

    def app(cluster: SimCluster) -> None:
        replies = Replies()
        replies.throttle_ms = 2**31 - 1
        with replies.installed(), cluster.admin() as admin:
            admin.list_topics()
            before_ms = cluster.clock.now_ms()
            with pytest.raises(ApiTimeout) as caught:
                admin.list_topics(timeout=5)
            assert cluster.clock.now_ms() - before_ms == 5000
            assert ", 10.0.0.1:9092 throttles this client for another 55s because of a quota" in str(caught.value)
            assert "throttled by 10.0.0.1:9092 5000 ms" in str(caught.value.account)

    run(app, nodes=1)
