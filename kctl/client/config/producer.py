from typing import ClassVar

from kctl.client.config.common import ClientConfig
from kctl.client.config.property import INT_MAX, GzipLevel, Kind, Property, choice, duration, flag, optional_text, whole
from kctl.client.errors import ConfigError

COMPRESSIONS = ("none", "gzip", "snappy", "lz4", "zstd")
IDEMPOTENT_IN_FLIGHT = 5
"""Maximum number of batches in flight per partition that a broker can keep in order."""


class Acks(Kind[int]):
    """all (-1): acknowledged by every replica in sync; 1: by the leader; 0: by none."""

    WORDS = ("all", "1", "0")
    accepted = "one of all, -1, 0, 1"

    def read(self, raw: object) -> int:
        if isinstance(raw, str):
            raw = {"all": -1, "-1": -1, "0": 0, "1": 1}.get(raw.lower())
        if raw not in (-1, 0, 1) or not isinstance(raw, int) or isinstance(raw, bool):
            raise ValueError
        return raw

    def write(self, value: int) -> str:
        return "all" if value == -1 else str(value)


class ProducerConfig(ClientConfig):
    """Properties of a producer."""

    __slots__ = ()
    KIND: ClassVar[str] = "producer"
    INSTEAD: ClassVar[dict[str, str]] = {"default.api.timeout.ms": "producers use max.block.ms instead"}

    # --- acknowledgement --------------------------------------------------------------------------------------------
    acks = Property(
        "acks", Acks(), -1, "Acknowledgements that the leader needs before it confirms a record: all, 1, or 0."
    )
    retries = whole("retries", INT_MAX, "Maximum number of retries of a batch within delivery.timeout.ms.")
    enable_idempotence = flag("enable.idempotence", True, "Prevent retries from duplicating or reordering records.")
    delivery_timeout_ms = whole(
        "delivery.timeout.ms", 120_000, "Maximum time from send() to the acknowledgement of a record."
    )
    max_block_ms = duration("max.block.ms", 60_000, "Timeout of a blocking call of the producer.")
    transactional_id = optional_text(
        "transactional.id",
        "Transactional id of the producer. A new producer with the same id fences older producers.",
        filled=True,
    )
    transaction_timeout_ms = whole(
        "transaction.timeout.ms", 60_000, "Maximum age of an open transaction before the broker aborts it.", low=1
    )

    allow_auto_create_topics = flag(
        "allow.auto.create.topics",
        True,
        "Allow brokers to create a topic when send() needs it (kctl's own property for producers).",
    )

    # --- batches ----------------------------------------------------------------------------------------------------
    batch_size = whole("batch.size", 16_384, "Maximum bytes of a record batch. 0 sends each record in its own batch.")
    linger_ms = duration("linger.ms", 5, "Maximum time that a batch waits for more records.")
    buffer_memory = duration("buffer.memory", 33_554_432, "Maximum bytes of unacknowledged records.")
    max_request_size = whole(
        "max.request.size", 1_048_576, "Maximum bytes of a produce request, which also limits the size of a record."
    )
    compression_type = choice("compression.type", "none", COMPRESSIONS, "Compression type of record batches.")
    compression_gzip_level = Property(
        "compression.gzip.level", GzipLevel(), -1, "Compression level of gzip. -1 uses the default level of zlib."
    )
    compression_lz4_level = whole("compression.lz4.level", 9, "Compression level of lz4.", low=1, high=17)
    compression_zstd_level = whole("compression.zstd.level", 3, "Compression level of zstd.", low=-131_072, high=22)

    # --- partitions -------------------------------------------------------------------------------------------------
    partitioner_class = choice(
        "partitioner.class",
        "default",
        ("default", "round_robin"),
        "Partitioner: default (by key hash, or sticky without a key), round_robin, or a Java class name.",
        {
            prefix + java: name
            for java, name in (("RoundRobinPartitioner", "round_robin"), ("DefaultPartitioner", "default"))
            for prefix in ("", "org.apache.kafka.clients.producer.", "org.apache.kafka.clients.producer.internals.")
        },
    )
    partitioner_adaptive_partitioning_enable = flag(
        "partitioner.adaptive.partitioning.enable", True, "Send more records without keys to faster brokers."
    )
    partitioner_availability_timeout_ms = duration(
        "partitioner.availability.timeout.ms",
        0,
        "Time without an accepted batch after which the producer avoids a broker. 0 disables the check.",
    )
    partitioner_ignore_keys = flag("partitioner.ignore.keys", False, "Ignore record keys when choosing partitions.")

    # --- sockets and metadata ---------------------------------------------------------------------------------------
    receive_buffer_bytes = whole(
        "receive.buffer.bytes",
        32_768,
        "Size of the TCP receive buffer (SO_RCVBUF). -1 uses the default of the operating system.",
        low=-1,
    )
    max_in_flight_requests_per_connection = whole(
        "max.in.flight.requests.per.connection", 5, "Maximum number of requests in flight on one connection.", low=1
    )
    metadata_max_idle_ms = duration(
        "metadata.max.idle.ms",
        300_000,
        "Time after which the producer drops the metadata of an unused topic.",
        low=5000,
    )

    @property
    def api_timeout_ms(self) -> int:
        return self.max_block_ms

    def api_timeout_property(self) -> Property[int]:
        return type(self).max_block_ms

    def _settle(self) -> None:
        super()._settle()
        self._settle_delivery()
        self._settle_idempotence()

    def _settle_delivery(self) -> None:
        """If delivery.timeout.ms was not given, raise it to linger.ms + request.timeout.ms; reject contradictions.

        Source: KIP-91. Differs: Java rejects a delivery timeout below the default request timeout; kctl applies it.
        """
        kind = type(self)
        needed_ms = self.linger_ms + self.request_timeout_ms
        if self.delivery_timeout_ms >= needed_ms:
            return
        if not self.is_given(kind.delivery_timeout_ms):
            self.values[kind.delivery_timeout_ms.name] = min(needed_ms, INT_MAX)
            return
        for declared in (kind.request_timeout_ms, kind.linger_ms):
            if self.is_given(declared):
                needs = f"the delivery timeout must be at least linger.ms + request.timeout.ms = {needed_ms}"
                self._refuse(kind.delivery_timeout_ms, declared, needs)

    def _settle_idempotence(self) -> None:
        """Reject values that contradict explicit idempotence; they disable the default idempotence, as in Java.

        Source: Java ProducerConfig (4.x): more than 5 requests in flight are rejected even with default idempotence.
        """
        kind = type(self)
        undone_by: Property[int] | None = None
        if self.acks != -1:
            undone_by = kind.acks
        elif self.retries == 0:
            undone_by = kind.retries
        if self.enable_idempotence and undone_by is not None:
            if self.is_given(kind.enable_idempotence):
                self._refuse(kind.enable_idempotence, undone_by, "idempotence needs acks=all and retries > 0")
            if self.transactional_id is not None:
                self._refuse(kind.transactional_id, undone_by, "transactions need acks=all and retries > 0")
            self.values[kind.enable_idempotence.name] = False
        if self.transactional_id is not None and not self.enable_idempotence:
            self._refuse(kind.transactional_id, kind.enable_idempotence, "transactions need enable.idempotence=true")
        if self.enable_idempotence and self.max_in_flight_requests_per_connection > IDEMPOTENT_IN_FLIGHT:
            raise ConfigError(
                f"max.in.flight.requests.per.connection={self.max_in_flight_requests_per_connection} needs "
                f"enable.idempotence=false: with idempotence, the maximum is {IDEMPOTENT_IN_FLIGHT}",
                key="max.in.flight.requests.per.connection",
            )
