"""Stories for `kctl why`: a simulated cluster with groups, one or two looks, and their findings."""

from collections.abc import Callable, Mapping

from kctl.client.admin import Admin
from kctl.client.clock import Timer
from kctl.client.consumer.consumer import Consumer
from kctl.sandbox import ClusterSettings
from kctl.why import Diagnosis, Finding, Gatherer, Looks, Scope, Selection, diagnose, take_looks
from tests.sim.kit import SimCluster, run_with_admin
from tests.support.finding_evidence import unseen

BUDGET = 200
TIMEOUT_MS = 30_000
APART_MS = 10_000


class Story:
    """A simulated cluster, an admin client, and looks by it."""

    def __init__(self, sim: SimCluster, admin: Admin) -> None:
        self.sim = sim
        self.admin = admin
        self.members: dict[str, Consumer] = {}
        self._between: Callable[[], None] | None = None

    def enter(self, consumer: Consumer) -> Consumer:
        """Return a consumer that is closed at the end of the story."""
        return self.sim.enter(consumer)

    def produce(self, count: int, topic: str = "t", partition: int = 0, *, size: int = 10) -> None:
        """Append records to a partition."""
        with self.sim.producer() as producer:
            for _ in range(count):
                producer.send(topic, b"x" * size, partition=partition)

    def looks(
        self,
        selection: Selection,
        *,
        meanwhile: Callable[[], None] | None = None,
        budget: int = BUDGET,
        timeout_ms: int = TIMEOUT_MS,
        apart_ms: int = APART_MS,
    ) -> Looks:
        """Return one look; two that are `apart_ms` apart where something happens between them."""
        selection = selection._replace(is_compared=meanwhile is not None)
        timer = Timer(self.sim.clock, timeout_ms)
        with self.admin.within(timeout_ms / 1000), self.admin.request_budget(budget):
            first = take_looks(self.admin, self.sim.runtime, timer, selection, 0)
        if meanwhile is None:
            return first
        started_ms = self.sim.clock.now_ms()
        meanwhile()
        runtime = self.sim.runtime
        runtime.driver.wait(runtime.driver.waiter(), started_ms + apart_ms)
        timer = Timer(self.sim.clock, timeout_ms)
        with self.admin.within(timeout_ms / 1000), self.admin.request_budget(budget):
            return Looks(Gatherer(self.admin, runtime, timer, selection).look(first.now), first.now)

    def group(
        self, name: str = "g", *, meanwhile: Callable[[], None] | None = None, apart_ms: int = APART_MS
    ) -> dict[str, Finding]:
        """Return what is wrong with a group, by id."""
        looks = self.looks(Selection(groups=(name,)), meanwhile=meanwhile, apart_ms=apart_ms)
        return by_id(diagnose(looks, (Scope.GROUP,)))

    def topic(self, name: str = "t", *, meanwhile: Callable[[], None] | None = None) -> dict[str, Finding]:
        """Return what is wrong with a topic, by id."""
        return by_id(diagnose(self.looks(Selection(topics=(name,)), meanwhile=meanwhile), (Scope.TOPIC,)))

    def cluster(self, *, meanwhile: Callable[[], None] | None = None) -> dict[str, Finding]:
        """Return what is wrong with the cluster, by id."""
        selection = Selection(topics=None, has_brokers=True)
        return by_id(diagnose(self.looks(selection, meanwhile=meanwhile), (Scope.CLUSTER,)))


def by_id(diagnosis: Diagnosis) -> dict[str, Finding]:
    """Return the findings by id, after a look without gaps. Their evidence must support their sentences."""
    assert diagnosis.unchecked == ()
    missing = [(each.sentence, names) for each in diagnosis.findings if (names := unseen(each))]
    assert missing == [], missing
    return {finding.id: finding for finding in diagnosis.findings}


def run_story(
    body: Callable[[Story], None],
    *,
    topics: Mapping[str, int] | None = None,
    settings: ClusterSettings | None = None,
) -> None:
    """Run a story on a cluster with these topics."""
    run_with_admin(lambda sim, admin: body(Story(sim, admin)), topics=topics, settings=settings)
