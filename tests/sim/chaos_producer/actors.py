"""Applications of a run: one producer after the other, used by several threads, randomly during chaos.

Actions are drawn from named random streams, so that deleting a fault changes nothing else. Applications write the
history and check nothing.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from random import Random
from typing import Any, TypeVar

from kctl.client.cluster import TopicPartition
from kctl.client.consumer.group.events import GroupMetadata
from kctl.client.errors import (
    FatalTransactionError,
    IllegalStateError,
    KafkaError,
    KafkaTimeoutError,
    MaxBlockTimeout,
    RemoteProtocolError,
)
from kctl.client.events import Expired, Failed, Lost, ResponseReceived
from kctl.client.producer import ColumnsFuture, SendFuture
from kctl.client.producer.future import NO_PARTITION, Outcome
from kctl.client.producer.record_run import RecordRun
from kctl.client.records import Lines
from tests.sim.chaos.actors import is_acceptance
from tests.sim.chaos.on_event_loop import call_or_cancel, producer_for, start_thread
from tests.sim.chaos_producer.exits import exit_without_close, is_exit
from tests.sim.chaos_producer.plan import ProducerClient
from tests.sim.chaos_producer.producer_cluster import BOOTSTRAP, Phase, ProducerCluster, Sent
from tests.sim.chaos_producer.sendings import names_of, watch, watch_rows, watch_silent
from tests.sim.virtual import sim_runtime

T = TypeVar("T")
TIMEOUTS_MS = (0, 1, 10, 100, 500, 2000)
END_TIMEOUTS_MS = (0, 1, 100, 1000, 5000)
CLOSES_MS = (0, 1, 300, 2000, 8000)
CALM_MS = 10_000
CLOSE_MS = 30_000
SHORT_OF_MEMORY_BYTES = 3000
SHORT_BLOCK_MS = 100
"""A max.block.ms in which a record may not be acknowledged though all is well."""
INPUT = TopicPartition("t", 0)
"""Input whose offsets transactions commit, for a group with the name of the transactional id."""
ROWS = (0, 1, 2, 7, 40)
"""Numbers of records in one call of send_columns."""
MAY_BE_CANCELLED = ("send", "flush", "partitions_for")
MOST_RECORDS = 1500
"""Maximum records of one producer during chaos: otherwise plans with a slow link take minutes."""


class WrongClock(KafkaError):
    """The call was refused: the clock of the machine shows a time before 1970."""


class Life:
    """One producer, from its making to its end."""

    def __init__(self, world: ProducerCluster, plan: ProducerClient, number: int) -> None:
        self.world = world
        self.plan = plan
        self.proc = f"{plan.name}.{number}"
        self.is_closing = False
        self.threads = 0
        """Number of other threads that use the producer."""
        self.tasks: list[object] = []
        self.closes_others_ms: int | None = None
        """A close that another thread is to make at the same time."""
        self.futures: dict[str, SendFuture] = {}
        self.transactions = 0
        self.columns: dict[str, ColumnsFuture] = {}
        """Column futures by the name of the first row."""
        self._recent: list[tuple[list[str], SendFuture | ColumnsFuture]] = []
        """Latest futures with the names of their rows."""
        self._told = 0
        self._sent = 0
        self._is_accepted = False
        rng = world.hub.rng(f"callbacks.{self.proc}")
        self._rng = rng
        self._chance = world.hub.rng(f"cancelled.{self.proc}")
        is_told_to_close = plan.closes_in_callback and world.phase is Phase.CHAOS
        self._close_at = rng.randint(3, 150) if is_told_to_close else 0
        """After how many callbacks one of them closes the producer."""
        properties = {"bootstrap.servers": BOOTSTRAP, "client.id": self.proc, **plan.properties}
        runtime = sim_runtime(world.hub, plan.name, world.network, world.resolver)
        world.history.event(self.proc, "born", dict(plan.properties))
        self.producer = producer_for(world, properties, runtime, events=self._on_network_event)
        watch(self.producer, self._note)
        watch_rows(self.producer, self._on_run, self._note, self._on_rows)
        watch_silent(self.producer, self._report)

    def _note(self, what: str, value: Any) -> None:
        self.world.history.event(self.proc, what, value)

    def _on_network_event(self, event: object) -> None:
        if isinstance(event, Failed | Lost | Expired) and isinstance(event.error, RemoteProtocolError):
            if not self.world.plan.has_strange_bytes:
                self._note("protocol-error", str(event.error))
        elif isinstance(event, ResponseReceived) and is_acceptance(event) and not self._is_accepted:
            self._is_accepted = True
            self._note("accepted-by-broker", None)

    # --- calls ------------------------------------------------------------------------------------------------------

    def call(
        self,
        who: str,
        what: str,
        call: Callable[[], T],
        timeout_ms: int | None,
        value: Any = None,
        outcome: Callable[[T], Any] | None = None,
    ) -> T | KafkaError:
        """Make a call, write down how it ended, and return its result or its error."""
        world, hub = self.world, self.world.hub
        proc = f"{self.proc}/{who}"
        stalled_ms = max(0, hub.stalled_until_us(self.plan.name) // 1000 - hub.now_ms)
        world.history.add(proc, "invoke", what, value, timeout_ms=timeout_ms)
        result: T | None = None
        error: KafkaError | None = None
        reported: Any = None
        try:
            result = call_or_cancel(world, self._chance, call) if what in MAY_BE_CANCELLED else call()
            reported = result if outcome is None else outcome(result)
        except KafkaError as caught:
            error = caught
            reported = {"text": str(caught)[:300], "cause": type(getattr(caught, "cause", None)).__name__}
            reported["undelivered"] = getattr(caught, "undelivered", None)
            reported["accepted"] = getattr(caught, "accepted", None)
            if isinstance(caught, KafkaTimeoutError):
                reported |= {"limit": caught.limit, "timeout_ms": caught.timeout_ms, "elapsed_ms": caught.elapsed_ms}
                reported["spent_ms"] = caught.account.time_breakdown
        until_ms = hub.stalled_until_us(self.plan.name) // 1000
        name = "" if error is None else type(error).__name__
        world.coverage.called(what, name or "ok")
        world.history.add(
            proc,
            "ok" if error is None else "info",
            what,
            reported,
            timeout_ms=timeout_ms,
            error=name,
            stalled_ms=until_ms if stalled_ms or until_ms > 0 else 0,
        )
        if error is not None:
            return error
        assert result is not None or error is None
        return result  # type: ignore[return-value]  # None where T is None

    @contextmanager
    def _clock_may_be_wrong(self) -> Iterator[None]:
        try:
            yield
        except ValueError as error:
            if self.world.hub.wall_ms(self.plan.name) >= 0:
                raise
            raise WrongClock(str(error)) from error

    # --- records ----------------------------------------------------------------------------------------------------

    def send(
        self, who: str, rng: Random, *, partition: int | None = None, is_in_callback: bool = False
    ) -> KafkaError | None:
        """Send one record with whatever a record can have."""
        world = self.world
        self._sent += 1
        name = f"{self.proc}/{self._sent}"
        key = f"k{rng.randint(0, 6)}".encode() if rng.random() < 0.3 else None
        headers = [("h", name.encode()), ("n", None)] if rng.random() < 0.1 else []
        count = len(world.partitions("t"))
        if partition is None and rng.random() < 0.5:
            partition = rng.randrange(count)
        is_chaos = world.phase is Phase.CHAOS
        if is_chaos and rng.random() < 0.003:
            partition = 99
        size = rng.choice([0, 0, 0, 20, 300, 1500]) if is_chaos and rng.random() < 0.4 else 0
        if not is_chaos and self._is_short_of_memory:
            size = 1200  # each third record waits until another is acknowledged, which takes no time to speak of
        if is_chaos and rng.random() < 0.003:
            size = 2500  # more than max.request.size
        at_ms = rng.choice([None, None, 5, world.hub.now_ms])
        value = name.encode() + b" " + bytes(size)
        callback = None if rng.random() < 0.3 or world.plan.is_aio else lambda done: self._on_done(name, done)
        if callback is None:
            self._note("unwatched", name)

        def call() -> SendFuture:
            with self._clock_may_be_wrong():
                return self.producer.send("t", value, key, partition, headers, at_ms, callback)

        def outcome(future: SendFuture) -> str:
            self._accept(name, Sent(key, headers, partition, future.timestamp_ms))
            self.futures[name] = future
            self._recent = [*self._recent[-7:], ([name] if callback is None else [], future)]
            return name

        timeout_ms = 0 if is_in_callback else int(self.plan.properties["max.block.ms"])
        ended = self.call(who, "send", call, timeout_ms, [name, partition, size], outcome)
        return ended if isinstance(ended, KafkaError) else None

    def _accept(self, name: str, sent: Sent) -> None:
        self.world.sent[name] = sent
        if sent.timestamp_ms < 0:
            self._note("before-1970", [name, sent.timestamp_ms])

    @property
    def _is_short_of_memory(self) -> bool:
        memory, block_ms = (int(self.plan.properties[name]) for name in ("buffer.memory", "max.block.ms"))
        return memory <= SHORT_OF_MEMORY_BYTES and block_ms > SHORT_BLOCK_MS

    def send_everywhere(self, who: str, rng: Random) -> KafkaError | None:
        """Send one record to each partition, up to the first that is not accepted."""
        for tp in self.world.partitions("t"):
            error = self.send(who, rng, partition=tp.partition)
            if error is not None:
                return error
        return None

    def _on_done(self, name: str, future: SendFuture) -> None:
        """The callback of every record; sometimes it sends another one, once it may close the producer."""
        outcome = future.outcome
        assert outcome is not None
        offset = future.result(0).offset if outcome.error is None else -1
        self._report(name, outcome, future.partition, offset)
        self._told += 1
        is_chaos = self.world.phase is Phase.CHAOS
        if self._close_at and self._told >= self._close_at and is_chaos and not self.is_closing:
            self.is_closing = True
            self.call("callback", "close", lambda: self.producer.close(5), 0, None, _counts)
        elif is_chaos and not self.is_closing and self._rng.random() < 0.01:
            if self._rng.random() < 0.3:
                self.send_columns("callback", self._rng, 3, is_in_callback=True)
            else:
                self.send("callback", self._rng, is_in_callback=True)

    def _report(self, name: str, outcome: Outcome, partition: int, offset: int) -> None:
        word = "ok" if outcome.error is None else "unknown" if outcome.is_unknown else "failed"
        error = "" if outcome.error is None else type(outcome.error).__name__
        self.world.history.add(
            self.proc, "event", "told",
            [name, word, error, ["t", partition], offset, str(outcome.error or "")[:200]],
            stalled_ms=self.world.hub.stalled_until_us(self.plan.name) // 1000,
        )  # fmt: skip
        self.world.coverage.called("future", error or word)

    # --- records in columns -----------------------------------------------------------------------------------------

    def send_columns(self, who: str, rng: Random, count: int, *, is_in_callback: bool = False) -> KafkaError | None:
        """Send many records in one call, with whatever columns there can be."""
        world = self.world
        is_chaos = world.phase is Phase.CHAOS
        names = [f"{self.proc}/{self._sent + number}" for number in range(1, count + 1)]
        self._sent += count
        sizes = [rng.choice([0, 0, 0, 20, 300, 1200]) if is_chaos else 0 for _ in names]
        if names and is_chaos and rng.random() < 0.01:
            sizes[rng.randrange(count)] = 2500  # more than max.request.size: no row is accepted
        values = [name.encode() + b" " + bytes(size) for name, size in zip(names, sizes, strict=True)]
        keys: list[bytes | None] | None = None
        if rng.random() < 0.4:
            keys = [rng.choice([None, b"k1", b"k2", b"k3"]) for _ in names]
        headers = [[("h", name.encode())] for name in names] if rng.random() < 0.2 else None
        partition = rng.randrange(len(world.partitions("t"))) if rng.random() < 0.3 else None
        if is_chaos and rng.random() < 0.003:
            partition = 99
        at_ms = rng.choice([None, None, 7, [rng.choice([None, number]) for number in range(count)]])
        column: Sequence[bytes] = values
        if self._sent % 2:  # as in a file
            column = Lines(b"".join(value + b"\n" for value in values), b"\n")

        def outcome(future: ColumnsFuture) -> int:
            if names:
                self.columns[names[0]] = future
            self._recent = [*self._recent[-7:], (names, future)]
            return future.count

        timeout_ms = 0 if is_in_callback else int(self.plan.properties["max.block.ms"])

        def call() -> ColumnsFuture:
            with self._clock_may_be_wrong():
                return self.producer.send_columns("t", column, keys, partition, headers, at_ms)

        ended = self.call(who, "columns", call, timeout_ms, names, outcome)
        return ended if isinstance(ended, KafkaError) else None

    def _on_run(self, run: RecordRun) -> None:
        """Record the accepted rows and their content."""
        partition = None if run.partition == NO_PARTITION else run.partition
        for row, name in enumerate(names_of(run)):
            columns = run.rows
            at_ms = columns.timestamp_ms if columns.timestamps_ms is None else columns.timestamps_ms[row]
            key = None if columns.keys is None else columns.keys[row]
            headers = [] if columns.headers is None else list(columns.headers[row])
            self._accept(name, Sent(key, headers, partition, at_ms))
        self._note("accepted", names_of(run))

    def _on_rows(self, run: RecordRun, outcome: Outcome) -> None:
        for row, name in enumerate(names_of(run)):
            offset = outcome.base_offset + run.offset_in_batch + row if outcome.base_offset >= 0 else -1
            self._report(name, outcome, run.partition, offset)

    # --- other calls ------------------------------------------------------------------------------------------------

    def flush(self, who: str, timeout_ms: int | None) -> KafkaError | None:
        limit_ms = int(self.plan.properties["delivery.timeout.ms"]) if timeout_ms is None else timeout_ms
        timeout = None if timeout_ms is None else timeout_ms / 1000
        return self.call(who, "flush", lambda: self.producer.flush(timeout), limit_ms, timeout_ms)

    def result(self, who: str, rng: Random, timeout_ms: int) -> None:
        if self._recent:
            names, future = rng.choice(self._recent)
            self.call(who, "result", lambda: future.result(timeout_ms / 1000), timeout_ms, names, lambda _: None)

    # --- a step at random -------------------------------------------------------------------------------------------

    def step(self, who: str, rng: Random) -> None:
        """Do one thing, mostly send."""
        choice = rng.random()
        if choice < 0.08 and self._sent < MOST_RECORDS:
            if self.send_columns(who, rng, rng.choice(ROWS)) is not None:
                self.world.sleep_ms(rng.randint(1, 100))
                return
        elif choice < 0.55 and self._sent < MOST_RECORDS:
            for _ in range(rng.choice([1, 1, 2, 5, 10])):
                if self.send(who, rng) is not None:
                    self.world.sleep_ms(rng.randint(1, 100))  # an error that may repeat immediately
                    return
        elif choice < 0.65:
            self.flush(who, rng.choice((*TIMEOUTS_MS, None)))
        elif choice < 0.70:
            self.result(who, rng, rng.choice(TIMEOUTS_MS))
        elif choice < 0.72:
            ms = rng.choice(TIMEOUTS_MS)
            self.call(who, "partitions_for", lambda: self.producer.partitions_for("t", ms / 1000), ms, None, len)
        elif choice < 0.74:
            self.producer.metrics()
        self.world.sleep_ms(rng.choice([0, 1, 1, 5, 40, 300]))

    def run_thread(self, who: str) -> None:
        """Use the producer in parallel to the main thread, until it is closed."""
        rng = self.world.hub.rng(f"app.{self.proc}.{who}")
        while self.world.phase is Phase.CHAOS and not self.is_closing:
            self.step(who, rng)
        if self.closes_others_ms is not None:
            timeout_ms, self.closes_others_ms = self.closes_others_ms, None
            self.close(who, timeout_ms)
        self.threads -= 1

    # --- transactions -----------------------------------------------------------------------------------------------

    def end_call(self, what: str, call: Callable[[float], None], rng: Random, value: Any = None) -> KafkaError | None:
        """Make a call that may be made again after a timeout, until it ends otherwise; return its error."""
        while True:
            ms = rng.choice(END_TIMEOUTS_MS) if self.world.phase is Phase.CHAOS else CALM_MS
            error = self.call("main", what, lambda ms=ms: call(ms / 1000), ms, value)  # type: ignore[misc]  # a bound default
            if not isinstance(error, MaxBlockTimeout) or self.is_closing:
                return error
            if what == "offsets" and rng.random() < 0.3:
                return error  # given up, which an abort may do
            if self.world.phase is Phase.CHAOS and rng.random() < 0.05:
                return error
            self.world.sleep_ms(rng.choice([1, 20, 200]))

    def initialise(self, rng: Random) -> bool:
        """Return whether the producer has its id."""
        while not self.is_closing:
            error = self.end_call("init", self.producer.init_transactions, rng)
            if error is None:
                return True
            if isinstance(error, FatalTransactionError | IllegalStateError | MaxBlockTimeout):
                return False
            self.world.sleep_ms(100)
        return False

    def transact(self, rng: Random) -> bool:
        """Make one transaction; return whether the producer can go on."""
        is_calm = self.world.phase is not Phase.CHAOS
        begun = self.call("main", "begin", self.producer.begin_transaction, 0)
        if begun is not None:
            return False
        self.transactions += 1
        number = self.transactions
        error: KafkaError | None = None
        if self.world.phase is Phase.HEAL:
            self.send_everywhere("main", rng)  # all is well again when every leader is reached
        for _ in range(rng.randint(1, 8)):
            if rng.random() < 0.15:
                error = self.send_columns("main", rng, rng.choice(ROWS[:3] if is_calm else ROWS))
            else:
                error = self.send("main", rng)
            if error is not None and rng.random() < 0.5:
                break
            if not is_calm:
                self.world.sleep_ms(rng.choice([0, 0, 1, 30, 300]))
        if rng.random() < 0.5:
            error = self.end_call("offsets", lambda s: self._send_offsets(number, s), rng, number)
        is_kept = is_calm or (error is None and rng.random() < 0.85)
        if is_kept:
            error = self.end_call("commit", self.producer.commit_transaction, rng)
            if error is None:
                return True
            if isinstance(error, MaxBlockTimeout | FatalTransactionError):
                return False
        if rng.random() < 0.1:
            self.call("main", "begin", self.producer.begin_transaction, 0)  # which is refused
        return self.end_call("abort", self.producer.abort_transaction, rng) is None

    def _send_offsets(self, number: int, timeout_s: float) -> None:
        offsets = {INPUT: self._offset(number)}
        self.producer.send_offsets_to_transaction(offsets, GroupMetadata(self.plan.transactional_id), timeout_s)

    def _offset(self, number: int) -> int:
        """An offset that tells which transaction of which producer it is of."""
        life = int(self.proc.split(".")[1])
        return (int(self.plan.name[1:]) * 1000 + life) * 10_000 + number

    # --- the end ----------------------------------------------------------------------------------------------------

    def close(self, who: str, timeout_ms: int) -> None:
        self.is_closing = True
        self.call(who, "close", lambda: self.producer.close(timeout_ms / 1000), timeout_ms, None, _counts)

    def over(self) -> None:
        """Record the state of a closed producer."""
        metrics = self.producer.metrics()
        futures: dict[str, SendFuture | ColumnsFuture] = {**self.futures, **self.columns}
        undone = [name for name, future in futures.items() if not future.done()]
        self.world.history.event(
            self.proc,
            "gone",
            {
                "undone": undone[:10],
                "columns": [[name, one.count, one.delivered, one.undelivered] for name, one in self.columns.items()],
                "counts": [metrics.records_delivered, metrics.records_failed, metrics.records_unknown],
                "left": [metrics.records_outstanding, metrics.batches_in_flight, metrics.buffer_used_bytes],
            },
        )


def _counts(result: Any) -> dict[str, Any]:
    parts = [[part.delivered, part.failed, part.unknown, part.aborted] for part in result.partitions.values()]
    sums = [sum(column) for column in zip(*parts, strict=True)] if parts else [0, 0, 0, 0]
    return {"counts": [*result[:3], result.aborted], "sums": sums, "transaction": result.transaction}


class Actor:
    """One application: lives until the run is over."""

    def __init__(self, world: ProducerCluster, plan: ProducerClient) -> None:
        self.world = world
        self.plan = plan
        self.rng = world.hub.rng(f"lives.{plan.name}")
        self.life: Life | None = None
        self.is_settled = False
        """True after the application has seen the end of the faults, and success."""
        self._lives = 0

    def __call__(self) -> None:
        while self.world.phase is not Phase.OVER:
            if self.plan.is_rival and self.world.phase is not Phase.CHAOS:
                self.is_settled = True
                return
            self._lives += 1
            self._live()

    def _live(self) -> None:
        world, hub = self.world, self.world.hub
        life = self.life = Life(world, self.plan, self._lives)
        for number in range(self.plan.threads if world.phase is Phase.CHAOS else 0):
            life.threads += 1
            run_thread = partial(life.run_thread, f"t{number}")
            life.tasks.append(start_thread(world, f"{self.plan.name}.t{number}", run_thread))
        end_ms = hub.now_ms + self.rng.randint(500, 6000)
        goes_on = True
        if self.plan.transactional_id:
            goes_on = life.initialise(self.rng)
        while goes_on and world.phase is Phase.CHAOS and not life.is_closing:
            if self.plan.is_restless and hub.now_ms >= end_ms:
                goes_on = False
            elif self.plan.transactional_id:
                goes_on = life.transact(self.rng)
            else:
                life.step("main", self.rng)
        if world.phase is Phase.CHAOS or life.is_closing or not goes_on or self.plan.is_rival:
            self._end(life)
            return
        self._be_calm(life)

    def _be_calm(self, life: Life) -> None:
        """Send a little until the run is over: every call has to go well once the faults are behind."""
        world = self.world
        while world.phase is not Phase.OVER:
            if self.plan.transactional_id:
                if not life.transact(self.rng):
                    self._end(life)
                    return
                self.is_settled = True
            else:
                if world.phase is Phase.HEAL:
                    life.send_everywhere("main", self.rng)  # all is well again when every leader is reached
                for _ in range(3):
                    life.send("main", self.rng)
                if self.rng.random() < 0.2:
                    life.send_columns("main", self.rng, 7)
                self.is_settled = life.flush("main", CALM_MS) is None
            world.sleep_ms(300)
        self._wait_for_threads(life)
        life.close("main", CLOSE_MS)
        life.over()

    def _end(self, life: Life) -> None:
        if is_exit(life):
            exit_without_close(life)
            self.life = None
            return
        if life.threads and self.rng.random() < 0.5:
            life.closes_others_ms = self.rng.choice(CLOSES_MS)
        life.close("main", self.rng.choice(CLOSES_MS) if self.world.phase is Phase.CHAOS else CLOSE_MS)
        if self.rng.random() < 0.2:
            life.close("main", self.rng.choice(CLOSES_MS))
        self._wait_for_threads(life)
        life.over()
        self.life = None
        self.world.sleep_ms(self.rng.randint(1, 1500))

    def _wait_for_threads(self, life: Life) -> None:
        while life.threads:
            self.world.sleep_ms(10)
