"""Topics and partitions of a command line: names, `/PATTERN/` for all matching topics, and `0,2-4`.

Topic names never contain a slash, so a pattern is never mistaken for a name.
"""

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

INTERNAL = "__"
"""Prefix of internal topics. A pattern matches internal topics only if it has this prefix."""
LONGEST_PATTERN = 1000
MOST_PARTITIONS = 100_000
_RANGE = re.compile(r"(\d{1,9})(?:-(\d{1,9}))?", re.ASCII)


class TopicWords(NamedTuple):
    names: tuple[str, ...] = ()
    patterns: tuple[str, ...] = ()

    def __str__(self) -> str:
        return " ".join([*self.names, *(f"/{pattern}/" for pattern in self.patterns)])

    def as_pattern(self) -> re.Pattern[str]:
        return re.compile("|".join([*map(re.escape, self.names), *(f"(?:{p})" for p in self.patterns)]))

    def chosen_of(self, topics: Iterable[str]) -> list[str]:
        """Return the names, followed by the sorted topics that match a pattern."""
        compiled = [re.compile(pattern) for pattern in self.patterns]
        shows_internal = any(pattern.lstrip("^").startswith(INTERNAL) for pattern in self.patterns)
        matching = [
            topic
            for topic in sorted(topics)
            if (shows_internal or not topic.startswith(INTERNAL)) and any(p.fullmatch(topic) for p in compiled)
        ]
        return list(dict.fromkeys([*self.names, *matching]))


def parse_topics(words: Sequence[str]) -> TopicWords:
    """Return the names and patterns of command-line words.

    Raises: ValueError: a word is not a topic name, or a pattern is invalid.
    """
    names, patterns = [], []
    for word in words:
        if word.startswith("/"):
            patterns.append(_pattern(word))
        elif "/" in word:
            raise ValueError(f"{word!r} is not a topic name: use /{word.strip('/')}/ for a pattern")
        elif not word:
            raise ValueError("topic names must not be empty")
        else:
            names.append(word)
    return TopicWords(tuple(dict.fromkeys(names)), tuple(dict.fromkeys(patterns)))


def _pattern(word: str) -> str:
    if len(word) < 3 or not word.endswith("/"):
        raise ValueError(f"{word!r} is not a pattern: use slashes, such as '/orders-.*/'")
    if len(word) > LONGEST_PATTERN:
        raise ValueError(f"the pattern has too many characters ({len(word)})")
    pattern = word[1:-1]
    try:
        re.compile(pattern)
    except re.error as e:
        raise ValueError(f"{e.msg}\n  {word}\n  {' ' * (1 + (e.pos or 0))}^") from None
    return pattern


def parse_partitions(texts: Iterable[str]) -> list[int]:
    """Return the partition numbers of texts such as `0,2-4`, sorted and without duplicates.

    Raises: ValueError: a text is not a number or a range.
    """
    numbers: dict[int, None] = {}
    for part in (part.strip() for text in texts for part in text.split(",")):
        match = _RANGE.fullmatch(part)
        if match is None:
            raise ValueError(f"{part!r} is not a partition: use 0, 0,2, or 2-4")
        first, last = int(match[1]), int(match[2] or match[1])
        if last < first or last - first >= MOST_PARTITIONS:
            raise ValueError(f"{part!r} is not a valid range of partitions")
        numbers |= dict.fromkeys(range(first, last + 1))
    return sorted(numbers)
