"""Execution of `kctl partitions plan`. planner.py computes the plan."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from kctl.cli import click
from kctl.cli.absent_brokers import AbsentBroker, absent_brokers
from kctl.cli.admin_client import admin_of
from kctl.cli.exit_codes import ExitCode
from kctl.cli.failures import CommandError, Failure
from kctl.cli.formats.listing import write_lines
from kctl.cli.named_partitions import parse_named, refuse_missing
from kctl.cli.nearest_names import name_nearest
from kctl.cli.options import Common
from kctl.cli.partitions.plan_file import plan_lines, write_plan
from kctl.cli.partitions.planner import Goal, NotPossible, copies_of, make_plan
from kctl.client.admin import Admin, ClusterDescription
from kctl.client.broker_errors import ErrorCode, broker_error
from kctl.client.cluster import PartitionInfo, TopicPartition
from kctl.client.errors import AuthorizationError
from kctl.client.wording import counted, listed
from kctl.grammar.topics import parse_topics as parse_names

LONGEST_ID = 10


class Wish(NamedTuple):
    """Options of the command."""

    topics: Sequence[str]
    to: Sequence[int]
    away_from: Sequence[int]
    replication_factor: int | None
    ignore_racks: bool
    rollback: Path | None


def parse_ids(text: str | None, where: str) -> list[int]:
    """Return comma-separated broker IDs. Raises: click.BadParameter: an ID is invalid."""
    if text is None:
        return []
    ids = []
    for word in text.split(","):
        if not (word.isascii() and word.isdigit() and len(word) <= LONGEST_ID):
            raise click.BadParameter(f"{word[:80]!r} is not a broker ID: use a list such as 1,2,3.", param_hint=where)
        ids.append(int(word))
    return list(dict.fromkeys(ids))


def run_plan(common: Common, wish: Wish) -> int:
    if not (wish.to or wish.away_from or wish.replication_factor):
        raise click.UsageError(
            "Nothing to plan: use --to-brokers ID,..., --exclude-brokers ID,..., or --replication-factor N."
        )
    if wish.to and wish.away_from:
        raise click.UsageError(
            "--to-brokers cannot be combined with --exclude-brokers: --to-brokers lists all brokers to use."
        )
    if wish.replication_factor and not wish.topics:
        raise click.UsageError("Missing argument 'TOPIC': --replication-factor needs topics.")
    with admin_of(common) as admin:
        cluster = admin.describe_cluster()
        everything = _all_partitions(admin, wish)
        chosen = _chosen(wish, everything)
    goal = _goal(common, wish, cluster)
    up = {node.node_id for node in cluster.nodes}
    lost = [key for key, info in chosen.items() if up.isdisjoint(info.isr)]
    current = {key: info.replicas for key, info in chosen.items() if not up.isdisjoint(info.isr)}
    loads = Counter(each for key, info in everything.items() if key not in current for each in info.replicas)
    in_sync = {key: info.isr for key, info in chosen.items()}
    try:
        plan = make_plan(current, goal, loads, in_sync)
    except NotPossible as e:
        raise CommandError(ExitCode.USAGE, str(e), "list running brokers with: kctl cluster describe") from None
    if wish.rollback is not None:
        write_plan(wish.rollback, {key: current[key] for key in plan})
    write_lines(common.environment, plan_lines(plan))
    changed, copied = (
        f"{len(plan)} of {counted(len(current), 'partition')}",
        counted(copies_of(current, plan), "replica"),
    )
    would = f"the plan would change {changed} and copy {copied}"
    common.say(f"{common.environment.program}: {would}" if plan else _nothing(common))
    left = _left_behind(chosen, {**current, **plan}, cluster)
    for each in left:
        common.environment.say_failure(
            Failure(ExitCode.PARTIAL_FAILURE, f"{each} even after this plan"), is_error=False
        )
    if lost:
        why = f"cannot copy {counted(len(lost), 'partition')}: no in-sync replica is up"
        hint = "start brokers of these partitions, or elect leaders with: kctl partitions elect --unclean"
        code = ExitCode.PARTIAL_FAILURE if current else ExitCode.UNAVAILABLE
        common.environment.say_failure(Failure(code, f"{why}: {listed(lost)}", hint), is_error=False)
        return code
    return ExitCode.PARTIAL_FAILURE if left else ExitCode.OK


def _left_behind(
    chosen: Mapping[TopicPartition, PartitionInfo],
    planned: Mapping[TopicPartition, Sequence[int]],
    cluster: ClusterDescription,
) -> list[AbsentBroker]:
    after = [each for tp, info in chosen.items() for each in planned.get(tp, info.replicas)]
    return [each for each in absent_brokers(cluster, after) if each.replicas]


def _nothing(common: Common) -> str:
    return f"{common.environment.program}: the plan would change no partitions"


def _all_partitions(admin: Admin, wish: Wish) -> dict[TopicPartition, PartitionInfo]:
    """Return the partitions of the cluster. Raises: AuthorizationError: a named topic may not be described.

    Named topics are described too, because lists of brokers lack unauthorized and very new topics.
    """
    listed = admin.list_topics(include_internal=True)
    partitions = {name: topic.partitions for name, topic in listed.items()}
    named = [name for text in wish.topics if not text.startswith("/") for name in parse_named([text], "TOPIC")]
    unlisted = [name for name in named if name not in listed]
    if unlisted:
        described = admin.describe_topics(unlisted)
        for error in described.failed.values():
            if isinstance(error, AuthorizationError):
                raise error
        partitions |= {name: topic.partitions for name, topic in described.done.items()}
    return {
        TopicPartition(name, each): info for name, of_topic in partitions.items() for each, info in of_topic.items()
    }


def _chosen(wish: Wish, everything: Mapping[TopicPartition, PartitionInfo]) -> dict[TopicPartition, PartitionInfo]:
    if not wish.topics:
        return dict(everything)
    chosen: dict[TopicPartition, PartitionInfo] = {}
    of_topics: dict[str, dict[TopicPartition, PartitionInfo]] = {}
    for key, info in everything.items():
        of_topics.setdefault(key.topic, {})[key] = info
    for text in wish.topics:
        if text.startswith("/"):
            for topic in _matching(text, of_topics):
                chosen |= of_topics[topic]
            continue
        for topic, numbers in parse_named([text], "TOPIC").items():
            if topic not in of_topics:
                error = broker_error(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"find topic {topic}")
                name_nearest(error, topic, of_topics)
                raise error
            of_topic = of_topics[topic]
            keys = of_topic if numbers is None else [TopicPartition(topic, each) for each in numbers]
            refuse_missing(topic, [key.partition for key in keys if key not in of_topic], len(of_topic))
            chosen |= {key: of_topic[key] for key in keys}
    return chosen


def _matching(pattern: str, names: Iterable[str]) -> list[str]:
    try:
        topics = parse_names([pattern]).chosen_of(names)
    except ValueError as e:
        raise click.BadParameter(str(e), param_hint="TOPIC") from None
    if not topics:
        raise CommandError(
            ExitCode.UNKNOWN_RESOURCE, f"no topic matches {pattern}", "list topics with: kctl topics list"
        )
    return topics


def _racks(common: Common, used: Mapping[int, str | None], *, ignored: bool) -> dict[int, str | None]:
    """Return the rack of each broker. If `ignored` or a broker has no rack, return None for all brokers."""
    without = listed(each for each, rack in used.items() if not rack)
    if without and any(used.values()) and not ignored:
        common.say(
            f"{common.environment.program}: note: racks are ignored, because these brokers have no rack: {without}"
        )
    return dict.fromkeys(used) if ignored or without else dict(used)


def _goal(common: Common, wish: Wish, cluster: ClusterDescription) -> Goal:
    racks = {node.node_id: node.rack for node in cluster.nodes}
    missing = [each for each in wish.to if each not in racks]
    if missing:
        raise CommandError(
            ExitCode.UNKNOWN_RESOURCE,
            f"broker {missing[0]} is down or does not exist",
            f"use running brokers: {listed(racks)}",
        )
    used = {
        each: rack for each, rack in racks.items() if (not wish.to or each in wish.to) and each not in wish.away_from
    }
    if not used:
        raise CommandError(
            ExitCode.USAGE, "cannot exclude all running brokers (--exclude-brokers)", "exclude fewer brokers"
        )
    used = _racks(common, used, ignored=wish.ignore_racks)
    return Goal(used, wish.away_from, bool(wish.to), wish.replication_factor)
