"""Where words of a changed text are left: tests and pages that quote a text of users in its former words."""

from collections.abc import Iterable, Iterator, Mapping

WORDS = 4
"""Fewer in a row are common in texts that have nothing to do with each other."""
_AROUND = "\"'`.,:;()|"


def left_over(before: Iterable[str], after: Iterable[str], files: Mapping[str, str]) -> list[str]:
    """Return `FILE: WORDS` for each file that has words in a row which were in the texts before and are not any more.

    Args: before, after: texts, with {} where values go; files: the contents by name.
    """
    now = set(after)
    runs = {run for text in set(before) - now for run in _runs(text)} - {run for text in now for run in _runs(text)}
    return [f"{name}: {run}" for name, content in files.items() for run in sorted(runs & set(_runs(content)))]


def _runs(text: str) -> Iterator[str]:
    """Yield each run of words between the values of a text, or of a file, whatever stands around a word."""
    for part in text.split("{}"):
        words = [word.strip(_AROUND) for word in part.split()]
        for at in range(len(words) - WORDS + 1):
            yield " ".join(words[at : at + WORDS])
