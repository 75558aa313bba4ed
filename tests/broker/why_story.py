"""Looks of `kctl why` at real Kafka within the test's own process: before something happens, and after it."""

import shlex
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from kctl.client.admin import Admin
from kctl.client.clock import SystemClock, Timer
from kctl.client.cluster import TopicPartition
from kctl.client.consumer.consumer import Consumer, ConsumerRecord
from kctl.client.errors import CorruptBatchError
from kctl.client.network.selector import Selector
from kctl.client.network.system import system_runtime
from kctl.client.producer import Producer
from kctl.client.runtime import Address, Runtime, SocketOptions
from kctl.why import Finding, Gatherer, Looks, Scope, Selection, Throttles, diagnose, take_looks
from tests.cli.processes import kctl
from tests.support.bounds import bound
from tests.support.kafka.cluster import KafkaCluster
from tests.support.kafka.waiting import wait_until

TIMEOUT_MS = 40_000
NOTICED_MS = bound(60_000)
CLUSTER = Selection(topics=None, has_brokers=True)


class ShiftedClock(SystemClock):
    """The system's clock with another date."""

    __slots__ = ("_ahead_ms",)

    def __init__(self, ahead_ms: int) -> None:
        self._ahead_ms = ahead_ms

    def wall_ms(self) -> int:
        return super().wall_ms() + self._ahead_ms


def redirected(to: Mapping[Address, Address]) -> Runtime:
    """Return the runtime of a client that reaches others than it dials, as behind a port forward."""

    class Elsewhere(Selector):
        def connect(self, channel: int, address: Address) -> None:
            super().connect(channel, to.get(address, address))

    def make(options: SocketOptions) -> Selector:
        return Elsewhere(options)

    return system_runtime()._replace(make_selector=make)


class KafkaStory:
    """An admin client of a real cluster, and looks by it.

    Args: runtime: of its client and of its looks. properties: of the admin client.
    Attributes: ahead_ms: how far the clock is ahead by which the looks are dated.
    """

    def __init__(self, kafka: KafkaCluster, runtime: Runtime | None = None, /, **properties: str) -> None:
        self.kafka = kafka
        self._runtime = runtime or system_runtime()
        self.ahead_ms = 0
        self._throttles = Throttles()
        config = {"bootstrap.servers": kafka.bootstrap(), **{k.replace("_", "."): v for k, v in properties.items()}}
        self.admin = Admin(config, self._runtime, events=self._throttles.take)

    def __enter__(self) -> "KafkaStory":
        return self

    def __exit__(self, *_error: object) -> None:
        self.admin.close()

    def produce(
        self, topic: str, count: int, partition: int = 0, timestamp_ms: int | None = None, value: bytes = b"x"
    ) -> None:
        """Append records."""
        with Producer({"bootstrap.servers": self.kafka.bootstrap()}) as producer:
            for _ in range(count):
                producer.send(topic, value, partition=partition, timestamp_ms=timestamp_ms)

    def commit(self, group: str, topic: str, offset: int, partition: int = 0) -> None:
        """Commit an offset for a group without members."""
        self.admin.alter_group_offsets(group, {TopicPartition(topic, partition): offset}).raise_first()

    def member(self, group: str, topic: str, **properties: object) -> Consumer:
        """Return a member of a group that is not polled yet."""
        config = {"auto.offset.reset": "earliest", "enable.auto.commit": False, "client.id": "app"}
        given = {name.replace("_", "."): value for name, value in properties.items()}
        consumer = Consumer({"bootstrap.servers": self.kafka.bootstrap(), "group.id": group, **config, **given})
        consumer.subscribe([topic])
        return consumer

    def look(
        self,
        selection: Selection,
        scopes: tuple[Scope, ...],
        meanwhile: Callable[[], None] | None = None,
        glimpses: int = 0,
    ) -> dict[str, Finding]:
        """Return the findings by id: of one look, or of two with something between them; see `looks`."""
        looks = self.looks(selection, meanwhile, glimpses)
        return {each.id: each for each in diagnose(looks, scopes).findings}

    def looks(self, selection: Selection, meanwhile: Callable[[], None] | None = None, glimpses: int = 0) -> Looks:
        """Return one look, or two with something between them.

        Args: glimpses: what is between the looks is done that often, with a glimpse after each time; 0: once, without.
        """
        runtime = self._runtime._replace(clock=ShiftedClock(self.ahead_ms))
        timer = Timer(runtime.clock, TIMEOUT_MS)
        selection = selection._replace(is_compared=meanwhile is not None)
        with self.admin.within(TIMEOUT_MS / 1000), self.admin.request_budget(1_000):
            if meanwhile is None:
                return take_looks(self.admin, runtime, timer, selection, 0, self._throttles)
            gatherer = Gatherer(self.admin, runtime, timer, selection, self._throttles)
            first = gatherer.look()
            between = gatherer.glimpses(first, 0)
            for number in range(max(1, glimpses)):
                meanwhile()
                if number < glimpses:
                    between.take(timer.deadline_at_ms)
            return Looks(gatherer.look(first), first, tuple(between.taken))

    def group(self, name: str, meanwhile: Callable[[], None] | None = None, glimpses: int = 0) -> dict[str, Finding]:
        """Return what is wrong with a group."""
        return self.look(Selection(groups=(name,)), (Scope.GROUP,), meanwhile, glimpses)

    def topic(self, name: str, meanwhile: Callable[[], None] | None = None) -> dict[str, Finding]:
        """Return what is wrong with a topic."""
        return self.look(Selection(topics=(name,)), (Scope.TOPIC,), meanwhile)

    def cluster(self, meanwhile: Callable[[], None] | None = None, glimpses: int = 0) -> dict[str, Finding]:
        """Return what is wrong with the cluster."""
        return self.look(CLUSTER, (Scope.CLUSTER,), meanwhile, glimpses)

    def cure(self, command: str) -> None:
        """Run the command that a finding names, without an instruction before it."""
        ended = kctl(*shlex.split(command.partition("kctl ")[2]), "-b", self.kafka.bootstrap())
        assert ended.code == 0, ended

    def until(self, look: Callable[[], dict[str, Finding]], finding: str, *, is_gone: bool = False) -> Finding | None:
        """Look until a finding is there, or is gone, and return it."""
        seen: list[Finding | None] = []

        def is_as_expected() -> bool:
            seen.append(look().get(finding))
            return (seen[-1] is None) is is_gone

        wait_until(is_as_expected, NOTICED_MS, f"{finding} {'to go' if is_gone else 'to be found'}")
        return seen[-1]


@contextmanager
def polled(
    *members: Consumer,
    take: Callable[[Consumer, Sequence[ConsumerRecord]], None] = lambda _member, _records: None,
    gets_share: bool = True,
) -> Iterator[None]:
    """Poll members in threads of their own until the end, then close them; they have their shares when it begins.

    Args:
        take: gets what a member has read. A record that cannot be read is polled for again.
        gets_share: False where there are no partitions left, so that there is nothing to wait for.
    """
    stopped, have_shares = threading.Event(), [threading.Event() for _ in members]

    def run(member: Consumer, has_share: threading.Event) -> None:
        with member:
            while not stopped.is_set():
                try:
                    take(member, member.poll(timeout=0.1))
                except CorruptBatchError:
                    stopped.wait(0.05)
                if member.assignment:
                    has_share.set()

    threads = [
        threading.Thread(target=run, args=(member, has_share))
        for member, has_share in zip(members, have_shares, strict=True)
    ]
    for thread in threads:
        thread.start()
    try:
        assert not gets_share or all(has_share.wait(NOTICED_MS / 1000) for has_share in have_shares)
        yield
    finally:
        stopped.set()
        for thread in threads:
            thread.join()
