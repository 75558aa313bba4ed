"""The order of what happens, chance by name, the trace, and the watchdog."""

import threading

import pytest

from tests.sim.virtual.schedule import Schedule, SimulationStuck


def _run(schedule: Schedule) -> None:
    while schedule.step():
        pass


def _order(seed: int) -> list[str]:
    schedule = Schedule(seed)
    ran: list[str] = []
    for name in "abcdefgh":
        schedule.call_at(5_000, name, lambda name=name: ran.append(name))  # type: ignore[misc]  # a bound default
    _run(schedule)
    return ran


def test_the_clock_jumps_to_the_next_entry() -> None:
    schedule = Schedule()
    seen: list[int] = []
    schedule.call_at(7_000, "b", lambda: seen.append(schedule.now_us))
    schedule.call_at(3_000, "a", lambda: seen.append(schedule.now_us))
    _run(schedule)
    assert seen == [3_000, 7_000]


def test_who_is_still_to_be_called_is_known() -> None:
    schedule = Schedule()
    schedule.call_at(1_000, "a", lambda: None)
    schedule.call_at(2_000, "c", lambda: None)
    schedule.call_at(2_000, "b", lambda: None).cancel()
    assert list(schedule.pending_owners) == ["a", "c"]
    schedule.step()
    assert list(schedule.pending_owners) == ["c"]


def test_seed_zero_is_first_in_first_out() -> None:
    assert _order(0) == list("abcdefgh")


def test_other_seeds_order_equal_instants_differently_and_repeatably() -> None:
    orders = {tuple(_order(seed)) for seed in range(1, 20)}
    assert len(orders) > 15
    assert _order(7) == _order(7)


def test_a_cancelled_entry_never_runs_and_leaves_no_instant_behind() -> None:
    schedule = Schedule()
    entry = schedule.call_at(1_000, "a", lambda: pytest.fail("ran"))
    entry.cancel()
    entry.cancel()
    assert schedule.next_at_us() is None
    assert not schedule.step()
    assert schedule.now_us == 0


def test_the_past_is_the_present() -> None:
    schedule = Schedule()
    schedule.call_at(5_000, "a", lambda: schedule.call_at(1_000, "a", lambda: None))
    _run(schedule)
    assert schedule.now_us == 5_000


def test_chance_is_one_stream_a_name() -> None:
    one, other = Schedule(3), Schedule(3)
    other.rng("unrelated").random()
    assert one.rng("latency").random() == other.rng("latency").random()
    assert one.rng("latency") is one.rng("latency")
    assert one.rng("latency").random() != Schedule(4).rng("latency").random()


def test_the_trace_tells_runs_apart() -> None:
    one, other = Schedule(keep_trace=True), Schedule()
    assert one.trace_hash == other.trace_hash
    one.trace("a", "did this")
    other.trace("a", "did that")
    assert one.trace_hash != other.trace_hash
    assert one.trace_lines == ["0 a did this"]


def test_spinning_without_time_moving_is_stopped() -> None:
    schedule = Schedule(max_steps_at_once=100)

    def again() -> None:
        schedule.call_at(schedule.now_us, "spinner", again)

    again()
    with pytest.raises(SimulationStuck, match="101 steps at 0 us without time moving; last: spinner"):
        _run(schedule)


def test_a_run_has_a_bound() -> None:
    schedule = Schedule(max_steps=50)

    def again() -> None:
        schedule.call_later_ms(1, "ticker", again)

    again()
    with pytest.raises(SimulationStuck, match="more than 50 steps"):
        _run(schedule)


def test_a_second_thread_is_refused() -> None:
    schedule = Schedule()
    errors: list[str] = []

    def intrude() -> None:
        try:
            schedule.call_at(0, "intruder", lambda: None)
        except RuntimeError as error:
            errors.append(str(error))

    thread = threading.Thread(target=intrude)
    thread.start()
    thread.join()
    assert errors == ["intruder: a second thread touched the simulation; it has room for one"]
