"""`kctl groups remove-members`: shows members, and removes them with consent."""

from typing import TYPE_CHECKING, Annotated

import typer

from kctl.cli import click
from kctl.cli.changes import Consent, after_yes, consent_options, end_change, result_word
from kctl.cli.formats.listing import SHAPES, Listing
from kctl.cli.formats.rows import Row
from kctl.cli.groups.offsets import Group
from kctl.cli.options import Common, with_common, with_options
from kctl.client.wording import counted
from kctl.grammar.command_lines import fill_command

if TYPE_CHECKING:
    from kctl.client.admin import MemberDescription

COLUMNS = ("group", "client", "host", "instance", "member", "partitions", "result")


@with_common(*SHAPES)
@with_options(consent=consent_options)
def remove_members(
    common: Common,
    consent: Consent,
    group: Group,
    instances: Annotated[
        list[str] | None,
        typer.Option("--instance", metavar="ID", help="Static member to remove, by group.instance.id. Repeatable."),
    ] = None,
    members: Annotated[
        list[str] | None,
        typer.Option("--member", metavar="ID", help="Member to remove, by member ID. Repeatable."),
    ] = None,
) -> int:
    """Remove members from a group.

    Shows the members and prompts for confirmation. In scripts, add --execute. Other members get the partitions
    immediately. A removed member that still runs joins again.
    """
    from kctl.cli.admin_client import open_admin  # the client: not wanted for --help
    from kctl.cli.groups.lookup import find_group, find_members, member_text

    if not instances and not members:
        raise click.UsageError("Choose members with --instance or --member. List members with: kctl groups members.")
    output = common.choose_output(*SHAPES)
    with open_admin(common) as admin:
        with admin.within():
            description = find_group(admin, group)
            assert description is not None
            found = find_members(description, instances or (), members or ())
            results = admin.remove_members(group, found) if consent is Consent.GIVEN else None
        if results is None:
            facts = [member_text(member) for member in found.values()]
            question = f"Remove these members of {group}?"
            results = after_yes(common, admin, consent, facts, question, lambda: admin.remove_members(group, found))
    failed = None if results is None else results.failed
    rows = [_row(group, member, result_word(key, failed, "removed")) for key, member in found.items()]
    listing = Listing("members", COLUMNS, rows, {"executed": failed is not None})
    return end_change(
        common,
        output,
        listing,
        failed,
        f"{counted(len(rows), 'member')} would be removed",
        fill_command("kctl groups members {group}", {"group": group}),
    )


def _row(group: str, member: "MemberDescription", result: str) -> Row:
    return {
        "group": group,
        "client": member.client_id or None,
        "host": member.host or None,
        "instance": member.group_instance_id,
        "member": member.member_id,
        "partitions": len(member.assignment or ()),
        "result": result,
    }
