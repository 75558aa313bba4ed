"""Objects of a program that handles the error of a record are freed after their last use."""

import gc
import weakref
from collections.abc import Callable

import pytest

from kctl.client.broker_errors import ErrorCode
from kctl.client.errors import KafkaError
from kctl.client.producer import Producer
from tests.sim.kit import SimCluster, run


class Owner:
    """Keeps the error of a record, and its method is the callback of every record."""

    def __init__(self, cluster: SimCluster, fail: "Callable[[Owner], None]") -> None:
        self.cluster = cluster
        self.error: KafkaError | None = None
        with cluster.producer({"max.block.ms": 1000, "buffer.memory": 40_000}) as producer:
            self.producer: Producer | None = producer
            try:
                fail(self)
            except KafkaError as error:
                self.error = error
            producer.close(0)
        self.producer = None

    def send(self, topic: str = "t", value: bytes = b"a") -> None:
        assert self.producer is not None
        future = self.producer.send(topic, value, callback=self.on_done)
        future.result()

    def on_done(self, _future: object) -> None: ...


def refused(owner: Owner) -> None:
    owner.cluster.sandbox.fail_requests("Produce", ErrorCode.TOPIC_AUTHORIZATION_FAILED, times=1)
    owner.send()


def closed(owner: Owner) -> None:
    assert owner.producer is not None
    future = owner.producer.send("t", b"a", callback=owner.on_done)
    owner.producer.close(0)
    future.result()


def unknown(owner: Owner) -> None:
    owner.send("no topic!")


def without_memory(owner: Owner) -> None:
    assert owner.producer is not None
    owner.cluster.sandbox.fail_requests("Produce", ErrorCode.NOT_LEADER_OR_FOLLOWER, times=1000)
    for _ in range(9):
        owner.producer.send("t", bytes(9000), callback=owner.on_done)


@pytest.mark.parametrize("fail", [refused, closed, unknown, without_memory])
def test_owner_of_a_failed_record_is_freed(fail: Callable[[Owner], None]) -> None:
    def app(cluster: SimCluster) -> None:
        owner = Owner(cluster, fail)
        assert owner.error is not None
        freed = weakref.ref(owner)
        del owner
        gc.collect()
        assert freed() is None

    run(app)
