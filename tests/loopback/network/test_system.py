"""Resolver threads and the thread driver: names, failures, flags; nothing left running."""

import signal
import threading

import pytest

from kctl.client.clock import FOREVER_MS, SystemClock
from kctl.client.network.resolver import ThreadResolver, numeric_address
from kctl.client.network.system import ThreadDriver, system_runtime
from kctl.client.runtime import Address, Lookup
from tests.support.bounds import bound

PATIENCE_S = bound(60)


def resolve(resolver: ThreadResolver, host: str) -> Lookup:
    ended = threading.Event()
    lookup = resolver.lookup(host, 9092, ended.set)
    assert ended.wait(PATIENCE_S)
    assert lookup.done
    return lookup


def test_numeric_addresses_need_no_thread() -> None:
    before = threading.active_count()
    assert resolve(ThreadResolver(), "127.0.0.1").addresses == [Address("127.0.0.1", 9092)]
    assert resolve(ThreadResolver(), "::1").addresses == [Address("::1", 9092, True)]
    assert threading.active_count() == before
    assert numeric_address("localhost", 1) is None


def test_names_are_looked_up() -> None:
    assert Address("127.0.0.1", 9092) in resolve(ThreadResolver(), "localhost").addresses


@pytest.mark.parametrize("host", ["no-such-host.invalid", "x" * 300, "bad..name"])
def test_unresolvable_name_reports_the_reason(host: str) -> None:
    lookup = resolve(ThreadResolver(), host)
    assert lookup.error
    assert lookup.addresses == []


def test_work_in_a_helper_thread_ends_without_addresses_and_without_error() -> None:
    done, ended = [], threading.Event()
    lookup = ThreadResolver().run(lambda: done.append(True), ended.set)
    assert ended.wait(PATIENCE_S)
    assert (done, lookup.done, lookup.addresses, lookup.error) == ([True], True, [], None)


def test_name_without_an_address_reports_the_reason() -> None:
    assert resolve(ThreadResolver(lambda _host, _port: []), "a.b").error == "the host name has no address"


def test_a_bug_in_work_of_a_helper_thread_is_logged_and_the_thread_serves_what_follows(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def fail() -> None:
        raise AssertionError("a bug")

    resolver, ended = ThreadResolver(max_threads=1), [threading.Event(), threading.Event()]
    failed = resolver.run(fail, ended[0].set)
    assert ended[0].wait(PATIENCE_S)
    resolver.run(lambda: None, ended[1].set)
    assert ended[1].wait(PATIENCE_S)
    assert (failed.done, failed.error) == (True, "AssertionError('a bug')")
    assert "a task in a helper thread failed" in caplog.text


def test_a_hanging_resolver_holds_up_only_its_own_threads() -> None:
    release = threading.Event()

    def slow(host: str, port: int) -> list[Address]:
        release.wait(PATIENCE_S)
        return [Address(host, port)]

    resolver = ThreadResolver(slow, max_threads=2)
    ended = [threading.Event() for _ in range(5)]
    lookups = [resolver.lookup(f"slow-{n}", 1, ended[n].set) for n in range(5)]
    running = [thread for thread in threading.enumerate() if thread.name == "kctl-resolver"]
    assert len(running) == 2
    assert not any(lookup.done for lookup in lookups)
    release.set()
    assert all(event.wait(PATIENCE_S) for event in ended)
    for thread in running:
        thread.join(PATIENCE_S)
        assert not thread.is_alive()


def test_a_flag_raised_before_the_wait_is_seen_once() -> None:
    driver = ThreadDriver(SystemClock())
    waiter = driver.waiter()
    waiter.notify()
    assert driver.wait(waiter, 0)
    assert not driver.wait(waiter, 0)


class _Heard(Exception):
    """The signal's handler has run."""


def test_a_signal_is_heard_in_a_wait_that_it_does_not_end() -> None:
    """The system may give it to another thread; and one that comes just before the lock is waited for is no better."""
    driver = ThreadDriver(SystemClock())
    waiter = driver.waiter()
    given_up = threading.Event()
    heard = threading.Event()

    def handler(_number: int, _frame: object) -> None:
        heard.set()
        raise _Heard

    def send() -> None:
        threading.Event().wait(0.2)  # the main thread waits by then; if not, this test shows less
        signal.pthread_kill(threading.get_ident(), signal.SIGUSR1)
        if not heard.wait(PATIENCE_S):
            given_up.set()
            waiter.notify()

    before = signal.signal(signal.SIGUSR1, handler)
    sender = threading.Thread(target=send)
    try:
        sender.start()
        with pytest.raises(_Heard):
            driver.wait(waiter, FOREVER_MS)
    finally:
        sender.join()
        signal.signal(signal.SIGUSR1, before)
    assert not given_up.is_set()


def test_a_loop_wakes_its_caller_and_ends() -> None:
    runtime = system_runtime()
    driver = runtime.driver
    started, release = driver.waiter(), driver.waiter()

    def loop() -> None:
        started.notify()
        driver.wait(release, FOREVER_MS)

    task = driver.spawn(loop, "kctl-test")
    assert driver.wait(started, FOREVER_MS)
    assert task.is_alive
    assert not driver.is_current(task)
    assert not driver.join(task, runtime.clock.now_ms())
    release.notify()
    assert driver.join(task, FOREVER_MS)
    assert driver.join(task, FOREVER_MS)
    assert not task.is_alive
