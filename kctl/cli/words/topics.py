"""Which topics a command line means: names, and `/PATTERN/` for all whose whole name matches.

A slash cannot be in a topic's name, so the two are never confused. Shown by tests/unit/cli/test_topic_words.py.
"""

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

INTERNAL = "__"
"""Names of Kafka's own topics start with that; a pattern matches them only if it starts with that too."""
LONGEST_PATTERN = 1000


class TopicWords(NamedTuple):
    """Names as they were given, and the patterns of the others."""

    names: tuple[str, ...] = ()
    patterns: tuple[str, ...] = ()

    def __str__(self) -> str:
        return " ".join([*self.names, *(f"/{pattern}/" for pattern in self.patterns)])

    def as_pattern(self) -> re.Pattern[str]:
        """Return one pattern for the whole names of all that is meant."""
        return re.compile("|".join([*map(re.escape, self.names), *(f"(?:{p})" for p in self.patterns)]))

    def chosen_of(self, topics: Iterable[str]) -> list[str]:
        """Return the names, and which of these topics match a pattern, in order."""
        compiled = [re.compile(pattern) for pattern in self.patterns]
        shows_internal = any(pattern.lstrip("^").startswith(INTERNAL) for pattern in self.patterns)
        matching = [
            topic
            for topic in sorted(topics)
            if (shows_internal or not topic.startswith(INTERNAL)) and any(p.fullmatch(topic) for p in compiled)
        ]
        return list(dict.fromkeys([*self.names, *matching]))


def parse_topics(words: Sequence[str]) -> TopicWords:
    """Return the topics that are meant.

    Raises: ValueError: naming the word that is no topic, or the place at which its pattern is wrong.
    """
    names, patterns = [], []
    for word in words:
        if word.startswith("/"):
            patterns.append(_pattern(word))
        elif "/" in word:
            raise ValueError(f"{word!r} is not the name of a topic; a pattern is written /{word.strip('/')}/")
        elif not word:
            raise ValueError("a topic's name is not empty")
        else:
            names.append(word)
    return TopicWords(tuple(dict.fromkeys(names)), tuple(dict.fromkeys(patterns)))


def _pattern(word: str) -> str:
    if len(word) < 3 or not word.endswith("/"):
        raise ValueError(f"{word!r} is not a pattern: write it between slashes, such as '/orders-.*/'")
    if len(word) > LONGEST_PATTERN:
        raise ValueError(f"a pattern of {len(word)} characters is too long")
    pattern = word[1:-1]
    try:
        re.compile(pattern)
    except re.error as e:
        raise ValueError(f"{e.msg}\n  {word}\n  {' ' * (1 + (e.pos or 0))}^") from None
    return pattern
