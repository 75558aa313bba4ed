"""A jq program in its process: results, failures, limits, and signals that end it."""

import os
import signal
import subprocess
import threading
import time

import pytest

from kctl.cli.decode import jq_process
from kctl.cli.decode.jq_process import JqFailure, JqProcess
from tests.support.bounds import bound


def test_results_are_lines_of_json_in_order() -> None:
    process = JqProcess('.a[]?, ("é" | select($ENV.NOPE == null))', is_ascii=True)
    assert list(process.run([b'{"a": [1, "x"]}', b"{}"])) == [b'1\n"x"\n"\\u00e9"\n', b'"\\u00e9"\n']
    assert list(process.run([b'{"a": [2]}'])) == [b'2\n"\\u00e9"\n']


def test_failure_of_a_text_leaves_the_others() -> None:
    process = JqProcess(".[]", is_ascii=False)
    results = process.run([b"[]", b"1", b"[2]", b"not JSON", b"[3]"])
    assert next(results) == b""
    child = process._process
    failed, *others = results
    assert isinstance(failed, JqFailure)
    assert "annot iterate" in failed.reason
    assert [each if isinstance(each, bytes) else None for each in others] == [b"2\n", None, b"3\n"]
    assert process._process is child


@pytest.mark.parametrize("text", [b"[" * 9_000 + b"]" * 9_000, b"9" * 5_000], ids=["deep", "number"])
def test_result_that_python_cannot_hold_is_a_failure_of_its_text(text: bytes) -> None:
    process = JqProcess(".", is_ascii=False)
    first, second = process.run([text, b"1"])
    assert isinstance(first, JqFailure) or first.strip()
    assert second == b"1\n"


def test_text_that_ends_the_process_leaves_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """The program ends its process by a signal as the limits do: of time, by an alarm that is due immediately."""
    started = JqProcess._started

    def start(process: JqProcess) -> "subprocess.Popen[bytes]":
        child = started(process)
        children.append(child)
        return child

    children: list[subprocess.Popen[bytes]] = []
    monkeypatch.setattr(JqProcess, "_started", start)
    process = JqProcess("if . == 2 then def f: f; f else . end", is_ascii=False)
    results = process.run([b"1", b"2", b"3"])
    assert next(results) == b"1\n"
    children[0].send_signal(signal.SIGALRM)
    assert next(results) == JqFailure(f"the jq program did not finish within {jq_process.LIMIT_MS // 1000}s")
    assert next(results) == b"3\n"
    assert len(children) == 2
    assert list(process.run([b"4"])) == [b"4\n"]


def test_program_without_an_end_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    process = JqProcess("def f: f; f", is_ascii=False)

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGUSR1, interrupt)
    try:
        timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGUSR1))
        timer.start()
        started_s = time.thread_time()
        with pytest.raises(KeyboardInterrupt):
            list(process.run([b"1"]))
        assert time.thread_time() - started_s < bound(5), "the parent waits, it does not work"
    finally:
        signal.signal(signal.SIGUSR1, before)
    child = process._process
    assert child is not None
    del process
    assert child.returncode == -signal.SIGKILL


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="a limit of Linux")
def test_program_that_needs_too_much_memory_is_ended() -> None:
    program = 'if . == 1 then reduce range(40) as $i ("0123456789abcdef"; . + .) | length else . end'
    failed, other = JqProcess(program, is_ascii=False).run([b"1", b"2"])
    assert failed == JqFailure(f"the jq program needs more than {jq_process.MOST_BYTES >> 20} MiB of memory")
    assert other == b"2\n"
