"""Commands of a sandbox, and errors for invalid commands."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from kctl.client.broker_errors import ErrorCode
from kctl.client.protocol.api.fetch import FetchRequest, FetchResponse
from kctl.sandbox.commands import COMMANDS, FORMER_NAMES, CommandRefused, carry_out
from kctl.sandbox.faults import Fault
from kctl.sandbox.quotas import Quota
from tests.unit.sandbox.producer_side import ProducerSide
from tests.unit.sandbox.scenario import WALL_MS, Scenario, batch

DOCUMENT = Path(__file__).parents[3] / "docs" / "sandbox.md"
Found = Callable[[Scenario], object]


@pytest.fixture
def scenario() -> Scenario:
    scenario = Scenario(nodes=3)
    scenario.sandbox.create_topic("t", 1, replication_factor=3)
    for _ in range(3):
        scenario.cluster.topics["t"].partitions[0].log.append(batch(b"v"), 0, WALL_MS)
    return scenario


def _faults(scenario: Scenario) -> list[tuple[Fault, ...]]:
    return [node.faults.active for node in scenario.cluster.nodes.values()]


def _leader(scenario: Scenario) -> tuple[int, int, int]:
    partition = scenario.cluster.topics["t"].partitions[0]
    return partition.leader_id, partition.leader_epoch, partition.log.end_offset


def _in_sync(scenario: Scenario) -> list[int]:
    return scenario.cluster.topics["t"].partitions[0].in_sync


def _fenced(scenario: Scenario) -> object:
    return [node.state.is_fenced for node in scenario.cluster.nodes.values()]


def _registered(scenario: Scenario) -> list[bool]:
    return [node.state.is_registered for node in scenario.cluster.nodes.values()]


def _following(scenario: Scenario) -> list[bool]:
    return [node.state.held_at_ms is None for node in scenario.cluster.nodes.values()]


def _ended(scenario: Scenario) -> str:
    side = ProducerSide(scenario.connect(scenario.cluster.transactions.node_of("tx").node_id))
    side.init()
    side.add()
    assert side.end() is ErrorCode.NONE
    return side.state()


def _debts(scenario: Scenario) -> list[int]:
    quotas = [node.quotas for node in scenario.cluster.nodes.values()]
    for one in quotas:
        limit = one.limit_of(Quota.PRODUCE, "c")
        if limit is not None:
            one.charge(limit, 100, 0)
    limits = [one.limit_of(Quota.PRODUCE, "c") for one in quotas]
    return [0 if each is None else one.debt_ms(each, 0) for one, each in zip(quotas, limits, strict=True)]


@pytest.mark.parametrize(
    ("lines", "look", "expected"),
    [
        (["start 2 freeze"], _faults, [(), (Fault.FREEZE,), ()]),
        (["start all delay 200", "stop 2 delay"], _faults, [(Fault.DELAY,), (), (Fault.DELAY,)]),
        (["start all refuse", "heal 1"], _faults, [(), (Fault.REFUSE,), (Fault.REFUSE,)]),
        (["start all refuse", "heal"], _faults, [(), (), ()]),
        (["lead t 0 2"], _leader, (2, 1, 3)),
        (["lead t 0 3 1"], _leader, (3, 1, 1)),
        (["lead-late t 0 3 500"], _leader, (-1, 1, 3)),
        (["hold t 0 2"], _in_sync, [1, 3]),
        (["hold t 0 2", "release t 0 2"], _in_sync, [1, 2, 3]),
        (["delete-records t 0 2"], lambda scenario: scenario.cluster.topics["t"].partitions[0].log.start_offset, 2),
        (["coordinate g 3"], lambda scenario: scenario.cluster.groups.node_of("g").node_id, 3),
        (
            ["trouble g COORDINATOR_NOT_AVAILABLE"],
            lambda scenario: scenario.cluster.groups.lookup_error("g"),
            ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ),
        (
            ["trouble g COORDINATOR_NOT_AVAILABLE", "trouble g none"],
            lambda scenario: scenario.cluster.groups.lookup_error("g"),
            ErrorCode.NONE,
        ),
        (
            ["fail Fetch NOT_LEADER_OR_FOLLOWER 2 2"],
            lambda scenario: [node.faults.pop_error(1) for node in scenario.cluster.nodes.values()],
            [None, ErrorCode.NOT_LEADER_OR_FOLLOWER, None],
        ),
        (["coordinate-transaction x 3"], lambda scenario: scenario.cluster.transactions.node_of("x").node_id, 3),
        (
            ["trouble-transaction x COORDINATOR_NOT_AVAILABLE"],
            lambda scenario: scenario.cluster.transactions.lookup_error("x"),
            ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ),
        (
            ["trouble-transaction x COORDINATOR_NOT_AVAILABLE", "trouble-transaction x none"],
            lambda scenario: scenario.cluster.transactions.lookup_error("x"),
            ErrorCode.NONE,
        ),
        (["hold-markers tx"], _ended, "PrepareCommit"),
        (["hold-markers tx", "release-markers tx"], _ended, "CompleteCommit"),
        (["lose-markers tx"], _ended, "CompleteCommit"),
        (["limit produce 10 2"], _debts, [0, 9_000, 0]),
        (["limit produce 10", "limit produce none 1"], _debts, [0, 9_000, 9_000]),
        (["limit fetch 10 all"], _debts, [0, 0, 0]),
        (["disk 1 5000"], lambda scenario: scenario.cluster.nodes[1].state.disk_bytes, 5_000),
        (["disk 1 offline"], lambda scenario: scenario.cluster.nodes[1].state.is_disk_offline, True),
        (["disk 1 offline", "heal 1"], lambda scenario: scenario.cluster.nodes[1].state.is_disk_offline, False),
        (["unregister 2"], _registered, [True, False, True]),
        (["fence 2"], _fenced, [False, True, False]),
        (["fence 2", "unfence 2"], _fenced, [False, False, False]),
        (["unregister 2", "register 2"], _registered, [True, True, True]),
        (["hold-metadata 3"], _following, [True, True, False]),
        (["hold-metadata 3", "release-metadata 3"], _following, [True, True, True]),
        (["stop-controllers"], lambda scenario: scenario.cluster.quorum.leader_id, None),
        (["stop-controllers", "start-controllers"], lambda scenario: scenario.cluster.quorum.leader_id, 1),
        (["stop-controllers", "heal"], lambda scenario: scenario.cluster.quorum.leader_id, 1),
        (["start 1 freeze"], lambda scenario: scenario.cluster.quorum.leader_id, 2),
        (["start 1 freeze", "heal 1"], lambda scenario: scenario.cluster.quorum.leader_id, 2),
        (["start 2 freeze", "start 3 refuse"], lambda scenario: scenario.cluster.quorum.leader_id, None),
        (["forget-sessions all"], lambda scenario: len(scenario.cluster.nodes[1].fetch_sessions), 0),
    ],
)
def test_commands(scenario: Scenario, lines: list[str], look: Found, expected: object) -> None:
    for line in lines:
        carry_out(scenario.sandbox, line.split())
    assert look(scenario) == expected


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("", "no command: use one of start, stop, clear"),
        ("explode 1", "unknown command 'explode': use one of start"),
        ("start 2", "invalid arguments of start: use NODE|all FAULT [MS]"),
        ("start 2 freeze 1 2", "invalid arguments of start: use NODE"),
        ("start 9 freeze", "start: no broker 9: use 1 to 3"),
        ("start x freeze", "start: invalid number 'x': use 0 or more"),
        ("start 1 melt", "start: unknown fault 'melt': use one of blackhole, "),
        ("start 1 delay", "start: invalid ms=0 for fault delay"),
        ("fail Nope NOT_COORDINATOR", "fail: cannot fail requests of 'Nope'"),
        ("fail Fetch NOPE", "fail: unknown error code 'NOPE'"),
        ("fail Fetch NOT_COORDINATOR 0", "fail: invalid count 0"),
        ("lead u 0 1", "lead: no partition 0 of topic 'u'"),
        ("lead t 0 2 99", "lead: 99 in a log from 0 to 3"),
        ("hold t 0 1", "hold: node 1 is not a follower of t-0"),
        ("delete-records t 0 99", "delete-records: offset 99"),
        ("trouble g NONE", "trouble: NONE is not a coordinator error"),
        ("trouble-transaction x NONE", "trouble-transaction: NONE is not a coordinator error"),
        ("coordinate-transaction x 9", "coordinate-transaction: no broker 9"),
        ("expire-producers u 0", "expire-producers: no partition 0 of topic 'u'"),
        ("disk 1 much", "disk: invalid number 'much'"),
        ("hold-metadata 9", "hold-metadata: no broker 9"),
        ("limit sleep 10", "limit: unknown quota 'sleep': use one of produce, fetch"),
        ("limit fetch much", "limit: invalid number 'much'"),
        ("limit fetch 0", "limit: 0 bytes per second is invalid: use 1 to "),
        ("limit fetch 10 9", "limit: no broker 9"),
    ],
)
def test_words_that_make_no_sense(scenario: Scenario, line: str, why: str) -> None:
    with pytest.raises(CommandRefused) as refusal:
        carry_out(scenario.sandbox, line.split())
    assert str(refusal.value).startswith(why)


def test_producers_are_forgotten(scenario: Scenario) -> None:
    log = scenario.cluster.topics["t"].partitions[0].log
    log.append(batch(b"v", producer=(7, 0, 0)), 0, WALL_MS)
    assert len(list(log.producers)) == 1
    carry_out(scenario.sandbox, ["expire-producers", "t", "0"])
    assert not list(log.producers)


def test_sessions_are_forgotten(scenario: Scenario) -> None:
    scenario.connect(1).call(FetchRequest(session_epoch=0), FetchResponse, 12)
    assert len(scenario.cluster.nodes[1].fetch_sessions) == 1
    carry_out(scenario.sandbox, ["forget-sessions", "1"])
    assert len(scenario.cluster.nodes[1].fetch_sessions) == 0


def test_former_names_of_commands_and_faults_work(scenario: Scenario) -> None:
    for former, name in FORMER_NAMES.items():
        assert former not in COMMANDS
        with pytest.raises(
            CommandRefused, match=rf"^invalid arguments of {former}: use {re.escape(COMMANDS[name].arguments)}$"
        ):
            carry_out(scenario.sandbox, [former, *["x"] * 9])
    carry_out(scenario.sandbox, ["start", "1", "drop-answers"])
    assert _faults(scenario)[0] == (Fault.DROP_RESPONSES,)


def test_the_manual_has_every_fault() -> None:
    lines = DOCUMENT.read_text().splitlines()
    for fault in Fault:
        assert any(line.startswith(f"| `{fault.value}` | ") for line in lines), fault
