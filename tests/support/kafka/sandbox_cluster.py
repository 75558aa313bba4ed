"""SandboxCluster: the sandbox in the place of a KafkaCluster, for tests that run the same steps on both."""

from collections.abc import Mapping
from itertools import count

from kctl.testing import KafkaSandbox
from tests.support.kafka.cluster import KafkaCluster
from tests.support.kafka.toolchain import NEWEST_KAFKA, kafka_class_path

_numbers = count(1)


class SandboxCluster(KafkaCluster):
    """Has `bootstrap`, `create_topic` and `run_tool`; there are no nodes to stop."""

    def __init__(self, sandbox: KafkaSandbox) -> None:
        self._sandbox = sandbox
        self.class_path = kafka_class_path(NEWEST_KAFKA)

    def bootstrap(self, listener: str = "PLAINTEXT") -> str:
        return self._sandbox.bootstrap_servers

    def create_topic(
        self,
        name: str | None = None,
        partitions: int = 1,
        replication: int | None = None,
        configs: Mapping[str, str] | None = None,
    ) -> str:
        name = name or f"topic-{next(_numbers)}"
        self._sandbox.create_topic(name, partitions, replication_factor=replication or 1, config=configs or {})
        return name
