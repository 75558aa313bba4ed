"""kctl itself as one of the clients, so that it takes part in every exchange with the foreign ones."""

from collections.abc import Mapping, Sequence

from kctl.client import Admin, Consumer, Producer, TopicPartition
from tests.conformance.foreign.client import DEADLINE_S, Isolation, checked_count
from tests.conformance.foreign.record import ForeignRecord


class KctlClient:
    """`ForeignClient` on kctl's library."""

    name = "kctl"
    codecs = ("none", "gzip", "snappy", "lz4", "zstd")
    sends_null_headers = True

    def require(self) -> None:
        """See `ForeignClient`."""

    def produce(
        self,
        bootstrap: str,
        topic: str,
        records: Sequence[ForeignRecord],
        codec: str = "none",
        properties: Mapping[str, str] | None = None,
        deadline_s: float = DEADLINE_S,
    ) -> None:
        """See `ForeignClient`."""
        settings = {"bootstrap.servers": bootstrap, "compression.type": codec, "linger.ms": "20", **(properties or {})}
        with Producer({"max.request.size": "2097152", **settings}) as producer:
            futures = [
                producer.send(
                    topic,
                    value=record.value,
                    key=record.key,
                    partition=record.partition,
                    headers=list(record.headers),
                    timestamp_ms=record.timestamp_ms,
                )
                for record in records
            ]
            producer.flush(timeout=deadline_s)
            for future in futures:
                future.result(0)

    def consume(
        self,
        bootstrap: str,
        topic: str,
        count: int,
        isolation: Isolation = "read_uncommitted",
        properties: Mapping[str, str] | None = None,
        deadline_s: float = DEADLINE_S,
    ) -> list[ForeignRecord]:
        """See `ForeignClient`."""
        settings = {"bootstrap.servers": bootstrap, "isolation.level": isolation, **(properties or {})}
        found = []
        with Consumer({"auto.offset.reset": "earliest", **settings}) as consumer:
            assigned = [TopicPartition(topic, p.partition) for p in consumer.partitions_for(topic, timeout=deadline_s)]
            ends = consumer.end_offsets(assigned, timeout=deadline_s)
            consumer.assign(assigned)
            while any(consumer.position(tp, timeout=deadline_s) < ends[tp] for tp in assigned):
                for record in consumer.poll(timeout=1):
                    found.append(
                        ForeignRecord(
                            record.value,
                            record.key,
                            tuple((header[0], header[1]) for header in record.headers),
                            partition=record.partition,
                            offset=record.offset,
                            timestamp_ms=record.timestamp_ms,
                        )
                    )
        return checked_count(self.name, found, count)

    def list_topics(
        self, bootstrap: str, properties: Mapping[str, str] | None = None, deadline_s: float = DEADLINE_S
    ) -> list[str]:
        """See `ForeignClient`."""
        with Admin({"bootstrap.servers": bootstrap, **(properties or {})}) as admin:
            return sorted(admin.list_topics(timeout=deadline_s))


KCTL = KctlClient()
