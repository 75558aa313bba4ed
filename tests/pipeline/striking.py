"""Faults in the middle of a job: brokers that slow users down, an act at a given progress, topics that take a while."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

from kctl.client.admin import Admin
from kctl.client.producer import Producer
from kctl.pipeline.jobs.mirror_positions import POSITIONS_TOPIC
from kctl.pipeline.running import JobProgress
from tests.support.kafka.cluster import KafkaCluster

CONFIGS = "kafka.admin.ConfigCommand"
SLOW_RECORDS = 900
VALUE_BYTES = 20_000
"""18 MB in all; a task gives out 4 MiB at a time."""
FETCH_BYTES = 200_000
QUOTA_BYTES = 400_000
"""A second; ten seconds of it are let through at once."""
ANONYMOUS = "ANONYMOUS"


class Strike:
    """Does something once when a job is so far."""

    def __init__(self, is_so_far: Callable[[JobProgress], bool], act: Callable[[], None]) -> None:
        self._is_so_far = is_so_far
        self._act = act
        self.struck_at: JobProgress | None = None

    def __call__(self, progress: JobProgress) -> None:
        if self.struck_at is None and self._is_so_far(progress):
            self.struck_at = progress
            self._act()


@contextmanager
def byte_quota(kafka: KafkaCluster, user: str, bytes_per_s: int) -> Iterator[Callable[[], None]]:
    """Have brokers slow a user down in each direction while the context lasts, or until what it yields is called."""

    def alter(how: str, config: str) -> None:
        entity = ("--entity-type", "users", "--entity-name", user)
        kafka.run_tool(CONFIGS, "--bootstrap-server", kafka.bootstrap(), "--alter", *entity, how, config)

    with ExitStack() as lasting:
        alter("--add-config", f"consumer_byte_rate={bytes_per_s},producer_byte_rate={bytes_per_s}")
        lasting.callback(alter, "--delete-config", "consumer_byte_rate,producer_byte_rate")
        yield lasting.close


def replicate_positions(kafka: KafkaCluster) -> None:
    """Have the topic of mirror's positions on three nodes, so that one of them may be killed."""
    with Admin(kafka.client_properties()) as admin:
        is_there = POSITIONS_TOPIC in admin.list_topics()
    if not is_there:
        kafka.create_topic(POSITIONS_TOPIC, replication=3, configs={"cleanup.policy": "compact"})


def slow_topic(kafka: KafkaCluster) -> str:
    """Return the name of a fresh topic of one partition on three nodes, which takes half a minute under QUOTA_BYTES."""
    topic = kafka.create_topic(partitions=1, replication=3)
    with Producer(kafka.client_properties()) as producer:
        for number in range(SLOW_RECORDS):
            producer.send(topic, b"%d " % number + bytes(VALUE_BYTES))
    return topic
