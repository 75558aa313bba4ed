"""Check of topic names, as brokers do in CreateTopics.

kctl uses names from outside as file names, tables, and in requests. Source: org.apache.kafka.common.internals.Topic.
"""

import re

LONGEST_TOPIC_NAME = 249
_LEGAL = re.compile(rf"[A-Za-z0-9._-]{{1,{LONGEST_TOPIC_NAME}}}")


def is_topic_name(name: str) -> bool:
    return name not in (".", "..") and _LEGAL.fullmatch(name) is not None


def check_topic_name(name: str) -> None:
    """Raise ValueError for an illegal name; the message for a pattern of librdkafka has a hint."""
    if name.startswith("^"):
        raise ValueError(f"invalid topic {name!r}: for a pattern, use re.compile({name[1:]!r})")
    if not is_topic_name(name):
        form = f"letters, digits, '.', '_' and '-', {LONGEST_TOPIC_NAME} characters at most"
        raise ValueError(
            f"invalid topic {shown_topic_name(name)}: use {form}" if name else "topic names must not be empty"
        )


def shown_topic_name(name: str) -> str:
    return repr(name[:LONGEST_TOPIC_NAME])
