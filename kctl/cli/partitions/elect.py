"""Execution of `kctl partitions elect`. Unclean elections lose the records that the new leader lacks."""

from collections.abc import Sequence

from kctl.cli import click
from kctl.cli.admin_client import nothing_found, open_admin
from kctl.cli.changes import Consent, after_yes, checking, report_failures, say_dry_run, word_of
from kctl.cli.exit_codes import ExitCode
from kctl.cli.formats.listing import Listing, write_listing
from kctl.cli.formats.rows import Row
from kctl.cli.named_partitions import find_partitions, parse_named
from kctl.cli.options import Common
from kctl.cli.output_options import Output
from kctl.client.admin import Admin, ElectionType, Results
from kctl.client.cluster import NO_NODE, PartitionInfo, TopicPartition
from kctl.client.wording import counted

COLUMNS = ("topic", "partition", "leader", "replicas", "in_sync", "result")

Elected = Results[TopicPartition, bool]


def run_elect(common: Common, output: Output, topics: Sequence[str], *, unclean: bool, everything: bool,
              consent: Consent) -> int:  # fmt: skip
    """Elect leaders of partitions that need one, and return the exit code."""
    _refuse_contradictions(topics, unclean=unclean, everything=everything)
    kind = ElectionType.UNCLEAN if unclean else ElectionType.PREFERRED
    results: Elected | None = None
    with open_admin(common) as admin:
        with admin.within():
            found = _partitions(admin, topics)
            needed = [key for key, info in found.items() if _needs(info, kind)]
            if needed and (consent is Consent.GIVEN or (consent is Consent.NEEDED and not unclean)):
                results = admin.elect_leaders(kind, needed)
        if needed and results is None:
            facts = [f"{key}: replicas {_ids(found[key].replicas)}, in sync {_ids(found[key].isr)}" for key in needed]
            question = (
                f"Elect leaders for {counted(len(needed), 'partition')}, and lose records that the new leaders do "
                "not have?"
            )
            results = after_yes(common, admin, consent, facts, question, lambda: admin.elect_leaders(kind, needed))
    shown = needed if everything else list(found)
    rows = [_row(key, found[key], _result(key, results, is_needed=_needs(found[key], kind))) for key in shown]
    write_listing(common.environment, output, Listing("partitions", COLUMNS, rows))
    if results is not None:
        check = checking("kctl topics describe", results.failed, lambda key: key.topic)
        return report_failures(common, results.done, list(results.failed.values()), check)
    if needed and unclean:
        say_dry_run(common, f"{counted(len(needed), 'partition')} would get a leader, and records may be lost")
    if not needed:
        text = "no election is needed" if found else nothing_found(admin, "topics")
        common.say(f"{common.environment.program}: {text}")
    return ExitCode.OK


def _refuse_contradictions(topics: Sequence[str], *, unclean: bool, everything: bool) -> None:
    if not everything and not topics:
        raise click.UsageError("Select topics, or add --all.")
    if everything and topics:
        raise click.UsageError("--all cannot be combined with topics.")
    if unclean and everything:
        raise click.UsageError("--unclean cannot be combined with --all, because unclean elections lose records.")


def _partitions(admin: Admin, topics: Sequence[str]) -> dict[TopicPartition, PartitionInfo]:
    if not topics:
        listed = admin.list_topics(include_internal=True)
        return {TopicPartition(name, each): info for name, t in listed.items() for each, info in t.partitions.items()}
    wanted = find_partitions(admin, parse_named(topics, "TOPIC"))
    described = admin.describe_topics(list(wanted))
    return {
        TopicPartition(topic, each): described[topic].partitions[each]
        for topic, numbers in wanted.items()
        for each in numbers
    }


def _needs(info: PartitionInfo, kind: ElectionType) -> bool:
    if kind is ElectionType.UNCLEAN:
        return info.leader_id == NO_NODE
    return bool(info.replicas) and info.leader_id != info.replicas[0]


def _result(key: TopicPartition, results: Elected | None, *, is_needed: bool) -> str:
    if not is_needed:
        return "not needed"
    if results is None:
        return "would be elected"
    if key in results.failed:
        return word_of(results.failed[key], "elected")
    return "elected" if results[key] else "not needed"


def _row(key: TopicPartition, info: PartitionInfo, result: str) -> Row:
    return {
        "topic": key.topic,
        "partition": key.partition,
        "leader": None if info.leader_id == NO_NODE else info.leader_id,
        "replicas": list(info.replicas),
        "in_sync": list(info.isr),
        "result": result,
    }


def _ids(brokers: Sequence[int]) -> str:
    return ", ".join(map(str, brokers)) or "none"
