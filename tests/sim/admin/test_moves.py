"""`kctl partitions move` in virtual time: throttles set and removed, resumed, cancelled, and late news of an end."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from kctl.cli.environment import Environment
from kctl.cli.exit_codes import ExitCode
from kctl.cli.interrupts import Interrupted
from kctl.client.admin import Admin, ConfigResource, ResourceType, Results
from kctl.client.broker_errors import ErrorCode, broker_error
from kctl.client.cluster import TopicPartition
from kctl.sandbox import Fault
from kctl.sandbox.settings import ClusterSettings
from tests.sim.kit import SimCluster
from tests.sim.kit import run as run_world
from tests.support.in_process import Ended, run_in_process

LEADERS, FOLLOWERS = "leader.replication.throttled.replicas", "follower.replication.throttled.replicas"
LEADER_RATE, FOLLOWER_RATE = "leader.replication.throttled.rate", "follower.replication.throttled.rate"
SETTLE_MS = 10_000
T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)
TARGETS = {T0: [2, 3], T1: [3, 1]}
"""In the sandbox of these tests t-0 is on broker 1, t-1 on broker 2."""

Run = Callable[..., Ended]


class Moves:
    """A cluster with a plan, and the command line."""

    def __init__(self, cluster: SimCluster, admin: Admin, plan: Path) -> None:
        self.world, self.admin, self.plan = cluster, admin, plan
        self.sandbox = cluster.sandbox
        self.interrupt = False
        self.write(TARGETS)

    def write(self, targets: Mapping[TopicPartition, list[int]]) -> None:
        entries = [{"topic": key.topic, "partition": key.partition, "replicas": to} for key, to in targets.items()]
        self.plan.write_text(json.dumps({"version": 1, "partitions": entries}))

    def run(self, *words: str) -> Ended:
        line = ("partitions", "move", str(self.plan), *words, "-b", self.world.bootstrap, "--output", "json")
        return run_in_process(*line, runtime=self.world.runtime)

    def results(self, *words: str, code: int = 0) -> list[str]:
        ended = self.run(*words)
        assert ended.code == code, ended
        return [row["result"] for row in json.loads(ended.stdout)["rows"]]

    def topic_throttle(self) -> dict[str, str]:
        return {
            name: value
            for name, value in self.sandbox.cluster.topics["t"].properties.items()
            if name in (LEADERS, FOLLOWERS)
        }

    def rates(self) -> dict[int, dict[str, str]]:
        from kctl.sandbox.configs import Kind

        configs = self.sandbox.cluster.configs
        return {int(name): configs.of(Kind.BROKER, name) for name in configs.names(Kind.BROKER) if name}

    def has_throttle(self) -> bool:
        return bool(self.topic_throttle() or self.rates())

    def replicas(self, key: TopicPartition) -> tuple[int, ...]:
        return self.sandbox.cluster.topics[key.topic].partitions[key.partition].replicas

    def kill_after_start(self, *words: str) -> None:
        """Leave behind what a killed command leaves: it is interrupted while it waits."""
        self.sandbox.hold_moves()
        self.world.at(3_000, self._interrupt)
        ended = self.run(*words)
        assert ended.code == 130, ended
        self.ended = ended

    def _interrupt(self) -> None:
        self.interrupt = True


@pytest.fixture
def with_moves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    def run(use: Callable[[Moves], None], settings: ClusterSettings | None = None) -> None:
        def app(cluster: SimCluster) -> None:
            with Admin({"bootstrap.servers": cluster.bootstrap}, cluster.runtime) as admin:
                moves = Moves(cluster, admin, tmp_path / "plan.json")
                interrupt_looks(moves, monkeypatch)
                use(moves)

        run_world(app, topics={"t": 3, "u": 1}, settings=settings)

    return run


def interrupt_looks(moves: Moves, monkeypatch: pytest.MonkeyPatch) -> None:
    """Interrupt one look at the reassignments, if ordered."""
    from kctl.cli.exit_codes import ExitCode
    from kctl.cli.partitions import watch

    look = watch.Watch.look
    moves.interrupt = False

    def interrupted_look(self: watch.Watch) -> str:
        if moves.interrupt:
            moves.interrupt = False
            raise Interrupted(ExitCode.SIGINT)
        return look(self)

    monkeypatch.setattr(watch.Watch, "look", interrupted_look)


WithMoves = Callable[..., None]


def test_partitions_are_moved_and_nothing_is_left(with_moves: WithMoves) -> None:
    def use(moves: Moves) -> None:
        assert moves.results() == ["moved", "moved"]
        assert (moves.replicas(T0), moves.replicas(T1)) == ((2, 3), (3, 1))
        assert not moves.has_throttle()
        assert moves.results() == ["moved", "moved"]

    with_moves(use)


def test_throttle_names_each_copy_and_is_removed_at_the_end(with_moves: WithMoves) -> None:
    def use(moves: Moves) -> None:
        seen: list[object] = []
        moves.sandbox.hold_moves()
        moves.world.at(2_000, lambda: seen.extend([moves.topic_throttle(), moves.rates()]))
        moves.world.at(4_000, moves.sandbox.release_moves)
        assert moves.results("--throttle", "10MB") == ["moved", "moved"]
        rates = {LEADER_RATE: "10000000", FOLLOWER_RATE: "10000000"}
        assert seen == [{LEADERS: "0:1,1:2", FOLLOWERS: "0:2,0:3,1:3,1:1"}, {1: rates, 2: rates, 3: rates}]
        assert not moves.has_throttle()

    with_moves(use)


@pytest.mark.parametrize("flag", ["--resume", "--cancel"])
def test_throttle_of_a_killed_move_is_found_and_removed(flag: str, with_moves: WithMoves) -> None:
    def use(moves: Moves) -> None:
        moves.kill_after_start("--throttle", "10MB")
        assert f"kctl partitions move {moves.plan} --resume" in moves.ended.stderr
        assert moves.has_throttle()
        if flag == "--resume":
            moves.sandbox.release_moves()
        assert moves.results(flag) == (["moved"] * 2 if flag == "--resume" else ["cancelled"] * 2)
        assert not moves.has_throttle()
        assert moves.replicas(T0) == ((2, 3) if flag == "--resume" else (1,))

    with_moves(use)


@pytest.mark.parametrize("flag", ["--resume", "--cancel"])
def test_throttle_is_found_when_the_killed_move_has_ended(flag: str, with_moves: WithMoves) -> None:
    def use(moves: Moves) -> None:
        moves.kill_after_start("--throttle", "10MB")
        moves.sandbox.release_moves()
        moves.world.hub.sleep_ms(1_000)
        assert moves.has_throttle()
        assert moves.results(flag) == ["moved", "moved"]
        assert not moves.has_throttle()

    with_moves(use)


def test_resumed_move_throttles_the_followers_that_were_added_before(with_moves: WithMoves) -> None:
    def use(moves: Moves) -> None:
        moves.kill_after_start()
        assert not moves.has_throttle()
        seen: list[object] = []
        moves.world.at(2_000, lambda: seen.append(moves.topic_throttle()))
        moves.world.at(4_000, moves.sandbox.release_moves)
        assert moves.results("--resume", "--throttle", "5MB") == ["moved", "moved"]
        assert seen == [{LEADERS: "0:1,1:2", FOLLOWERS: "0:2,0:3,1:3,1:1"}]
        assert not moves.has_throttle()

    with_moves(use)


def test_empty_list_that_was_left_behind_is_removed(with_moves: WithMoves) -> None:
    def use(moves: Moves) -> None:
        topic = ConfigResource(ResourceType.TOPIC, "t")
        moves.admin.alter_configs({topic: {LEADERS: "", FOLLOWERS: ""}}).raise_first()
        moves.results("--resume")
        assert moves.topic_throttle() == {}

    with_moves(use)


def test_items_of_other_partitions_and_rates_of_other_moves_stay(with_moves: WithMoves) -> None:
    def use(moves: Moves) -> None:
        topic, broker = ConfigResource(ResourceType.TOPIC, "t"), ConfigResource(ResourceType.BROKER, "1")
        moves.admin.alter_configs({topic: {LEADERS: "2:3", FOLLOWERS: "2:1"}, broker: {LEADER_RATE: "7"}}).raise_first()
        moves.sandbox.hold_moves()
        moves.admin.alter_partition_reassignments({TopicPartition("t", 2): [1]}).raise_first()
        moves.world.at(2_000, moves.sandbox.release_moves)
        moves.world.at(1_900, lambda: moves.sandbox.start_fault(1, Fault.REFUSE))
        moves.write({T1: [3]})
        assert moves.results("--throttle", "10MB") == ["moved"]
        assert moves.topic_throttle() == {LEADERS: "2:3", FOLLOWERS: "2:1"}
        assert moves.rates().keys() == {1, 3}

    with_moves(use)


def test_rate_of_another_move_that_changes_is_named(with_moves: WithMoves) -> None:
    def use(moves: Moves) -> None:
        topic, broker = ConfigResource(ResourceType.TOPIC, "t"), ConfigResource(ResourceType.BROKER, "1")
        moves.admin.alter_configs({topic: {FOLLOWERS: "2:1"}, broker: {LEADER_RATE: "7"}}).raise_first()
        moves.sandbox.hold_moves()
        moves.admin.alter_partition_reassignments({TopicPartition("t", 2): [1]}).raise_first()
        moves.world.at(2_000, moves.sandbox.release_moves)
        moves.write({T1: [1]})
        ended = moves.run("--throttle", "10MB")
        assert "note: broker 1 limited another move to 7 B/s. Both moves are now limited to 10 MB/s\n" in ended.stderr

    with_moves(use)


def test_rate_of_another_move_that_stays_is_not_named(with_moves: WithMoves) -> None:
    def use(moves: Moves) -> None:
        topic, broker = ConfigResource(ResourceType.TOPIC, "t"), ConfigResource(ResourceType.BROKER, "1")
        moves.admin.alter_configs({topic: {FOLLOWERS: "2:1"}, broker: {LEADER_RATE: "7"}}).raise_first()
        moves.sandbox.hold_moves()
        moves.admin.alter_partition_reassignments({TopicPartition("t", 2): [1]}).raise_first()
        moves.write({T1: [1]})
        moves.sandbox.fail_requests("IncrementalAlterConfigs", DENIED, node_id=1)
        ended = moves.run("--throttle", "10MB")
        assert ended.code == ExitCode.NOT_AUTHORIZED, ended
        assert "note:" not in ended.stderr
        assert moves.rates() == {1: {LEADER_RATE: "7"}}

    with_moves(use)


DENIED = ErrorCode.TOPIC_AUTHORIZATION_FAILED
OWN_RATES = {number: {LEADER_RATE: f"{number}000", FOLLOWER_RATE: f"{number}000"} for number in (1, 2, 3)}


def set_own_rates(moves: Moves) -> None:
    """Set what an operator has set on each broker before a move."""
    rates: dict[Any, Any] = {ConfigResource(ResourceType.BROKER, str(each)): set_ for each, set_ in OWN_RATES.items()}
    moves.admin.alter_configs(rates).raise_first()


@pytest.mark.parametrize(
    ("api", "node_id", "kept"),
    [("DescribeConfigs", None, {1, 2, 3}), ("IncrementalAlterConfigs", 2, {2})],
    ids=["unknown lists", "one rate"],
)
def test_throttle_that_cannot_be_set_moves_nothing_and_changes_no_other_rates(
    with_moves: WithMoves, api: str, node_id: int | None, kept: set[int]
) -> None:
    def use(moves: Moves) -> None:
        lists = {LEADERS: "2:3", FOLLOWERS: "2:1"}
        moves.admin.alter_configs({ConfigResource(ResourceType.TOPIC, "t"): {**lists}}).raise_first()
        set_own_rates(moves)
        before = moves.replicas(T1)
        moves.sandbox.fail_requests(api, DENIED, node_id=node_id)
        ended = moves.run("--throttle", "10MB")
        assert ended.code == ExitCode.NOT_AUTHORIZED, ended
        (said, _error) = ended.stderr.splitlines()
        assert said.endswith(": no partitions moved because the throttle could not be set")
        assert (moves.topic_throttle(), moves.replicas(T1)) == (lists, before)
        assert moves.rates() == {each: OWN_RATES[each] for each in kept}

    with_moves(use)


def test_throttle_lists_that_cannot_be_set_leave_rates_and_are_removed(with_moves: WithMoves) -> None:
    def use(moves: Moves) -> None:
        set_own_rates(moves)
        moves.write({T0: [2, 3], TopicPartition("u", 0): [1, 2, 3]})
        altered = Admin.alter_configs

        def alter(admin: Admin, changes: Mapping[ConfigResource, Any]) -> Any:
            results = altered(admin, changes)
            failed = {each: broker_error(DENIED, "alter configs") for each in results.done if each.name == "u"}
            return Results({each: None for each in results.done if each not in failed}, failed)

        with patch.object(Admin, "alter_configs", alter):
            ended = moves.run("--throttle", "10MB")
        assert ended.code == ExitCode.NOT_AUTHORIZED, ended
        assert f"hint: remove the rest of the throttle with: kctl partitions move {moves.plan} --cancel" in ended.stderr
        assert (moves.topic_throttle(), moves.rates()) == ({}, OWN_RATES)

    with_moves(use)


def test_resumed_move_whose_throttle_cannot_be_set_keeps_its_throttle(with_moves: WithMoves) -> None:
    def use(moves: Moves) -> None:
        moves.kill_after_start("--throttle", "10MB")
        throttle = moves.topic_throttle(), moves.rates()
        moves.sandbox.fail_requests("IncrementalAlterConfigs", DENIED, times=3)
        ended = moves.run("--resume", "--throttle", "5MB")
        assert ended.code == ExitCode.NOT_AUTHORIZED, ended
        assert "no partitions moved" not in ended.stderr
        assert "the started moves continue" in ended.stderr
        assert (moves.topic_throttle(), moves.rates()) == throttle

    with_moves(use)


def test_move_without_the_throttled_broker_leaves_its_rate(with_moves: WithMoves) -> None:
    def use(moves: Moves) -> None:
        set_own_rates(moves)
        moves.write({T0: [2]})
        assert moves.results("--throttle", "10MB") == ["moved"]
        assert moves.rates() == {3: OWN_RATES[3]}

    with_moves(use)


@pytest.mark.parametrize("failed", [1, 2, 3])
def test_throttle_that_cannot_be_described_is_a_failure_of_its_removal(failed: int, with_moves: WithMoves) -> None:
    """The lists of the topic, the rates of brokers, or the lists of another move."""

    def use(moves: Moves) -> None:
        moves.kill_after_start("--throttle", "10MB")
        moves.sandbox.release_moves()
        other: dict[Any, Any] = {ConfigResource(ResourceType.TOPIC, "u"): {FOLLOWERS: "0:1"}}
        moves.admin.alter_configs(other).raise_first()
        moves.sandbox.hold_moves()
        (at,) = moves.replicas(TopicPartition("u", 0))
        moves.admin.alter_partition_reassignments({TopicPartition("u", 0): [at % 3 + 1]}).raise_first()
        described = Admin.describe_configs
        calls = iter(range(1, 9))

        def describe(admin: Admin, *given: Any, **options: Any) -> Any:
            results = described(admin, *given, **options)
            if next(calls) != failed:
                return results
            return Results({}, dict.fromkeys(results.done, broker_error(DENIED, "describe configs")))

        with patch.object(Admin, "describe_configs", describe):
            ended = moves.run("--cancel")
        assert ended.code == ExitCode.PARTIAL_FAILURE, ended
        assert "TOPIC_AUTHORIZATION_FAILED" in ended.stderr
        assert moves.has_throttle()
        assert moves.run("--cancel").code == ExitCode.OK
        assert not moves.topic_throttle()

    with_moves(use)


@pytest.mark.parametrize("words", [(), ("--resume",), ("--cancel",)])
def test_finished_move_is_moved_although_brokers_hear_of_it_late(words: tuple[str, ...], with_moves: WithMoves) -> None:
    def use(moves: Moves) -> None:
        if words:
            moves.admin.alter_partition_reassignments(TARGETS).raise_first()
            moves.world.hub.sleep_ms(1_000)
            assert moves.admin.list_partition_reassignments() == {}
        assert moves.results(*words) == ["moved", "moved"]

    with_moves(use, ClusterSettings(metadata_delay_ms=8_000))


def test_move_that_was_cancelled_elsewhere_is_reported(with_moves: WithMoves) -> None:
    def use(moves: Moves) -> None:
        moves.sandbox.hold_moves()
        moves.world.at(2_000, lambda: moves.sandbox.cluster.reassignments.alter("t", 0, None))
        moves.world.at(3_000, moves.sandbox.release_moves)
        ended = moves.run("--throttle", "1MB")
        assert [row["result"] for row in json.loads(ended.stdout)["rows"]] == ["not moved", "moved"]
        assert (
            ended.code,
            "cannot move t-0" in ended.stderr,
            "hint: move the remaining partitions with: kctl partitions move" in ended.stderr,
        ) == (
            3,
            True,
            True,
        )
        assert not moves.has_throttle()
        assert moves.results("--resume") == ["moved", "moved"]

    with_moves(use)


def test_cancel_leaves_other_moves_alone(with_moves: WithMoves) -> None:
    def use(moves: Moves) -> None:
        moves.sandbox.hold_moves()
        moves.admin.alter_partition_reassignments({T0: [3], T1: [3, 1]}).raise_first()
        assert moves.results("--cancel", code=3) == ["in another move", "cancelled"]
        assert moves.admin.list_partition_reassignments().keys() == {T0}

    with_moves(use)


def test_cancel_of_what_was_never_started_says_first_that_nothing_is_in_progress_and_ends_in_time(
    with_moves: WithMoves, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[tuple[int, str]] = []

    def use(moves: Moves) -> None:
        before_ms = moves.world.clock.now_ms()
        monkeypatch.setattr(
            Environment, "say", lambda _, line: said.append((moves.world.clock.now_ms() - before_ms, line))
        )
        assert moves.results("--cancel") == ["not in progress", "not in progress"]
        assert moves.world.clock.now_ms() - before_ms < SETTLE_MS + 2_000
        ((at_ms, line),) = said
        assert at_ms < 1_000
        assert line.endswith(
            "note: no move is in progress for 2 partitions. Waiting for up to 10s until brokers report moves that "
            "have just ended"
        )

    with_moves(use)


def test_cancel_that_learns_nothing_ends_in_time_and_removes_the_throttle(
    with_moves: WithMoves, monkeypatch: pytest.MonkeyPatch
) -> None:
    from kctl.cli.partitions.watch import Watch

    def use(moves: Moves) -> None:
        moves.kill_after_start("--throttle", "1MB")
        moves.admin.alter_partition_reassignments(dict.fromkeys(TARGETS)).raise_first()
        monkeypatch.setattr(Watch, "_outcome", lambda *_: None)  # no broker knows the result
        before_ms = moves.world.clock.now_ms()
        ended = moves.run("--cancel", "--api-timeout", "20s")
        assert (ended.code, moves.has_throttle()) == (17, False), ended
        assert "--api-timeout" in ended.stderr
        assert 20_000 <= moves.world.clock.now_ms() - before_ms < 25_000

    with_moves(use)


def test_second_move_of_the_same_partitions_is_refused(with_moves: WithMoves) -> None:
    def use(moves: Moves) -> None:
        moves.sandbox.hold_moves()
        moves.admin.alter_partition_reassignments({T1: [3, 1]}).raise_first()
        ended = moves.run()
        assert (ended.code, ended.stdout, "another move of 1 partition is in progress: t-1" in ended.stderr) == (
            19,
            b"",
            True,
        ), ended
        assert moves.replicas(T0) == (1,)

    with_moves(use)


def test_wait_ends_in_time_and_names_what_has_not_ended(with_moves: WithMoves) -> None:
    def use(moves: Moves) -> None:
        moves.sandbox.hold_moves()
        before_ms = moves.world.clock.now_ms()
        ended = moves.run("--throttle", "1MB", "--wait", "5s")
        assert ended.code == 17
        assert moves.world.clock.now_ms() - before_ms < 6_000
        assert (
            "timed out after 5s (--wait) while waiting for the move: 2 of 2 moves are unfinished: t-0, t-1"
            in ended.stderr
        )
        assert "the started moves continue with the throttle" in ended.stderr
        assert moves.has_throttle()

    with_moves(use)


def test_refused_throttle_moves_nothing(with_moves: WithMoves) -> None:
    def use(moves: Moves) -> None:
        moves.sandbox.fail_requests("IncrementalAlterConfigs", ErrorCode.CLUSTER_AUTHORIZATION_FAILED, node_id=2)
        ended = moves.run("--throttle", "1MB")
        assert (ended.code, moves.replicas(T0)) == (22, (1,)), ended
        assert not moves.has_throttle()

    with_moves(use)


def test_refused_move_removes_its_throttle(with_moves: WithMoves) -> None:
    def use(moves: Moves) -> None:
        moves.sandbox.fail_requests("AlterPartitionReassignments", ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
        ended = moves.run("--throttle", "1MB")
        assert (ended.code, moves.replicas(T0)) == (22, (1,)), ended
        assert not moves.has_throttle()

    with_moves(use)


def test_broker_that_dies_in_the_middle_is_waited_for(with_moves: WithMoves) -> None:
    def use(moves: Moves) -> None:
        moves.sandbox.hold_moves()
        moves.world.at(1_500, moves.sandbox.release_moves)
        moves.world.at(1_000, lambda: moves.sandbox.start_fault(3, Fault.FREEZE))
        moves.world.at(40_000, lambda: moves.sandbox.stop_fault(3, Fault.FREEZE))
        assert moves.results("--throttle", "10MB") == ["moved", "moved"]
        assert not moves.has_throttle()

    with_moves(use)


def test_progress_has_bytes_and_time_left(with_moves: WithMoves) -> None:
    def use(moves: Moves) -> None:
        with moves.world.producer() as producer:
            for _ in range(100):
                producer.send("t", b"x" * 1000, partition=0)
        ended = moves.run()
        lines = [line for line in ended.stderr.splitlines() if "copied" in line]
        assert len(lines) == 3, ended.stderr
        assert "0 of 2 partitions moved, " in lines[0]
        assert "kB of 20" in lines[0]
        assert " left" in lines[1]

    with_moves(use, ClusterSettings(reassignment_ms=40_000))


def test_partition_that_is_deleted_is_reported(with_moves: WithMoves) -> None:
    def use(moves: Moves) -> None:
        moves.write({TopicPartition("u", 0): [3], T0: [2]})
        moves.sandbox.hold_moves()
        moves.world.at(1_000, lambda: moves.sandbox.cluster.delete_topic("u"))
        moves.world.at(2_000, moves.sandbox.release_moves)
        assert moves.results("--throttle", "1MB", code=3) == ["deleted", "moved"]
        assert not moves.has_throttle()

    with_moves(use)


@pytest.mark.slow
def test_thousands_of_partitions_are_throttled_by_a_wildcard(with_moves: WithMoves) -> None:
    def use(moves: Moves) -> None:
        moves.sandbox.create_topic("many", partitions=1_500)
        moves.write({TopicPartition("many", index): [1 + (index + 1) % 3] for index in range(1_500)})
        moves.sandbox.hold_moves()
        seen: list[dict[str, str]] = []
        properties = moves.sandbox.cluster.topics["many"].properties
        moves.world.at(2_000, lambda: seen.append(dict(properties)))
        moves.world.at(3_000, moves.sandbox.release_moves)
        assert set(moves.results("--throttle", "1MB")) == {"moved"}
        assert (seen, properties) == ([{LEADERS: "*", FOLLOWERS: "*"}], {})

    with_moves(use)
