"""Options of the `kctl partitions` commands."""

from pathlib import Path
from typing import Annotated

import typer

from kctl.cli import click
from kctl.cli.changes import Consent, ShownDryRun, YesUnneeded, consent_options
from kctl.cli.commands import Commands
from kctl.cli.formats.listing import SHAPES
from kctl.cli.options import Common, duration_ms, with_common, with_options
from kctl.grammar.sizes import parse_size_bytes

app = Commands(no_args_is_help=True)

Topics = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[TOPIC[:P,P-P]]...", show_default=False, help="Topics or partitions [default: all topics]."
    ),
]


@app.callback()
def partitions() -> None:
    """Move partitions between brokers, and elect leaders."""


@app.command()
@with_common()
def plan(
    common: Common,
    topics: Topics = None,
    to: Annotated[
        str | None,
        typer.Option(
            "--to-brokers",
            metavar="ID,...",
            help="Brokers for all replicas, such as 1,2,3. Replicas are spread evenly.",
        ),
    ] = None,
    away_from: Annotated[
        str | None, typer.Option("--exclude-brokers", metavar="ID,...", help="Brokers to remove all replicas from.")
    ] = None,
    replication_factor: Annotated[
        int | None,
        typer.Option("--replication-factor", "-r", min=1, metavar="N", help="New replication factor."),
    ] = None,
    ignore_racks: Annotated[bool, typer.Option("--ignore-racks", help="Ignore racks when placing replicas.")] = False,
    rollback: Annotated[
        Path | None,
        typer.Option(
            "--rollback",
            metavar="FILE",
            help="Write a rollback plan to this file. The plan restores the current replicas.",
        ),
    ] = None,
) -> int:
    """Print a plan that moves replicas with the fewest possible copies.

    The plan has the JSON format of kafka-reassign-partitions.sh. The command does not move replicas.
    """
    from kctl.cli.partitions.plan import Wish, parse_ids, run_plan  # deferred import: keeps --help fast

    wish = Wish(
        topics or (),
        parse_ids(to, "'--to-brokers'"),
        parse_ids(away_from, "'--exclude-brokers'"),
        replication_factor,
        ignore_racks,
        rollback,
    )
    return run_plan(common, wish)


@app.command()
@with_common(*SHAPES)
def move(
    common: Common,
    path: Annotated[
        Path, typer.Argument(metavar="PLAN", show_default=False, help="Plan written by kctl or by Kafka's tools.")
    ],
    throttle: Annotated[
        str | None,
        typer.Option(
            "--throttle",
            metavar="SIZE",
            help="Maximum bytes per second for each broker, such as 50MB.",
        ),
    ] = None,
    wait: Annotated[
        int | None,
        typer.Option(
            "--wait",
            parser=duration_ms,
            metavar="DURATION",
            help="Maximum time to wait for the moves to finish. Use 0s to exit immediately [default: no limit].",
        ),
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Continue interrupted moves, and remove the throttle at the end.")
    ] = False,
    cancel: Annotated[bool, typer.Option("--cancel", help="Cancel unfinished moves, and remove the throttle.")] = False,
    dry_run: ShownDryRun = False,
    yes: YesUnneeded = False,  # noqa: ARG001
) -> int:
    """Move partitions according to a plan, show the progress, and remove the throttle.

    --api-timeout limits each request, not the move.
    """
    from kctl.cli.partitions.move import Wanted, run_move  # deferred import: keeps --help fast

    wanted = Wanted(path, _rate(throttle), wait, resume, cancel, dry_run)
    return run_move(common, common.choose_output(*SHAPES), wanted)


@app.command("list")
@with_common(*SHAPES)
def list_(common: Common) -> int:
    """List partitions that are being moved."""
    from kctl.cli.partitions.moves_list import run_list  # deferred import: keeps --help fast

    return run_list(common, common.choose_output(*SHAPES))


@app.command()
@with_common(*SHAPES)
@with_options(consent=consent_options)
def elect(
    common: Common,
    consent: Consent,
    topics: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[TOPIC[:P,P-P]]...", show_default=False, help="Topics or partitions that need leaders."
        ),
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="Elect leaders for all topics.")] = False,
    unclean: Annotated[
        bool,
        typer.Option("--unclean", help="For partitions without a leader, elect any live replica. Records may be lost."),
    ] = False,
) -> int:
    """Elect the preferred leaders.

    With --unclean, shows the partitions and prompts for confirmation. In scripts, add --execute.
    """
    from kctl.cli.partitions.elect import run_elect  # deferred import: keeps --help fast

    return run_elect(
        common,
        common.choose_output(*SHAPES),
        topics or (),
        unclean=unclean,
        everything=everything,
        consent=consent,
    )


def _rate(text: str | None) -> int | None:
    if text is None:
        return None
    try:
        size_bytes = parse_size_bytes(text.strip().removesuffix("/s"))
    except ValueError as e:
        raise click.BadParameter(str(e), param_hint="'--throttle'") from None
    if size_bytes < 1:
        raise click.BadParameter(f"{text!r} would stop the copies: use 1B/s or more.", param_hint="'--throttle'")
    return size_bytes
