"""`kctl wait` in virtual time: it exits soon after the condition is met, or at the API timeout."""

from collections.abc import Callable
from functools import partial

import pytest

from kctl.client.admin import Admin
from kctl.client.cluster import TopicPartition
from kctl.sandbox import ClusterSettings, Fault
from tests.sim.kit import SimCluster, run_with_admin
from tests.support.in_process import Ended, run_in_process

TIMEOUT_MS = 20_000
INTERVAL_MS = 500
Run = Callable[[str], tuple[int, Ended]]


def with_wait(
    use: Callable[[SimCluster, Run], None],
    monkeypatch: pytest.MonkeyPatch,
    *,
    settings: ClusterSettings | None = None,
) -> None:
    """Run a test with a function that runs a command line and returns how long it took."""

    def app(cluster: SimCluster, admin: Admin) -> None:
        for module in ("kctl.client.admin.admin", "kctl.cli.wait_loop"):
            monkeypatch.setattr(f"{module}.system_runtime", lambda: cluster.runtime)

        def run(command: str) -> tuple[int, Ended]:
            line = ("wait", "-b", cluster.bootstrap, "--api-timeout", f"{TIMEOUT_MS}ms", *command.split())
            before_ms = cluster.clock.now_ms()
            ended = run_in_process(*line, clock=cluster.clock)
            return cluster.clock.now_ms() - before_ms, ended

        use(cluster, run)

    run_with_admin(app, settings=settings)


def test_topic_that_comes_later_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    def use(cluster: SimCluster, run: Run) -> None:
        cluster.at(3_200, lambda: cluster.sandbox.create_topic("new", partitions=2))
        took_ms, ended = run("topic t new --partitions 2")
        assert (ended.code, ended.stdout, ended.stderr) == (0, b"", "")
        assert 3_200 <= took_ms < 3_200 + 2 * INTERVAL_MS

    with_wait(use, monkeypatch)


def test_request_that_the_deadline_cuts_short_is_not_the_cause(monkeypatch: pytest.MonkeyPatch) -> None:
    def use(cluster: SimCluster, run: Run) -> None:
        for node_id in (1, 2, 3):
            cluster.at(TIMEOUT_MS - INTERVAL_MS, partial(cluster.sandbox.start_fault, node_id, Fault.FREEZE))
        took_ms, ended = run("topic new")
        assert took_ms == TIMEOUT_MS
        assert ended.stderr == (
            "kctl wait: timed out after 20s (--api-timeout) while waiting for topic new: "
            "topic new: UNKNOWN_TOPIC_OR_PARTITION\n"
        )

    with_wait(use, monkeypatch)


@pytest.mark.parametrize(
    ("command", "missing"),
    [
        ("topic new", "topic new: UNKNOWN_TOPIC_OR_PARTITION"),
        ("topic t --partitions 9", "topic t has 4 of 9 partitions"),
        ("topic t --deleted", "topic t still exists"),
        ("brokers 5", "3 of 5 brokers are up: 1, 2, 3"),
        ("group g", "the group is Empty, not Stable"),
        ("group g --lag 2", "t-0: 5 records behind"),
        ("group nobody", "the group does not exist"),
    ],
)
def test_timeout_names_what_is_missing(command: str, missing: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def use(cluster: SimCluster, run: Run) -> None:
        with cluster.producer() as producer:
            for _ in range(5):
                producer.send("t", b"x", partition=0)
        cluster.commit("g", {("t", 0): 0})
        took_ms, ended = run(command)
        assert (took_ms, ended.code) == (TIMEOUT_MS, 17), ended
        assert "kctl wait: timed out after 20s (--api-timeout) while waiting for " in ended.stderr
        assert f": {missing}\n" in ended.stderr

    with_wait(use, monkeypatch)


@pytest.mark.parametrize("command", ["topic t", "topic t --in-sync", "topic t --deleted"])
def test_topic_without_the_right_to_describe_it_ends_the_wait_at_once(
    command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def use(cluster: SimCluster, run: Run) -> None:
        took_ms, ended = run(command)
        assert (ended.code, took_ms < INTERVAL_MS) == (22, True), ended
        assert "cannot describe topic t: " in ended.stderr
        assert "(TOPIC_AUTHORIZATION_FAILED)" in ended.stderr

    with_wait(use, monkeypatch, settings=ClusterSettings(authorizer=True, super_users=("User:root",)))


@pytest.mark.parametrize("timeout_ms", range(1_150, 1_450, 15))
def test_last_look_that_is_cut_short_says_what_is_missing_once(
    timeout_ms: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def use(cluster: SimCluster, run: Run) -> None:
        _, ended = run(f"topic new --api-timeout {timeout_ms}ms")
        assert ended.stderr.count("UNKNOWN_TOPIC_OR_PARTITION") == 1
        assert "while waiting for topic new: topic new: UNKNOWN_TOPIC_OR_PARTITION" in ended.stderr

    with_wait(use, monkeypatch)


def test_partition_without_a_leader_and_replicas_out_of_sync_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def use(cluster: SimCluster, run: Run) -> None:
        cluster.sandbox.create_topic("r", partitions=1, replication_factor=2)
        partition = cluster.sandbox.cluster.topics["r"].partitions[0]
        partition.hold(next(each for each in partition.replicas if each != partition.leader_id))
        assert run("topic r")[1].code == 0
        assert "r-0 has 1 of 2 replicas in sync" in run("topic r --in-sync")[1].stderr
        partition.elect(-1)
        assert "r-0 has no leader" in run("topic r")[1].stderr

    with_wait(use, monkeypatch)


def test_group_that_catches_up_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    def use(cluster: SimCluster, run: Run) -> None:
        with cluster.producer() as producer:
            for _ in range(5):
                producer.send("t", b"x", partition=0)
        cluster.commit("g", {("t", 0): 1})
        assert run("group g --lag 4 --state empty")[1].code == 0
        with Admin({"bootstrap.servers": cluster.bootstrap}, cluster.runtime) as admin:
            admin.alter_group_offsets("g", {TopicPartition("t", 0): 5}).raise_first()
        took_ms, ended = run("group g --lag 0")
        assert (ended.code, took_ms < INTERVAL_MS) == (0, True)

    with_wait(use, monkeypatch)


@pytest.mark.parametrize("fault", [Fault.REFUSE, Fault.FREEZE, Fault.BLACKHOLE, Fault.RESET])
def test_brokers_that_are_down_are_waited_for_until_the_timeout(fault: Fault, monkeypatch: pytest.MonkeyPatch) -> None:
    def use(cluster: SimCluster, run: Run) -> None:
        for node_id in (1, 2, 3):
            cluster.sandbox.start_fault(node_id, fault)
        took_ms, ended = run("brokers 3")
        assert (took_ms, ended.code) == (TIMEOUT_MS, 17), ended
        assert "while waiting for 3 brokers: no broker has responded" in ended.stderr

    with_wait(use, monkeypatch)


def test_brokers_that_come_up_end_the_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    def use(cluster: SimCluster, run: Run) -> None:
        for node_id in (1, 2, 3):
            cluster.sandbox.start_fault(node_id, Fault.REFUSE)
            cluster.at(9_000, partial(cluster.sandbox.stop_fault, node_id, Fault.REFUSE))
        took_ms, ended = run("brokers 3")
        assert (ended.code, 9_000 <= took_ms < 12_000) == (0, True), (took_ms, ended)

    with_wait(use, monkeypatch)
