"""Targets of the soaks, by kind: how they are written, the number of the newest commit, what a foreign reader finds."""

import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow.dataset as ds

from tests.pipeline.exports import Row, on_topic, produce, rows_of
from tests.support.kafka.cluster import KafkaCluster
from tests.support.s3.server import RESPONDS_WITHIN_S, S3Server

COMMIT = re.compile(r"(?:\d+-)?(\d+)\.json|(\d+)-[^/]*\.metadata\.json")
"""Names with the number of a commit: manifests, which merges replace by fewer, logs of Delta, metadata of Iceberg."""
PARTITIONS = 3


class Source:
    """A topic to which a test produces while jobs copy it."""

    def __init__(self, kafka: KafkaCluster, records: int) -> None:
        self.topic = kafka.create_topic(partitions=PARTITIONS)
        self.produced = 0
        self._kafka = kafka
        self._records = records

    def produce_more(self) -> None:
        """Produce as many records again."""
        produce(self._kafka.bootstrap(), self.topic, self._records, partitions=PARTITIONS, first=self.produced)
        self.produced += self._records

    def assert_copied_once(self, there: list[Row]) -> None:
        """Assert that a target has all that was produced, each record once."""
        wanted = on_topic(self._kafka.client_properties(), self.topic)
        assert len(wanted) == self.produced
        assert there == wanted


class Lake(NamedTuple):
    """A target: as it is written, the number of its newest commit, and what a foreign reader finds in it."""

    text: str
    newest_commit: Callable[[], int]
    rows: Callable[[], list[Row]]


def lake(kind: str, name: str, topic: str, store: S3Server, folder: Path) -> Lake:
    def newest_below(prefix: str) -> Callable[[], int]:
        return lambda: newest_commit(store.keys(prefix))

    if kind == "folder":
        manifests = folder / "_manifest"
        return Lake(
            str(folder),
            lambda: newest_commit(path.name for path in manifests.glob("*.json")),
            lambda: _sorted(folder / topic),
        )
    if kind in ("s3", "gs"):
        return Lake(
            f"{kind}://kafka/{name}",
            newest_below(f"{name}/_manifest"),
            lambda: _sorted(f"kafka/{name}/{topic}", store.files()),
        )
    if kind == "delta":
        return Lake(f"delta:s3://kafka/{name}", newest_below(f"{name}/_delta_log"), lambda: _sorted_table(_delta(name)))
    return Lake(
        f"iceberg:lake.db.{name}",
        newest_below(f"warehouse/db/{name}/metadata"),
        lambda: _sorted_table(_iceberg(f"db.{name}")),
    )


def newest_commit(names: Iterable[str]) -> int:
    """Return the largest number of a commit in names of files; -1 if no name has one."""
    found = filter(None, map(COMMIT.fullmatch, names))
    return max((int(name[1] or name[2]) for name in found), default=-1)


def _delta(name: str) -> Any:
    import deltalake

    return deltalake.DeltaTable(
        f"s3://kafka/{name}", storage_options={"allow_http": "true", "timeout": f"{RESPONDS_WITHIN_S}s"}
    ).to_pyarrow_table()


def _iceberg(identifier: str) -> Any:
    import pyiceberg.catalog
    from pyiceberg.utils.config import Config

    pyiceberg.catalog._ENV_CONFIG = Config()
    timeouts = {f"s3.{name}-timeout": str(RESPONDS_WITHIN_S) for name in ("connect", "request")}
    return pyiceberg.catalog.load_catalog("lake", **timeouts).load_table(identifier).scan().to_arrow()


def _sorted(path: object, system: object = None) -> list[Row]:
    return _sorted_table(ds.dataset(path, format="parquet", filesystem=system).to_table())


def _sorted_table(table: Any) -> list[Row]:
    return sorted((row for batch in table.to_batches() for row in rows_of(batch)), key=lambda row: row[:3])
