"""Effects of transactions on fetches, group offsets, lossy elections, replicas, and retention."""

import pytest

from kctl.client.broker_errors import ErrorCode
from kctl.client.protocol.api.api_versions import ApiVersionsRequest, ApiVersionsResponse
from kctl.client.protocol.api.committed_offsets import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
    OffsetFetchResponse,
)
from kctl.client.protocol.api.fetch import FetchPartition, FetchRequest, FetchResponse, FetchTopic
from kctl.client.protocol.api.partition_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)
from kctl.client.protocol.api.transaction_states import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)
from kctl.client.records import BatchReader
from kctl.sandbox import ClusterSettings
from kctl.sandbox.groups.offsets import CommittedOffset
from tests.unit.sandbox.producer_side import ProducerSide, fetched, produced
from tests.unit.sandbox.scenario import WALL_MS, Client, Scenario, batch

LEVELS = pytest.mark.parametrize("level", [1, 2])


def replicated(nodes: int = 3, **properties: str) -> Scenario:
    scenario = Scenario(nodes)
    scenario.sandbox.create_topic("t", 1, nodes, {name.replace("_", "."): value for name, value in properties.items()})
    scenario.sandbox.move_transaction_coordinator("tx", 1)
    return scenario


def committed(client: Client, *, is_stable: bool) -> tuple[int, int]:
    topics = [OffsetFetchRequestTopics(name="t", partition_indexes=[0])]
    groups = [OffsetFetchRequestGroup(group_id="g", topics=topics)]
    request = OffsetFetchRequest(groups=groups, require_stable=is_stable)
    one = client.call(request, OffsetFetchResponse, 9).groups[0].topics[0].partitions[0]
    return one.error_code, one.committed_offset


@LEVELS
@pytest.mark.parametrize("commit", [True, False])
def test_a_fetch_of_what_is_committed_waits_for_the_end_of_the_transaction(level: int, commit: bool) -> None:
    scenario = Scenario(topics={"t": 1})
    side = ProducerSide(scenario.connect(), level)
    side.init()
    assert side.produce() is ErrorCode.NONE
    reader = scenario.connect()
    asked = [FetchPartition(partition=0, partition_max_bytes=10_000)]
    request = FetchRequest(
        isolation_level=1, max_wait_ms=5_000, min_bytes=1, topics=[FetchTopic(topic="t", partitions=asked)]
    )
    number = reader.send(request, 12)
    assert side.produce() is ErrorCode.NONE
    assert not reader.frames
    assert side.end(commit=commit) is ErrorCode.NONE
    data = reader.take(FetchResponse, 12, number).responses[0].partitions[0]
    aborted = [(one.producer_id, one.first_offset) for one in data.aborted_transactions or ()]
    batches = BatchReader(data.records or b"", topic="t", partition=0, fetch_offset=0, aborted=None)
    assert [one.value for one in batches.records(10)] == [b"v0", b"v1"]
    assert aborted == ([] if commit else [(side.held[0], 0)])


def test_offsets_of_a_group_that_is_deleted_do_not_come_back() -> None:
    scenario = Scenario(topics={"t": 1})
    side = ProducerSide(scenario.connect())
    side.init()
    assert side.commit_offset(5) is ErrorCode.NONE
    assert committed(side.client, is_stable=True) == (ErrorCode.UNSTABLE_OFFSET_COMMIT, -1)
    scenario.cluster.groups.delete("g")
    assert committed(side.client, is_stable=True) == (ErrorCode.NONE, -1)
    assert side.end() is ErrorCode.NONE
    assert committed(side.client, is_stable=True) == (ErrorCode.NONE, -1)


def test_offsets_of_a_topic_that_is_deleted_do_not_come_back() -> None:
    scenario = Scenario(topics={"t": 1, "u": 1})
    side = ProducerSide(scenario.connect())
    side.init()
    assert side.commit_offset(5) is ErrorCode.NONE
    scenario.cluster.delete_topic("t")
    scenario.cluster.create_topic("t", 1)
    assert side.end() is ErrorCode.NONE
    assert committed(side.client, is_stable=True) == (ErrorCode.NONE, -1)


def test_an_election_that_loses_the_marker_opens_the_transaction_again() -> None:
    scenario = replicated()
    side = ProducerSide(scenario.connect(1))
    side.init()
    assert side.produce() is ErrorCode.NONE
    assert side.end(commit=False) is ErrorCode.NONE
    assert len(fetched(side.client).aborted_transactions or ()) == 1
    scenario.sandbox.move_leader("t", 0, 1, end_offset=1)
    found = fetched(side.client)
    assert (found.high_watermark, found.last_stable_offset, found.aborted_transactions) == (1, 0, [])


def test_an_election_that_loses_the_transaction_leaves_nothing_of_it() -> None:
    scenario = replicated()
    side = ProducerSide(scenario.connect(1))
    side.init()
    assert produced(side.client, batch(b"plain")) is ErrorCode.NONE
    assert side.produce() is ErrorCode.NONE
    scenario.sandbox.move_leader("t", 0, 1, end_offset=1)
    found = fetched(side.client)
    assert (found.high_watermark, found.last_stable_offset) == (1, 1)
    # the earlier batches of the producer are lost
    assert side.produce() is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER


@pytest.mark.parametrize(("sequence", "code"), [(0, ErrorCode.NONE), (1, ErrorCode.NONE)])
def test_an_idempotent_producer_whose_batches_were_lost_starts_where_it_is(sequence: int, code: ErrorCode) -> None:
    scenario = replicated()
    client = scenario.connect(1)
    assert produced(client, batch(b"a", producer=(7, 0, 0))) is ErrorCode.NONE
    scenario.sandbox.move_leader("t", 0, 1, end_offset=0)
    assert produced(client, batch(b"b", producer=(7, 0, sequence))) is code


def test_a_producer_is_known_behind_a_move_and_an_election_that_lost_others() -> None:
    scenario = replicated()
    client = scenario.connect(1)
    for sequence in range(3):
        assert produced(client, batch(b"a", producer=(7, 0, sequence))) is ErrorCode.NONE
    scenario.sandbox.delete_records("t", 0, 3)
    assert produced(client, batch(b"b", producer=(8, 0, 0))) is ErrorCode.NONE
    scenario.sandbox.move_leader("t", 0, 2, end_offset=3)
    there = scenario.connect(2)
    assert produced(there, batch(b"a", producer=(7, 0, 5))) is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert produced(there, batch(b"a", producer=(7, 0, 2))) is ErrorCode.NONE, "repeated"
    assert scenario.sandbox.end_offset("t", 0) == 3
    assert produced(there, batch(b"a", producer=(7, 0, 3))) is ErrorCode.NONE
    assert scenario.sandbox.end_offset("t", 0) == 4


def test_producers_expire_but_for_those_with_a_transaction() -> None:
    scenario = Scenario(topics={"t": 1})
    side = ProducerSide(scenario.connect())
    side.init()
    assert side.produce() is ErrorCode.NONE
    assert produced(side.client, batch(b"a", producer=(7_000, 0, 0))) is ErrorCode.NONE
    assert produced(side.client, batch(b"a", producer=(7_000, 0, 9))) is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    scenario.sandbox.expire_producers("t", 0)
    assert produced(side.client, batch(b"a", producer=(7_000, 0, 9))) is ErrorCode.NONE
    assert side.produce() is ErrorCode.NONE
    assert fetched(side.client).last_stable_offset == 0
    assert side.end() is ErrorCode.NONE
    scenario.sandbox.expire_producers("t", 0)
    # By version 2 a producer that a partition does not know starts at 0.
    side.sequences[0] = 3
    assert side.produce() is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER


@pytest.mark.parametrize(("acks", "code"), [(-1, ErrorCode.NOT_ENOUGH_REPLICAS), (1, ErrorCode.NONE)])
def test_too_few_replicas_in_sync(acks: int, code: ErrorCode) -> None:
    scenario = replicated(min_insync_replicas="2")
    client = scenario.connect(1)
    scenario.sandbox.hold_follower("t", 0, 2)
    assert produced(client, batch(b"v"), acks=acks) is ErrorCode.NONE
    scenario.sandbox.hold_follower("t", 0, 3)
    assert produced(client, batch(b"v"), acks=acks) is code
    scenario.sandbox.release_follower("t", 0, 3)
    assert produced(client, batch(b"v"), acks=acks) is ErrorCode.NONE


def test_more_replicas_than_there_are_cannot_be_asked_for() -> None:
    scenario = replicated(1, min_insync_replicas="2")
    assert produced(scenario.connect(1), batch(b"v")) is ErrorCode.NONE


@pytest.mark.parametrize("code", [ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND, ErrorCode.REQUEST_TIMED_OUT])
def test_records_that_too_few_replicas_have_are_still_written(code: ErrorCode) -> None:
    scenario = Scenario(topics={"t": 1})
    client = scenario.connect()
    scenario.sandbox.fail_requests("Produce", code)
    records = batch(b"v", producer=(7, 0, 0))
    assert produced(client, records) is code
    assert scenario.sandbox.end_offset("t", 0) == 1
    assert produced(client, records) is ErrorCode.NONE
    assert scenario.sandbox.end_offset("t", 0) == 1, "the repetition is known"


def test_the_cluster_says_which_version_of_transactions_it_has() -> None:
    for level, told in ((0, []), (1, [("transaction.version", 1)]), (2, [("transaction.version", 2)])):
        scenario = Scenario(settings=ClusterSettings(transaction_version=level, group_version=0))
        request = ApiVersionsRequest(client_software_name="a", client_software_version="1")
        got = scenario.connect().call(request, ApiVersionsResponse, 4)
        assert [(one.name, one.max_version_level) for one in got.finalized_features] == told


def test_nothing_plain_is_written_by_a_producer_with_an_open_transaction() -> None:
    scenario = Scenario(topics={"t": 1})
    side = ProducerSide(scenario.connect())
    side.init()
    assert side.produce() is ErrorCode.NONE
    assert produced(side.client, batch(b"v", producer=(*side.held, 1))) is ErrorCode.INVALID_TXN_STATE


@pytest.mark.parametrize("topic", ["t", "__consumer_offsets"])
def test_a_marker_without_a_producer_id_is_refused_and_not_appended(topic: str) -> None:
    scenario = Scenario(topics={"t": 1})
    topics = [WritableTxnMarkerTopic(name=topic, partition_indexes=[0])]
    request = WriteTxnMarkersRequest(markers=[WritableTxnMarker(producer_id=-1, producer_epoch=0, topics=topics)])
    (marker,) = scenario.connect().call(request, WriteTxnMarkersResponse, 1).markers
    assert marker.topics[0].partitions[0].error_code == ErrorCode.UNKNOWN_SERVER_ERROR
    assert scenario.cluster.topics["t"].partitions[0].log.end_offset == 0


def test_an_abort_whose_marker_was_lost_is_not_told() -> None:
    log = Scenario(topics={"t": 1}).cluster.topics["t"].partitions[0].log
    log.append(batch(b"v", producer=(7, 0, 0), attributes=0x10), 0, WALL_MS)
    log.append_marker(7, 0, 0, WALL_MS, commit=False, by_epoch=0)
    assert [one.first_offset for one in log.aborted_between(0, 1_000)] == [0]
    log.cut(1)
    log.append_marker(7, 0, 1, WALL_MS, commit=True, by_epoch=1)
    assert (log.last_stable_offset, log.aborted_between(0, 1_000)) == (2, [])


@pytest.mark.parametrize(
    ("version", "code"), [(10, ErrorCode.INVALID_TXN_STATE), (11, ErrorCode.TRANSACTION_ABORTABLE)]
)
def test_who_has_not_added_a_partition_is_told_in_words_it_knows(version: int, code: ErrorCode) -> None:
    scenario = Scenario(topics={"t": 1})
    side = ProducerSide(scenario.connect())
    side.init()
    assert side.produce(version=version) is code


@LEVELS
def test_offsets_of_an_aborted_transaction_are_dropped_and_later_commits_stay(level: int) -> None:
    scenario = Scenario(topics={"t": 1})
    side = ProducerSide(scenario.connect(), level)
    side.init()
    assert side.commit_offset(5) is ErrorCode.NONE
    assert side.end(commit=False) is ErrorCode.NONE
    assert committed(side.client, is_stable=True) == (ErrorCode.NONE, -1)
    assert side.commit_offset(6) is ErrorCode.NONE
    scenario.cluster.groups.commit("g", {("t", 0): CommittedOffset(20, -1, "")})
    assert committed(side.client, is_stable=False) == (ErrorCode.NONE, 20)
    assert side.end() is ErrorCode.NONE
    assert committed(side.client, is_stable=True) == (ErrorCode.NONE, 20)
    assert side.commit_offset(7) is ErrorCode.NONE
    assert side.end() is ErrorCode.NONE
    assert committed(side.client, is_stable=True) == (ErrorCode.NONE, 7)


@pytest.mark.parametrize(("isolation", "offsets"), [(0, (1, 0, 0)), (1, (0, -1, -1))])
def test_offsets_are_told_below_the_last_stable_one(isolation: int, offsets: tuple[int, int, int]) -> None:
    scenario = Scenario(topics={"t": 1})
    side = ProducerSide(scenario.connect())
    side.init()
    assert side.produce() is ErrorCode.NONE
    told = []
    for timestamp in (-1, -3, 0):
        asked = [ListOffsetsPartition(partition_index=0, timestamp=timestamp)]
        request = ListOffsetsRequest(isolation_level=isolation, topics=[ListOffsetsTopic(name="t", partitions=asked)])
        told.append(side.client.call(request, ListOffsetsResponse, 9).topics[0].partitions[0].offset)
    assert tuple(told) == offsets
