"""`kctl wait`: until topics, brokers or a group are as they should be; for init containers and CI.

Owns what each waits for; wait_loop.py looks again and again. Shown by tests/sim/admin/test_wait.py.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated

import typer

from kctl.cli import click
from kctl.cli.commands import Commands
from kctl.cli.options import Common, with_common

if TYPE_CHECKING:
    from kctl.client.admin import Admin

app = Commands(no_args_is_help=True)

MOST_NAMED = 5
"""Partitions that are named; further ones are counted."""


@app.callback()
def wait() -> None:
    """Wait for topics, brokers or a group; exit with 17 and what is missing after --api-timeout."""


@app.command()
@with_common()
def topic(
    common: Common,
    names: Annotated[list[str], typer.Argument(metavar="TOPIC...", show_default=False)],
    partitions: Annotated[
        int | None, typer.Option("--partitions", "-p", min=1, metavar="N", help="Each has at least N partitions.")
    ] = None,
    in_sync: Annotated[bool, typer.Option("--in-sync", help="All replicas are in sync.")] = False,
    gone: Annotated[bool, typer.Option("--gone", help="They do not exist any more.")] = False,
) -> int:
    """Wait until topics exist and each partition has a leader."""
    from kctl.cli.wait_loop import wait_until  # the client: not wanted for --help

    if gone and (partitions is not None or in_sync):
        raise click.UsageError("--gone with --partitions or --in-sync: what is gone has neither.")
    wanted = list(dict.fromkeys(names))

    def missing(admin: "Admin") -> str:
        if gone:
            listed = admin.list_topics(include_internal=True)
            return _join(f"topic {name} still exists" for name in wanted if name in listed)
        return _missing_of_topics(admin, wanted, partitions or 1, in_sync=in_sync)

    return wait_until(common, f"topic {', '.join(wanted)}", missing)


@app.command()
@with_common()
def brokers(common: Common, count: Annotated[int, typer.Argument(metavar="N", min=1, show_default=False)]) -> int:
    """Wait until at least N brokers are registered."""
    from kctl.cli.wait_loop import wait_until  # the client: not wanted for --help

    def missing(admin: "Admin") -> str:
        ids = [str(node.node_id) for node in admin.describe_cluster().nodes]
        return "" if len(ids) >= count else f"{len(ids)} of {count} are registered: {', '.join(ids)}"

    return wait_until(common, f"{count} brokers", missing)


@app.command()
@with_common()
def group(
    common: Common,
    name: Annotated[str, typer.Argument(metavar="GROUP", show_default=False)],
    state: Annotated[
        str | None, typer.Option("--state", metavar="NAME", help="It is in this state: Stable, Empty, ... (Stable).")
    ] = None,
    lag: Annotated[
        int | None, typer.Option("--lag", min=0, metavar="N", help="No partition of it is more than N behind.")
    ] = None,
) -> int:
    """Wait until a group is in a state, or has caught up."""
    from kctl.cli.wait_loop import wait_until  # the client: not wanted for --help

    wanted = (state or "Stable") if state or lag is None else None

    def missing(admin: "Admin") -> str:
        return _missing_of_group(admin, name, wanted, lag)

    return wait_until(common, f"group {name}", missing)


def _missing_of_topics(admin: "Admin", names: list[str], partitions: int, *, in_sync: bool) -> str:
    from kctl.cli.groups.lag import short
    from kctl.client.cluster import NO_NODE

    results = admin.describe_topics(names)
    found = [f"topic {name}: {short(error)}" for name, error in results.failed.items()]
    for name, info in results.done.items():
        if len(info.partitions) < partitions:
            found.append(f"topic {name} has {len(info.partitions)} of {partitions} partitions")
        parts = info.partitions.values()
        found.extend(f"{name}-{part.partition} has no leader" for part in parts if part.leader_id == NO_NODE)
        if in_sync:
            found.extend(
                f"{name}-{part.partition} has {len(part.isr)} of {len(part.replicas)} replicas in sync"
                for part in parts
                if len(part.isr) < len(part.replicas)
            )
    return _join(found)


def _missing_of_group(admin: "Admin", name: str, state: str | None, most: int | None) -> str:
    from kctl.cli.groups.lag import partition_lags
    from kctl.client.broker_errors import ErrorCode
    from kctl.client.errors import BrokerError

    try:
        described = admin.describe_groups([name])[name]
    except BrokerError as error:
        if error.code == ErrorCode.GROUP_ID_NOT_FOUND:
            return "there is no such group"
        raise
    if state is not None and described.state.lower() != state.lower():
        return f"it is {described.state}, not {state}"
    if most is None:
        return ""
    [lags] = partition_lags(admin, [described]).values()
    if not lags:
        return "nothing is committed"
    behind = [each for each in lags if each.lag is None or each.lag > most]
    return _join(f"{each.partition}: {each.note or f'{each.lag} behind'}" for each in behind)


def _join(parts: Iterable[str]) -> str:
    found = list(parts)
    more = f", and {len(found) - MOST_NAMED} more" if len(found) > MOST_NAMED else ""
    return ", ".join(found[:MOST_NAMED]) + more
