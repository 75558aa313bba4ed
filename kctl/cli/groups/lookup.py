"""Lookup of groups and members. Errors name missing groups and active members."""

from collections.abc import Sequence

from kctl.cli.admin_client import half_of_rest_s
from kctl.cli.exit_codes import ExitCode
from kctl.cli.failures import CommandError
from kctl.cli.nearest_names import suggest_groups
from kctl.cli.options import Common
from kctl.client.admin import Admin, GroupDescription, MemberDescription, MemberToRemove, Results
from kctl.client.broker_errors import ErrorCode
from kctl.client.errors import ApiTimeout, BrokerError, KafkaError
from kctl.client.wording import counted, listed
from kctl.grammar.command_lines import fill_command
from kctl.grammar.topics import parse_topics

MOST_NAMED = 5
"""Maximum members in an error; further ones are counted."""


def find_group(
    admin: Admin, group_id: str, *, may_lack: bool = False, missing_hint: str = ""
) -> GroupDescription | None:
    """Return a group. If it does not exist, return None if `may_lack`.

    Args: missing_hint: hint for a missing group, added to a similar name.
    Raises: KafkaError: the group cannot be described.
    """
    results = admin.describe_groups([group_id])
    error = results.failed.get(group_id)
    is_missing = isinstance(error, BrokerError) and error.code == ErrorCode.GROUP_ID_NOT_FOUND
    if may_lack and is_missing:
        return None
    suggest_groups(admin, results.failed)
    if isinstance(error, BrokerError) and is_missing and missing_hint:
        error.hint = " ".join(filter(None, (error.hint, missing_hint)))
    return results[group_id]


def chosen_groups(admin: Admin, words: Sequence[str], missing: list[KafkaError] | None = None) -> list[str]:
    """Return the groups that match names and patterns; all groups if `words` is empty.

    A word between slashes is a pattern, unless a group has that name.

    Args: missing: receives the errors of brokers that did not list their groups. If None, the first error is raised.
    Raises:
        CommandError: a pattern is invalid or matches no group.
        KafkaError: groups cannot be listed.
    """
    words = list(dict.fromkeys(words))
    patterns = [word for word in words if len(word) > len("//") and word[0] == word[-1] == "/"]
    if words and not patterns:
        return words
    listed = admin.list_groups(partial_timeout=half_of_rest_s(admin))
    for error in listed.failed.values():
        if missing is None:
            raise error
        missing.append(error)
    chosen = list(listed.groups) if not words else []
    for word in words:
        if word not in patterns or word in listed.groups:
            chosen.append(word)
            continue
        try:
            matching = parse_topics([word]).chosen_of(listed.groups)
        except ValueError as e:
            raise CommandError(ExitCode.USAGE, str(e)) from None
        if not matching:
            raise CommandError(
                ExitCode.UNKNOWN_RESOURCE, f"no group matches {word}", "list groups with: kctl groups list"
            )
        chosen += matching
    return list(dict.fromkeys(chosen))


def find_groups(common: Common, admin: Admin, group_ids: Sequence[str]) -> Results[str, GroupDescription]:
    """Describe groups as `describe_in_half` does, and print a note about late coordinators."""
    results = describe_in_half(admin, group_ids)
    for line in late_lines(results):
        common.say(f"kctl groups: {line}")
    return results


def describe_in_half(admin: Admin, group_ids: Sequence[str]) -> Results[str, GroupDescription]:
    """Describe groups. Late coordinators have half of the remaining time, so that later requests have time left."""
    results = admin.describe_groups(group_ids, partial_timeout=half_of_rest_s(admin))
    suggest_groups(admin, results.failed)
    return results


def late_lines(results: Results[str, GroupDescription]) -> list[str]:
    late = [group_id for group_id, error in results.failed.items() if isinstance(error, ApiTimeout)]
    return [f"the coordinator did not respond in time for {', '.join(late)}"] if late else []


def refuse_members(group: GroupDescription, members: Sequence[MemberDescription], change: str) -> None:
    """Raise CommandError if there are members.

    Args: change: verb of the message, such as "delete" or "reset offsets of".
    """
    if not members:
        return
    named = ", ".join(member_text(member) for member in members[:MOST_NAMED])
    more = f", and {len(members) - MOST_NAMED} more" if len(members) > MOST_NAMED else ""
    count = counted(len(members), "active member")
    raise CommandError(
        ExitCode.UNAVAILABLE,
        f"cannot {change} group {group.group_id} with {count}: {named}{more}",
        "stop the consumers first. List them with: kctl groups members",
    )


def _refuse_unknown(group_id: str, missing: Sequence[str]) -> None:
    if missing:
        command = fill_command("kctl groups members {group}", {"group": group_id})
        raise CommandError(
            ExitCode.UNKNOWN_RESOURCE,
            f"cannot remove members of group {group_id}: no member has {listed(missing)}",
            f"list the members with: {command}",
        )


def find_members(
    group: GroupDescription, instances: Sequence[str], member_ids: Sequence[str]
) -> dict[MemberToRemove, MemberDescription]:
    """Return the members with the given IDs. Raises: CommandError: the group does not have a member."""
    by_instance = {each.group_instance_id: each for each in group.members if each.group_instance_id}
    by_id = {each.member_id: each for each in group.members}
    missing = [f"group.instance.id {name}" for name in instances if name not in by_instance]
    missing += [f"member ID {name}" for name in member_ids if name not in by_id]
    _refuse_unknown(group.group_id, missing)
    # one named in both ways is one: by its id only this process leaves, and not one that has taken over its instance
    found = {MemberToRemove(name): by_id[name] for name in member_ids}
    known = {member.member_id for member in found.values()}
    for name in instances:
        if by_instance[name].member_id not in known:
            found[MemberToRemove(group_instance_id=name)] = by_instance[name]
    return found


def member_text(member: MemberDescription) -> str:
    who = member.group_instance_id or member.client_id or member.member_id
    return f"{who} on {member.host or 'an unknown host'} ({member.member_id})"
