"""Alarms share the one timer of the system: each comes, in the order of their instants, and none ends another."""

import select
import signal

import pytest

from kctl.cli.alarms import Alarm, cancel_all
from tests.support.bounds import bound

pytestmark = pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="this system has no interval timers")
BOUND_S = bound(30)
LONG_MS = 3_600_000


class Rung(Exception):
    pass


def ring(_frame: object) -> None:
    raise Rung


def remaining_s() -> float:
    return signal.getitimer(signal.ITIMER_REAL)[0]


def test_alarm_comes_in_the_main_thread() -> None:
    Alarm(1, ring)
    with pytest.raises(Rung):
        select.select([], [], [], BOUND_S)
    assert remaining_s() == 0


def test_cancelled_alarm_leaves_the_outer_one() -> None:
    outer = Alarm(LONG_MS, ring)
    inner = Alarm(LONG_MS // 2, ring)
    assert 0 < remaining_s() < LONG_MS / 1900
    inner.cancel()
    assert remaining_s() > LONG_MS / 1900
    outer.cancel()
    assert remaining_s() == 0


def test_two_alarms_of_one_instant_both_come() -> None:
    order: list[int] = []
    Alarm(1, lambda _: order.append(1))
    Alarm(1, lambda _: order.append(2))
    Alarm(2, ring)
    with pytest.raises(Rung):
        select.select([], [], [], BOUND_S)
    assert order == [1, 2]


def test_signal_before_any_alarm_is_due_changes_nothing() -> None:
    alarm = Alarm(LONG_MS, ring)
    signal.raise_signal(signal.SIGALRM)
    assert remaining_s() > 0
    alarm.cancel()


def test_all_are_cancelled() -> None:
    Alarm(LONG_MS, ring)
    Alarm(LONG_MS, ring)
    cancel_all()
    assert remaining_s() == 0


def test_longest_alarm_is_one_that_the_system_takes() -> None:
    Alarm(2**53, ring).cancel()
