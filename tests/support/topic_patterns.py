"""Topics that share a prefix, and steps of jobs that continue, for tests of patterns."""

from collections.abc import Callable, Mapping
from uuid import uuid4

from kctl.client.admin import Admin, NewTopic
from kctl.pipeline.running import JobProgress
from tests.pipeline.exports import Row, on_topic, produce


class Ended(BaseException):
    """The end of a job that would continue until Ctrl-C; no error, as KeyboardInterrupt."""


class Steps:
    """Progress of a job that continues: each call with the phase `waiting for records` is the next step."""

    def __init__(self, *steps: Callable[[], None]) -> None:
        self._left = [*steps, self._end]

    def __call__(self, progress: JobProgress) -> None:
        if progress.phase == "waiting for records":
            self._left.pop(0)()

    @staticmethod
    def _end() -> None:
        raise Ended


class Topics:
    """Topics of one cluster whose names share a prefix. Attributes: pattern: pattern of all of them."""

    def __init__(self, bootstrap: str) -> None:
        self._bootstrap = bootstrap
        self._prefix = f"p{uuid4().hex[:10]}"
        self.pattern = f"{self._prefix}-.*"
        self.properties: dict[str, object] = {
            "bootstrap.servers": bootstrap,
            "default.api.timeout.ms": "60000",
            "max.block.ms": "60000",
        }

    def name(self, name: str) -> str:
        return f"{self._prefix}-{name}"

    def add(self, name: str, records: int, configs: Mapping[str, str] | None = None) -> None:
        """Create a topic with two partitions, and fill it."""
        with Admin(self.properties) as admin:
            admin.create_topics([NewTopic(self.name(name), 2, configs=dict(configs or {}))]).raise_first()
            admin.wait_for_topics([self.name(name)])
        if records:
            self.produce(name, records)

    def grow(self, name: str, partitions: int) -> None:
        with Admin(self.properties) as admin:
            admin.create_partitions({self.name(name): partitions}).raise_first()

    def produce(self, name: str, records: int, first: int = 0, partitions: int = 2) -> None:
        produce(self._bootstrap, self.name(name), records, partitions=partitions, first=first)

    def delete(self, name: str) -> None:
        with Admin(self.properties) as admin:
            admin.delete_topics([self.name(name)]).raise_first()

    def rows(self, *names: str) -> list[Row]:
        """Return the records of topics, by topic, partition, and offset."""
        return [
            row for name in sorted(names) for row in on_topic({"bootstrap.servers": self._bootstrap}, self.name(name))
        ]
