"""Dynamic configs of a shared broker: set for a test, and unset after it."""

from collections.abc import Iterator
from contextlib import contextmanager

from kctl.client.admin import Admin, ConfigResource, ResourceType
from tests.support.bounds import bound
from tests.support.kafka.cluster import KafkaCluster
from tests.support.kafka.waiting import wait_until

CHANGE_MS = bound(30_000)


@contextmanager
def broker_default(kafka: KafkaCluster, name: str, value: str) -> Iterator[None]:
    """Set a default of the brokers of a cluster with one node while the body runs."""
    defaults, broker = ConfigResource(ResourceType.BROKER, ""), ConfigResource(ResourceType.BROKER, "1")

    with Admin({"bootstrap.servers": kafka.bootstrap()}) as admin:

        def change(to: str | None) -> None:
            """Return when the broker has it: the controller responds before the broker reads the change."""
            before = admin.describe_configs([broker])[broker][name].value
            admin.alter_configs({defaults: {name: to}}).raise_first()
            wait_until(
                lambda: admin.describe_configs([broker])[broker][name].value != before, CHANGE_MS, f"{name}={to}"
            )

        change(value)
        try:
            yield
        finally:
            change(None)
