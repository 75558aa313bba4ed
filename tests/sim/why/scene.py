"""Stories for `kctl why` in virtual time: a cluster with groups, one or two looks, and what they found."""

from collections.abc import Callable, Mapping
from contextlib import ExitStack

from kctl.client.admin import Admin
from kctl.client.clock import Timer
from kctl.client.consumer.consumer import Consumer
from kctl.why import Diagnosis, Finding, Gatherer, Looks, Scope, Selection, diagnose, take_looks
from tests.sim.admin.group_world import GroupWorld, with_groups

BUDGET = 200
TIMEOUT_MS = 30_000
APART_MS = 10_000


class Scene:
    """A world, an admin client, and looks by it."""

    def __init__(self, world: GroupWorld, admin: Admin, stack: ExitStack) -> None:
        self.world = world
        self.admin = admin
        self.stack = stack
        self._between: Callable[[], None] | None = None

    def enter(self, consumer: Consumer) -> Consumer:
        """Return a consumer that is closed at the end of the story."""
        return self.stack.enter_context(consumer)

    def produce(self, count: int, topic: str = "t", partition: int = 0, *, size: int = 10) -> None:
        """Append records to a partition."""
        with self.world.producer() as producer:
            for _ in range(count):
                producer.send(topic, b"x" * size, partition=partition)

    def looks(
        self,
        selection: Selection,
        *,
        meanwhile: Callable[[], None] | None = None,
        budget: int = BUDGET,
        timeout_ms: int = TIMEOUT_MS,
    ) -> Looks:
        """Return one look; two that are 10 s apart where something happens between them."""
        timer = Timer(self.world.clock, timeout_ms)
        with self.admin.within(timeout_ms / 1000), self.admin.request_budget(budget):
            first = take_looks(self.admin, self.world.runtime, timer, selection, 0)
        if meanwhile is None:
            return first
        started_ms = self.world.clock.now_ms()
        meanwhile()
        runtime = self.world.runtime
        runtime.driver.wait(runtime.driver.waiter(), started_ms + APART_MS)
        timer = Timer(self.world.clock, timeout_ms)
        with self.admin.within(timeout_ms / 1000), self.admin.request_budget(budget):
            return Looks(Gatherer(self.admin, runtime, timer, selection).look(first.now), first.now)

    def group(self, name: str = "g", *, meanwhile: Callable[[], None] | None = None) -> dict[str, Finding]:
        """Return what is wrong with a group, by id."""
        return by_id(diagnose(self.looks(Selection(groups=(name,)), meanwhile=meanwhile), (Scope.GROUP,)))

    def topic(self, name: str = "t", *, meanwhile: Callable[[], None] | None = None) -> dict[str, Finding]:
        """Return what is wrong with a topic, by id."""
        return by_id(diagnose(self.looks(Selection(topics=(name,)), meanwhile=meanwhile), (Scope.TOPIC,)))

    def cluster(self, *, meanwhile: Callable[[], None] | None = None) -> dict[str, Finding]:
        """Return what is wrong with the cluster, by id."""
        selection = Selection(topics=None, has_brokers=True)
        return by_id(diagnose(self.looks(selection, meanwhile=meanwhile), (Scope.CLUSTER,)))


def by_id(diagnosis: Diagnosis) -> dict[str, Finding]:
    """Return the findings by id, after a look without gaps."""
    assert diagnosis.unchecked == ()
    return {finding.id: finding for finding in diagnosis.findings}


def with_scene(
    story: Callable[[Scene], None], *, topics: Mapping[str, int] | None = None, **properties: object
) -> None:
    """Run a story."""
    with_groups(lambda world, admin, stack: story(Scene(world, admin, stack)), topics=topics, **properties)
