"""acks=all waits for the replicas in sync; acks=1 does not, and loses what only its leader had."""

from typing import Any

import pytest

from kctl.client.broker_errors import ErrorCode
from kctl.client.protocol.api.partition_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)
from kctl.client.protocol.api.produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from kctl.sandbox import ClusterSettings, Fault
from kctl.sandbox.acks_all import Replicating
from kctl.sandbox.partition import Partition
from tests.unit.sandbox.producer_side import ProducerSide, code_of, fetched
from tests.unit.sandbox.scenario import WALL_MS, Client, Scenario, batch

LEADER = 1
VERSION = 11


def replicated(**settings: Any) -> tuple[Scenario, Client, Partition]:
    scenario = Scenario(
        nodes=3, settings=ClusterSettings(default_replication_factor=3)._replace(**settings), topics={"t": 1}
    )
    partition = scenario.sandbox.cluster.topics["t"].partitions[0]
    assert partition.leader_id == LEADER
    return scenario, scenario.connect(LEADER), partition


def send(client: Client, value: bytes, *, acks: int = -1, timeout_ms: int = 5000) -> int:
    data = TopicProduceData(name="t", partition_data=[PartitionProduceData(index=0, records=batch(value))])
    return client.send(ProduceRequest(acks=acks, timeout_ms=timeout_ms, topic_data=[data]), VERSION)


def answer(client: Client, correlation_id: int) -> tuple[ErrorCode, int]:
    """Return code and offset of the pending response."""
    part = client.take(ProduceResponse, VERSION, correlation_id).responses[0].partition_responses[0]
    return code_of(part.error_code), part.base_offset


def test_acks_all_is_answered_when_the_followers_have_it() -> None:
    scenario, client, partition = replicated(replication_delay_ms=50)
    asked = send(client, b"a")
    scenario.scheduler.advance(49)
    assert client.frames == []
    assert fetched(scenario.connect(), isolation_level=0).high_watermark == 0
    scenario.scheduler.advance(1)
    assert answer(client, asked) == (ErrorCode.NONE, 0)
    assert scenario.scheduler.pending == 0, "its timer is gone"
    assert partition.log.watchers == 1, "the one that copies"


@pytest.mark.parametrize("acks", [1, 0])
def test_other_acks_wait_for_nobody(acks: int) -> None:
    _, client, partition = replicated(replication_delay_ms=50)
    asked = send(client, b"a", acks=acks)
    if acks:
        assert answer(client, asked) == (ErrorCode.NONE, 0)
    assert (partition.log.end_offset, partition.high_watermark) == (1, 0)


def test_acks_1_loses_with_its_leader_what_acks_all_would_not_have_acknowledged() -> None:
    scenario, client, partition = replicated(replication_delay_ms=50)
    assert answer(client, send(client, b"a", acks=1)) == (ErrorCode.NONE, 0)
    waiting = send(client, b"b")
    scenario.sandbox.move_leader("t", 0, 2)
    assert answer(client, waiting) == (ErrorCode.NOT_LEADER_OR_FOLLOWER, -1)
    assert partition.log.end_offset == 0


def test_acks_all_waits_for_its_own_timeout_and_the_batch_is_written_all_the_same() -> None:
    scenario, client, partition = replicated()
    scenario.sandbox.lag_follower("t", 0, 2)
    asked = send(client, b"a", timeout_ms=800)
    scenario.scheduler.advance(799)
    assert client.frames == []
    scenario.scheduler.advance(1)
    assert answer(client, asked) == (ErrorCode.REQUEST_TIMED_OUT, -1)
    scenario.sandbox.release_follower("t", 0, 2)
    assert (partition.log.end_offset, partition.high_watermark) == (1, 1)


def test_acks_all_goes_on_when_a_follower_is_no_longer_in_sync() -> None:
    scenario, client, _ = replicated(replica_lag_time_max_ms=1000)
    scenario.sandbox.start_fault(3, Fault.FREEZE)
    asked = send(client, b"a")
    scenario.scheduler.advance(999)
    assert client.frames == []
    scenario.scheduler.advance(1)
    assert answer(client, asked) == (ErrorCode.NONE, 0)


def test_too_few_in_sync_before_and_after_the_batch_is_appended() -> None:
    scenario, client, _ = replicated(replica_lag_time_max_ms=1000, min_insync_replicas=3)
    scenario.sandbox.lag_follower("t", 0, 3)
    asked = send(client, b"a")
    scenario.scheduler.advance(1000)
    assert client.frames == [], "nothing is committed with too few (KIP-966)"
    scenario.sandbox.release_follower("t", 0, 3)
    assert answer(client, asked) == (ErrorCode.NONE, 0)
    scenario.sandbox.hold_follower("t", 0, 3)
    assert answer(client, send(client, b"b")) == (ErrorCode.NOT_ENOUGH_REPLICAS, -1)


def test_replicas_that_are_lost_after_all_had_the_batch() -> None:
    """In Kafka, this needs two events between two checks, so no request is sent."""
    _, _, partition = replicated(min_insync_replicas=3)
    partition.log.append(batch(b"a"), 0, WALL_MS)
    assert partition.high_watermark == 1
    one = Replicating(LEADER, partition, PartitionProduceResponse(index=0, base_offset=0), 1)
    partition.hold(2)
    assert one.is_over()
    assert one.answer.error_code == ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND


def test_a_client_that_is_gone_is_waited_for_no_more() -> None:
    scenario, client, partition = replicated()
    scenario.sandbox.lag_follower("t", 0, 2)
    send(client, b"a")
    assert partition.log.watchers == 1
    client.end.disconnected()
    assert partition.log.watchers == 0


def test_the_end_that_consumers_are_told_is_the_high_watermark() -> None:
    scenario, client, _ = replicated()
    scenario.sandbox.lag_follower("t", 0, 2)
    answer(client, send(client, b"a", acks=1))
    asked = ListOffsetsTopic(name="t", partitions=[ListOffsetsPartition(partition_index=0, timestamp=-1)])
    told = client.call(ListOffsetsRequest(topics=[asked]), ListOffsetsResponse, 7).topics[0].partitions[0]
    assert told.offset == 0
    scenario.sandbox.release_follower("t", 0, 2)
    told = client.call(ListOffsetsRequest(topics=[asked]), ListOffsetsResponse, 7).topics[0].partitions[0]
    assert told.offset == 1


def test_a_transaction_is_complete_when_its_markers_are_replicated() -> None:
    scenario, _, partition = replicated()
    scenario.sandbox.move_transaction_coordinator("tx", LEADER)
    side = ProducerSide(scenario.connect(LEADER))
    assert side.init() is ErrorCode.NONE
    assert side.produce() is ErrorCode.NONE
    scenario.sandbox.lag_follower("t", 0, 2)
    assert side.end() is ErrorCode.NONE
    transaction = scenario.sandbox.cluster.transactions.get("tx")
    assert transaction is not None
    assert transaction.state.name == "PREPARE_COMMIT"
    assert fetched(side.client).last_stable_offset == 1, "the record, and not the marker"
    scenario.sandbox.release_follower("t", 0, 2)
    assert transaction.state.name == "COMPLETE_COMMIT"
    assert partition.log.last_stable_offset == 2


def test_a_marker_that_is_lost_with_its_leader_is_written_again() -> None:
    scenario, _, partition = replicated()
    scenario.sandbox.move_transaction_coordinator("tx", LEADER)
    side = ProducerSide(scenario.connect(LEADER))
    assert side.init() is ErrorCode.NONE
    assert side.produce() is ErrorCode.NONE
    scenario.sandbox.lag_follower("t", 0, 2)
    assert side.end(commit=False) is ErrorCode.NONE
    assert partition.log.end_offset == 2
    scenario.sandbox.move_leader("t", 0, 2)
    transaction = scenario.sandbox.cluster.transactions.get("tx")
    assert transaction is not None
    assert transaction.state.name == "COMPLETE_ABORT"
    assert (partition.log.end_offset, partition.log.last_stable_offset) == (2, 2)
    assert [one.header.is_control for one in partition.log.batches] == [False, True]
