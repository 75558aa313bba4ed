"""`kctl transactions`: list, describe, hanging and abort; look.py and abort.py do the work.

Owns the options and the columns.
"""

from typing import Annotated

import typer

from kctl.cli import click
from kctl.cli.changes import Execute, Yes
from kctl.cli.commands import Commands
from kctl.cli.formats.listing import SHAPES
from kctl.cli.options import Common, duration_ms, with_common

app = Commands(no_args_is_help=True)

LARGEST_ID = 2**63 - 1

Topics = Annotated[
    list[str] | None,
    typer.Option("--topic", metavar="TOPIC[:P,P-P]", help="Only this topic, or these partitions; repeatable."),
]


@app.callback()
def transactions() -> None:
    """List and describe transactions, and find and abort those that hang."""


@app.command("list")
@with_common(*SHAPES)
def list_(
    common: Common,
    states: Annotated[
        list[str] | None,
        typer.Option(
            "--state", metavar="NAME", help="Only transactions in this state: Ongoing, Empty, ...; repeatable."
        ),
    ] = None,
    producer_ids: Annotated[
        list[int] | None,
        typer.Option(
            "--producer-id",
            min=0,
            max=LARGEST_ID,
            metavar="N",
            help="Only transactions of this producer id; repeatable.",
        ),
    ] = None,
    older_than: Annotated[
        int | None,
        typer.Option(
            "--older-than",
            parser=duration_ms,
            metavar="DURATION",
            help="Only transactions that have been open for longer (Kafka 3.8).",
        ),
    ] = None,
    pattern: Annotated[
        str | None,
        typer.Option(
            "--pattern", metavar="PATTERN", help="Only transactions whose whole transactional.id matches (Kafka 4.1)."
        ),
    ] = None,
) -> int:
    """List the transactional.ids of all brokers; exits with 3 when those of a broker are missing."""
    from kctl.cli.transactions.look import Filter, list_transactions  # the client: not wanted for --help

    wanted = Filter(states or (), producer_ids or (), older_than, pattern)
    return list_transactions(common, common.choose_output(*SHAPES), wanted)


@app.command()
@with_common(*SHAPES)
def describe(
    common: Common,
    ids: Annotated[list[str], typer.Argument(metavar="ID...", show_default=False)],
) -> int:
    """Show transactions: state, coordinator, producer, timeout, and the partitions that take part.

    ID is a transactional.id.
    """
    from kctl.cli.transactions.look import describe_transactions  # the client: not wanted for --help

    return describe_transactions(common, common.choose_output(*SHAPES), list(dict.fromkeys(ids)))


@app.command()
@with_common(*SHAPES)
def hanging(
    common: Common,
    topics: Topics = None,
    broker: Annotated[
        int | None, typer.Option("--broker", min=0, metavar="ID", help="Only partitions that this broker leads.")
    ] = None,
    show_all: Annotated[bool, typer.Option("--all", help="Include transactions that are running.")] = False,
) -> int:
    """Find open transactions that no coordinator will end; read_committed consumers stop before them.

    A transaction hangs when it is open on a partition and its coordinator does not have it. One is overdue when its
    coordinator has not aborted it a minute after its timeout.
    """
    from kctl.cli.transactions.look import show_hanging  # the client: not wanted for --help

    return show_hanging(common, common.choose_output(*SHAPES), topics or (), broker, show_all=show_all)


@app.command()
@with_common(*SHAPES)
def abort(
    common: Common,
    partition: Annotated[str, typer.Argument(metavar="TOPIC:P", show_default=False)],
    start_offset: Annotated[
        int | None,
        typer.Option(
            "--start-offset",
            min=0,
            max=LARGEST_ID,
            metavar="N",
            help="Only the transaction that begins at this offset; without it, all that hang or are overdue.",
        ),
    ] = None,
    force: Annotated[
        bool,
        typer.Option(
            "--force",
            help="Abort it even if it is running or undecided; its records in other partitions may still be committed.",
        ),
    ] = False,
    execute: Execute = False,
    yes: Yes = False,
) -> int:
    """Abort hanging transactions of a partition: shows them, and aborts them with --execute.

    The abort is written by the leader of the partition (WriteTxnMarkers), without the coordinator.
    """
    from kctl.cli.transactions.abort import Abort, run_abort  # the client: not wanted for --help

    if force and start_offset is None:
        raise click.UsageError("--force needs --start-offset: name the transaction.")
    wanted = Abort(partition, start_offset, is_forced=force, execute=execute or yes)
    return run_abort(common, common.choose_output(*SHAPES), wanted)
