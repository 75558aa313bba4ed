"""Options of `kctl groups reset-offsets` and `delete-offsets`."""

from pathlib import Path
from typing import Annotated

import typer

from kctl.cli import click
from kctl.cli.changes import Consent, consent_options
from kctl.cli.formats.listing import SHAPES
from kctl.cli.options import Common, with_common, with_options

Group = Annotated[str, typer.Argument(metavar="GROUP", show_default=False)]
Topics = Annotated[
    list[str] | None,
    typer.Option(
        "--topic",
        metavar="TOPIC[:P,P-P]",
        help="Topic, or partitions of a topic, to include. Repeatable [default: all].",
    ),
]
LARGEST_OFFSET = 2**63 - 1


@with_common(*SHAPES)
@with_options(consent=consent_options)
def reset_offsets(
    common: Common,
    consent: Consent,
    group: Group,
    topics: Topics = None,
    to_earliest: Annotated[
        bool, typer.Option("--to-earliest", help="Reset to the first offset of each partition.")
    ] = False,
    to_latest: Annotated[
        bool,
        typer.Option(
            "--to-latest", help="Reset to the end offset of each partition, which skips all existing records."
        ),
    ] = False,
    to_current: Annotated[
        bool,
        typer.Option("--to-current", help="Keep the committed offset, or reset to the nearest existing offset."),
    ] = False,
    to_offset: Annotated[
        int | None,
        typer.Option("--to-offset", min=0, max=LARGEST_OFFSET, metavar="N", help="New offset of each partition."),
    ] = None,
    shift_by: Annotated[
        int | None,
        typer.Option("--shift-by", metavar="N", help="Number of records to move forward, or backward if negative."),
    ] = None,
    to_datetime: Annotated[
        str | None,
        typer.Option("--to-datetime", metavar="TIME", help="UTC time of the first record to read."),
    ] = None,
    by_duration: Annotated[
        str | None,
        typer.Option(
            "--by-duration", metavar="DURATION", help="Age of the first record to read, such as 1h, 2d, or PT30M."
        ),
    ] = None,
    from_file: Annotated[
        Path | None,
        typer.Option(
            "--from-file", metavar="FILE", help="File of new offsets, as lines of topic,partition,offset, or as JSON."
        ),
    ] = None,
    export: Annotated[
        Path | None,
        typer.Option(
            "--export", metavar="FILE", help="File to write the new offsets to, in the format of --from-file."
        ),
    ] = None,
    create: Annotated[
        bool, typer.Option("--create", help="Create the group if it does not exist. Needs --topic or --from-file.")
    ] = False,
    all_topics: Annotated[bool, typer.Option("--all-topics", hidden=True)] = False,  # the default
) -> int:
    """Set the committed offsets of a group.

    Shows the new offsets and prompts for confirmation. In scripts, add --execute.

    Without --topic, resets all partitions with a committed offset. Offsets outside of the log are moved to the
    nearest existing offset. The group must have no members.
    """
    from kctl.cli.groups.change import Reset, run_reset  # the client: not wanted for --help

    given = {
        "--to-earliest": to_earliest or None,
        "--to-latest": to_latest or None,
        "--to-current": to_current or None,
        "--to-offset": to_offset,
        "--shift-by": shift_by,
        "--to-datetime": to_datetime,
        "--by-duration": by_duration,
        "--from-file": from_file,
    }
    chosen = {flag: value for flag, value in given.items() if value is not None}
    if len(chosen) != 1:
        problem = f"{' and '.join(chosen)} cannot be combined" if chosen else "no new offset given"
        raise click.UsageError(f"{problem}: use one of {', '.join(given)}.")
    if all_topics and (topics or from_file is not None):
        raise click.UsageError("--all-topics cannot be combined with --topic or --from-file.")
    if from_file is not None and topics:
        raise click.UsageError("--from-file cannot be combined with --topic: the file lists the partitions.")
    flag, value = next(iter(chosen.items()))
    if create and not topics and from_file is None:
        raise click.UsageError("--create needs --topic or --from-file: a new group has no committed offsets.")
    reset = Reset(group, tuple(topics or ()), flag, value, export, creates=create, consent=consent)
    return run_reset(common, reset)


@with_common(*SHAPES)
@with_options(consent=consent_options)
def delete_offsets(common: Common, consent: Consent, group: Group, topics: Topics = None) -> int:
    """Delete committed offsets of a group.

    Shows the offsets and prompts for confirmation. In scripts, add --execute. Members of the group must not be
    subscribed to the topics.
    """
    from kctl.cli.groups.change import run_delete  # the client: not wanted for --help

    if not topics:
        raise click.UsageError("Choose topics with --topic. To delete the whole group, use kctl groups delete.")
    return run_delete(common, group, topics, consent)
