"""One frozen broker of three delays no call: requests for any broker are sent to another one."""

import pytest

from kctl.client.cluster import TopicPartition
from kctl.client.hedged_requests import SILENCE_MS
from kctl.sandbox import Fault
from tests.sim.kit import SimCluster
from tests.sim.virtual import Hub

SOON_MS = 50


@pytest.mark.parametrize("node_id", [1, 2, 3])
def test_a_call_is_answered_though_the_broker_asked_first_is_frozen(node_id: int) -> None:
    with Hub(seed=node_id) as hub:
        cluster = SimCluster(hub, nodes=3, topics={"t": 3})

        def use() -> None:
            consumer = cluster.consumer()
            consumer.list_topics()
            cluster.sandbox.start_fault(node_id, Fault.FREEZE)
            for _ in range(3):
                before_ms = hub.now_ms
                assert "t" in consumer.list_topics(timeout=5)
                assert hub.now_ms - before_ms <= SILENCE_MS + SOON_MS
                assert len(consumer.partitions_for("t", timeout=5)) == 3
            consumer.close()

        cluster.run(use)


@pytest.mark.parametrize("node_id", [1, 2, 3])
def test_a_leader_that_moves_is_found_though_any_one_broker_is_frozen(node_id: int) -> None:
    with Hub(seed=node_id) as hub:
        cluster = SimCluster(hub, nodes=3, topics={"t": 1})
        tp = TopicPartition("t", 0)

        def use() -> None:
            consumer = cluster.consumer()
            old, new = [each for each in (1, 2, 3) if each != node_id]
            cluster.sandbox.move_leader("t", 0, old)
            cluster.write(0, 1)
            consumer.assign([tp])
            consumer.seek(tp, 0)
            while not consumer.poll(0.1):
                pass
            cluster.sandbox.start_fault(node_id, Fault.FREEZE)
            cluster.sandbox.move_leader("t", 0, new)
            cluster.write(0, 1)
            before_ms = hub.now_ms
            while not consumer.poll(0.1):
                assert hub.now_ms - before_ms <= SILENCE_MS + 1000
            consumer.close()

        cluster.run(use)
