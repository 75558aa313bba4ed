"""Groups that rebalance all the time, seen between two looks; and groups that rebalance once."""

from collections.abc import Callable

from kctl.client.clock import Timer
from kctl.why import Finding, Looks, Scope, Selection, diagnose, take_looks
from tests.sim.kit import SimCluster, settle
from tests.sim.why.story import APART_MS, Story, run_story

BUDGET = 200


def watched(story: Story, budget: int = BUDGET) -> Looks:
    """Return two looks at the group g, with the glimpses between them."""
    sim = story.sim
    with story.admin.within(40), story.admin.request_budget(budget):
        return take_looks(story.admin, sim.runtime, Timer(sim.clock, 40_000), Selection(groups=("g",)), APART_MS)


def storm_in(looks: Looks) -> Finding | None:
    found = {each.id: each for each in diagnose(looks, (Scope.GROUP,)).findings}
    return found.get("rebalance-storm")


def beside(story: Story, actor: Callable[[SimCluster], None]) -> Looks:
    """Return the looks at a group with one permanent member while an actor acts on it."""
    sim = story.sim
    member = story.enter(sim.classic_member("g"))
    settle(member)
    actors = ["lasting", "actor"]
    looks: list[Looks] = []

    def poll() -> None:
        while not looks:
            member.poll(0.2)
        actors.remove("lasting")

    def act() -> None:
        actor(sim)
        actors.remove("actor")

    sim.hub.spawn("lasting", poll)
    sim.hub.spawn("actor", act)
    looks.append(watched(story))
    waiter = sim.runtime.driver.waiter()
    while actors:
        sim.runtime.driver.wait(waiter, sim.clock.now_ms() + 100)
    return looks[0]


def test_member_that_restarts_all_the_time_is_a_storm_with_its_cause() -> None:
    def restart(sim: SimCluster) -> None:
        for _ in range(7):
            with sim.classic_member("g", client_id="flapping") as consumer:
                for _ in range(6):
                    consumer.poll(0.3)

    def body(story: Story) -> None:
        found = storm_in(beside(story, restart))
        assert found is not None
        assert found.sentence.startswith("g keeps rebalancing: the group rebalanced at least ")
        assert ". Members with new IDs: flapping (" in found.sentence
        assert found.sentence.endswith(
            ". Members leave and rejoin with new IDs because processes restart or exceed max.poll.interval.ms between "
            "calls to poll()"
        )

    run_story(body)


def test_member_that_restarts_once_is_no_storm() -> None:
    def restart(sim: SimCluster) -> None:
        for _ in range(2):
            with sim.classic_member("g", client_id="deployed") as consumer:
                for _ in range(25):
                    consumer.poll(0.3)

    def body(story: Story) -> None:
        looks = beside(story, restart)
        assert len(looks.between) >= 5
        assert storm_in(looks) is None

    run_story(body)


def test_glimpses_leave_two_thirds_of_the_budget() -> None:
    def body(story: Story) -> None:
        settle(story.enter(story.sim.classic_member("g")))
        looks = watched(story, budget=80)
        assert 1 <= len(looks.between) < 6
        assert looks.now.gaps == ()

    run_story(body)


def test_glimpses_are_only_of_groups_with_members() -> None:
    def body(story: Story) -> None:
        story.sim.commit("g", {("t", 0): 0})
        assert watched(story).between == ()

    run_story(body)
