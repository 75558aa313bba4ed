"""In-process Kafka cluster with injected faults, and records for tests without a cluster.

    from kctl.testing import KafkaSandbox, record

    with KafkaSandbox(topics={"orders": 3}) as kafka:
        service = Service(kafka.bootstrap_servers)
        kafka.fail("Produce", "NOT_LEADER_OR_FOLLOWER", times(2))
        ...
        assert [r.value for r in kafka.records("orders")] == [b"2 apples"]

With pytest, the fixture `kafka` is a new cluster for each test.
"""

from kctl.sandbox.faults import Fault
from kctl.sandbox.triggers import Trigger
from kctl.testing.kafka_sandbox import KafkaSandbox
from kctl.testing.records import record
from kctl.testing.triggers import every, once, times

__all__ = ["Fault", "KafkaSandbox", "Trigger", "every", "once", "record", "times"]
