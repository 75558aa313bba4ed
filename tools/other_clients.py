"""Page of the site for programs that use another Python client: names of its calls and settings in kctl.client.

A table of names, such as the API pages: tests/unit/tools/test_other_clients.py compares each name with the installed
clients.
"""

from typing import NamedTuple


class Row(NamedTuple):
    """A call, property, or error in each client; empty if there is none.

    Attributes: note: difference to know about.
    """

    confluent: str
    aiokafka: str
    kafka_python: str
    kctl: str
    note: str = ""


class Section(NamedTuple):
    """Rows about one class. Attributes: classes: the class of each client, in the order of `Row`."""

    title: str
    classes: tuple[str, str, str, str]
    rows: tuple[Row, ...]


PRODUCER = (
    Row("", "start", "", "", "Constructors start the client. Nothing has to be started."),
    Row("produce", "send", "send", "send", "Order of arguments: topic, value, key."),
    Row("produce(on_delivery=)", "", "", "send(callback=)", "Gets the future. No poll is needed for callbacks."),
    Row("poll", "", "", "", "Callbacks run without it."),
    Row("", "send_and_wait", "", "send(...).result", "With asyncio: `await AsyncProducer.send`."),
    Row("produce_batch", "create_batch, send_batch", "", "send_columns", "One future for many records."),
    Row("flush", "flush", "flush", "flush", "Raises if records were not delivered."),
    Row("close", "stop", "close", "close", "Returns the numbers of delivered and failed records."),
    Row("purge", "", "", "close(timeout=0)", "Drops undelivered records, and counts them."),
    Row("list_topics", "partitions_for", "partitions_for", "partitions_for"),
    Row("", "", "metrics", "metrics"),
    Row("", "", "bootstrap_connected", "", "Use `kctl probe`, or the events of the client."),
    Row("init_transactions", "start", "init_transactions", "init_transactions"),
    Row("begin_transaction", "begin_transaction, transaction", "begin_transaction", "begin_transaction, transaction"),
    Row(
        "send_offsets_to_transaction",
        "send_offsets_to_transaction",
        "send_offsets_to_transaction",
        "transaction(consumer), send_offsets_to_transaction",
    ),
    Row("commit_transaction", "commit_transaction", "commit_transaction", "commit_transaction"),
    Row("abort_transaction", "abort_transaction", "abort_transaction", "abort_transaction"),
)
CONSUMER = (
    Row("", "start", "", "", "Constructors start the client. Nothing has to be started."),
    Row("subscribe", "subscribe", "subscribe", "subscribe", "A pattern is `re.compile(...)`."),
    Row("subscribe(on_assign=)", "subscribe(listener=)", "subscribe(listener=)", "subscribe(listener=)"),
    Row("unsubscribe", "unsubscribe", "unsubscribe", "unsubscribe"),
    Row("assign", "assign", "assign", "assign", "Starts at the committed offset, or by auto.offset.reset."),
    Row("incremental_assign", "", "", "assign", "Pass all partitions."),
    Row("unassign, incremental_unassign", "", "", "unassign"),
    Row("assignment", "assignment", "assignment", "assignment", "A property."),
    Row("", "subscription", "subscription", "subscription", "A property."),
    Row("poll", "getone", "", "poll, iteration", "Errors are raised. No record has an error."),
    Row("consume", "getmany", "poll", "poll", "A list in the order of each partition."),
    Row("", "iteration", "iteration", "iteration", "Commits include only records that were handed out."),
    Row("pause", "pause", "pause", "pause"),
    Row("resume", "resume", "resume", "resume"),
    Row("", "paused", "paused", "paused", "A property."),
    Row("seek", "seek", "seek", "seek"),
    Row("", "seek_to_beginning", "seek_to_beginning", "seek_to_beginning"),
    Row("", "seek_to_end", "seek_to_end", "seek_to_end"),
    Row("", "seek_to_committed", "", "seek_to_committed"),
    Row("position", "position", "position", "position, positions"),
    Row("get_watermark_offsets", "beginning_offsets", "beginning_offsets", "beginning_offsets"),
    Row("get_watermark_offsets", "end_offsets", "end_offsets", "end_offsets"),
    Row("get_watermark_offsets(cached=)", "highwater", "highwater", "current_lag, lag"),
    Row("offsets_for_times", "offsets_for_times", "offsets_for_times", "offsets_for_times"),
    Row("list_topics", "topics", "topics", "list_topics"),
    Row("list_topics", "partitions_for_topic", "partitions_for_topic", "partitions_for"),
    Row("commit(asynchronous=False)", "commit", "commit", "commit_sync", "With asyncio: `commit`."),
    Row("commit", "", "commit_async", "commit_async"),
    Row("store_offsets", "", "", "store_offsets", "Set enable.auto.offset.store=false."),
    Row("committed", "committed", "committed", "committed"),
    Row("consumer_group_metadata", "", "group_metadata", "group_metadata"),
    Row("memberid", "", "", "group_metadata"),
    Row("", "", "metrics", "metrics"),
    Row("close", "stop", "close", "close", "Commits handed-out records, and leaves the group."),
)
ADMIN = (
    Row("create_topics", "create_topics", "create_topics", "create_topics", "Results by name. No futures."),
    Row("delete_topics", "delete_topics", "delete_topics", "delete_topics"),
    Row("list_topics", "list_topics", "list_topics", "list_topics"),
    Row("describe_topics", "describe_topics", "describe_topics", "describe_topics"),
    Row("create_partitions", "create_partitions", "create_partitions", "create_partitions"),
    Row("", "", "wait_for_topics", "wait_for_topics"),
    Row("describe_configs", "describe_configs", "describe_configs", "describe_configs"),
    Row(
        "incremental_alter_configs", "alter_configs", "alter_configs", "alter_configs", "Other configs stay unchanged."
    ),
    Row("list_consumer_groups", "list_consumer_groups", "list_groups", "list_groups"),
    Row("describe_consumer_groups", "describe_consumer_groups", "describe_groups", "describe_groups"),
    Row("delete_consumer_groups", "", "delete_groups", "delete_groups"),
    Row(
        "list_consumer_group_offsets",
        "list_consumer_group_offsets",
        "list_group_offsets",
        "list_group_offsets, list_offsets_of_groups",
    ),
    Row("alter_consumer_group_offsets", "", "alter_group_offsets", "alter_group_offsets"),
    Row("list_offsets", "", "list_partition_offsets", "list_offsets"),
    Row("delete_records", "delete_records", "delete_records", "delete_records"),
    Row("create_acls", "", "create_acls", "create_acls"),
    Row("describe_acls", "", "describe_acls", "describe_acls"),
    Row("delete_acls", "", "delete_acls", "delete_acls"),
    Row("describe_cluster", "describe_cluster", "describe_cluster", "describe_cluster"),
    Row("elect_leaders", "", "elect_leaders", "elect_leaders"),
    Row("alter_user_scram_credentials", "", "alter_user_scram_credentials", "alter_user_scram_credentials"),
    Row("", "close", "close", "close", "Or `with Admin(...)`."),
)
SETTINGS = (
    Row(
        "bootstrap.servers", "bootstrap_servers", "bootstrap_servers", "bootstrap.servers", "One mapping, no keywords."
    ),
    Row("group.id", "group_id", "group_id", "group.id"),
    Row("auto.offset.reset", "auto_offset_reset", "auto_offset_reset", "auto.offset.reset"),
    Row("enable.auto.commit", "enable_auto_commit", "enable_auto_commit", "enable.auto.commit"),
    Row("acks", "acks", "acks", "acks"),
    Row("linger.ms", "linger_ms", "linger_ms", "linger.ms", "5 ms, and 0 in aiokafka and kafka-python."),
    Row("compression.type", "compression_type", "compression_type", "compression.type"),
    Row("transactional.id", "transactional_id", "transactional_id", "transactional.id"),
    Row(
        "queue.buffering.max.kbytes",
        "",
        "",
        "buffer.memory",
        "librdkafka's names are errors with the name.",
    ),
    Row("partitioner", "partitioner", "partitioner", "Producer(partitioner=)", "Equal to the Java client by default."),
    Row("", "value_serializer", "value_serializer", "TypedProducer", "In kctl.serdes, for asyncio in kctl.serdes.aio."),
    Row("", "value_deserializer", "value_deserializer", "TypedConsumer"),
    Row("stats_cb", "", "", "metrics, Telemetry"),
    Row("error_cb, throttle_cb", "", "", "Consumer(events=)", "Fatal errors are raised by calls."),
    Row("oauth_cb", "sasl_oauth_token_provider", "sasl_oauth_token_provider", "sasl.oauthbearer.token.callback"),
)
OTHER = (
    Row("Message.value()", "record.value", "record.value", "record.value", "Properties, no methods."),
    Row("Message.error()", "", "", "", "Errors are raised."),
    Row("Message.headers()", "record.headers", "record.headers", "record.headers"),
    Row("Message.timestamp()", "record.timestamp", "record.timestamp", "record.timestamp_ms"),
    Row("KafkaException", "KafkaError", "KafkaError", "errors.KafkaError", "A class for each error code of Kafka."),
    Row("KafkaError.retriable()", "retriable", "retriable", "error.retriable"),
    Row("aio.AIOProducer", "AIOKafkaProducer", "", "aio.AsyncProducer", "No thread pool."),
    Row("aio.AIOConsumer", "AIOKafkaConsumer", "", "aio.AsyncConsumer"),
    Row("SchemaRegistryClient", "", "", "serdes.Registry", "For asyncio: `AsyncRegistry`."),
    Row("AvroSerializer, AvroDeserializer", "", "", "Registry(...).avro", "Also `protobuf` and `json_schema`."),
    Row("test.mock.num.brokers", "", "", "testing.KafkaSandbox", "With faults, and a pytest fixture."),
)
SECTIONS = (
    Section("Producer", ("Producer", "AIOKafkaProducer", "KafkaProducer", "Producer"), PRODUCER),
    Section("Consumer", ("Consumer", "AIOKafkaConsumer", "KafkaConsumer", "Consumer"), CONSUMER),
    Section("Admin", ("AdminClient", "AIOKafkaAdminClient", "KafkaAdminClient", "Admin"), ADMIN),
    Section("Settings", ("confluent-kafka", "aiokafka", "kafka-python", "kctl"), SETTINGS),
    Section("Records, errors, and other classes", ("confluent-kafka", "aiokafka", "kafka-python", "kctl"), OTHER),
)


def python_clients() -> str:
    """Return the page."""
    lines = [
        "# Coming from another client",
        "",
        "Names in confluent-kafka, aiokafka, and kafka-python, and the names in [kctl.client](library.md). "
        "`AsyncProducer`, `AsyncConsumer`, and `AsyncAdmin` of [kctl.client.aio](asyncio.md) have the same names as "
        "`Producer`, `Consumer`, and `Admin`. A table of command-line tools is in [Migration](migration.md).",
    ]
    for section in SECTIONS:
        lines += ["", f"## {section.title}", "| " + " | ".join(map(_code, section.classes)) + " | |", "|---" * 5 + "|"]
        lines += [f"| {' | '.join([*map(_code, row[:4]), row.note])} |" for row in section.rows]
    return "\n".join(lines) + "\n"


def _code(names: str) -> str:
    return f"`{names}`" if names else "-"
