from collections import deque
from collections.abc import Callable

import pytest

from kctl.client.clock import ManualClock, Timer
from kctl.client.consumer.events import (
    AbandonCall,
    AskTopics,
    CallDone,
    CallProgress,
    Consumed,
    LoopEnded,
    NetworkFailed,
    Stop,
    ToApplication,
    ToNetwork,
    TryAgain,
    Waiting,
)
from kctl.client.consumer.network_link import END_GRACE_MS, NetworkLink
from kctl.client.errors import (
    Account,
    ApiTimeout,
    AuthenticationError,
    ConnectionRefused,
    IllegalStateError,
    WakeupError,
)
from kctl.client.seams import Task, Waiter
from kctl.client.teardown import TEARDOWN_MS
from tests.unit.consumer.fakes import T0


class Flag:
    def __init__(self) -> None:
        self.is_up = False

    def notify(self) -> None:
        self.is_up = True


class Loop:
    is_alive = True


class ScriptedDriver:
    """Time passes only in `wait`: to the next scripted moment, or to the deadline."""

    def __init__(self, clock: ManualClock) -> None:
        self.clock = clock
        self.flag = Flag()
        self.script: list[tuple[int, Callable[[], None]]] = []

    def waiter(self) -> Flag:
        return self.flag

    def wait(self, waiter: Waiter, deadline_at_ms: int) -> bool:
        while not self.flag.is_up:
            if not self.script or self.script[0][0] > deadline_at_ms:
                self.clock.advance(deadline_at_ms - self.clock.now_ms())
                return False
            at_ms, action = self.script.pop(0)
            self.clock.advance(at_ms - self.clock.now_ms())
            action()
        self.flag.is_up = False
        return True

    def spawn(self, loop: Callable[[], None], name: str) -> Loop:
        return Loop()

    def join(self, task: Task, deadline_at_ms: int) -> bool:
        self.clock.advance(deadline_at_ms - self.clock.now_ms())
        return False

    def is_current(self, task: Task) -> bool:
        return False

    def caller(self) -> object:
        return None


class Desk:
    def __init__(self) -> None:
        self.clock = ManualClock(1000)
        self.driver = ScriptedDriver(self.clock)
        self.sent: deque[ToNetwork] = deque()
        self.inbox: deque[ToApplication] = deque()
        self.seen: list[ToApplication] = []
        self.wakeups = 0
        self.link = NetworkLink(
            self.driver, self.driver.flag,
            outbox=self.sent, inbox=self.inbox, wake_network=self._woken, on_event=self.seen.append,
        )  # fmt: skip

    def _woken(self) -> None:
        self.wakeups += 1

    def says(self, at_ms: int, *events: ToApplication) -> None:
        """Let the network say something at an instant."""

        def speak() -> None:
            self.inbox.extend(events)
            self.driver.flag.notify()

        self.driver.script.append((at_ms, speak))

    def ask(self, timeout_ms: int = 500) -> object:
        timer = Timer(self.clock, timeout_ms)
        return self.link.ask(lambda call_id: AskTopics(call_id, None, timer.deadline_at_ms), timer)


def test_a_call_returns_what_the_network_answers() -> None:
    desk = Desk()
    desk.says(1200, Waiting(T0, 1, "x"), CallDone(1, {"t": ()}, None))
    assert desk.ask() == {"t": ()}
    assert desk.clock.now_ms() == 1200
    assert list(desk.sent) == [AskTopics(1, None, 1500)]
    assert desk.seen == [Waiting(T0, 1, "x")]


def test_a_call_ends_on_its_deadline_with_all_that_is_known() -> None:
    desk = Desk()
    cause = ConnectionRefused("refused")
    account = Account(attempts=2, node_errors=(cause,))
    desk.says(1100, CallProgress(1, "waiting for the metadata of t", cause, account, {"dns": 100}, "connecting", 1100))
    with pytest.raises(ApiTimeout) as caught:
        desk.ask()
    error = caught.value
    assert (error.timeout_ms, error.elapsed_ms, desk.clock.now_ms()) == (500, 500, 1500)
    assert (error.waiting_for, error.cause) == ("waiting for the metadata of t", cause)
    assert error.account == (("connecting 400 ms", "dns 100 ms"), 2, (cause,))
    assert desk.sent[-1] == AbandonCall(1)


def test_the_ledger_of_a_second_question_has_the_time_of_the_first() -> None:
    desk = Desk()
    desk.says(1400, CallProgress(1, "waiting", None, Account(), {"metadata": 30}, "back-off", 1400))
    with pytest.raises(ApiTimeout) as caught:
        desk.ask()
    assert caught.value.account.ledger == ("earlier questions 370 ms", "back-off 100 ms", "metadata 30 ms")


def test_an_answer_at_the_very_deadline_still_counts() -> None:
    desk = Desk()
    desk.says(1500, CallDone(1, {}, None))
    assert desk.ask() == {}


def test_an_answer_to_an_abandoned_call_is_not_taken_for_the_next() -> None:
    desk = Desk()
    with pytest.raises(ApiTimeout):
        desk.ask()
    desk.says(1600, CallDone(1, {"old": ()}, None))
    desk.says(1700, CallDone(2, {"new": ()}, None))
    assert desk.ask() == {"new": ()}


def test_an_error_of_the_network_is_raised() -> None:
    desk = Desk()
    desk.says(1001, CallDone(1, None, ConnectionRefused("refused")))
    with pytest.raises(ConnectionRefused):
        desk.ask()


def test_wakeup_ends_a_call_once() -> None:
    desk = Desk()
    desk.driver.script.append((1100, desk.link.wakeup))
    with pytest.raises(WakeupError):
        desk.ask()
    assert desk.clock.now_ms() == 1100
    desk.says(1200, CallDone(2, {}, None))
    assert desk.ask() == {}


def test_a_wakeup_before_the_call_is_not_lost() -> None:
    desk = Desk()
    desk.link.wakeup()
    with pytest.raises(WakeupError):
        desk.ask()


def test_refused_credentials_are_raised_at_once_and_tried_again_by_the_next_call() -> None:
    desk = Desk()
    desk.says(1100, NetworkFailed(AuthenticationError("wrong password")))
    with pytest.raises(AuthenticationError):
        desk.ask()
    assert desk.clock.now_ms() == 1100
    assert TryAgain() in desk.sent
    desk.says(1200, CallDone(2, {}, None))
    assert desk.ask() == {}


def test_a_loop_that_ended_unasked_is_an_error_not_a_hang() -> None:
    desk = Desk()
    desk.says(1100, LoopEnded())
    with pytest.raises(IllegalStateError, match="has ended"):
        desk.ask()


def test_the_network_is_left_asleep_when_there_is_nothing_to_say() -> None:
    desk = Desk()
    desk.link.post([])
    desk.link.post_quietly(Consumed(T0, 1, 5))
    assert desk.wakeups == 0
    desk.link.post([])
    assert desk.wakeups == 1


def test_stop_leaves_time_to_close_the_sockets_and_waits_for_the_last_steps() -> None:
    desk = Desk()
    assert desk.link.stop(Loop(), Timer(desk.clock, 300)) is False
    assert (list(desk.sent), desk.clock.now_ms()) == (
        [Stop(1300 - TEARDOWN_MS, 1000, timeout_ms=300)],
        1300 + END_GRACE_MS,
    )


def test_stop_with_no_time_waits_for_nothing() -> None:
    desk = Desk()
    assert desk.link.stop(Loop(), Timer(desk.clock, 0)) is False
    assert (list(desk.sent), desk.clock.now_ms()) == ([Stop(1000, 1000)], 1000)
