"""Those who produce in transactions while something is done to the brokers: `kctl produce --transactional`, and a copy.

Knows nothing of what is done to the brokers.
"""

import signal
import subprocess
from collections.abc import Callable, Sequence
from itertools import cycle
from typing import NamedTuple

from kctl.cli.exit_codes import ExitCode
from kctl.client.cluster import TopicPartition
from kctl.client.consumer.consumer import Consumer, ConsumerRecord
from kctl.client.errors import AbortableTransactionError, MaxBlockTimeout
from kctl.client.producer import Producer
from tests.broker.producing import PARTITIONS, PATIENCE_S, Background
from tests.cli.processes import KCTL, environment
from tests.conformance.foreign.record import ForeignRecord

RECORDS = 30
"""Of one transaction of `kctl produce --transactional`; those that are to fail have sent half of them when they do."""
KINDS = ("whole", "bad input", "whole", "killed", "whole", "Ctrl-C")
TAKEN_BACK = 5
"""Before every fifth commit of the copy the same records are sent in a transaction that is aborted."""
LIMITS = ("--request-timeout", "3s", "--delivery-timeout", "20s", "--api-timeout", "30s", "--close-timeout", "15s")


class TransactionEnd(NamedTuple):
    """How one run of `kctl produce --transactional` ended."""

    number: int
    kind: str
    code: int
    said: str

    @property
    def fates(self) -> tuple[bool, ...]:
        """Whether all of it may be seen, in each way that is true to what was told."""
        if self.code == ExitCode.OK:
            return (True,)
        is_doubtful = self.kind == "whole" and self.code == ExitCode.CLOSE_TIMEOUT
        return (True, False) if is_doubtful else (False,)


class Transactions(Background):
    """`kctl produce --transactional-id` again and again, one transaction each, of which some are meant to fail."""

    def __init__(self, bootstrap: str, topic: str) -> None:
        super().__init__()
        self.ended: list[TransactionEnd] = []
        self._command = [
            *KCTL,
            "produce",
            topic,
            "-b",
            bootstrap,
            "-f",
            "%p %v\\n",
            "--transactional-id",
            topic,
            *LIMITS,
        ]

    def run(self) -> None:
        """Begin one after the other."""
        kinds = cycle(KINDS)
        while not self.ends.is_set():
            self._one(next(kinds))
        self._one("whole")  # aborts what the last one may have left open

    def _one(self, kind: str) -> None:
        number = len(self.ended)
        lines = [b"%d %d:%d\n" % (at % PARTITIONS, number, at) for at in range(RECORDS)]
        first, second = b"".join(lines[: RECORDS // 2]), b"".join(lines[RECORDS // 2 :])
        trace = () if kind == "whole" else ("--trace",)
        with subprocess.Popen(
            [*self._command, *trace], stdin=subprocess.PIPE, stderr=subprocess.PIPE, env=environment()
        ) as process:
            assert process.stdin is not None
            process.stdin.write(first)
            process.stdin.flush()
            if trace:
                _wait_for_produce(process)
            if kind == "killed":
                process.kill()
            elif kind == "Ctrl-C":
                process.send_signal(signal.SIGINT)
            else:
                second += b"no partition\n" if kind == "bad input" else b""
            is_fed = kind in ("whole", "bad input")
            _, said = process.communicate(second if is_fed else None, timeout=PATIENCE_S)
        self.ended.append(TransactionEnd(number, kind, process.returncode, said.decode()))

    def stop(self) -> list[TransactionEnd]:
        """Return how every transaction ended; the last one is whole."""
        self.finish()
        return self.ended


def _wait_for_produce(process: "subprocess.Popen[bytes]") -> None:
    """Return when records of it are on their way, or it has ended."""
    assert process.stderr is not None
    for line in process.stderr:
        if b" > " in line and b"Produce v" in line:
            return


def check_transactions(ended: Sequence[TransactionEnd], seen: Sequence[ForeignRecord]) -> None:
    """Hold what a read_committed consumer saw, in log order, against how the transactions ended."""
    present = {int((record.value or b"").partition(b":")[0]) for record in seen}
    for end in ended:
        assert (end.number in present) in end.fates, f"{'seen' if end.number in present else 'not seen'}: {end}"
    for partition in range(PARTITIONS):
        found = [record.value for record in seen if record.partition == partition]
        whole = [
            b"%d:%d" % (number, at)
            for number in sorted(present)
            for at in range(RECORDS)
            if at % PARTITIONS == partition
        ]
        assert found == whole, f"partition {partition} has parts of transactions, or others than it should"


class Copier(Background):
    """Copies a topic into another, each partition into its like: offsets and records are committed together."""

    def __init__(self, bootstrap: str, source: str, target: str, request_timeout_ms: int) -> None:
        super().__init__()
        self.commits = self.aborts = 0
        self._was_taken_back = False
        self._source, self._target = source, target
        common: dict[str, object] = {"bootstrap.servers": bootstrap, "request.timeout.ms": request_timeout_ms}
        self._producer_properties = {**common, "transactional.id": target, "max.block.ms": 5_000}
        self._producer_properties["delivery.timeout.ms"] = 20_000
        self._consumer_properties = {
            **common,
            "group.id": target,
            "enable.auto.commit": False,
            "auto.offset.reset": "earliest",
            "isolation.level": "read_committed",
        }
        self._ends_at: dict[TopicPartition, int] | None = None

    def run(self) -> None:
        """Copy."""
        with Consumer(self._consumer_properties) as reader, Producer(self._producer_properties) as writer:
            _patiently(writer.init_transactions)
            reader.subscribe([self._source])
            while not self._is_done(reader):
                records = reader.poll(0.2)
                if records:
                    self._copy(reader, writer, records)

    def _is_done(self, reader: Consumer) -> bool:
        if not self.ends.is_set():
            return False
        partitions = [TopicPartition(self._source, partition) for partition in range(PARTITIONS)]
        if self._ends_at is None:
            self._ends_at = reader.end_offsets(partitions)
        found = reader.committed(partitions)
        return all(one is not None and one.offset == self._ends_at[tp] for tp, one in found.items())

    def _copy(self, reader: Consumer, writer: Producer, records: list[ConsumerRecord]) -> None:
        writer.begin_transaction()
        try:
            for record in records:
                writer.send(self._target, record.value, partition=record.partition)
            after = {TopicPartition(record.topic, record.partition): record.offset + 1 for record in records}
            member = reader.group_metadata()
            _patiently(lambda: writer.send_offsets_to_transaction(after, member))
            if self.commits % TAKEN_BACK == 0 and not self._was_taken_back:
                self._return_data(reader, writer)
                return
            _patiently(writer.commit_transaction)
            self.commits += 1
            self._was_taken_back = False
        except AbortableTransactionError:
            self.aborts += 1
            self._return_data(reader, writer)

    def _return_data(self, reader: Consumer, writer: Producer) -> None:
        """Abort, and read again from what is committed."""
        self._was_taken_back = True
        _patiently(writer.abort_transaction)
        for tp, found in reader.committed(reader.assignment).items():
            reader.seek(tp, 0 if found is None else found.offset)

    def stop(self) -> None:
        """Return when everything that the source has is copied."""
        self.finish()


def _patiently(call: Callable[[], None]) -> None:
    """Make a call again until it has ended: after a timeout it goes on with the same work."""
    for _ in range(20):
        try:
            return call()
        except MaxBlockTimeout as error:
            last = error
    raise last
