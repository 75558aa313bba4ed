"""Execution of `kctl partitions list`."""

from kctl.cli.admin_client import admin_of
from kctl.cli.exit_codes import ExitCode
from kctl.cli.formats.listing import Listing, write_listing
from kctl.cli.formats.rows import Row
from kctl.cli.options import Common
from kctl.cli.output_options import Output
from kctl.client.admin import Reassignment
from kctl.client.cluster import TopicPartition

COLUMNS = ("topic", "partition", "replicas", "target_replicas", "adding", "removing")


def run_list(common: Common, output: Output) -> int:
    with admin_of(common) as admin:
        moves = admin.list_partition_reassignments()
    rows = [_row(key, move) for key, move in sorted(moves.items())]
    write_listing(common.environment, output, Listing("partitions", COLUMNS, rows))
    if not rows and output is Output.TABLE:
        common.say(f"{common.environment.program}: no partitions are being moved")
    return ExitCode.OK


def _row(key: TopicPartition, move: Reassignment) -> Row:
    return {
        "topic": key.topic,
        "partition": key.partition,
        "replicas": list(move.replicas),
        "target_replicas": list(move.target),
        "adding": list(move.adding),
        "removing": list(move.removing),
    }
