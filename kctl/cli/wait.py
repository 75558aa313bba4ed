"""`kctl wait`: waits for topics, brokers or a group."""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from kctl.cli import click
from kctl.cli.commands import Commands
from kctl.cli.formats.listing import SHAPES
from kctl.cli.options import Common, with_common

if TYPE_CHECKING:
    from kctl.client.admin import Admin
    from kctl.client.cluster import TopicInfo
    from kctl.client.errors import KafkaError

app = Commands(no_args_is_help=True)

MOST_NAMED = 5
"""Maximum number of partitions to list; further ones are counted."""


@app.callback()
def wait() -> None:
    """Wait until topics, brokers, or groups are ready.

    After --api-timeout, reports the unmet condition and exits with 17.
    """


@app.command()
@with_common(*SHAPES)
def topic(
    common: Common,
    names: Annotated[list[str], typer.Argument(metavar="TOPIC...", show_default=False)],
    partitions: Annotated[
        int | None,
        typer.Option("--partitions", "-p", min=1, metavar="N", help="Minimum number of partitions of each topic."),
    ] = None,
    in_sync: Annotated[bool, typer.Option("--in-sync", help="Wait until all replicas are in sync.")] = False,
    gone: Annotated[bool, typer.Option("--deleted", help="Wait until the topics no longer exist.")] = False,
) -> int:
    """Wait until topics exist and all their partitions have leaders."""
    from kctl.cli.wait_loop import wait_until  # the client: not wanted for --help

    if gone and (partitions is not None or in_sync):
        raise click.UsageError("--deleted cannot be combined with --partitions or --in-sync.")
    wanted = list(dict.fromkeys(names))

    def missing(admin: "Admin") -> str:
        if gone:
            return _still_there(admin, wanted)
        return _missing_of_topics(admin, wanted, partitions or 1, in_sync=in_sync)

    return wait_until(common, f"topic {', '.join(wanted)}", missing)


@app.command()
@with_common(*SHAPES)
def brokers(common: Common, count: Annotated[int, typer.Argument(metavar="N", min=1, show_default=False)]) -> int:
    """Wait until at least N brokers are registered and not fenced."""
    from kctl.cli.wait_loop import wait_until  # the client: not wanted for --help

    def missing(admin: "Admin") -> str:
        described = admin.describe_cluster()
        ids = [str(node.node_id) for node in described.nodes]
        fenced = ", ".join(str(node.node_id) for node in described.fenced_nodes)
        more = f" (fenced: {fenced})" if fenced else ""
        return "" if len(ids) >= count else f"{len(ids)} of {count} brokers are up: {', '.join(ids)}{more}"

    return wait_until(common, f"{count} brokers", missing)


@app.command()
@with_common(*SHAPES)
def group(
    common: Common,
    name: Annotated[str, typer.Argument(metavar="GROUP", show_default=False)],
    state: Annotated[
        str | None,
        typer.Option("--state", metavar="NAME", help="State to wait for, such as Stable or Empty [default: Stable]."),
    ] = None,
    lag: Annotated[int | None, typer.Option("--lag", min=0, metavar="N", help="Maximum lag of each partition.")] = None,
) -> int:
    """Wait until a group reaches a state or a maximum lag."""
    from kctl.cli.wait_loop import wait_until  # the client: not wanted for --help

    wanted = (state or "Stable") if state or lag is None else None

    def missing(admin: "Admin") -> str:
        return _missing_of_group(admin, name, wanted, lag)

    return wait_until(common, f"group {name}", missing)


def _still_there(admin: "Admin", names: list[str]) -> str:
    # described by name, because a list leaves out topics that may not be described
    from kctl.client.broker_errors import ErrorCode
    from kctl.client.errors import BrokerError

    results = admin.describe_topics(names)
    found = [f"topic {name} still exists" for name in results.done]
    for name, error in results.failed.items():
        if not isinstance(error, BrokerError) or error.code != ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
            found.append(_passing(name, error))
    return _join(found)


def _passing(name: str, error: "KafkaError") -> str:
    """Return a topic error in words. Raises: KafkaError: the error is not retriable."""
    from kctl.cli.groups.lag import short

    if not error.retriable:
        raise error
    return f"topic {name}: {short(error)}"


def _missing_of_topics(admin: "Admin", names: list[str], partitions: int, *, in_sync: bool) -> str:
    results = admin.describe_topics(names)
    found = [_passing(name, error) for name, error in results.failed.items()]
    for info in results.done.values():
        found += _missing_of_topic(info, partitions, in_sync=in_sync)
    return _join(found)


def _missing_of_topic(info: "TopicInfo", partitions: int, *, in_sync: bool) -> Iterator[str]:
    from kctl.client.cluster import NO_NODE

    if len(info.partitions) < partitions:
        yield f"topic {info.name} has {len(info.partitions)} of {partitions} partitions"
    for part in info.partitions.values():
        if part.leader_id == NO_NODE:
            yield f"partition {info.name}-{part.partition} has no leader"
    for part in info.partitions.values() if in_sync else ():
        if len(part.isr) < len(part.replicas):
            yield f"partition {info.name}-{part.partition} has {len(part.isr)} of {len(part.replicas)} replicas in sync"


def _missing_of_group(admin: "Admin", name: str, state: str | None, most: int | None) -> str:
    from kctl.cli.admin_client import no_offsets_found
    from kctl.cli.groups.lag import partition_lags
    from kctl.cli.groups.lag_times import MOST_MARKERS, next_records, without_markers
    from kctl.client.broker_errors import ErrorCode
    from kctl.client.errors import BrokerError

    try:
        described = admin.describe_groups([name])[name]
    except BrokerError as error:
        if error.code == ErrorCode.GROUP_ID_NOT_FOUND:
            return "the group does not exist"
        raise
    if state is not None and described.state.lower() != state.lower():
        return f"the group is {described.state}, not {state}"
    if most is None:
        return ""
    [lags] = partition_lags(admin, [described]).values()
    if not lags:
        return no_offsets_found(admin)
    few = [each for each in lags if each.lag is not None and most < each.lag <= MOST_MARKERS]
    records = next_records(admin, few)
    behind = [each for each in without_markers(lags, records) if each.unread is None or each.unread > most]
    return _join(f"{each.partition}: {each.note or f'{each.lag} records behind'}" for each in behind)


def _join(parts: Iterable[str]) -> str:
    found = list(parts)
    more = f", and {len(found) - MOST_NAMED} more" if len(found) > MOST_NAMED else ""
    return ", ".join(found[:MOST_NAMED]) + more
