"""Administrative commands as whole command lines in virtual time: one API timeout for all that a command requests."""

import re
from collections.abc import Callable
from contextlib import nullcontext

import pytest

from kctl.client.admin import Admin
from kctl.client.clock import duration_text
from kctl.client.cluster import TopicPartition
from kctl.sandbox import Fault
from tests.sim.kit import SimCluster, run_with_admin
from tests.support.in_process import Ended, run_in_process

COMMANDS = (
    "topics list",
    "topics describe t u",
    "topics describe t --configs",
    "topics create new",
    "topics alter t --partitions 9 --config retention.ms=1",
    "topics offsets t",
    "topics trim t --before end --execute",
    "cluster describe",
    "cluster quorum",
    "brokers log-dirs",
    "partitions plan t --to-brokers 1,2",
    "partitions list",
    "partitions elect --all",
    "configs show topic t",
    "configs show broker 1",
    "configs set topic t retention.ms=1",
    "configs unset broker-defaults log.retention.ms",
    "topics delete t --execute",
    "api ListGroups",
    "transactions list",
    "transactions describe tx",
    "transactions hanging",
    "transactions hanging --topic t --all",
    "groups list",
    "groups describe g",
    "groups lag g",
    "groups lag --all",
    "groups lag g --topic t",
    "groups members g",
    "groups delete g --execute",
    "groups reset-offsets g --to-earliest --execute",
    "groups reset-offsets g --to-datetime 2020-01-01T00:00:00Z --topic t",
    "groups delete-offsets g --topic t --execute",
    "groups remove-members s --instance one --execute",
)
PARTIAL_FAILURE, CONNECT_TIMEOUT = 3, 12
TIMEOUT_MS = 2000
Run = Callable[..., Ended]


def with_commands(use: Callable[[SimCluster, Run], None], monkeypatch: pytest.MonkeyPatch) -> None:
    """Run a test with a group `g` that has committed for all of `t`, and a function that runs a command line.

    A group `s` has a static member.
    """

    def app(cluster: SimCluster, admin: Admin) -> None:
        admin.alter_group_offsets("g", {TopicPartition("t", index): 0 for index in range(4)}).raise_first()
        with cluster.producer({"transactional.id": "tx"}) as producer:
            producer.init_transactions(timeout=10)
        with cluster.classic_member("s", group_instance_id="one") as member:  # which stays in the group
            while not member.assignment:  # it is alone in its group: nobody else changes its share
                member.poll(1)
        monkeypatch.setattr("kctl.cli.overtime.interrupted_after", lambda *_, **__: nullcontext())  # a signal

        def run(command: str) -> Ended:
            line = (*command.split(), "-b", cluster.bootstrap, "--api-timeout", f"{TIMEOUT_MS}ms")
            return run_in_process(*line, runtime=cluster.runtime)

        use(cluster, run)

    run_with_admin(app)


@pytest.mark.parametrize("command", COMMANDS)
def test_command_with_healthy_brokers_succeeds(command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def use(cluster: SimCluster, run: Run) -> None:
        ended = run(command)
        assert (ended.code, ended.stderr.count("\n")) in ((0, 0), (0, 1)), ended

    with_commands(use, monkeypatch)


@pytest.mark.parametrize("fault", [Fault.SILENCE, Fault.FREEZE, Fault.BLACKHOLE])
@pytest.mark.parametrize("command", COMMANDS)
def test_command_with_silent_brokers_ends_at_its_timeout(
    command: str, fault: Fault, monkeypatch: pytest.MonkeyPatch
) -> None:
    def use(cluster: SimCluster, run: Run) -> None:
        for node_id in (1, 2, 3):
            cluster.sandbox.start_fault(node_id, fault)
        before_ms = cluster.clock.now_ms()
        ended = run(command)
        assert cluster.clock.now_ms() - before_ms == TIMEOUT_MS
        assert re.search(rf"timed out after {duration_text(TIMEOUT_MS)} \(--api-timeout\) while", ended.stderr), (
            ended.stderr
        )

    with_commands(use, monkeypatch)


@pytest.mark.parametrize("fault", [Fault.SILENCE, Fault.FREEZE, Fault.BLACKHOLE])
@pytest.mark.parametrize("command", ["describe", "lag", "lag --topic t", "delete", "delete --execute"])
def test_command_with_one_silent_coordinator_shows_the_other_groups(
    command: str, fault: Fault, monkeypatch: pytest.MonkeyPatch
) -> None:
    def use(cluster: SimCluster, run: Run) -> None:
        silent = next(f"h{n}" for n in range(9) if cluster.coordinator(f"h{n}") != cluster.coordinator("g"))
        cluster.commit(silent, {("t", 0): 0})
        cluster.sandbox.start_fault(cluster.coordinator(silent), fault)
        before_ms = cluster.clock.now_ms()
        name, *options = command.split()
        ended = run(" ".join(["groups", name, "g", silent, *options]))
        took_ms = cluster.clock.now_ms() - before_ms
        assert f"kctl groups: the coordinator did not respond in time for {silent}\n" in ended.stderr, ended
        if name == "delete":
            assert (took_ms, ended.code, ended.stdout) == (TIMEOUT_MS // 2, CONNECT_TIMEOUT, b"")
            assert "nothing was deleted" in ended.stderr
        else:
            assert (took_ms <= TIMEOUT_MS, ended.code) == (True, PARTIAL_FAILURE), ended
            assert b"t " in ended.stdout

    with_commands(use, monkeypatch)


ROWS_OF_OTHERS = {
    "topics offsets t": "t,0 t,2 t,3",
    "topics offsets t --at end": "t,0 t,2 t,3",
    "topics trim t --before end": "t,0 t,2 t,3",
    "topics trim t --before @2020-01-01": "t,0 t,2 t,3",
    "topics trim t --before end --execute": "t,0 t,2 t,3",
    "topics list --size": "t u",
    "groups lag h": "h,t,0 h,t,1 h,t,2 h,t,3",
    "brokers log-dirs": "1 3",
}


@pytest.mark.parametrize("fault", [Fault.FREEZE, Fault.BLACKHOLE])
@pytest.mark.parametrize("command", ROWS_OF_OTHERS)
def test_one_silent_leader_hides_no_row_of_another_broker(
    command: str, fault: Fault, monkeypatch: pytest.MonkeyPatch
) -> None:
    def use(cluster: SimCluster, run: Run) -> None:
        with cluster.producer() as producer:
            for partition in range(4):
                producer.send("t", b"x", partition=partition)
        group = next(f"h{n}" for n in range(99) if cluster.coordinator(f"h{n}") != 2)
        cluster.commit(group, {("t", partition): 0 for partition in range(4)})
        cluster.sandbox.start_fault(2, fault)
        assert cluster.leader(1) == 2
        ended = run(f"{command.replace(' h', f' {group}')} --output csv")
        assert (ended.code, b"Traceback" in ended.stdout) == (PARTIAL_FAILURE, False), ended
        rows = ended.stdout.decode().splitlines()
        for start in ROWS_OF_OTHERS[command].replace("h,", f"{group},").split():
            assert any(row.startswith((f"{start},", f"{start}\r")) for row in rows), (start, ended)
        if command == "groups lag h":
            assert sum(row.split(",")[9] not in ("", "lag_ms") for row in rows) == 3, "the age is known"

    with_commands(use, monkeypatch)


DELAYS = [
    *(pytest.param(delay_ms, marks=pytest.mark.nightly) for delay_ms in (150, 250, 400)),
    *(pytest.param(delay_ms, marks=pytest.mark.slow) for delay_ms in (200, 900)),
    300,
]
TWO_ROUNDS = ("topics offsets", "topics trim", "groups describe", "groups lag")


@pytest.mark.parametrize("delay_ms", DELAYS)
@pytest.mark.parametrize("command", COMMANDS)
def test_command_with_slow_brokers_ends_by_one_timeout(
    command: str, delay_ms: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every response comes in time for its own call: only all of them together take too long."""

    def use(cluster: SimCluster, run: Run) -> None:
        for node_id in (1, 2, 3):
            cluster.sandbox.start_fault(node_id, Fault.DELAY, ms=delay_ms)
        before_ms = cluster.clock.now_ms()
        ended = run(command)
        took_ms = cluster.clock.now_ms() - before_ms
        if ended.code == 0:
            assert took_ms <= TIMEOUT_MS
        elif took_ms < TIMEOUT_MS:
            assert command.startswith(TWO_ROUNDS), "the first round of requests may use half of the time"
            assert "timed out" in ended.stderr, ended
        else:
            assert took_ms == TIMEOUT_MS
            assert f"timed out after {duration_text(TIMEOUT_MS)} (--api-timeout)" in ended.stderr

    with_commands(use, monkeypatch)
