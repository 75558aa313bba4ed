"""`kctl brokers`: log directories of brokers."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from kctl.cli.changes import report_failures
from kctl.cli.commands import Commands
from kctl.cli.formats.listing import SHAPES, Listing, write_listing
from kctl.cli.formats.rows import Row
from kctl.cli.options import Common, with_common

if TYPE_CHECKING:
    from kctl.client.admin import LogDir

DISK_COLUMNS = (
    "broker", "log_dir", "total_bytes", "usable_bytes", "usable_percent", "replica_count", "replica_bytes", "largest",
    "error",
)  # fmt: skip
REPLICA_COLUMNS = ("broker", "log_dir", "topic", "partition", "bytes")

app = Commands(no_args_is_help=True)


@app.callback()
def brokers() -> None:
    """Show the disk usage of brokers."""


@app.command("log-dirs")
@with_common(*SHAPES)
def show_log_dirs(
    common: Common,
    ids: Annotated[list[int] | None, typer.Argument(metavar="[ID]...", min=0, show_default=False)] = None,
    replicas: Annotated[bool, typer.Option("--replicas", help="Show all replicas, largest first.")] = False,
) -> int:
    """Show free space and replica sizes for each log directory of the brokers.

    Exits with 3 if a broker is fenced, or if an unregistered broker has replicas.
    """
    from kctl.cli.absent_brokers import find_absent  # the client: not wanted for --help
    from kctl.cli.admin_client import admin_of

    output = common.choose_output(*SHAPES)
    with admin_of(common) as admin:
        described = admin.describe_cluster()
        wanted = list(dict.fromkeys(ids or (node.node_id for node in described.nodes)))
        absent = {each.node_id: each.error() for each in find_absent(admin, described)}
        results = admin.describe_log_dirs([each for each in wanted if each not in absent])
        results.failed |= {each: absent[each] for each in (wanted if ids else absent) if each in absent}
    found = sorted(results.done.items())
    if replicas:
        rows = [row for broker, folders in found for row in _replica_rows(broker, folders)]
        rows.sort(key=lambda row: (-_number(row["bytes"]), str(row)))
        listing = Listing("replicas", REPLICA_COLUMNS, rows)
    else:
        rows = [_disk_row(broker, folder) for broker, folders in found for folder in folders]
        listing = Listing("disks", DISK_COLUMNS, rows)
    if results.done:
        write_listing(common.environment, output, listing)
    offline = [each.error for _, folders in found for each in folders if each.error is not None]
    return report_failures(common, results.done, [*offline, *results.failed.values()])


def _number(value: object) -> int:
    return value if isinstance(value, int) else 0


def _disk_row(broker: int, folder: "LogDir") -> Row:
    total, usable = folder.total_bytes, folder.usable_bytes
    largest = max(folder.replica_bytes, key=lambda tp: (folder.replica_bytes[tp], tp), default=None)
    return {
        "broker": broker,
        "log_dir": folder.path,
        "total_bytes": None if total < 0 else total,
        "usable_bytes": None if usable < 0 else usable,
        "usable_percent": None if total <= 0 or usable < 0 else 100 * usable // total,
        "replica_count": len(folder.replica_bytes),
        "replica_bytes": sum(folder.replica_bytes.values()),
        "largest": None if largest is None else str(largest),
        "error": None if folder.error is None else folder.error.name,
    }


def _replica_rows(broker: int, folders: "Sequence[LogDir]") -> list[Row]:
    return [
        {"broker": broker, "log_dir": each.path, "topic": tp.topic, "partition": tp.partition, "bytes": size}
        for each in folders
        for tp, size in each.replica_bytes.items()
    ]
