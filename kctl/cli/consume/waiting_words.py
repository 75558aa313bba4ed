"""WaitingWords: wait reasons of all partitions in a few words, and whether they are faults."""

import re
from collections.abc import Mapping
from typing import NamedTuple

from kctl.client.cluster import TopicPartition
from kctl.client.consumer import WaitKind, WaitReason
from kctl.client.errors import KafkaError
from kctl.client.wording import listed

MOST_NAMES = 3
"""Maximum number of partitions to list for one reason; further ones are counted."""
MOST_REASONS = 4

RESTING = (WaitKind.AT_END, WaitKind.OPEN_TRANSACTION, WaitKind.PAUSED, WaitKind.DELIVERABLE, WaitKind.NO_SHARE)
"""Reasons without a fault: other clients must write, commit, or leave the group."""
PASSING = (WaitKind.PAUSED, WaitKind.DELIVERABLE, WaitKind.NOT_STARTED)
"""Reasons that the next poll removes, not reported."""


_FIGURES = r"\b\d+(?:\.\d+)?(?= ?(?:ms|s|min|attempts?|times?|bytes)\b)|(?<=\battempt )\d+"
FRESH_MS = 1000
"""Time without a response that counts as a fault."""


class WaitingWords(NamedTuple):
    """Description of a wait.

    Attributes:
        text: words for people; empty if there is no reason.
        is_fault: whether a fault withholds records that may exist.
        cause: last error, if any.
        started_at_ms: start of the oldest fault, if known.
        key: comparison key of the reasons, without times. If there are faults, the key has only faults.
    """

    text: str = ""
    is_fault: bool = False
    cause: KafkaError | None = None
    started_at_ms: int | None = None
    key: str = ""


def waiting_words(
    partitions: Mapping[TopicPartition, WaitReason],
    group: WaitReason | None = None,
    filtered: int = 0,
    now_ms: int = 0,
) -> WaitingWords:
    """Return the description of a wait.

    Args:
        partitions: reasons from `Consumer.waiting_for`.
        group: reason from `Consumer.waiting_for_group`, which has precedence.
        filtered: number of records excluded in the meantime.
        now_ms: present time, to find requests that have been pending for long.
    """
    if group is not None:
        return WaitingWords(group.text, group.kind not in RESTING, group.cause, group.started_at_ms, group.text)
    lasting = {tp: reason for tp, reason in partitions.items() if not _is_passing(reason, now_ms)}
    at_end = sum(reason.kind is WaitKind.AT_END for reason in lasting.values())
    by_text: dict[str, list[TopicPartition]] = {}
    for tp, reason in lasting.items():
        if reason.kind is not WaitKind.AT_END:
            by_text.setdefault(_text(reason, now_ms), []).append(tp)
    parts = [f"{_names(tps)}: {text}" for text, tps in by_text.items()]
    if len(parts) > MOST_REASONS:
        parts = [*parts[:MOST_REASONS], f"and {len(parts) - MOST_REASONS} more reasons"]
    if at_end:
        parts.append(f"at the end of {_count(at_end, len(partitions))}")
    if filtered:
        parts.append("no records matched --grep or --jq")
    text = "; ".join(parts)
    faults = {tp: reason for tp, reason in lasting.items() if reason.kind not in RESTING}
    if not faults:
        return WaitingWords(text, key=text)
    cause = next((reason.cause for reason in faults.values() if reason.cause is not None), None)
    started_at_ms = min(
        (reason.started_at_ms for reason in faults.values() if reason.started_at_ms is not None), default=None
    )
    key = "; ".join(f"{tp}: {reason.text}" for tp, reason in faults.items())
    return WaitingWords(text, True, cause, started_at_ms, key)


def _is_passing(reason: WaitReason, now_ms: int) -> bool:
    """Return whether to omit a reason: work of this client, or a request sent less than FRESH_MS ago."""
    is_early = reason.kind is WaitKind.ANSWER and (
        reason.started_at_ms is None or now_ms - reason.started_at_ms < FRESH_MS
    )
    return reason.kind in PASSING or is_early


def _text(reason: WaitReason, now_ms: int) -> str:
    if reason.kind is not WaitKind.ANSWER or reason.started_at_ms is None:
        return reason.text
    return f"{reason.text} for {(now_ms - reason.started_at_ms) // 1000}s"


def without_figures(text: str) -> str:
    """Return a reason without durations and attempts, for comparison."""
    return re.sub(_FIGURES, "N", text)


def _names(partitions: list[TopicPartition]) -> str:
    return listed(partitions, MOST_NAMES)


def _count(some: int, of: int) -> str:
    if some == of:
        return "the partition" if of == 1 else f"all {of} partitions"
    return f"{some} of {of} partitions"
