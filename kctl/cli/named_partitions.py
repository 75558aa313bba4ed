"""Partitions on a command line, as TOPIC, TOPIC:0,2-4 or /PATTERN/."""

from collections.abc import Collection, Mapping, Sequence

from kctl.cli import click
from kctl.cli.exit_codes import ExitCode
from kctl.cli.failures import CommandError
from kctl.cli.nearest_names import suggest_topics
from kctl.client.admin import Admin
from kctl.client.topic_names import LONGEST_TOPIC_NAME
from kctl.client.wording import listed
from kctl.grammar.topics import INTERNAL, TopicWords, parse_partitions, parse_topics


def parse_named(texts: Sequence[str], where: str = "'--topic'") -> dict[str, list[int] | None]:
    """Return the partitions of each TOPIC[:P,P-P]; None for all partitions.

    Args: where: option or argument, for errors.
    Raises: click.BadParameter: a text is invalid.
    """
    found: dict[str, list[int] | None] = {}
    for text in texts:
        topic, partitions = _parse_one(text, where)
        before = found.get(topic, [])
        is_all = partitions is None or before is None
        found[topic] = None if is_all else sorted({*(before or ()), *(partitions or ())})
    return found


def _parse_one(text: str, where: str) -> tuple[str, Collection[int] | None]:
    if text.startswith("/"):
        parse_patterns([text], where)
        return text, None
    topic, colon, numbers = text.partition(":")
    if not topic or len(topic) > LONGEST_TOPIC_NAME:
        raise click.BadParameter(f"use TOPIC or TOPIC:0,2-4 instead of {text[:80]!r}", param_hint=where)
    try:
        return topic, parse_partitions([numbers]) if colon else None
    except ValueError as e:
        raise click.BadParameter(f"{text[:80]!r}: {e}", param_hint=where) from None


def parse_patterns(texts: Sequence[str], where: str = "TOPIC") -> TopicWords:
    """Return the names and patterns of topics. Raises: click.BadParameter: a pattern or name is invalid."""
    try:
        return parse_topics(texts)
    except ValueError as e:
        raise click.BadParameter(str(e), param_hint=where) from None


def chosen_topics(admin: Admin, words: TopicWords) -> list[str]:
    """Return the topics that match names and patterns; all topics if `words` is empty.

    Raises: CommandError: no topic matches the patterns.
    """
    if words.names and not words.patterns:
        return list(words.names)
    internal = any(pattern.lstrip("^").startswith(INTERNAL) for pattern in words.patterns)
    listed = admin.list_topics(include_internal=internal)
    if not words.patterns:
        return list(listed)
    chosen = words.chosen_of(listed)
    if not chosen:
        raise CommandError(ExitCode.UNKNOWN_RESOURCE, f"no topic matches {words}", "list topics with: kctl topics list")
    return chosen


def with_matching(admin: Admin, wanted: Mapping[str, list[int] | None]) -> Mapping[str, list[int] | None]:
    """Replace patterns by the matching topics. Raises: see `chosen_topics`."""
    patterns = [text for text in wanted if text.startswith("/")]
    if not patterns:
        return wanted
    matching = dict.fromkeys(chosen_topics(admin, parse_topics(patterns)))
    return {**matching, **{name: numbers for name, numbers in wanted.items() if name not in patterns}}


def find_partitions(admin: Admin, wanted: Mapping[str, list[int] | None]) -> dict[str, list[int]]:
    """Return the partitions of each topic; all existing partitions for None.

    Raises:
        CommandError: a partition does not exist.
        KafkaError: a topic cannot be described.
    """
    wanted = with_matching(admin, wanted)
    described = admin.describe_topics(list(wanted))
    suggest_topics(admin, described.failed)
    described.raise_first()
    found: dict[str, list[int]] = {}
    for topic, numbers in wanted.items():
        existing = sorted(described[topic].partitions)
        refuse_missing(topic, [number for number in numbers or () if number not in existing], len(existing))
        found[topic] = existing if numbers is None else numbers
    return found


def refuse_missing(topic: str, missing: Sequence[int], count: int) -> None:
    if missing:
        raise CommandError(
            ExitCode.UNKNOWN_RESOURCE,
            f"topic {topic} has no partition {listed(missing)}",
            f"use a partition from 0 to {count - 1}",
        )
