"""A jq program in its process: results, failures, limits, and signals that end it."""

import os
import signal
import threading
import time

import pytest

from kctl.cli.decode import jq_process
from kctl.cli.decode.jq_process import JqError, JqProcess
from tests.support.bounds import bound


def test_results_are_lines_of_json_in_order() -> None:
    process = JqProcess('.a[]?, ("é" | select($ENV.NOPE == null))', is_ascii=True)
    assert process.run([b'{"a": [1, "x"]}', b"{}"]) == [b'1\n"x"\n"\\u00e9"\n', b'"\\u00e9"\n']
    assert process.run([b'{"a": [2]}']) == [b'2\n"\\u00e9"\n']


def test_failure_names_the_record() -> None:
    with pytest.raises(JqError, match="annot iterate") as caught:
        JqProcess(".[]", is_ascii=False).run([b"[]", b"1"])
    assert caught.value.index == 1


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
            process.run([b"1"])
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
    with pytest.raises(JqError, match=f"more than {jq_process.MOST_BYTES >> 20} MiB"):
        JqProcess('reduce range(40) as $i ("0123456789abcdef"; . + .) | length', is_ascii=False).run([b"1"])
