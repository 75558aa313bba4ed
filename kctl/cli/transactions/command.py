"""Options of the `kctl transactions` commands."""

from typing import Annotated

import typer

from kctl.cli import click
from kctl.cli.changes import Consent, consent_options
from kctl.cli.commands import Commands
from kctl.cli.formats.listing import SHAPES
from kctl.cli.options import Common, duration_ms, with_common, with_options

app = Commands(no_args_is_help=True)

LARGEST_ID = 2**63 - 1

Topics = Annotated[
    list[str] | None,
    typer.Option(
        "--topic",
        metavar="TOPIC[:P,P-P]",
        help="Topic, or partitions of a topic, to include. Repeatable [default: all].",
    ),
]


@app.callback()
def transactions() -> None:
    """List transactions, and find and abort hanging transactions."""


@app.command("list")
@with_common(*SHAPES)
def list_(
    common: Common,
    states: Annotated[
        list[str] | None,
        typer.Option(
            "--state",
            metavar="NAME",
            help="State of transactions to show, such as Ongoing or Empty. Repeatable.",
        ),
    ] = None,
    producer_ids: Annotated[
        list[int] | None,
        typer.Option(
            "--producer-id",
            min=0,
            max=LARGEST_ID,
            metavar="N",
            help="Producer ID of transactions to show. Repeatable.",
        ),
    ] = None,
    older_than: Annotated[
        int | None,
        typer.Option(
            "--older-than",
            parser=duration_ms,
            metavar="DURATION",
            help="Minimum time that a transaction has been open. Needs Kafka 3.8.",
        ),
    ] = None,
    pattern: Annotated[
        str | None,
        typer.Option(
            "--pattern",
            metavar="PATTERN",
            help="Regular expression that transactional IDs must match completely. Needs Kafka 4.1.",
        ),
    ] = None,
) -> int:
    """List transactional IDs.

    Exits with 3 if a broker does not respond and its transactions are missing.
    """
    from kctl.cli.transactions.look import Filter, list_transactions  # deferred import: keeps --help fast

    wanted = Filter(states or (), producer_ids or (), older_than, pattern)
    return list_transactions(common, common.choose_output(*SHAPES), wanted)


@app.command()
@with_common(*SHAPES)
def describe(
    common: Common,
    ids: Annotated[list[str], typer.Argument(metavar="ID...", show_default=False)],
) -> int:
    """Show state, coordinator, producer, timeout, and partitions of transactional IDs."""
    from kctl.cli.transactions.look import describe_transactions  # deferred import: keeps --help fast

    return describe_transactions(common, common.choose_output(*SHAPES), list(dict.fromkeys(ids)))


@app.command()
@with_common(*SHAPES)
def hanging(
    common: Common,
    topics: Topics = None,
    broker: Annotated[
        int | None, typer.Option("--broker", min=0, metavar="ID", help="Check only partitions that this broker leads.")
    ] = None,
    show_all: Annotated[bool, typer.Option("--all", help="Include running transactions.")] = False,
) -> int:
    """Find hanging transactions, which block read_committed consumers.

    A hanging transaction is open on a partition, but no coordinator will complete the transaction. An overdue
    transaction is still open one minute after its timeout.
    """
    from kctl.cli.transactions.look import show_hanging  # deferred import: keeps --help fast

    return show_hanging(common, common.choose_output(*SHAPES), topics or (), broker, show_all=show_all)


@app.command()
@with_common(*SHAPES)
@with_options(consent=consent_options)
def abort(
    common: Common,
    consent: Consent,
    partition: Annotated[str, typer.Argument(metavar="TOPIC:P", show_default=False)],
    start_offset: Annotated[
        int | None,
        typer.Option(
            "--start-offset",
            min=0,
            max=LARGEST_ID,
            metavar="N",
            help="Start offset of the transaction to abort [default: all hanging and overdue transactions].",
        ),
    ] = None,
    force: Annotated[
        bool,
        typer.Option(
            "--force",
            help="Also abort running and undecided transactions. Records in other partitions may still be committed.",
        ),
    ] = False,
) -> int:
    """Abort hanging transactions of a partition.

    Shows the transactions and prompts for confirmation. In scripts, add --execute.
    """
    from kctl.cli.transactions.abort import Abort, run_abort  # deferred import: keeps --help fast

    if force and start_offset is None:
        raise click.UsageError("--force needs --start-offset.")
    wanted = Abort(partition, start_offset, is_forced=force, consent=consent)
    return run_abort(common, common.choose_output(*SHAPES), wanted)
