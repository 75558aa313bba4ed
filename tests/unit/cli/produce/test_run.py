"""How often a produce waits for memory, and how long it closes, with a producer in virtual time."""

from collections.abc import Mapping

import pytest

from kctl.cli.exit_codes import ExitCode
from kctl.cli.interrupts import Interrupted
from kctl.cli.produce import run as produce_run
from kctl.client.clock import ManualClock
from kctl.client.cluster import TopicPartition
from kctl.client.errors import MaxBlockTimeout
from kctl.client.loop.close import PartitionResult
from kctl.client.network.system import system_runtime
from kctl.client.producer import CloseResult, ProducerMetrics
from tests.support.in_process import Ended, run_in_process


class SlowProducer:
    """Accepts two rows, delivers none; a signal comes after the first 6 s of a close, where it is wanted."""

    created_topics: Mapping[str, int] = {}

    def __init__(self, clock: ManualClock, *, is_interrupted: bool) -> None:
        self._clock = clock
        self._is_interrupted = is_interrupted
        self.sizes: list[int] = []
        self.close_timeouts_s: list[float] = []

    def send_columns(self, _topic: str, values: list[bytes], *_: object, **__: object) -> None:
        self.sizes.append(len(values))
        if len(values) > 2:
            self._clock.advance(4000)
            error = MaxBlockTimeout("buffer.memory", timeout_ms=4000, elapsed_ms=4000)
            error.accepted = 2
            raise error

    def flush(self, timeout_s: float) -> None:
        pass

    def close(self, timeout_s: float) -> CloseResult:
        self.close_timeouts_s.append(timeout_s)
        if self._is_interrupted:
            self._is_interrupted = False
            self._clock.advance(6000)
            raise Interrupted(ExitCode.SIGINT)
        return CloseResult(unknown=2, partitions={TopicPartition("t", 0): PartitionResult(0, 0, 2)})

    def metrics(self) -> ProducerMetrics:
        return ProducerMetrics._make([0] * (len(ProducerMetrics._fields) - 1) + [{}])


def _produce(
    monkeypatch: pytest.MonkeyPatch, *options: str, stdin: bytes, is_interrupted: bool = False
) -> tuple[SlowProducer, Ended]:
    clock = ManualClock()
    producer = SlowProducer(clock, is_interrupted=is_interrupted)
    runtime = system_runtime()._replace(clock=clock)
    monkeypatch.setattr(produce_run, "system_runtime", lambda: runtime)
    monkeypatch.setattr(produce_run, "Producer", lambda *_, **__: producer)
    return producer, run_in_process("produce", "t", "-b", "h:1", *options, stdin=stdin)


def test_block_that_memory_accepts_in_part_waits_once_while_nothing_is_delivered(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    producer, ended = _produce(monkeypatch, stdin=b"a\nb\nc\nd\ne\n")
    assert producer.sizes == [5]
    assert ended.code == ExitCode.UNDELIVERED
    assert "line 3 (byte 4) and later records were NOT sent" in ended.stderr


def test_signal_during_close_keeps_the_rest_of_the_close_timeout(monkeypatch: pytest.MonkeyPatch) -> None:
    producer, ended = _produce(monkeypatch, "--close-timeout", "8s", stdin=b"a\n", is_interrupted=True)
    assert producer.close_timeouts_s[:2] == [8, 2]
    assert ended.code == ExitCode.SIGINT
