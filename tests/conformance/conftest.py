"""Brokers that only tests of this tier want."""

from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from tests.support.kafka.cluster import KafkaCluster
from tests.support.kafka.requirements import have
from tests.support.kafka.toolchain import NEWEST_KAFKA


@pytest.fixture(scope="session")
def kafka_that_assigns_at_once() -> Iterator[KafkaCluster]:
    """A broker that assigns at once: by default it gathers changes of a second and computes beside the heartbeats.

    Groups change protocols both ways, which is Kafka's own default.
    """
    properties = {
        "group.consumer.assignment.interval.ms": "0",
        "group.consumer.assignor.offload.enable": "false",
        "group.consumer.session.timeout.ms": "45000",  # this and the next are Kafka's own defaults
        "group.consumer.heartbeat.interval.ms": "5000",
    }
    with ExitStack() as stack:
        yield have(lambda: stack.enter_context(KafkaCluster(NEWEST_KAFKA, 1, properties)))
