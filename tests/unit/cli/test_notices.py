"""What a command says it waits for, from events, in virtual time."""

from collections.abc import Callable

import pytest

from kctl.cli.notices import WaitLimit, WaitNotices
from kctl.client.clock import FOREVER_MS, ManualClock, SystemClock
from kctl.client.errors import CertificateExpired, ConnectionLost, ConnectionRefused
from kctl.client.events import (
    Closed,
    Event,
    Failed,
    Lost,
    Phase,
    PhaseDone,
    Ready,
    RequestSent,
    ResponseReceived,
    Started,
    Target,
    Throttled,
)
from kctl.client.network.system import ThreadDriver, ThreadTask, ThreadWaiter

PLACE = "127.0.0.1:9092"


def _target(attempt: int = 1, port: int = 9092) -> Target:
    return Target(attempt, -1, "127.0.0.1", port, f"127.0.0.1:{port}")


class Run:
    """Notices that are looked at every 100 ms."""

    def __init__(self, *, is_brief: bool = False) -> None:
        self.clock = ManualClock()
        self.said: list[str] = []
        self.refusals = 0
        limit = WaitLimit(60_000, "--api-timeout")
        self.notices = WaitNotices("kctl topics", self.said.append, self.clock, limit, is_brief=is_brief)

    def on_event(self, *events: Event) -> None:
        for event in events:
            self.notices.on_event(event)

    def passes(self, ms: int) -> list[str]:
        """Let time pass and return what was said meanwhile."""
        self.said.clear()
        for _ in range(ms // 100):
            self.clock.advance(100)
            self.notices.look(self.clock.now_ms())
        return list(self.said)

    def refused(self, port: int = 9092) -> Failed:
        self.refusals += 1
        error = ConnectionRefused(f"127.0.0.1:{port}: connection refused (RST after {self.refusals} ms) [phase tcp]")
        return Failed(self.clock.now_ms(), _target(port=port), Phase.TCP, 0, error)


def test_refused_connection_is_reported_after_a_second() -> None:
    run = Run()
    run.on_event(run.refused())
    assert run.passes(900) == []
    assert run.passes(100) == [
        f"kctl topics: waiting: {PLACE}: connection refused, retrying for up to 60s (--api-timeout)"
    ]
    run.on_event(run.refused())
    assert run.passes(9_000) == [], "it is the same cause"
    assert len(run.passes(1_000)) == 1, "and is repeated after 10 s"
    assert len(run.passes(19_900)) == 0
    assert len(run.passes(100)) == 1


def test_cause_that_differs_in_milliseconds_is_the_same() -> None:
    run = Run()
    for number in range(1, 30):
        text = f"{PLACE}: the server closed the connection after {number} ms during the TLS handshake [phase tls]"
        run.on_event(Failed(run.clock.now_ms(), _target(), Phase.TLS, 0, ConnectionLost(text)))
        said = run.passes(300)
        assert len(said) == (number == 4), number
        assert all("closed the connection during the TLS handshake, retrying" in line for line in said)


def test_listener_that_closes_each_connection_at_its_first_request_is_reported_and_the_end_of_that_too() -> None:
    """It requires SASL: the client connects again and again, which is no progress."""
    run = Run()
    said: list[str] = []

    def connect(attempt: int) -> Target:
        target, now_ms = _target(attempt), run.clock.now_ms()
        run.on_event(Started(now_ms, target, Phase.APIVERSIONS, 10_000))
        run.on_event(ResponseReceived(now_ms, target, "ApiVersions", 1, 0, 10, 1), Ready(now_ms, target, 1))
        run.on_event(RequestSent(now_ms, target, "Metadata", 1, 5, 10))
        return target

    for attempt in range(1, 10):
        run.on_event(Lost(run.clock.now_ms(), connect(attempt), ConnectionLost(f"{PLACE}: closed on Metadata")))
        said += run.passes(500)
    assert [line.partition(", retrying")[0] for line in said] == [f"kctl topics: waiting: {PLACE}: closed on Metadata"]
    run.on_event(ResponseReceived(run.clock.now_ms(), connect(10), "Metadata", 1, 5, 10, 1))
    assert run.passes(60_000) == []


def test_verbose_names_the_servers_that_were_used_and_those_that_failed() -> None:
    clock, said = ManualClock(), list[str]()
    notices = WaitNotices("kctl topics", said.append, clock, WaitLimit(60_000, "--api-timeout"), verbose=True)
    dead = ConnectionRefused("127.0.0.1:9093: connection refused (RST after 1 ms) [phase tcp]")
    notices.on_event(Failed(0, _target(port=9093), Phase.TCP, 0, dead))
    notices.on_event(Ready(0, _target(), 7))
    notices.stop()
    assert said == [
        "kctl topics: connected to 127.0.0.1:9092 in 7ms",
        "kctl topics: cannot use 127.0.0.1:9093: connection refused",
    ]
    notices.stop()
    assert len(said) == 2, "once"


def test_verbose_leaves_it_to_the_error_where_no_server_was_used() -> None:
    said: list[str] = []
    notices = WaitNotices("kctl topics", said.append, ManualClock(), WaitLimit(60_000, "--api-timeout"), verbose=True)
    dead = ConnectionRefused("127.0.0.1:9093: connection refused")
    notices.on_event(Failed(0, _target(port=9093), Phase.TCP, 0, dead))
    notices.stop()
    assert said == []


def test_nothing_is_said_in_the_last_second_before_the_error() -> None:
    run = Run()
    run.passes(58_800)
    run.on_event(run.refused())
    assert len(run.passes(200)) == 1
    run.on_event(run.refused(port=9093))
    assert run.passes(1900) == []


def test_new_cause_is_reported_within_a_second_after_repetitions() -> None:
    run = Run()
    run.on_event(run.refused())
    run.passes(32_000)
    run.on_event(run.refused(port=9093))
    assert len(run.passes(1_000)) == 1


def test_fail_fast_is_the_limit_while_all_refuse() -> None:
    run = Run()
    run.notices.refused_limit = WaitLimit(5000, "--fail-fast")
    run.on_event(run.refused())
    assert run.passes(1000)[0].endswith(", retrying for up to 5s (--fail-fast)")
    run.on_event(Failed(1000, _target(port=1), Phase.APIVERSIONS, 0, ConnectionLost("127.0.0.1:1: closed")))
    assert run.passes(1000)[0].endswith(", retrying for up to 60s (--api-timeout)")


def test_request_to_an_object_store_is_reported_while_it_lasts_beside_those_to_brokers() -> None:
    run = Run()
    run.notices.refused_limit = WaitLimit(5000, "--fail-fast")
    with run.notices.during("s3://bucket: no response"):
        run.on_event(run.refused())
        (line,) = run.passes(1000)
        what = f"s3://bucket: no response; {PLACE}: connection refused"
        assert line == f"kctl topics: waiting: {what}, retrying for up to 60s (--api-timeout)"
        with run.notices.during("s3://bucket: no response"):
            assert run.passes(9000) == [], "it is the same cause"
    (line,) = run.passes(1000)
    assert line.endswith(f"waiting: {PLACE}: connection refused, retrying for up to 5s (--fail-fast)")


def test_requests_that_are_answered_soon_are_not_reported() -> None:
    run = Run()
    for _ in range(30):
        with run.notices.during("s3://bucket: no response"):
            assert run.passes(900) == []


def test_request_that_expects_no_response_is_not_waited_for() -> None:
    run = Run()
    run.on_event(Ready(0, _target(), 0), RequestSent(0, _target(), "Produce", 13, 5, 10, expects_response=False))
    assert run.passes(5000) == []


def test_request_without_a_response_is_reported() -> None:
    run = Run()
    run.on_event(Ready(0, _target(), 0), RequestSent(0, _target(), "Metadata", 1, 5, 10))
    [line] = run.passes(1000)
    assert f"waiting: {PLACE}: no response to Metadata, retrying" in line
    run.on_event(ResponseReceived(1000, _target(), "Metadata", 1, 5, 10, 1000))
    assert run.passes(60_000) == []


def test_silent_connection_is_reported_with_its_phase() -> None:
    run = Run()
    run.on_event(Started(0, _target(), Phase.TCP, 10_000))
    [line] = run.passes(1000)
    assert f"{PLACE}: no connection progress in phase tcp" in line


def test_connection_that_stops_after_a_phase_is_reported_with_that_phase() -> None:
    run = Run()
    run.on_event(Started(0, _target(), Phase.TCP, 10_000), PhaseDone(0, _target(), Phase.TCP, 0, ""))
    [line] = run.passes(1000)
    assert f"{PLACE}: no connection progress after phase tcp" in line


def _further_connection(run: Run, at_ms: int) -> None:
    """Replace the second connection of an attempt, as the client does while a broker is silent."""
    run.on_event(
        Started(at_ms, _target(), Phase.TCP, 10_000),
        Closed(at_ms, _target(), "the server did not respond, so the client opened another connection"),
    )


def test_silence_is_reported_although_further_connections_are_opened() -> None:
    run = Run()
    run.on_event(Started(0, _target(), Phase.TCP, 10_000), Started(0, _target(), Phase.TCP, 10_000))
    run.passes(900)
    _further_connection(run, run.clock.now_ms())
    [line] = run.passes(100)
    assert f"{PLACE}: no connection progress in phase tcp" in line
    run.on_event(Closed(run.clock.now_ms(), _target(), ""), Closed(run.clock.now_ms(), _target(), ""))
    assert run.passes(60_000) == [], "the attempt is over"


@pytest.mark.parametrize("is_asked", [False, True])
def test_silence_after_a_phase_is_reported_although_further_connections_are_opened(is_asked: bool) -> None:
    run = Run()

    def connected() -> None:
        now_ms = run.clock.now_ms()
        run.on_event(PhaseDone(now_ms, _target(), Phase.TCP, 0, ""))
        if is_asked:
            run.on_event(RequestSent(now_ms, _target(), "ApiVersions", 3, 0, 10))

    run.on_event(Started(0, _target(), Phase.TCP, 10_000))
    connected()
    run.on_event(Started(0, _target(), Phase.TCP, 10_000))
    connected()
    run.passes(900)
    _further_connection(run, run.clock.now_ms())
    connected()
    [line] = run.passes(100)
    assert f"{PLACE}: no {'response to ApiVersions' if is_asked else 'connection progress after phase tcp'}" in line


def test_look_up_that_is_done_is_not_waited_for_whatever_becomes_of_the_addresses() -> None:
    """A probe counts each address as an attempt of its own."""
    run = Run()
    look_up = _target(1)._replace(address="")
    run.on_event(Started(0, look_up, Phase.DNS, 10_000), PhaseDone(0, look_up, Phase.DNS, 0, PLACE))
    run.on_event(Started(0, _target(2), Phase.TCP, 10_000), Ready(0, _target(2), 1))
    run.on_event(PhaseDone(0, _target(2), Phase.METADATA, 0, ""))
    assert run.passes(60_000) == []


@pytest.mark.parametrize("api", ["Fetch", "JoinGroup"])
def test_requests_that_brokers_hold_are_not_reported(api: str) -> None:
    run = Run()
    run.on_event(Ready(0, _target(), 0), RequestSent(0, _target(), api, 1, 5, 10))
    assert run.passes(60_000) == []


def test_nothing_is_reported_while_responses_arrive() -> None:
    run = Run()
    run.on_event(run.refused(port=1), Ready(0, _target(), 0))
    for number in range(20):
        run.on_event(ResponseReceived(run.clock.now_ms(), _target(), "Produce", 1, number, 10, 1))
        assert run.passes(500) == []


def test_lost_connection_ends_its_requests() -> None:
    run = Run()
    run.on_event(Ready(0, _target(), 0), RequestSent(0, _target(), "Metadata", 1, 5, 10))
    run.on_event(Lost(0, _target(), ConnectionLost(f"{PLACE}: the connection was closed")))
    [line] = run.passes(1000)
    assert "the connection was closed" in line
    assert "no response" not in line


def _closed(run: Run) -> Failed:
    error = ConnectionLost(f"{PLACE}: the server closed the connection after 4 ms [phase apiversions]")
    return Failed(run.clock.now_ms(), _target(), Phase.APIVERSIONS, 0, error)


def test_brief_notices_say_once_that_a_server_that_accepts_connections_is_not_usable() -> None:
    run = Run(is_brief=True)
    run.on_event(_closed(run))
    run.clock.advance(900)
    run.on_event(_closed(run))
    assert run.said == []
    run.clock.advance(100)
    run.on_event(_closed(run))
    assert run.said == [
        f"kctl topics: waiting: {PLACE}: the server closed the connection, retrying for up to 60s (--api-timeout)"
    ]
    run.clock.advance(60_000)
    run.on_event(_closed(run))
    assert len(run.said) == 1


@pytest.mark.parametrize(("at_ms", "is_said"), [(58_900, True), (59_100, False), (60_000, False)])
def test_brief_notices_say_nothing_in_the_last_second(at_ms: int, is_said: bool) -> None:
    run = Run(is_brief=True)
    run.clock.advance(at_ms)
    run.on_event(_closed(run))
    assert bool(run.said) == is_said


def test_brief_notices_say_nothing_of_an_error_that_ends_the_command() -> None:
    run = Run(is_brief=True)
    run.clock.advance(2_000)
    error = CertificateExpired(f"{PLACE}: certificate expired")
    run.on_event(Failed(run.clock.now_ms(), _target(), Phase.TLS, 0, error))
    assert run.said == []
    run.clock.advance(1_000)
    run.on_event(Failed(run.clock.now_ms(), _target(), Phase.TLS, 0, error))
    assert run.said == [
        f"kctl topics: waiting: {PLACE}: certificate expired, retrying for up to 60s (--api-timeout)"
    ], "it is retried"


def test_brief_notices_say_nothing_of_refused_connections_or_after_the_end() -> None:
    run = Run(is_brief=True)
    for _ in range(5):
        run.clock.advance(1_000)
        run.on_event(run.refused())
    assert run.said == []
    run.notices.stop()
    run.on_event(_closed(run))
    assert run.said == []


def test_brief_notices_say_nothing_while_another_server_responds() -> None:
    run = Run(is_brief=True)
    for _ in range(5):
        run.clock.advance(900)
        run.on_event(Ready(run.clock.now_ms(), _target(2, 9093), 5))
        run.on_event(_closed(run))
    assert run.said == []


def test_broker_that_throttles_is_named_until_the_pause_is_over() -> None:
    run = Run()
    run.on_event(Ready(0, _target(), 5), Throttled(run.clock.now_ms(), _target(), "Metadata", 5_000))
    assert run.passes(2_000) == [
        f"kctl topics: waiting: {PLACE}: the broker throttles this client because of a quota, "
        "retrying for up to 60s (--api-timeout)"
    ]
    assert run.passes(30_000) == []


@pytest.mark.parametrize("is_brief", [False, True])
@pytest.mark.parametrize("is_asked", [False, True])
def test_connection_that_the_broker_closes_is_reported_where_something_was_asked_on_it(
    is_brief: bool, is_asked: bool
) -> None:
    """`kctl produce` whose input comes now and then is idle for minutes, which is no wait."""
    run = Run(is_brief=is_brief)
    target = _target()
    run.on_event(Started(0, target, Phase.APIVERSIONS, 10_000), Ready(0, target, 1))
    run.on_event(RequestSent(0, target, "Produce", 9, 1, 10), ResponseReceived(0, target, "Produce", 9, 1, 10, 1))
    run.passes(15_000)
    if is_asked:
        run.on_event(RequestSent(run.clock.now_ms(), target, "Produce", 9, 2, 10))
    run.said.clear()
    run.on_event(Lost(run.clock.now_ms(), target, ConnectionLost(f"{PLACE}: the server closed the connection")))
    said = list(run.said) if is_brief else run.passes(5_000)  # brief ones are not looked at
    assert [line.partition(", retrying")[0] for line in said] == [
        f"kctl topics: waiting: {PLACE}: the server closed the connection"
    ] * is_asked


class InterruptedDriver(ThreadDriver):
    """Threads, with a Ctrl-C before or after one of its calls."""

    def __init__(self, call: str, *, is_after: bool) -> None:
        super().__init__(SystemClock())
        self.tasks: list[ThreadTask] = []
        self._call, self._is_after = call, is_after

    def waiter(self) -> ThreadWaiter:
        if self._call == "waiter":
            raise KeyboardInterrupt
        return super().waiter()

    def spawn(self, loop: Callable[[], None], name: str) -> ThreadTask:
        if self._is_after:
            self.tasks.append(super().spawn(loop, name))
        raise KeyboardInterrupt


@pytest.mark.parametrize(("call", "is_after"), [("waiter", False), ("spawn", False), ("spawn", True)])
def test_notices_whose_start_was_interrupted_can_be_stopped(call: str, is_after: bool) -> None:
    driver = InterruptedDriver(call, is_after=is_after)
    notices = Run().notices
    with pytest.raises(KeyboardInterrupt):
        notices.start(driver)
    notices.stop()
    assert all(driver.join(task, FOREVER_MS) for task in driver.tasks)
    assert len(driver.tasks) == is_after


def test_error_that_is_not_retriable_is_reported_if_it_does_not_end_the_command() -> None:
    """One of several brokers whose certificate has expired."""
    run = Run()
    assert run.passes(3000) == []
    expired = CertificateExpired("certificate expired")
    run.on_event(Failed(run.clock.now_ms(), _target(), Phase.TLS, 0, expired))
    assert run.passes(900) == [], "it may end the command"
    run.on_event(Failed(run.clock.now_ms(), _target(), Phase.TLS, 0, expired))
    assert run.passes(100) == [
        f"kctl topics: waiting: {PLACE}: certificate expired, retrying for up to 60s (--api-timeout)"
    ]
