"""Coordinators of transactions: timeouts, moves, troubles, and markers that wait for a leader."""

import pytest

from kctl.client.broker_errors import ErrorCode
from kctl.client.protocol.api.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from kctl.sandbox import ClusterSettings
from kctl.sandbox.faults import Fault
from tests.unit.sandbox.producer_side import TX, ProducerSide, fetched
from tests.unit.sandbox.scenario import Client, Scenario

LEVELS = pytest.mark.parametrize("level", [1, 2])


def bench_of(level: int = 2, nodes: int = 1, **more: int) -> Scenario:
    return Scenario(nodes, {"t": 2}, ClusterSettings(transaction_version=level, **more))  # type: ignore[arg-type]  # further settings have types of their own


def begun(scenario: Scenario, level: int = 2, timeout_ms: int = 60_000) -> ProducerSide:
    side = ProducerSide(scenario.connect(), level)
    assert side.init(timeout_ms) is ErrorCode.NONE
    assert side.produce() is ErrorCode.NONE
    return side


def stable(client: Client, partition: int = 0) -> tuple[int, int, int]:
    """Return end, last stable offset and the number of aborted transactions."""
    found = fetched(client, partition)
    return found.high_watermark, found.last_stable_offset, len(found.aborted_transactions or ())


@LEVELS
def test_a_transaction_that_takes_too_long_is_aborted_and_its_producer_fenced(level: int) -> None:
    scenario = bench_of(level)
    side = begun(scenario, level, timeout_ms=5_000)
    scenario.scheduler.advance(4_999)
    assert side.state() == "Ongoing"
    scenario.scheduler.advance(1)
    assert side.state() == "CompleteAbort"
    assert stable(side.client) == (2, 2, 1)
    codes = (side.produce(), side.end())
    fenced = (ErrorCode.PRODUCER_FENCED, ErrorCode.PRODUCER_FENCED)
    # In version 2 the timed out epoch is the one before: its end is taken for a repetition of another kind.
    assert codes == (fenced if level == 1 else (ErrorCode.INVALID_PRODUCER_EPOCH, ErrorCode.INVALID_TXN_STATE))
    assert scenario.scheduler.pending == 0


@LEVELS
def test_the_time_of_a_transaction_that_ends_is_not_counted_on(level: int) -> None:
    scenario = bench_of(level)
    side = begun(scenario, level, timeout_ms=5_000)
    scenario.scheduler.advance(4_000)
    assert side.end() is ErrorCode.NONE
    assert scenario.scheduler.pending == 0
    assert side.produce() is ErrorCode.NONE
    scenario.scheduler.advance(4_999)
    assert side.state() == "Ongoing"


def test_a_coordinator_that_stands_still_ends_it_when_it_moves_again() -> None:
    scenario = bench_of(2, nodes=2)
    coordinator = scenario.cluster.transactions.node_of(TX).node_id
    other = 3 - coordinator
    for partition in (0, 1):
        scenario.sandbox.move_leader("t", partition, other)
    side = ProducerSide(scenario.connect(coordinator))
    side.init(timeout_ms=5_000)
    leader = scenario.connect(other)
    assert side.produce(client=leader) is ErrorCode.NONE
    scenario.sandbox.start_fault(coordinator, Fault.FREEZE)
    assert side.produce(1, client=leader) is ErrorCode.NOT_ENOUGH_REPLICAS
    scenario.scheduler.advance(10_000)
    assert stable(leader) == (1, 0, 0)
    scenario.sandbox.stop_fault(coordinator, Fault.FREEZE)
    assert stable(leader) == (2, 2, 1)


@pytest.mark.parametrize("commit", [True, False])
def test_a_marker_waits_for_a_leader(commit: bool) -> None:
    scenario = bench_of()
    side = begun(scenario)
    assert side.produce(1) is ErrorCode.NONE
    scenario.sandbox.elect_late("t", 0, 1, ms=500)
    assert side.end(commit=commit) is ErrorCode.NONE
    assert side.state() == ("PrepareCommit" if commit else "PrepareAbort")
    assert stable(side.client, 1) == (2, 2, 0 if commit else 1)
    assert side.add() is ErrorCode.CONCURRENT_TRANSACTIONS
    assert side.init() is ErrorCode.CONCURRENT_TRANSACTIONS
    scenario.scheduler.advance(500)
    assert side.state() == ("CompleteCommit" if commit else "CompleteAbort")
    assert stable(side.client) == (2, 2, 0 if commit else 1)
    assert scenario.cluster.topics["t"].partitions[0].log.watchers == 0


@LEVELS
def test_markers_are_held_and_released(level: int) -> None:
    scenario = bench_of(level)
    side = begun(scenario, level)
    scenario.sandbox.hold_markers(TX)
    assert side.end() is ErrorCode.NONE
    assert side.state() == "PrepareCommit"
    assert side.produce() is ErrorCode.CONCURRENT_TRANSACTIONS
    assert stable(side.client) == (1, 0, 0)
    scenario.sandbox.release_markers(TX)
    assert side.state() == "CompleteCommit"
    assert side.produce() is ErrorCode.NONE


def test_markers_come_as_late_as_they_are_set_to() -> None:
    scenario = bench_of(transaction_marker_delay_ms=40)
    side = begun(scenario)
    assert side.end() is ErrorCode.NONE
    scenario.scheduler.advance(39)
    assert side.state() == "PrepareCommit"
    scenario.scheduler.advance(1)
    assert side.state() == "CompleteCommit"


def test_another_coordinator_goes_on_with_time_and_markers() -> None:
    scenario = bench_of(2, nodes=2)
    for partition in (0, 1):
        scenario.sandbox.move_leader("t", partition, 1)
    scenario.sandbox.move_transaction_coordinator(TX, 1)
    side = begun(scenario, timeout_ms=5_000)
    scenario.scheduler.advance(3_000)
    scenario.sandbox.move_transaction_coordinator(TX, 2)
    assert side.add() is ErrorCode.NOT_COORDINATOR
    scenario.scheduler.advance(2_000)
    assert stable(side.client) == (2, 2, 1)
    there = ProducerSide(scenario.connect(2))
    assert there.init() is ErrorCode.NONE
    assert there.produce(client=side.client) is ErrorCode.NONE
    scenario.sandbox.hold_markers(TX)
    assert there.end() is ErrorCode.NONE
    scenario.sandbox.move_transaction_coordinator(TX, 1)
    scenario.sandbox.release_markers(TX)
    assert side.state() == "CompleteCommit"
    assert stable(side.client) == (4, 4, 1)


def test_a_coordinator_in_trouble_writes_its_markers_later() -> None:
    scenario = bench_of()
    side = begun(scenario)
    scenario.sandbox.hold_markers(TX)
    assert side.end() is ErrorCode.NONE
    scenario.sandbox.trouble_transaction_coordinator(TX, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
    scenario.sandbox.release_markers(TX)
    assert stable(side.client) == (1, 0, 0)
    assert [side.init(), side.add(), side.end(), side.produce(), side.commit_offset(1)] == [
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.NOT_ENOUGH_REPLICAS,
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ]
    scenario.sandbox.trouble_transaction_coordinator(TX, None)
    assert side.state() == "CompleteCommit"


def test_a_coordinator_that_is_not_available_is_not_found_either() -> None:
    scenario = bench_of()
    client = scenario.connect()

    def found() -> tuple[int, int]:
        request = FindCoordinatorRequest(key_type=1, coordinator_keys=[TX])
        (one,) = client.call(request, FindCoordinatorResponse, 4).coordinators
        return one.error_code, one.node_id

    assert found() == (0, 1)
    scenario.sandbox.trouble_transaction_coordinator(TX, ErrorCode.COORDINATOR_NOT_AVAILABLE)
    assert found() == (ErrorCode.COORDINATOR_NOT_AVAILABLE, -1)
    with pytest.raises(ValueError, match="NONE is not a coordinator error"):
        scenario.sandbox.trouble_transaction_coordinator(TX, ErrorCode.NONE)


def test_a_topic_that_is_deleted_keeps_no_transaction_from_ending() -> None:
    scenario = bench_of()
    side = begun(scenario)
    scenario.cluster.delete_topic("t")
    assert side.end() is ErrorCode.NONE
    assert side.state() == "CompleteCommit"


def test_epochs_run_out_and_another_id_goes_on() -> None:
    for level in (1, 2):
        scenario = bench_of(level)
        side = begun(scenario, level)
        assert side.end() is ErrorCode.NONE
        transaction = scenario.cluster.transactions.get(TX)
        assert transaction is not None
        first_id = transaction.producer_id
        transaction.epoch = 2**15 - 2
        if level == 1:
            assert side.init() is ErrorCode.NONE
        else:
            side.held, side.sequences = transaction.identity, {}
            assert side.produce() is ErrorCode.NONE
            before = side.held
            assert side.end() is ErrorCode.NONE
            after, side.held = side.held, before
            assert side.end() is ErrorCode.NONE, "a repetition is told the same"
            assert side.held == after
        assert side.held[0] != first_id
        assert side.held[1] == 0
        assert side.produce() is ErrorCode.NONE


@pytest.mark.parametrize("commit", [True, False])
def test_a_marker_waits_for_a_leader_that_stands_still(commit: bool) -> None:
    scenario = bench_of(2, nodes=2)
    scenario.sandbox.move_transaction_coordinator(TX, 1)
    for partition in (0, 1):
        scenario.sandbox.move_leader("t", partition, 2)
    side, leader = ProducerSide(scenario.connect(1)), scenario.connect(2)
    side.init()
    assert side.produce(client=leader) is ErrorCode.NONE
    scenario.sandbox.start_fault(2, Fault.FREEZE)
    assert side.end(commit=commit) is ErrorCode.NONE
    assert side.state() == ("PrepareCommit" if commit else "PrepareAbort")
    scenario.sandbox.stop_fault(2, Fault.FREEZE)
    assert side.state() == ("CompleteCommit" if commit else "CompleteAbort")
    assert stable(leader) == (2, 2, 0 if commit else 1)
