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
        "Java's syntax is translated; syntax without a translation (&& in a class, \\G, \\X, ...) is an error",
    ),
    OptionRow("assign", "read", _SAME),
    OptionRow("startingOffsets", "read", _SAME),
    OptionRow("startingTimestamp", "read", _SAME),
    OptionRow("startingOffsetsByTimestamp", "read", _SAME),
    OptionRow("startingOffsetsByTimestampStrategy", "read", _SAME),
    OptionRow("endingOffsets", "batch", _SAME, "a start after the end is an error"),
    OptionRow("endingTimestamp", "batch", _SAME),
    OptionRow("endingOffsetsByTimestamp", "batch", _SAME),
    OptionRow("failOnDataLoss", "read", _DIFFERENT, "a topic that was deleted and recreated is also data loss"),
    OptionRow("includeHeaders", "read", _SAME),
    OptionRow("minPartitions", "read", _DIFFERENT, "at least 1"),
    OptionRow("maxRecordsPerPartition", "read", _SAME),
    OptionRow(
        "maxOffsetsPerTrigger",
        "stream",
        _DIFFERENT,
        "an error in a batch read; with the trigger AvailableNow one batch per run before Spark 4.2",
    ),
    OptionRow("minOffsetsPerTrigger", "stream", _SAME),
    OptionRow("maxTriggerDelay", "stream", _SAME, "15m by default"),
    OptionRow(
        "kafkaConsumer.pollTimeoutMs",
        "read",
        _DIFFERENT,
        "the same as apiTimeout, in milliseconds: it bounds planning too",
    ),
    OptionRow("fetchOffset.numRetries", "read", _NO_EFFECT, "offset requests are retried until apiTimeout"),
    OptionRow("fetchOffset.retryIntervalMs", "read", _NO_EFFECT, "retry.backoff.ms is the wait between two requests"),
    OptionRow("groupIdPrefix", "read", _NO_EFFECT, "no consumer group is used"),
    OptionRow("kafka.group.id", "read", _NO_EFFECT, "no consumer group is used"),
    OptionRow("kafka.auto.offset.reset", "read", _REFUSED, "startingOffsets sets where a query starts"),
    OptionRow("kafka.enable.auto.commit", "read", _REFUSED, "nothing is committed; Spark's checkpoint has the offsets"),
    OptionRow("kafka.key.deserializer", "read", _REFUSED, "keys are binary; cast them in the query"),
    OptionRow("kafka.value.deserializer", "read", _REFUSED, "values are binary; cast them in the query"),
    OptionRow(
        "kafka.interceptor.classes",
        "read",
        _REFUSED,
        "names Java classes, which are not run; change records in the query",
    ),
    OptionRow("apiTimeout", "read", _OURS, "as --api-timeout"),
    OptionRow("requestTimeout", "read", _OURS, "as --request-timeout"),
    OptionRow("connectTimeout", "read", _OURS, "as --connect-timeout"),
    OptionRow(
        "commitToGroup",
        "stream",
        _OURS,
        "the consumer group to which the offsets of finished batches are committed; it has no members",
    ),
    OptionRow("decode", "read", _OURS, "keys, values or both as columns: value=avro, protobuf, json-schema or auto"),
    OptionRow("decodeSchema", "read", _OURS, "the schema to read by, as value=SUBJECT, SUBJECT@VERSION or id:N"),
    OptionRow("decodeMessage", "read", _OURS, "the full name of the Protobuf message, as value=NAME"),
    OptionRow("kafka.bootstrap.servers", "write", _SAME),
    OptionRow("topic", "write", _SAME),
    OptionRow("includeHeaders", "write", _NO_EFFECT, "a column headers is always written, as by the connector"),
    OptionRow("kafka.key.serializer", "write", _REFUSED, "keys are binary or strings"),
    OptionRow("kafka.value.serializer", "write", _REFUSED, "values are binary or strings"),
    OptionRow(
        "kafka.transactional.id",
        "write",
        _REFUSED,
        "tasks write at least once, without transactions; kctl pipeline mirror writes exactly once",
    ),
    OptionRow("keepTimestamps", "write", _OURS, "also writes the column timestamp, which the connector never does"),
    OptionRow("apiTimeout", "write", _OURS, "as --api-timeout"),
    OptionRow("requestTimeout", "write", _OURS, "as --request-timeout"),
    OptionRow("connectTimeout", "write", _OURS, "as --connect-timeout"),
)


def rows_of(*uses: str) -> dict[str, OptionRow]:
    return {row.name.lower(): row for row in OPTIONS if row.use in uses}


READ: Final = rows_of("read", "stream", "batch")
WRITE: Final = rows_of("write")
