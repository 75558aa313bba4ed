from collections.abc import Callable
from random import Random

from kctl.client.backoff import ExponentialBackoff
from kctl.client.broker_errors import ErrorCode
from kctl.client.clock import FOREVER_MS, ManualClock, Timer
from kctl.client.cluster import TopicPartition
from kctl.client.errors import KafkaError, MaxBlockTimeout
from kctl.client.metadata import Metadata
from kctl.client.producer.accumulator import Accumulator
from kctl.client.producer.delivery_tracker import DeliveryTracker
from kctl.client.producer.future import NO_PARTITION, Outcome, SendFuture
from kctl.client.producer.mailbox import Event, FlushMark, Posted, TopicWait
from kctl.client.producer.metrics import ProducerCounters
from kctl.client.producer.partitioner import Load, NodeProgress, Partitioner
from kctl.client.producer.record_router import RecordRouter
from kctl.client.producer.record_run import MOST_EXTENDED_BYTES, RecordRun
from kctl.client.protocol.api.metadata import MetadataResponseTopic
from tests.unit.fake_network import FakeClient
from tests.unit.metadata_answers import answer, leader, topic
from tests.unit.producer.records import Flag, Maker, config, values_of

MAX_IDLE_MS = 60_000


class Scenario:
    def __init__(self, *, creates_topics: bool = True) -> None:
        self.clock = ManualClock()
        settings = config(metadata_max_idle_ms=MAX_IDLE_MS)
        self.metadata = Metadata(
            max_age_ms=300_000,
            backoff=ExponentialBackoff(100, 1000, Random(1)),
            auto_create_topics=creates_topics,
        )
        client = FakeClient(settings, self.clock, self.metadata)
        self.maker = Maker(self.clock)
        counters = ProducerCounters()
        self.deliveries = DeliveryTracker(self.maker.memory, counters)
        self.accumulator = Accumulator(settings, counters, self.deliveries)
        partitioner = Partitioner(settings, Random(1), Load(self.accumulator.state, NodeProgress().waited_ms))
        self.router = RecordRouter(settings, client, partitioner, self.accumulator, self.deliveries)
        self.other: Callable[[Event], None] = self.not_expected

    def not_expected(self, event: Event) -> None:
        raise AssertionError(event)

    def learn(self, entry: MetadataResponseTopic) -> None:
        self.metadata.begin(self.clock.now_ms())
        self.metadata.apply(answer(entry), self.clock.now_ms())
        self.router.refresh()

    def take(self, *events: Posted) -> list[Event]:
        """Post the events and route what the mailbox makes of them."""
        for event in events:
            self.maker.mailbox.post(event)
        taken = self.maker.mailbox.pop_some(1000)
        self.router.route(taken, self.other)
        return taken

    def ask(self, partition: int | None = None, timeout_ms: int = 1000) -> TopicWait:
        wait = TopicWait("t", partition, Timer(self.clock, timeout_ms), Flag())
        self.router.ask(wait)
        return wait

    def queued(self) -> list[bytes | None]:
        waiting = [run for queue in self.accumulator.active() for run in queue.runs]
        return [value for run in waiting for value in values_of(run)]


def test_a_wait_ends_with_the_first_answer_that_knows_the_topic() -> None:
    scenario = Scenario()
    wait = scenario.ask()
    scenario.learn(topic("t", error=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION))
    was_done = wait.is_done
    scenario.learn(topic("t", leader(0, 1)))
    assert (was_done, wait.is_done, wait.error) == (False, True, None)
    assert scenario.ask().is_done


def test_a_wait_ends_at_once_when_the_topic_is_refused() -> None:
    scenario = Scenario()
    wait = scenario.ask()
    scenario.learn(topic("t", error=ErrorCode.TOPIC_AUTHORIZATION_FAILED))
    assert "TOPIC_AUTHORIZATION_FAILED" in str(wait.error)


def test_a_missing_partition_is_looked_for_in_a_newer_answer() -> None:
    scenario = Scenario()
    scenario.ask()
    scenario.learn(topic("t", leader(0, 1)))
    wait = scenario.ask(partition=1)
    was_done = wait.is_done
    scenario.learn(topic("t", leader(0, 1), leader(1, 1)))
    assert (was_done, wait.is_done, wait.error) == (False, True, None)
    refused = scenario.ask(partition=2)
    scenario.learn(topic("t", leader(0, 1), leader(1, 1)))
    assert "the topic has 2 partitions" in str(refused.error)


def test_wait_for_a_missing_topic_fails_at_once_without_creation() -> None:
    scenario = Scenario(creates_topics=False)
    wait = scenario.ask()
    scenario.learn(topic("t", error=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION))
    assert wait.is_done
    assert getattr(wait.error, "code", None) == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_a_wait_ends_at_its_deadline_with_the_last_error() -> None:
    scenario = Scenario()
    wait = scenario.ask(timeout_ms=1000)
    scenario.learn(topic("t", error=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION))
    assert scenario.router.next_deadline_at_ms(120_000) == 1000
    scenario.clock.advance(1000)
    scenario.router.expire(1000)
    assert isinstance(wait.error, MaxBlockTimeout)
    assert "UNKNOWN_TOPIC_OR_PARTITION" in str(wait.error.cause)
    assert not scenario.router.has_waits


def test_records_of_a_topic_that_vanished_wait_in_order_for_its_return() -> None:
    scenario = Scenario()
    scenario.take(scenario.maker.record(b"1"))
    assert scenario.queued() == []
    scenario.metadata.begin(0)
    scenario.metadata.apply(answer(topic("t", leader(0, 1))), 0)
    scenario.take(scenario.maker.record(b"2"))  # the topic is back, but 1 was first
    scenario.router.refresh()
    scenario.take(scenario.maker.record(b"3"))
    assert scenario.queued() == [b"1", b"2", b"3"]


def test_runs_of_rows_wait_for_their_topic_as_records_do() -> None:
    scenario = Scenario()
    scenario.take(scenario.maker.run([b"1", b"2"]), scenario.maker.record(b"3"), scenario.maker.run([b"4"]))
    assert scenario.router.outstanding() == {TopicPartition("t", NO_PARTITION): (4, 0)}
    assert scenario.deliveries.outstanding == 4
    scenario.learn(topic("t", leader(0, 1)))
    scenario.take(scenario.maker.run([b"5", b"6"], partition=0), scenario.maker.run([b"lost", b"too"], partition=7))
    assert scenario.queued() == [b"1", b"2", b"3", b"4", b"5", b"6"]
    assert (scenario.deliveries.outstanding, scenario.deliveries.result({}).failed) == (6, 2)
    queue = scenario.accumulator.queues("t")[0]
    assert (queue.queued_count, queue.queued_bytes) == (6, sum(run.size_bytes for run in queue.runs))


def test_a_run_that_waits_for_its_topic_has_a_deadline_too() -> None:
    scenario = Scenario()
    run = scenario.maker.run([b"1", b"2"])
    scenario.take(run)
    assert scenario.router.next_deadline_at_ms(500) == 500
    assert scenario.router.pop_expired(500, 500) == [run]


def test_records_that_wait_for_their_topic_have_a_deadline_too() -> None:
    scenario = Scenario()
    records = [scenario.maker.record()]
    scenario.clock.advance(3)
    records.append(scenario.maker.record())
    scenario.take(*records)
    assert scenario.router.next_deadline_at_ms(500) == 500
    assert scenario.router.pop_expired(499, 500) == []
    assert [records_of(run) for run in scenario.router.pop_expired(502, 500)] == [records[:1]]
    assert scenario.router.next_deadline_at_ms(500) == 503
    assert [records_of(run) for run in scenario.router.pop_expired(503, 500)] == [records[1:]]


def records_of(run: RecordRun) -> list[SendFuture]:
    """The records of a run of `send`; makes no columns."""
    assert isinstance(run.result, list)
    return run.result[run.first : run.end]


def test_records_for_a_partition_join_the_run_that_waits_unless_a_flush_is_between() -> None:
    scenario = Scenario()
    scenario.ask()
    scenario.learn(topic("t", leader(0, 1), leader(1, 1)))
    scenario.other = lambda _: scenario.deliveries.flush(mark)
    mark = FlushMark(Timer(scenario.clock, 1000), Flag())
    maker = scenario.maker
    for number in range(6):
        scenario.take(maker.record(b"%d" % number, partition=number % 2))
        scenario.clock.advance(1)
    scenario.take(mark, maker.record(b"6", partition=0))
    queue, _ = scenario.accumulator.active()
    assert [[each.value for each in records_of(run)] for run in queue.runs] == [[b"0", b"2", b"4"], [b"6"]]
    assert (queue.queued_count, queue.queued_bytes) == (4, 4 * maker.record(b"6").size_bytes)
    assert scenario.deliveries.outstanding == 7
    assert [queue.expires_at_ms(10), [run.count for run in queue.pop_expired(12, 10)]] == [10, [2]]
    assert (queue.expires_at_ms(10), queue.queued_count) == (14, 2)
    scenario.take(maker.record(b"7", partition=0))
    batch = scenario.accumulator.freeze(queue)
    assert [values_of(run) for run in batch.runs] == [[b"4"], [b"6", b"7"]]


def test_records_that_wait_are_divided_into_runs_of_bounded_size() -> None:
    scenario = Scenario()
    scenario.ask()
    scenario.learn(topic("t", leader(0, 1)))
    value = bytes(MOST_EXTENDED_BYTES // 4)
    for _ in range(20):
        scenario.take(scenario.maker.record(value, partition=0))
    (queue,) = scenario.accumulator.active()
    assert [run.count for run in queue.runs] == [4] * 5
    assert queue.queued_bytes == sum(run.size_bytes for run in queue.runs) == scenario.maker.memory.used_bytes
    assert queue.queued_count == 20


def test_a_record_for_a_partition_that_is_gone_fails() -> None:
    scenario = Scenario()
    scenario.ask()
    scenario.learn(topic("t", leader(0, 1)))
    record = scenario.maker.record(partition=3)
    scenario.take(record)
    assert "the topic has 1 partition" in str(record.exception(0))


def test_a_flush_between_records_parts_those_before_it_from_those_after_it() -> None:
    scenario = Scenario()
    scenario.ask()
    scenario.learn(topic("t", leader(0, 1)))
    before, after = [scenario.maker.record() for _ in range(3)], scenario.maker.record()
    mark = FlushMark(Timer(scenario.clock, 1000), Flag())
    scenario.other = lambda _: scenario.deliveries.flush(mark)
    scenario.take(*before, mark, after)
    assert scenario.deliveries.outstanding == 4
    (queue,) = scenario.accumulator.active()
    scenario.deliveries.finish([queue.runs[0]], Outcome())
    assert mark.is_done
    assert scenario.deliveries.outstanding == 1


def test_a_topic_that_is_not_used_is_forgotten_and_one_with_records_on_their_way_is_not() -> None:
    scenario = Scenario()
    scenario.ask()
    scenario.learn(topic("t", leader(0, 1)))
    record = scenario.maker.record()
    scenario.take(record)
    for _ in range(3):
        scenario.clock.advance(MAX_IDLE_MS)
        scenario.router.forget_idle(scenario.clock.now_ms())
        assert "t" in scenario.metadata.cluster.topics
    scenario.accumulator.fail_all(KafkaError("done"))
    scenario.clock.advance(MAX_IDLE_MS - 1)
    scenario.router.forget_idle(scenario.clock.now_ms())
    assert "t" in scenario.metadata.cluster.topics
    assert scenario.router.next_deadline_at_ms(120_000) == scenario.clock.now_ms() + 1
    scenario.clock.advance(1)
    scenario.router.forget_idle(scenario.clock.now_ms())
    assert "t" not in scenario.metadata.cluster.topics
    assert scenario.router.next_deadline_at_ms(120_000) >= FOREVER_MS
    scenario.take(scenario.maker.record(b"again"))
    scenario.learn(topic("t", leader(0, 1)))
    assert scenario.queued() == [b"again"]
