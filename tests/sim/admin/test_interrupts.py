"""Ctrl-C at points all over admin calls: the client stays usable, and closes every connection."""

from collections.abc import Callable

import pytest

from kctl.client.admin import LATEST, Admin, NewTopic
from kctl.client.cluster import TopicPartition
from tests.sim.interrupts import Interrupted, some_boundaries
from tests.sim.kit import SimCluster
from tests.sim.virtual import Hub

CALLS: dict[str, Callable[[Admin], object]] = {
    "topics": lambda admin: admin.describe_topics(["t", "u"]),
    "creation": lambda admin: admin.create_topics([NewTopic("new", 1)]),
    "leaders": lambda admin: admin.list_offsets({TopicPartition("t", p): LATEST for p in range(4)}),
    "brokers": lambda admin: admin.list_groups(),
    "coordinator": lambda admin: admin.list_group_offsets("g"),
}


@pytest.mark.parametrize(
    "name", ["leaders", *(pytest.param(name, marks=pytest.mark.slow) for name in CALLS if name != "leaders")]
)
def test_interrupted_call_leaves_a_usable_client_that_closes_every_connection(name: str) -> None:
    call = CALLS[name]

    def scene(interrupted: Interrupted) -> None:
        with Hub(seed=3) as hub:
            cluster = SimCluster(hub, topics={"t": 4, "u": 2})

            def app() -> None:
                with cluster.admin() as admin:
                    interrupted(lambda: call(admin))
                    assert admin.list_topics(timeout=5)
                    call(admin)

            cluster.run(app)

    assert some_boundaries(scene, points=12) > 10
