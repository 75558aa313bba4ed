"""Schedule of log cleanup: in the broker's time, by the settings, and without a timer if there is nothing to do."""

from kctl.client.protocol.api.produce import PartitionProduceData, ProduceRequest, ProduceResponse, TopicProduceData
from kctl.sandbox.settings import ClusterSettings
from tests.unit.sandbox.scenario import WALL_MS, Scenario, batch

COMPACT = {"cleanup.policy": "compact", "segment.bytes": "1", "min.cleanable.dirty.ratio": "0.01"}
BACKOFF_MS = 15_000
CHECK_MS = 300_000


def _scenario(properties: dict[str, str]) -> Scenario:
    scenario = Scenario()
    scenario.sandbox.create_topic("t", 1, 1, properties)
    return scenario


def _write(scenario: Scenario, *, age_ms: int = 0, key: bytes = b"k") -> None:
    now_ms = scenario.scheduler.wall_ms()
    data = [PartitionProduceData(index=0, records=batch(b"v", keys=[key], timestamps_ms=[now_ms - age_ms]))]
    request = ProduceRequest(acks=-1, timeout_ms=1000, topic_data=[TopicProduceData(name="t", partition_data=data)])
    answer = scenario.connect().call(request, ProduceResponse, 12)
    assert answer.responses[0].partition_responses[0].error_code == 0


def _offsets(scenario: Scenario) -> list[int]:
    return [one.header.base_offset for one in scenario.cluster.topics["t"].partitions[0].log.batches]


def test_log_is_compacted_log_cleaner_backoff_ms_after_a_segment_ended() -> None:
    scenario = _scenario(COMPACT)
    _write(scenario)
    assert scenario.scheduler.pending == 0
    _write(scenario)
    _write(scenario)
    scenario.scheduler.advance(BACKOFF_MS - 1)
    assert _offsets(scenario) == [0, 1, 2]
    scenario.scheduler.advance(1)
    assert (_offsets(scenario), scenario.scheduler.pending) == ([1, 2], 0)


def test_cleaner_looks_again_while_min_compaction_lag_ms_alone_holds_records_back() -> None:
    scenario = _scenario(COMPACT | {"min.compaction.lag.ms": "40000"})
    for _ in range(3):
        _write(scenario)
    scenario.scheduler.advance(2 * BACKOFF_MS)
    assert _offsets(scenario) == [0, 1, 2]
    scenario.scheduler.advance(BACKOFF_MS)
    assert (_offsets(scenario), scenario.scheduler.pending) == ([1, 2], 0)


def test_topic_that_becomes_compacted_is_compacted() -> None:
    scenario = _scenario({"segment.bytes": "1"})
    for _ in range(3):
        _write(scenario)
    scenario.cluster.configure_topic("t", COMPACT)
    scenario.scheduler.advance(BACKOFF_MS)
    assert _offsets(scenario) == [1, 2]


def test_topic_that_is_deleted_is_not_cleaned() -> None:
    scenario = _scenario(COMPACT | {"retention.ms": "1", "cleanup.policy": "compact,delete"})
    for _ in range(3):
        _write(scenario)
    scenario.cluster.delete_topic("t")
    scenario.scheduler.advance(CHECK_MS)
    assert scenario.scheduler.pending == 0


def test_segments_are_deleted_at_the_first_check_after_retention_ms() -> None:
    scenario = _scenario({"retention.ms": "400000", "segment.bytes": "1"})
    _write(scenario)
    _write(scenario, age_ms=-1000)
    scenario.scheduler.advance(2 * CHECK_MS - 1)
    assert _offsets(scenario) == [0, 1]
    scenario.scheduler.advance(1)
    assert _offsets(scenario) == []
    assert (scenario.cluster.topics["t"].partitions[0].log.start_offset, scenario.scheduler.pending) == (2, 0)


def test_topic_without_retention_of_its_own_keeps_records_and_has_no_timer() -> None:
    scenario = _scenario({})
    _write(scenario, age_ms=WALL_MS // 2)
    assert scenario.scheduler.pending == 0


def test_settings_say_how_often_is_looked() -> None:
    scenario = Scenario(settings=ClusterSettings(log_cleaner_backoff_ms=10, log_retention_check_interval_ms=20))
    scenario.sandbox.create_topic("t", 1, 1, COMPACT | {"cleanup.policy": "compact,delete", "retention.ms": "5"})
    for _ in range(3):
        _write(scenario)
    scenario.scheduler.advance(10)
    assert _offsets(scenario) == [1, 2]
    scenario.scheduler.advance(10)
    assert _offsets(scenario) == []
