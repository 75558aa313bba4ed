"""Lives of an application: it creates a consumer, uses it, closes it, and creates the next one. Another application
writes.
"""

from tests.sim.chaos.actors import CLOSE_MS, Life
from tests.sim.chaos.chaos_cluster import Phase
from tests.sim.chaos.consumer_cluster import ConsumerCluster
from tests.sim.chaos.plan import ClientPlan

FAILING = 0.2
"""Share of consumers that leave their `with` block with an exception."""
EXITING = 0.2
"""The part of ends, of those that are left, that are the end of a program without close()."""


class Actor:
    """One application: lives until the run is over."""

    def __init__(self, world: ConsumerCluster, plan: ClientPlan) -> None:
        self.world = world
        self.plan = plan
        self.rng = world.hub.rng(f"lives.{plan.name}")
        self.life: Life | None = None
        self.is_to_bounce = False
        """Close the consumer and start the next one immediately."""
        self.is_settled = False
        """True after the application has seen the end of the faults."""
        self._lives = 0

    def __call__(self) -> None:
        while self.world.phase is not Phase.OVER:
            self._lives += 1
            self._live()

    def _live(self) -> None:
        world = self.world
        life = self.life = Life(world, self.plan, self._lives)
        end_ms = world.hub.now_ms + self.rng.randint(2000, 9000)
        while world.phase is Phase.CHAOS and not (self.plan.is_restless and world.hub.now_ms >= end_ms):
            life.step()
            if life.is_fenced:
                break
        if world.phase is Phase.CHAOS:
            self._end(life)
            return
        life.settle()
        self.is_settled = True
        while world.phase is not Phase.OVER and not self.is_to_bounce and not life.is_fenced:
            life.calm_step()
        life.close(CLOSE_MS)
        self.is_to_bounce = False

    def _end(self, life: Life) -> None:
        """Some are closed, with more or less time; some crash."""
        if self.rng.random() < 0.5:
            life.crash()
        elif life.manners.random() < FAILING:
            life.fail()
        elif life.manners.random() < EXITING:
            life.exit()
        else:
            life.close(self.rng.choice([0, 1, 500, 5000, CLOSE_MS]))
        self.life = None
        self.world.sleep_ms(self.rng.randint(1, 3000))


def write_steadily(world: ConsumerCluster) -> None:
    """Append batches to random partitions until the end, more slowly once it is calm."""
    rng = world.hub.rng("writer")
    while world.phase in (Phase.CHAOS, Phase.HEAL):
        there = world.partitions()
        if world.phase is Phase.CHAOS and there:
            world.write(rng.choice(there), rng.randint(1, 20))
        world.sleep_ms(rng.randint(20, 600))
