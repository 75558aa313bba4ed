"""Applications of a run: each uses one consumer after the other, randomly during chaos and calmly afterward.

They poll, with some polls interrupted by Ctrl-C, or iterate over the consumer and leave the loop early. Actions are
drawn from named random streams, so that deleting a fault changes nothing else. Applications write the history and check
nothing.
"""

import re
import sys
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple, TypeVar

from kctl.client.broker_errors import FencedInstanceIdError
from kctl.client.cluster import TopicPartition
from kctl.client.consumer.consumer import ConsumerRecord
from kctl.client.consumer.group.application_side import RebalanceListener
from kctl.client.consumer.group.events import MemberChanged, Offsets
from kctl.client.consumer.waiting import WaitKind
from kctl.client.errors import (
    InvalidOffsetError,
    KafkaError,
    KafkaTimeoutError,
    RemoteProtocolError,
)
from kctl.client.events import Expired, Failed, Lost, ResponseReceived
from kctl.client.loop import at_exit
from kctl.client.loop.close import CloseRequest, CloseResult
from tests.sim.chaos.chaos_cluster import Phase
from tests.sim.chaos.consumer_cluster import BOOTSTRAP, ConsumerCluster
from tests.sim.chaos.on_event_loop import Interrupt, ListenerDelays, call_or_cancel, consumer_for
from tests.sim.chaos.plan import ClientPlan
from tests.sim.interrupts import Interrupted
from tests.sim.virtual import sim_runtime

T = TypeVar("T")
TIMEOUTS_MS = (0, 1, 10, 100, 500, 2000)
EVERYTHING = ("t", "u")
HANDSHAKE = ("ApiVersions", "SaslHandshake", "SaslAuthenticate")
OLDER_MS = 3_600_000
CALM_POLL_MS = 500
CLOSE_MS = 30_000
LOOPED = 0.15
"""The part of polls that are loops instead."""
INTERRUPTED = 0.05
"""The part of polls that Ctrl-C may end, and at which boundary at most."""
MOST_BOUNDARIES = 150
RESUBSCRIBED = 0.05
"""The part of steps in which clients that resubscribe do so."""
JOINS_WITHIN_MS = 100
"""Time of a poll after which its member must be joining the group."""
MAY_BE_CANCELLED = (
    "poll", "next", "position", "commit_sync", "committed", "end_offsets", "beginning_offsets", "offsets_for_times",
    "list_topics", "partitions_for",
)  # fmt: skip


class Written(NamedTuple):
    """Content of a record; `cuts` is the number of truncations of its log before."""

    topic: str
    incarnation: int
    partition: int
    offset: int
    cuts: int


def value_of(record: ConsumerRecord) -> Written:
    """Return what a record says of itself."""
    topic, *numbers = (record.value or b"/-1/-1/-1/-1").decode().split("/")
    return Written(topic, *map(int, numbers))


class Listener(RebalanceListener):
    """Rebalance listener that writes the history and updates the ownership."""

    def __init__(self, life: "Life") -> None:
        self._life = life

    def on_partitions_revoked(self, topic_partitions: Sequence[TopicPartition]) -> None:
        self._life.world.note(self._life.proc, "revoked", topic_partitions)
        self._life.gave_up(topic_partitions)

    def on_partitions_assigned(self, topic_partitions: Sequence[TopicPartition]) -> None:
        self._life.world.note(self._life.proc, "assigned", topic_partitions)

    def on_partitions_lost(self, topic_partitions: Sequence[TopicPartition]) -> None:
        self._life.world.note(self._life.proc, "lost", topic_partitions)
        self._life.gave_up(topic_partitions)


def is_acceptance(event: ResponseReceived) -> bool:
    """Return whether a broker has responded to a request after the handshake."""
    return event.target.node_id >= 0 and event.api not in HANDSHAKE


def is_outside(life: "Life") -> bool:
    """Return whether a member is not joining its group, and no poll will raise the reason."""
    group, why = life.consumer._side.group, life.consumer.waiting_for_group()
    if why is None or life.is_fenced or life.world.hub.stalled_until_us(life.plan.name):
        return False
    return why.kind is WaitKind.OUTSIDE and group is not None and group._failure is None


def _polled(life: "Life", timeout_ms: int) -> list[ConsumerRecord]:
    is_chosen = life.world.phase is Phase.CHAOS and life.manners.random() < INTERRUPTED
    # One at a time: all actors share the trace function.
    if not is_chosen or life.world.plan.is_aio or sys.gettrace() is not None:
        return life.consumer.poll(timeout_ms / 1000)
    interrupted = Interrupted(life.manners.randint(1, MOST_BOUNDARIES))
    if interrupted(lambda: life.consumer.poll(timeout_ms / 1000)):
        raise Interrupt(f"Ctrl-C at {interrupted.at}")
    records: list[ConsumerRecord] = interrupted.result
    return records


def _runs(life: "Life", records: list[ConsumerRecord]) -> dict[str, Any]:
    """Summarize a poll: runs of offsets without a gap or truncation, and unexpected records."""
    runs: list[list[Any]] = []
    wrong: list[str] = []
    for record in records:
        tp = TopicPartition(record.topic, record.partition)
        said = value_of(record)
        if (said.topic, said.partition, said.offset) != (*tp, record.offset) or not _may_read(life, tp, said):
            wrong.append(f"{tp} {record.offset}: {record.value!r}")
        last = runs[-1] if runs else []
        if last and last[0] == tp and last[1] + last[2] == record.offset and last[3] == said.cuts:
            last[2] += 1
        else:
            runs.append([tp, record.offset, 1, said.cuts])
    return {"runs": runs, "wrong": wrong, "paused": list(life.consumer.paused), "owned": life.consumer.assignment}


def _may_read(life: "Life", tp: TopicPartition, said: Written) -> bool:
    """Return whether a record belongs to the assigned topic: by ID if possible, otherwise by its name."""
    if life.has_ids:
        return said.incarnation == life.world.incarnation_of.get(life.world.topic_id_of(life.proc, tp))
    return 0 <= said.incarnation <= life.world.incarnations.get(said.topic, -1)


class Life:
    """One consumer, from its making to its end."""

    def __init__(self, world: ConsumerCluster, plan: ClientPlan, number: int) -> None:
        self.world = world
        self.plan = plan
        self.proc = f"{plan.name}.{number}"
        self.rng = world.hub.rng(f"app.{self.proc}")
        self.manners = world.hub.rng(f"manners.{self.proc}")
        """Style of reading: polls, loops that end early, or interrupts."""
        self._changes_of_mind = world.hub.rng(f"resubscriptions.{self.proc}")
        # A group does not notice that a static member comes back with other topics (KIP-345): these want the same.
        wants_all = self.rng.random() < 0.7 or world.phase is not Phase.CHAOS or plan.is_static
        self.topics: tuple[str, ...] = EVERYTHING if wants_all else ("t",)
        self.next: dict[TopicPartition, int] = {}
        """The next offset of each partition that delivered something or was positioned."""
        self.owned: list[TopicPartition] = []
        """The assignment after the last poll."""
        self._delays = ListenerDelays(world, self.manners)
        self.is_fenced = self._is_accepted = False
        """The group has another member under its group.instance.id: its process has to be started again."""
        properties = {"bootstrap.servers": BOOTSTRAP, "client.id": self.proc, **plan.properties}
        self.group = str(properties.get("group.id", ""))
        runtime = sim_runtime(world.hub, plan.name, world.network, world.resolver)
        self.consumer = consumer_for(world, properties, runtime, events=self._on_network_event)
        self.generation = -1
        """Last generation that the network thread reported; -1 after a loss."""
        handlers = self.consumer._side._handlers
        self._on_member = handlers.get(MemberChanged)
        handlers[MemberChanged] = self._on_member_changed
        world.consumers[self.proc] = self.consumer
        world.groups[self.proc] = self.group
        world.history.event(self.proc, "born", {"group": self.group, "member": plan.is_member, **plan.properties})
        if plan.is_member:
            self.subscribe()
        else:
            self.assign()

    def _on_network_event(self, event: object) -> None:
        if isinstance(event, Failed | Lost | Expired) and isinstance(event.error, RemoteProtocolError):
            if not self.world.plan.has_strange_bytes:
                self.world.history.event(self.proc, "protocol-error", str(event.error))
        elif isinstance(event, ResponseReceived) and is_acceptance(event) and not self._is_accepted:
            self._is_accepted = True
            self.world.history.event(self.proc, "accepted-by-broker")

    def _on_member_changed(self, event: MemberChanged) -> None:
        self.generation = event.metadata.generation
        assert self._on_member is not None
        self._on_member(event)

    # --- calls ------------------------------------------------------------------------------------------------------

    def call(
        self, what: str, call: Callable[[], T], timeout_ms: int | None = None, value: Any = None, outcome: Any = None
    ) -> T | None:
        """Make a call and write down how it ended; `outcome` turns its result into plain data."""
        world, hub = self.world, self.world.hub
        world.history.add(self.proc, "invoke", what, value, timeout_ms=timeout_ms)
        before_ms = hub.now_ms
        stalled_ms = max(0, hub.stalled_until_us(self.plan.name) // 1000 - before_ms)
        try:
            result = call_or_cancel(world, self.manners, call) if what in MAY_BE_CANCELLED else call()
        except KafkaError as error:
            self.is_fenced = self.is_fenced or isinstance(error, FencedInstanceIdError)
            reported: dict[str, Any] = {"text": str(error)[:300]}
            if isinstance(error, KafkaTimeoutError):
                reported |= {"limit": error.limit, "timeout_ms": error.timeout_ms, "elapsed_ms": error.elapsed_ms}
                reported["spent_ms"] = error.account.time_breakdown
            self._ended("info", what, reported, timeout_ms, error, stalled_ms)
            if isinstance(error, InvalidOffsetError):
                self.seek_to_beginning([TopicPartition(*tp) for tp in error.partitions])
            return None
        self._ended("ok", what, result if outcome is None else outcome(result), timeout_ms, None, stalled_ms)
        return result

    def _ended(
        self, kind: str, what: str, value: Any, timeout_ms: int | None, error: KafkaError | None, stalled_ms: int
    ) -> None:
        hub = self.world.hub
        until_ms = max(hub.stalled_until_us(self.plan.name) // 1000, self._delays.until_ms)
        is_stalled = bool(stalled_ms) or until_ms > 0
        name = "" if error is None else type(error).__name__
        self.world.coverage.called(what, name or "ok")
        self.world.history.add(
            self.proc, kind, what, value, timeout_ms=timeout_ms, error=name, stalled_ms=until_ms if is_stalled else 0
        )

    def poll(self, timeout_ms: int) -> list[ConsumerRecord]:
        began_ms = self.world.hub.now_ms
        polled = self.call("poll", lambda: _polled(self, timeout_ms), timeout_ms, outcome=partial(_runs, self))
        if polled is None:  # an error that may repeat immediately
            self.world.sleep_ms(self.rng.choice([1, 1, 20, 200]))
        records = polled or []
        for record in records:
            self.next[TopicPartition(record.topic, record.partition)] = record.offset + 1
        if records and self.plan.is_member and self.world.is_session_over(self.proc):
            self.world.history.event(self.proc, "after-session", len(records))
        if self.plan.is_member:
            metadata = self.consumer.group_metadata()
            self.world.history.event(self.proc, "member", [metadata.member_id, self.generation])
        if polled == [] and timeout_ms and self.world.hub.now_ms - self.world.network.heard_at_ms(self.plan.name) >= 2:
            ready = [tp for tp, why in self.consumer.waiting_for().items() if why.kind is WaitKind.DELIVERABLE]
            if ready and not self.world.hub.stalled_until_us(self.plan.name):
                self.world.history.event(self.proc, "slept", ready)
        if polled == [] and self.world.hub.now_ms - began_ms >= JOINS_WITHIN_MS and is_outside(self):
            self.world.history.event(self.proc, "outside", timeout_ms)
        self._look_around()
        return records

    def _look_around(self) -> None:
        self.owned = self.consumer.assignment
        self.next = {tp: offset for tp, offset in self.next.items() if tp in self.owned}

    def loop(self, limit_ms: int) -> None:
        """Loop over the consumer and leave the loop early, by `break` or because somebody wakes the consumer."""
        end_ms = self.world.hub.now_ms + limit_ms
        self._wake_in(limit_ms)
        records = iter(self.consumer)
        for _ in range(self.manners.randint(1, 8)):
            left_ms = max(0, end_ms - self.world.hub.now_ms)
            record = self.call("next", lambda: next(records), left_ms, outcome=lambda record: _runs(self, [record]))
            if record is None:
                break
            self.next[TopicPartition(record.topic, record.partition)] = record.offset + 1
        self._look_around()

    def gave_up(self, tps: Sequence[TopicPartition]) -> None:
        """Forget the positions: a partition with this name may soon belong to another topic."""
        if self.has_ids:
            for tp in tps:
                self.next.pop(tp, None)

    @property
    def has_ids(self) -> bool:
        """Return whether the group assigns topics by ID."""
        return self.plan.is_member and self.plan.properties.get("group.protocol") == "consumer"

    def subscribe(self) -> None:
        topics: Any = list(self.topics)
        if self.plan.pattern:
            topics = re.compile("[tu]") if len(self.topics) > 1 else re.compile("t")
        listener = self._delays.added_to(Listener(self))
        self.call("subscribe", lambda: self.consumer.subscribe(topics, listener), value=list(self.topics))

    def assign(self) -> None:
        topics = self.topics
        wanted = [tp for tp in self.world.partitions() if tp.topic in topics]
        self.next = {tp: offset for tp, offset in self.next.items() if tp in wanted}
        self.call("assign", lambda: self.consumer.assign(wanted), value=wanted)
        for tp in wanted:
            if self.rng.random() < 0.5:
                self.seek(tp, self.rng.randint(self.world.start(tp), self.world.end(tp)))

    def seek(self, tp: TopicPartition, offset: int) -> None:
        self.next[tp] = offset
        self.call("seek", lambda: self.consumer.seek(tp, offset), value=[tp, offset])

    def seek_to_beginning(self, tps: list[TopicPartition]) -> None:
        for tp in tps:
            self.next.pop(tp, None)
        tps = [tp for tp in tps if tp in self.consumer.assignment]
        self.call("seek_to_beginning", lambda: self.consumer.seek_to_beginning(tps), value=tps)

    # --- a step at random -------------------------------------------------------------------------------------------

    def step(self) -> None:
        """Do one thing, mostly poll."""
        if self.plan.resubscribes and self._changes_of_mind.random() < RESUBSCRIBED:
            self._resubscribe()
            return
        if self.rng.random() < 0.6:
            timeout_ms = self.rng.choice(TIMEOUTS_MS)
            if self.manners.random() < LOOPED:
                self.loop(timeout_ms)
            else:
                self.poll(timeout_ms)
            if timeout_ms == 0:
                self.world.sleep_ms(self.rng.randint(1, 100))
            return
        actions: list[tuple[int, Callable[[], None]]] = [
            (20, self._sleep),
            (6, self._pause),
            (6, self._seek),
            (5, self._position),
            (3, self._ask_offsets),
            (2, self._ask_topics),
            (1, lambda: self._wake_in(self.rng.randint(1, 500))),
        ]
        if self.group:
            actions += [(12, self._commit_sync), (8, self._commit_async), (4, self._committed)]
        if self.plan.is_member:
            actions += [(1, self._rebalance), (0 if self.plan.is_static else 1, self._subscribe_otherwise)]
            actions += [(1, self._unsubscribe)]
        else:
            actions += [(2, self._assign_otherwise)]
        weights = [weight for weight, _ in actions]
        self.rng.choices([action for _, action in actions], weights)[0]()

    def _sleep(self) -> None:
        """Work on the records; rarely for longer than max.poll.interval.ms."""
        if self.rng.random() < 0.03:
            self.world.sleep_ms(self.rng.randint(1000, 30_000))
        else:
            self.world.sleep_ms(self.rng.randint(1, 300))

    def _some(self) -> TopicPartition | None:
        owned = self.consumer.assignment
        return self.rng.choice(owned) if owned else None

    def _pause(self) -> None:
        tp = self._some()
        if tp is None:
            return
        if tp in self.consumer.paused or self.rng.random() < 0.3:
            paused = self.consumer.paused
            self.call("resume", lambda: self.consumer.resume(paused), value=paused)
        else:
            self.call("pause", lambda: self.consumer.pause([tp]), value=[tp])

    def _seek(self) -> None:
        """A member goes back alone, so that its group misses nothing."""
        tp = self._some()
        if tp is None:
            return
        if self.rng.random() < 0.15:
            self.seek_to_beginning([tp])
        elif not self.plan.is_member:
            self.seek(tp, self.rng.randint(0, self.world.end(tp)))
        elif self.next.get(tp):
            self.seek(tp, self.rng.randint(0, self.next[tp]))

    def _timeout_ms(self) -> int:
        return self.rng.choice((*TIMEOUTS_MS, 5000))

    def _position(self) -> None:
        tp = self._some()
        if tp is not None:
            self._ask_position(tp, self._timeout_ms())

    def _ask_position(self, tp: TopicPartition, ms: int) -> None:
        at = self.call("position", lambda: self.consumer.position(tp, ms / 1000), ms, tp, outcome=lambda at: [tp, at])
        if at is not None:
            self.next[tp] = at

    def _ask_offsets(self) -> None:
        tps = self.world.partitions("t")
        ms = self._timeout_ms()
        ask = self.rng.choice(["end_offsets", "beginning_offsets", "offsets_for_times"])
        if ask == "offsets_for_times":
            wall_ms = self.world.hub.now_ms + self.world.hub.wall_offset_ms - self.rng.randint(0, OLDER_MS)
            times = dict.fromkeys(tps, wall_ms)
            self.call(ask, lambda: self.consumer.offsets_for_times(times, ms / 1000), ms, outcome=len)
            return
        method = self.consumer.end_offsets if ask == "end_offsets" else self.consumer.beginning_offsets
        self.call(ask, lambda: method(tps, ms / 1000), ms, outcome=lambda found: [[tp, found[tp]] for tp in tps])

    def _ask_topics(self) -> None:
        ms = self._timeout_ms()
        if self.rng.random() < 0.5:
            self.call("list_topics", lambda: self.consumer.list_topics(ms / 1000), ms, outcome=list)
        else:
            self.call("partitions_for", lambda: self.consumer.partitions_for("t", ms / 1000), ms, outcome=len)

    def _wake_in(self, delay_ms: int) -> None:
        consumer, proc, world = self.consumer, self.proc, self.world

        def wake() -> None:
            if proc in world.consumers:
                world.history.event(proc, "wakeup")
                consumer.wakeup()

        world.hub.call_later_ms(delay_ms, self.proc, wake)

    def _commit_sync(self) -> None:
        offsets = self._offsets()
        ms = self._timeout_ms()
        self.call("commit_sync", lambda: self.consumer.commit_sync(offsets, ms / 1000), ms, _plain(offsets))

    def _offsets(self) -> dict[TopicPartition, int] | None:
        """Return the offsets to commit: None for all, or one earlier offset."""
        if self.rng.random() < 0.7 or not self.next:
            return None
        tp = self.rng.choice(list(self.next))
        return {tp: self.rng.randint(0, self.next[tp])}

    def _commit_async(self) -> None:
        offsets = self._offsets()
        proc, world = self.proc, self.world
        self.commits += 1
        number = self.commits

        def done(_: Offsets, error: KafkaError | None) -> None:
            world.history.event(proc, "committed-async", [number, type(error).__name__ if error else ""])

        self.call("commit_async", lambda: self.consumer.commit_async(offsets, done), value=[number, _plain(offsets)])

    commits = 0

    def _committed(self) -> None:
        tps = self.world.partitions("t")
        ms = self._timeout_ms()
        self.call("committed", lambda: self.consumer.committed(tps, ms / 1000), ms, outcome=lambda found: [
            [tp, None if one is None else one.offset] for tp, one in found.items()
        ])  # fmt: skip

    def _rebalance(self) -> None:
        self.call("enforce_rebalance", self.consumer.enforce_rebalance)

    def _subscribe_otherwise(self) -> None:
        self.topics = self.rng.choice((EVERYTHING, ("t",)))
        self.subscribe()

    def _unsubscribe(self) -> None:
        self.call("unsubscribe", self.consumer.unsubscribe)
        self.next.clear()
        self.world.sleep_ms(self.rng.randint(1, 2000))
        self.subscribe()

    def _resubscribe(self) -> None:
        """Unsubscribe, subscribe, and poll immediately, so that the poll begins before earlier commits end."""
        if self._changes_of_mind.random() < 0.5:
            self._commit_async()
        self.call("unsubscribe", self.consumer.unsubscribe)
        self.next.clear()
        self.subscribe()
        self.poll(self._changes_of_mind.choice(TIMEOUTS_MS))

    def _assign_otherwise(self) -> None:
        self.topics = self.rng.choice((EVERYTHING, ("t",)))
        self.assign()

    # --- calm -------------------------------------------------------------------------------------------------------

    def settle(self) -> None:
        """Want everything, from here on."""
        paused = self.consumer.paused
        if paused:
            self.call("resume", lambda: self.consumer.resume(paused), value=paused)
        if self.topics != EVERYTHING or not self.plan.is_member:
            self.topics = EVERYTHING
            if self.plan.is_member:
                self.subscribe()
            else:
                wanted = self.world.partitions()
                self.call("assign", lambda: self.consumer.assign(wanted), value=wanted)

    def calm_step(self) -> None:
        self.poll(CALM_POLL_MS)
        for tp in self.owned:
            if self.next.get(tp, 0) != self.world.end(tp):  # it may have begun at the end, or been moved there
                self._ask_position(tp, CALM_POLL_MS)
        if self.group and self.rng.random() < 0.1:
            self.call("commit_sync", lambda: self.consumer.commit_sync(None, 10), 10_000)

    def has_arrived(self) -> bool:
        """Return whether all owned partitions are read to the end."""
        return all(self.next.get(tp, 0) == self.world.end(tp) for tp in self.owned)

    # --- the end ----------------------------------------------------------------------------------------------------

    def close(self, timeout_ms: int) -> None:
        if self.world.phase is Phase.CHAOS and self.rng.random() < 0.2:
            on_close: Any = self.rng.choice(["leave", "remain"])
        else:
            on_close = None
        self.call(
            "close",
            lambda: self.consumer.close(timeout_ms / 1000, on_close),
            timeout_ms,
            outcome=lambda result: result._asdict(),
        )
        self.world.gone(self.proc)

    def fail(self) -> None:
        """Leave `with` by an exception."""

        def leave() -> CloseResult:
            self.consumer.__exit__(ValueError, None, None)
            return self.consumer.close()

        self.call("close", leave, CLOSE_MS, outcome=lambda result: result._asdict())
        self.world.gone(self.proc)

    def exit(self) -> None:
        """End as a program does that does not close: its network thread is waited for."""
        loop = self.consumer._side.open_loop
        self.call("exit", lambda: at_exit.finish([loop]), at_exit.LIMIT_MS, outcome=len)
        self.world.gone(self.proc)

    def crash(self) -> None:
        """End as a process does that is killed: its sockets are closed, nobody is told."""
        self.world.history.event(self.proc, "crash")
        self.consumer._side.mailbox.post_close(CloseRequest(0))
        self.world.gone(self.proc)


def _plain(offsets: dict[TopicPartition, int] | None) -> list[Any] | None:
    return None if offsets is None else [[tp, offset] for tp, offset in offsets.items()]
