import pytest

from kctl.client.clock import FOREVER_MS, ManualClock, Timer
from kctl.client.errors import ConnectionRefused, FlushTimeout, IllegalStateError, KafkaError, ResultTimeout
from kctl.client.loop.close import CloseRequest
from kctl.client.loop.mailbox import LOOP_GRACE_MS
from kctl.client.producer.future import NO_PARTITION, Outcome, SendFuture
from kctl.client.producer.mailbox import LONGEST_SLEEP_MS, FlushMark, Posted, WatchFuture
from kctl.client.producer.record_run import RecordRun
from kctl.client.runtime import Task, Waiter
from tests.unit.producer.records import Flag, Maker, NoDriver, mailbox


def test_one_wake_up_for_all_that_is_posted_while_the_loop_sleeps() -> None:
    clock, wakes = ManualClock(), list[int]()
    box = mailbox(clock, wakes)
    maker = Maker(clock)
    box.post(maker.record())
    assert wakes == []
    assert not box.fall_asleep()  # there is something to take first
    assert len(box.pop_some(10)) == 1
    assert box.fall_asleep()
    for _ in range(3):
        box.post(maker.record())
    assert len(wakes) == 1
    box.awake()
    box.post(maker.record())
    assert len(wakes) == 1


def test_loop_that_is_nudged_during_a_turn_does_not_sleep() -> None:
    box = mailbox(ManualClock(), [])
    assert not box.awake()
    box.nudge()
    assert not box.fall_asleep()
    assert box.awake()
    assert box.fall_asleep()


def test_record_that_may_linger_beyond_the_next_turn_wakes_the_loop_when_a_batch_may_be_full() -> None:
    clock, wakes = ManualClock(), list[int]()
    box, maker = mailbox(clock, wakes, linger_ms=5), Maker(clock)

    def wakes_after(next_turn_at_ms: int, room_bytes: int, records: int) -> int:
        box.pop_some(10)
        box.expect(next_turn_at_ms, room_bytes)
        assert box.fall_asleep()
        before = len(wakes)
        for _ in range(records):
            box.post_record(maker.record())
        return len(wakes) - before

    size_bytes = maker.record().size_bytes
    assert wakes_after(FOREVER_MS, 10_000, 3) == 1
    assert wakes_after(5, 10_000, 3) == 0
    assert wakes_after(6, 10_000, 3) == 1
    assert wakes_after(5, 3 * size_bytes, 2) == 0
    assert wakes_after(5, 3 * size_bytes, 4) == 1
    box.pop_some(10)
    box.fall_asleep()
    box.post(FlushMark(Timer(clock, 500), Flag()))
    assert len(wakes) == 4


def test_record_that_cannot_be_sent_before_a_response_does_not_wake_the_loop() -> None:
    clock, wakes = ManualClock(), list[int]()
    box, maker = mailbox(clock, wakes, delivery_timeout_ms=1000), Maker(clock)

    def wakes_after(record: SendFuture | RecordRun, next_turn_at_ms: int = 1000, waited_ms: int = 0) -> int:
        box.pop_some(10)
        box.expect(
            next_turn_at_ms,
            0,
            now_ms=clock.now_ms() - waited_ms,
            is_linger_over=True,
            awaiting_responses=frozenset({"t"}),
        )
        assert box.fall_asleep()
        before = len(wakes)
        box.post_record(record)
        return len(wakes) - before

    assert wakes_after(maker.record()) == 0
    assert wakes_after(maker.run([b"1", b"2"])) == 0
    assert wakes_after(maker.record(topic="u")) == 1
    assert wakes_after(maker.record(), next_turn_at_ms=1001) == 1  # its delivery.timeout.ms would pass first
    assert wakes_after(maker.record(), waited_ms=LONGEST_SLEEP_MS) == 0
    assert wakes_after(maker.record(), waited_ms=LONGEST_SLEEP_MS + 1) == 1
    assert len(box.pop_some(10)) == 1
    box.expect(1000, 0, is_linger_over=True)
    assert box.fall_asleep()
    box.post_record(maker.record())
    assert len(wakes) == 4


def test_sender_that_waits_for_memory_wakes_the_loop_unless_nothing_can_be_sent_before_a_response() -> None:
    clock, wakes = ManualClock(), list[int]()
    box, maker = mailbox(clock, wakes, linger_ms=5), Maker(clock)

    def wakes_after_nudge() -> int:
        before = len(wakes)
        assert box.nudge_for_memory()
        return len(wakes) - before

    box.expect(5, 10_000, awaiting_responses=frozenset({"t"}))
    assert wakes_after_nudge() == 1  # the loop is in its turn, and may have looked already
    assert box.awake()
    assert box.fall_asleep()
    assert wakes_after_nudge() == 0
    clock.advance(LONGEST_SLEEP_MS + 1)
    assert wakes_after_nudge() == 1
    box.expect(clock.now_ms() + 5, 10_000, now_ms=clock.now_ms(), awaiting_responses=frozenset({"t"}))
    assert box.awake()
    assert box.fall_asleep()
    box.post_record(maker.record(topic="u"))  # it lingers, which ends when memory is waited for
    assert wakes_after_nudge() == 1
    box.expect(5, 10_000)
    assert wakes_after_nudge() == 1
    box.is_finished = True
    assert not box.nudge_for_memory()


def test_events_come_out_in_order_with_records_of_one_topic_and_partition_as_a_list() -> None:
    clock = ManualClock()
    box, maker = mailbox(clock), Maker(clock)
    mark = FlushMark(Timer(clock, 500), Flag())
    columns = maker.run([b"7", b"8"])

    def record(value: bytes, topic: str = "t", partition: int = NO_PARTITION) -> SendFuture:
        return maker.record(value, topic=topic, partition=partition)

    posted: list[Posted] = [
        record(b"0"),
        record(b"1"),
        mark,
        record(b"2"),
        record(b"3", "u"),
        record(b"4", "u", 1),
        columns,
    ]
    for event in posted:
        box.post(event)
    clock.advance(1)
    box.post(record(b"9"))
    first = box.pop_some(7)
    taken = [[each.value for each in event] if isinstance(event, list) else event for event in first]
    assert taken == [[b"0", b"1"], mark, [b"2"], [b"3"], [b"4"], columns]
    clock.advance(1)
    box.post(record(b"10"))
    assert [[each.value for each in event] for event in box.pop_some(7) if isinstance(event, list)] == [[b"9", b"10"]]
    assert box.pop_some(7) == []


def test_records_of_partitions_in_rotation_form_a_list_for_each_partition() -> None:
    clock = ManualClock()
    box, maker = mailbox(clock), Maker(clock)
    mark = FlushMark(Timer(clock, 500), Flag())
    targets = [("t", 0), ("t", 1), ("u", 0), ("t", 0), ("t", NO_PARTITION), ("t", 0), ("t", 1), ("t", 0)]
    for number, (topic, partition) in enumerate(targets):
        box.post(maker.record(b"%d" % number, topic=topic, partition=partition))
    box.post(mark)
    box.post(maker.record(b"8", topic="t", partition=0))
    taken = [[each.value for each in event] if isinstance(event, list) else event for event in box.pop_some(20)]
    assert taken == [[b"0", b"3"], [b"1"], [b"2"], [b"4"], [b"5", b"7"], [b"6"], mark, [b"8"]]


def test_records_of_a_run_expire_each_at_its_own_instant() -> None:
    clock = ManualClock()
    box, maker = mailbox(clock), Maker(clock)
    for _ in range(3):
        box.post(maker.record())
        clock.advance(1)
    (records,) = box.pop_some(10)
    assert isinstance(records, list)
    run = RecordRun.of_futures(records)
    assert [run.expired_count(now_ms, 100) for now_ms in (99, 100, 101, 102)] == [0, 1, 2, 3]
    head = run.cut_off(1)
    assert (head.created_at_ms, run.created_at_ms, run.offset_in_batch, run.count) == (0, 1, 1, 2)
    assert [run.expired_count(now_ms, 100) for now_ms in (100, 101, 102)] == [0, 1, 2]


def test_a_loop_that_is_held_up_costs_the_grace_and_no_more() -> None:
    clock = ManualClock()
    with pytest.raises(
        FlushTimeout, match="waiting for the network loop, blocked by a callback or an overloaded machine"
    ):
        mailbox(clock).ask(FlushMark(Timer(clock, 500), Flag()))
    assert clock.now_ms() == 500 + LOOP_GRACE_MS


def test_call_that_a_held_up_loop_does_not_answer_has_the_last_error_of_its_deadline() -> None:
    clock = ManualClock()
    asked_at_ms: list[int] = []

    def last_error() -> KafkaError:
        asked_at_ms.append(clock.now_ms())
        return ConnectionRefused("refused")

    with pytest.raises(FlushTimeout, match="refused"):
        mailbox(clock, last_error=last_error).ask(FlushMark(Timer(clock, 500), Flag()))
    assert asked_at_ms == [500 + LOOP_GRACE_MS]


class StoodStill(NoDriver):
    """A driver whose first wait takes nine seconds, as in a process that was stopped; then the loop answers."""

    def __init__(self, clock: ManualClock, mark: FlushMark) -> None:
        super().__init__(clock)
        self.mark = mark
        self.waits: list[int] = []

    def wait(self, waiter: Waiter, deadline_at_ms: int) -> bool:
        del waiter
        self.waits.append(deadline_at_ms)
        if len(self.waits) == 1:
            self.clock.advance(9000)
            return False
        self.mark.finish(KafkaError("3 records are outstanding"))
        return True


def test_after_a_process_stood_still_the_loop_has_its_chance_to_tell() -> None:
    clock = ManualClock()
    box = mailbox(clock)
    mark = FlushMark(Timer(clock, 500), Flag())
    driver = box.driver = StoodStill(clock, mark)
    with pytest.raises(KafkaError, match="3 records are outstanding"):
        box.ask(mark)
    assert driver.waits == [500 + LOOP_GRACE_MS, 9000 + LOOP_GRACE_MS]


def test_nobody_waits_for_a_loop_that_has_ended() -> None:
    clock = ManualClock()
    box = mailbox(clock)
    box.is_finished = True
    with pytest.raises(IllegalStateError):
        box.ask(FlushMark(Timer(clock, 500), Flag()))
    assert clock.now_ms() == 0
    assert box.pop_some(1) == []


def test_waiting_for_a_future_asks_the_loop_to_tell() -> None:
    clock = ManualClock()
    box, maker = mailbox(clock), Maker(clock)
    record = maker.record()
    with pytest.raises(ResultTimeout, match=r"timed out after 70ms"):
        box.wait_for(record, 70)
    (event,) = box.pop_some(10)
    assert isinstance(event, WatchFuture)
    assert event.future is record


class Ending(NoDriver):
    """A driver whose loop has taken its last events, and completes the record, or fails to, before it ends."""

    def __init__(self, clock: ManualClock, record: SendFuture, outcome: Outcome | None) -> None:
        super().__init__(clock)
        self.record = record
        self.outcome = outcome

    def wait(self, waiter: Waiter, deadline_at_ms: int) -> bool:
        raise AssertionError("no loop is left that raises the flag")

    def join(self, task: Task, deadline_at_ms: int) -> bool:
        del task, deadline_at_ms
        self.record.outcome = self.outcome
        return True


class Thread:
    is_alive = True


def test_result_asked_while_the_loop_ends_waits_for_its_end() -> None:
    clock = ManualClock()
    box, maker = mailbox(clock), Maker(clock)
    box.is_finished, box.task = True, Thread()
    record = maker.record()
    box.driver = Ending(clock, record, Outcome())
    box.wait_for(record, FOREVER_MS)
    assert record.outcome == Outcome()


def test_result_of_a_record_that_a_broken_loop_has_lost_is_an_error() -> None:
    clock = ManualClock()
    box, maker = mailbox(clock), Maker(clock)
    box.is_finished, box.task, box.failure = True, Thread(), KeyError(-1)
    record = maker.record()
    box.driver = Ending(clock, record, None)
    with pytest.raises(IllegalStateError, match="KeyError: -1"):
        box.wait_for(record, FOREVER_MS)


def test_a_close_overtakes_everything_and_keeps_the_loop_awake() -> None:
    clock, wakes = ManualClock(), list[int]()
    box, maker = mailbox(clock, wakes), Maker(clock)
    box.post(maker.record())
    box.post_close(CloseRequest(5, 5))
    assert len(wakes) == 1
    assert box.pop_close() == CloseRequest(5, 5)
    assert box.pop_close() is None
    was_empty = box.is_empty
    box.pop_some(1)
    box.post_close(CloseRequest(4, 4))
    assert (was_empty, box.is_empty, box.fall_asleep()) == (False, True, False)
