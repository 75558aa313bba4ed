"""`kctl topics describe --size`: bytes of each replica on its broker, from log directories."""

from kctl.cli.admin_client import admin_of
from kctl.cli.changes import report_failures
from kctl.cli.formats.listing import Listing, write_listing
from kctl.cli.formats.rows import Row
from kctl.cli.named_partitions import chosen_topics
from kctl.cli.nearest_names import suggest_topics
from kctl.cli.options import Common
from kctl.cli.output_options import Output
from kctl.cli.topic_rows import is_offline
from kctl.client.cluster import PartitionInfo, TopicPartition
from kctl.grammar.topics import TopicWords

COLUMNS = ("topic", "partition", "broker", "is_leader", "bytes", "log_dir")


def describe_sizes(common: Common, output: Output, words: TopicWords) -> int:
    """Print the size of each replica, and return the exit code. Sizes on failed brokers are empty."""
    with admin_of(common) as admin:
        topics = admin.describe_topics(chosen_topics(admin, words))
        suggest_topics(admin, topics.failed)
        parts = [(name, part) for name, topic in topics.done.items() for part in topic.partitions.values()]
        brokers = sorted({node_id for _, part in parts for node_id in part.replicas})
        dirs = admin.describe_log_dirs(brokers)
    found = {
        (tp, broker): (size, each.path)
        for broker, folders in dirs.done.items()
        for each in folders
        for tp, size in each.replica_bytes.items()
    }
    rows = [
        _row(name, part, broker, *found.get((TopicPartition(name, part.partition), broker), (None, None)))
        for name, part in parts
        for broker in part.replicas
    ]
    if topics.done:
        write_listing(common.environment, output, Listing("replicas", COLUMNS, rows))
    return report_failures(common, rows, [*topics.failed.values(), *dirs.failed.values()])


def _row(topic: str, part: PartitionInfo, broker: int, size_bytes: int | None, folder: str | None) -> Row:
    return {
        "topic": topic,
        "partition": part.partition,
        "broker": broker,
        "is_leader": not is_offline(part) and part.leader_id == broker,
        "bytes": size_bytes,
        "log_dir": folder,
    }
