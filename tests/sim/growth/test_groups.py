"""Growth of the cost of a group with its members: until each member has its partitions."""

import pytest

from tests.sim.growth.command_table import EACH
from tests.sim.kit import SimCluster
from tests.sim.virtual import Hub
from tests.support.growth import Cost, cost_of, exponents_of, wrong_exponents

SIZE = 5
PARTITIONS = 40
"""Regardless of the members: each of them requests the metadata of all partitions."""
POLL_S = 0.1


def cost_of_group(protocol: str, members: int) -> Cost:
    """Return the cost of all members until each has partitions and no partition is left."""
    with Hub(seed=3) as hub:
        cluster = SimCluster(hub, topics={"t": PARTITIONS})
        join = cluster.classic_member if protocol == "classic" else cluster.kip_848_member

        def app() -> Cost:
            consumers = [cluster.enter(join("g")) for _ in range(members)]

            def settle() -> None:
                shares = [0]
                while sum(shares) < PARTITIONS or not all(shares):
                    consumers[0].poll(POLL_S)
                    for consumer in consumers[1:]:
                        consumer.poll(0)
                    shares = [len(consumer.assignment) for consumer in consumers]

            return cost_of(cluster.network, settle)

        return cluster.run(app)


@pytest.mark.slow
@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_cost_of_group_grows_with_its_members(protocol: str) -> None:
    cost_of_group(protocol, SIZE)  # imports and caches
    costs = [cost_of_group(protocol, SIZE * factor) for factor in (1, 2, 4)]
    assert wrong_exponents(exponents_of(costs), EACH) == {}, costs
