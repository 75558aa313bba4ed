"""`kctl groups` commands: list, describe, lag, members and delete."""

from typing import Annotated

import typer

from kctl.cli import click
from kctl.cli.changes import Consent, after_yes, checking, consent_options, end_change, report_failures, result_word
from kctl.cli.commands import Commands
from kctl.cli.exit_codes import ExitCode
from kctl.cli.failures import Failure
from kctl.cli.formats.listing import SHAPES, Listing, write_listing
from kctl.cli.formats.rows import Row
from kctl.cli.groups import offsets as groups_offsets
from kctl.cli.groups import removal
from kctl.cli.groups.view import filled_columns
from kctl.cli.options import Common, duration_ms, with_common, with_options
from kctl.cli.output_options import Output
from kctl.client.wording import counted

WATCH_MS = 2000
LIST_COLUMNS = ("group", "type", "state", "protocol", "coordinator")
DESCRIBE_COLUMNS = (
    "group", "topic", "partition", "committed", "end", "lag", "client", "host", "member", "note", "start_offset",
)  # fmt: skip
MEMBER_COLUMNS = (
    "group", "client", "host", "instance", "member", "epoch", "partitions", "assignment", "target", "subscribed",
    "active_tasks", "standby_tasks",
)  # fmt: skip
DELETE_COLUMNS = ("group", "state", "committed_partitions", "result")

app = Commands(no_args_is_help=True)

_NAMES = "Groups, or '/PATTERN/' for all matching groups."
Names = Annotated[list[str], typer.Argument(metavar="GROUP...", show_default=False, help=_NAMES)]
AnyNames = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[GROUP]...",
        show_default=False,
        help="Groups, or '/PATTERN/' for all matching groups [default: all groups].",
    ),
]
All = Annotated[bool, typer.Option("--all", help="Show all groups, which is the default.")]


@app.callback()
def groups() -> None:
    """Inspect consumer, share, and streams groups, and change their offsets.

    Commands that change a group show the change and prompt for confirmation. In scripts, add --execute.
    """


@app.command("list")
@with_common(*SHAPES)
def list_(
    common: Common,
    states: Annotated[
        list[str] | None,
        typer.Option("--state", metavar="NAME", help="State of groups to list, such as Empty. Repeatable."),
    ] = None,
    types: Annotated[
        list[str] | None,
        typer.Option(
            "--type",
            metavar="NAME",
            help="Type of groups to list: classic, consumer, share, or streams. Repeatable.",
        ),
    ] = None,
) -> int:
    """List groups.

    Exits with 3 if a broker does not respond and its groups are missing.
    """
    from kctl.cli.admin_client import admin_of, nothing_found  # the client: not wanted for --help

    output = common.choose_output(*SHAPES)
    with admin_of(common) as admin:
        listed = admin.list_groups(states=states or (), types=types or ())
    rows: list[Row] = [
        {
            "group": group.group_id,
            "type": group.type,
            "state": group.state or None,
            "protocol": group.protocol_type or None,
            "coordinator": group.coordinator.node_id,
        }
        for group in listed.groups.values()
    ]
    listing = Listing("groups", LIST_COLUMNS, rows, {"complete": not listed.failed})
    write_listing(common.environment, output, listing)
    if not rows and not listed.failed and output is Output.TABLE:
        common.say(f"kctl groups: {'no group matches' if states or types else nothing_found(admin, 'groups')}")
    for node in listed.failed:
        missing = Failure(ExitCode.PARTIAL_FAILURE, f"incomplete list: the groups of broker {node} are missing")
        common.environment.say_failure(missing, is_error=False)
    return report_failures(common, True, listed.failed.values())


@app.command()
@with_common(*SHAPES)
def describe(common: Common, names: AnyNames = None, show_all: All = False) -> int:
    """Show state, assignor, coordinator, members, and lag of groups."""
    from kctl.cli.groups.describe import describe_groups  # the client: not wanted for --help

    wanted = _named(names, show_all=show_all)
    return describe_groups(common, common.choose_output(*SHAPES), wanted, DESCRIBE_COLUMNS)


@app.command()
@with_common(*SHAPES, repeats=lambda given: given["watch"] or given["count"] is not None)
def lag(
    common: Common,
    names: AnyNames = None,
    show_all: All = False,
    topics: groups_offsets.Topics = None,
    threshold: Annotated[
        int | None,
        typer.Option(
            "--threshold",
            min=0,
            metavar="N",
            help="Exit with 3 if a lag exceeds N or no lag is found. If a lag is unknown, exit with its error code.",
        ),
    ] = None,
    rates: Annotated[
        bool, typer.Option("--rates", help="Show rates and the time to catch up, measured over 30s or three commits.")
    ] = False,
    watch: Annotated[bool, typer.Option("--watch", help="Refresh until Ctrl-C.")] = False,
    interval: Annotated[
        int,
        typer.Option("--interval", parser=duration_ms, metavar="DURATION", help="Refresh interval."),
    ] = WATCH_MS,
    count: Annotated[
        int | None, typer.Option("--count", min=1, metavar="N", help="Exit after N refreshes. Implies --watch.")
    ] = None,
) -> int:
    """Show the lag of groups by partition: in records, and the age of the next unread record.

    On a terminal --watch repaints the table, with rates and the time to catch up.
    """
    from kctl.cli.groups.lag_look import LagQuery  # the client: not wanted for --help
    from kctl.cli.groups.lag_watch import Rounds, show_lag
    from kctl.cli.named_partitions import parse_named

    wanted = _named(names, show_all=show_all)
    output = common.choose_output(*SHAPES)
    looks = 1 if count is None and not watch else count
    if looks != 1 and output is Output.JSON:
        raise click.UsageError("--watch cannot be combined with --output json: use jsonl.")
    query = LagQuery(wanted or None, parse_named(topics or ()), threshold)
    return show_lag(common, output, query, Rounds(looks, interval, samples_first=rates))


@app.command()
@with_common(*SHAPES)
def members(common: Common, names: Names) -> int:
    """Show the members of groups and their partitions."""
    from kctl.cli.admin_client import admin_of  # the client: not wanted for --help
    from kctl.cli.groups.describe import member_row
    from kctl.cli.groups.lookup import chosen_groups
    from kctl.cli.nearest_names import suggest_groups

    output = common.choose_output(*SHAPES)
    with admin_of(common) as admin:
        results = admin.describe_groups(chosen_groups(admin, names))
        suggest_groups(admin, results.failed)
    rows = [member_row(group, member) for group in results.done.values() for member in group.members]
    if results.done:
        listing = Listing("members", MEMBER_COLUMNS, rows, shown=filled_columns(MEMBER_COLUMNS, rows))
        write_listing(common.environment, output, listing)
    for group in results.done.values():
        if not group.members:
            common.say(f"kctl groups: group {group.group_id} has no members ({group.state})")
    return report_failures(common, results.done, results.failed.values())


@app.command()
@with_common(*SHAPES)
@with_options(consent=consent_options)
def delete(common: Common, consent: Consent, names: Names) -> int:
    """Delete groups and their committed offsets.

    Shows the groups and prompts for confirmation. In scripts, add --execute.
    """
    from kctl.cli.admin_client import open_admin  # the client: not wanted for --help
    from kctl.cli.groups.lookup import chosen_groups, find_groups, refuse_members
    from kctl.cli.groups.positions import count_positions

    output = common.choose_output(*SHAPES)
    with open_admin(common) as admin:
        with admin.within():
            found = find_groups(common, admin, chosen_groups(admin, names))
            if found.failed:
                code = report_failures(common, (), found.failed.values())
                common.say("kctl groups: nothing was deleted")
                return code
            for group in found.done.values():
                refuse_members(group, group.members, "delete")
            offsets = count_positions(admin, found.done)
            results = admin.delete_groups(found.done) if consent is Consent.GIVEN else None
        if results is None:
            facts = [
                f"group {group_id}: committed offsets of {counted(count, 'partition')}"
                for group_id, count in offsets.items()
            ]
            results = after_yes(
                common, admin, consent, facts, "Delete these groups?", lambda: admin.delete_groups(found.done)
            )
    failed = None if results is None else results.failed
    rows: list[Row] = [
        {
            "group": group_id,
            "state": group.state,
            "committed_partitions": offsets[group_id],
            "result": result_word(group_id, failed, "deleted"),
        }
        for group_id, group in found.done.items()
    ]
    check = checking("kctl groups describe", failed or {})
    listing = Listing("groups", DELETE_COLUMNS, rows, {"executed": failed is not None})
    return end_change(common, output, listing, failed, f"{counted(len(rows), 'group')} would be deleted", check)


def _named(names: list[str] | None, *, show_all: bool) -> list[str]:
    if names and show_all:
        raise click.UsageError(f"--all cannot be combined with names of groups such as {names[0]}.")
    return list(dict.fromkeys(names or ()))


app.command("reset-offsets")(groups_offsets.reset_offsets)
app.command("delete-offsets")(groups_offsets.delete_offsets)
app.command("remove-members")(removal.remove_members)
