"""What the group commands look up first: the groups, who is in them, and the partitions that were named.

Owns what is refused before anything is changed: groups, topics and partitions that do not exist, groups with members.
Shown by tests/cli/test_groups.py and test_groups_offsets.py.
"""

from collections.abc import Mapping, Sequence

from kctl.cli import click
from kctl.cli.exit_codes import ExitCode
from kctl.cli.failures import CommandError
from kctl.cli.nearest_names import suggest_groups, suggest_topics
from kctl.cli.options import Common
from kctl.client.admin import Admin, GroupDescription, MemberDescription, Results
from kctl.client.broker_errors import ErrorCode
from kctl.client.errors import ApiTimeout, BrokerError
from kctl.client.topic_names import LONGEST_TOPIC_NAME
from kctl.client.wording import counted
from kctl.grammar.topics import parse_partitions

MOST_NAMED = 5
"""Members that a refusal names; further ones are counted."""


def parse_topics(texts: Sequence[str]) -> dict[str, list[int] | None]:
    """Return the partitions of each `--topic TOPIC[:P,P-P]`; None where all are meant.

    Raises: click.BadParameter: saying what is wrong.
    """
    found: dict[str, list[int] | None] = {}
    for text in texts:
        topic, colon, numbers = text.partition(":")
        if not topic or len(topic) > LONGEST_TOPIC_NAME:
            raise click.BadParameter(f"{text[:80]!r} is not TOPIC or TOPIC:0,2-4", param_hint="'--topic'")
        try:
            partitions = parse_partitions([numbers]) if colon else None
        except ValueError as e:
            raise click.BadParameter(f"{text[:80]!r}: {e}", param_hint="'--topic'") from None
        before = found.get(topic, [])
        is_all = partitions is None or before is None
        found[topic] = None if is_all else sorted({*(before or ()), *(partitions or ())})
    return found


def find_partitions(admin: Admin, wanted: Mapping[str, list[int] | None]) -> dict[str, list[int]]:
    """Return the partitions of each topic that was named.

    Raises: CommandError: a topic lacks a partition. KafkaError: there is no such topic, or it cannot be described.
    """
    described = admin.describe_topics(list(wanted))
    suggest_topics(admin, described.failed)
    described.raise_first()
    found: dict[str, list[int]] = {}
    for topic, numbers in wanted.items():
        existing = sorted(described[topic].partitions)
        missing = [number for number in numbers or () if number not in existing]
        if missing:
            raise CommandError(
                ExitCode.UNKNOWN_RESOURCE,
                f"topic {topic} has no partition {', '.join(map(str, missing[:MOST_NAMED]))}",
                f"it has {len(existing)}, numbered from 0",
            )
        found[topic] = existing if numbers is None else numbers
    return found


def find_group(admin: Admin, group_id: str, *, may_lack: bool = False) -> GroupDescription | None:
    """Return a group; None where there is none and that may be. Raises: KafkaError: it cannot be described."""
    results = admin.describe_groups([group_id])
    error = results.failed.get(group_id)
    if may_lack and isinstance(error, BrokerError) and error.code == ErrorCode.GROUP_ID_NOT_FOUND:
        return None
    suggest_groups(admin, results.failed)
    return results[group_id]


def find_groups(common: Common, admin: Admin, group_ids: Sequence[str]) -> Results[str, GroupDescription]:
    """Return groups that further calls are about; those have half of the API timeout where a coordinator is silent."""
    results = describe_in_half(admin, group_ids)
    for line in late_lines(results):
        common.say(f"kctl groups: {line}")
    return results


def describe_in_half(admin: Admin, group_ids: Sequence[str]) -> Results[str, GroupDescription]:
    """Return groups; the others are waited for until half of the API timeout, which leaves time for further calls."""
    results = admin.describe_groups(group_ids, partial_timeout=admin.config.default_api_timeout_ms / 2000)
    suggest_groups(admin, results.failed)
    return results


def late_lines(results: Results[str, GroupDescription]) -> list[str]:
    """Return a line about the groups whose coordinators did not respond in time, if there are any."""
    late = [group_id for group_id, error in results.failed.items() if isinstance(error, ApiTimeout)]
    return [f"no response in time about {', '.join(late)}"] if late else []


def refuse_members(group: GroupDescription, members: Sequence[MemberDescription], what: str) -> None:
    """Raise CommandError when there are members that stand in the way, and name them."""
    if not members:
        return
    named = "; ".join(member_text(member) for member in members[:MOST_NAMED])
    more = f"; and {len(members) - MOST_NAMED} more" if len(members) > MOST_NAMED else ""
    count = counted(len(members), "active member")
    raise CommandError(
        ExitCode.NOT_ABLE_YET,
        f"group {group.group_id} has {count}: {named}{more}; {what}",
        "stop the consumers first; kctl groups members shows them all",
    )


def member_text(member: MemberDescription) -> str:
    """Return who a member is, in a few words."""
    who = member.group_instance_id or member.client_id or member.member_id
    return f"{who} on {member.host or 'an unknown host'} ({member.member_id})"
