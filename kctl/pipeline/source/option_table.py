"""Table of the options of Spark's Kafka connector and of `format("kctl")`, with the behavior of each.

A page of the site is generated from it. tests/pipeline/test_source_options_table.py executes each row against the
connector.
"""

from enum import Enum
from typing import Final, NamedTuple


class Verdict(Enum):
    """Behavior of an option. The value is its word in the table."""

    SAME = "same"
    DIFFERENT = "different"
    NO_EFFECT = "no effect"
    """Accepted, with one notice on the driver's stderr."""
    REFUSED = "refused"
    OURS = "kctl's own"


class OptionRow(NamedTuple):
    """One option.

    Attributes:
        name: name as users write it.
        use: `read`, `stream` (streaming reads only), `batch` (batch reads only), `write`.
        why: the difference, or the reason why the option has no effect or is rejected.
    """

    name: str
    use: str
    verdict: Verdict
    why: str = ""


_SAME, _DIFFERENT, _NO_EFFECT, _REFUSED, _OURS = Verdict

OPTIONS: Final = (
    OptionRow("kafka.bootstrap.servers", "read", _SAME),
    OptionRow("subscribe", "read", _SAME),
    OptionRow(
        "subscribePattern",
        "read",
        _DIFFERENT,
        "kctl translates the syntax of Java, and rejects syntax without a translation, such as && in a class, \\G, "
        "and \\X",
    ),
    OptionRow("assign", "read", _SAME),
    OptionRow("startingOffsets", "read", _SAME),
    OptionRow("startingTimestamp", "read", _SAME),
    OptionRow("startingOffsetsByTimestamp", "read", _SAME),
    OptionRow("startingOffsetsByTimestampStrategy", "read", _SAME),
    OptionRow("endingOffsets", "batch", _SAME, "kctl rejects a start offset after the end offset"),
    OptionRow("endingTimestamp", "batch", _SAME),
    OptionRow("endingOffsetsByTimestamp", "batch", _SAME),
    OptionRow("failOnDataLoss", "read", _DIFFERENT, "kctl also detects topics that were deleted and recreated"),
    OptionRow("includeHeaders", "read", _SAME),
    OptionRow("minPartitions", "read", _DIFFERENT, "the minimum is 1"),
    OptionRow("maxRecordsPerPartition", "read", _SAME),
    OptionRow(
        "maxOffsetsPerTrigger",
        "stream",
        _DIFFERENT,
        "kctl rejects this option in batch reads. Before Spark 4.2, a run with the trigger AvailableNow has only "
        "one batch",
    ),
    OptionRow("minOffsetsPerTrigger", "stream", _SAME),
    OptionRow("maxTriggerDelay", "stream", _SAME, "the default is 15m"),
    OptionRow(
        "kafkaConsumer.pollTimeoutMs",
        "read",
        _DIFFERENT,
        "same as apiTimeout, in milliseconds. The timeout also covers planning",
    ),
    OptionRow("fetchOffset.numRetries", "read", _NO_EFFECT, "kctl retries offset requests until apiTimeout"),
    OptionRow(
        "fetchOffset.retryIntervalMs",
        "read",
        _NO_EFFECT,
        "set the wait between two requests with kafka.retry.backoff.ms",
    ),
    OptionRow("groupIdPrefix", "read", _NO_EFFECT, "kctl does not use a consumer group to read"),
    OptionRow("kafka.group.id", "read", _NO_EFFECT, "kctl does not use a consumer group to read"),
    OptionRow("kafka.auto.offset.reset", "read", _REFUSED, "set the start of the query with startingOffsets"),
    OptionRow(
        "kafka.enable.auto.commit",
        "read",
        _REFUSED,
        "Spark stores the offsets in its checkpoint. To commit the offsets of a stream to a group, use commitToGroup",
    ),
    OptionRow("kafka.key.deserializer", "read", _REFUSED, "keys are binary. Cast keys in the query"),
    OptionRow("kafka.value.deserializer", "read", _REFUSED, "values are binary. Cast values in the query"),
    OptionRow(
        "kafka.interceptor.classes",
        "read",
        _REFUSED,
        "kctl does not run Java classes. Change records in the query",
    ),
    OptionRow("apiTimeout", "read", _OURS, "same as --api-timeout of kctl"),
    OptionRow("requestTimeout", "read", _OURS, "same as --request-timeout of kctl"),
    OptionRow("connectTimeout", "read", _OURS, "same as --connect-timeout of kctl"),
    OptionRow(
        "commitToGroup",
        "stream",
        _OURS,
        "consumer group without members that receives the offsets of finished batches",
    ),
    OptionRow(
        "decode",
        "read",
        _OURS,
        "format of decoded keys or values: auto, avro, protobuf, or json-schema, such as value=avro",
    ),
    OptionRow(
        "decodeSchema", "read", _OURS, "reader schema: SUBJECT, SUBJECT@VERSION, or id:N, such as value=orders-value"
    ),
    OptionRow("decodeMessage", "read", _OURS, "full name of the Protobuf message, such as value=shop.Order"),
    OptionRow("kafka.bootstrap.servers", "write", _SAME),
    OptionRow("topic", "write", _SAME),
    OptionRow("includeHeaders", "write", _NO_EFFECT, "kctl always writes the column headers, like the connector"),
    OptionRow("kafka.key.serializer", "write", _REFUSED, "keys must be binary or strings"),
    OptionRow("kafka.value.serializer", "write", _REFUSED, "values must be binary or strings"),
    OptionRow(
        "kafka.transactional.id",
        "write",
        _REFUSED,
        "tasks write at least once, without transactions. To write exactly once, use kctl pipeline mirror",
    ),
    OptionRow("keepTimestamps", "write", _OURS, "write the column timestamp, which the connector ignores"),
    OptionRow("apiTimeout", "write", _OURS, "same as --api-timeout of kctl"),
    OptionRow("requestTimeout", "write", _OURS, "same as --request-timeout of kctl"),
    OptionRow("connectTimeout", "write", _OURS, "same as --connect-timeout of kctl"),
)


def rows_of(*uses: str) -> dict[str, OptionRow]:
    return {row.name.lower(): row for row in OPTIONS if row.use in uses}


READ: Final = rows_of("read", "stream", "batch")
WRITE: Final = rows_of("write")
