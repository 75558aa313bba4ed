"""Regular expressions of clients, matched by RE2 in linear time, as brokers do with RE2/J.

Python's `re` backtracks, so a pattern such as (a+)+$ would block every node.
"""

from collections.abc import Callable
from functools import lru_cache

from kctl.client.wording import one_line
from kctl.version import install_command

MOST_KEPT = 100
_LONGEST_REASON = 200


class RegexRefused(Exception):
    """Invalid or unsupported pattern, with the reason."""


@lru_cache(MOST_KEPT)
def full_matcher(pattern: str) -> Callable[[str], bool]:
    """Return a function that matches the pattern against an entire name. Raise RegexRefused for an invalid pattern."""
    try:
        import re2  # deferred import: optional, for patterns only
    except ImportError:
        raise RegexRefused(
            f"the sandbox needs google-re2 for regular expressions: {install_command('sandbox')}"
        ) from None
    options = re2.Options()
    options.log_errors = False  # would go to stderr
    found = re2.Set.FullMatchSet(options)  # a match takes a twentieth of the time of a compiled pattern
    try:
        re2.compile(pattern, options)  # has an error text, unlike a set
        found.Add(pattern)
        found.Compile()
    except (re2.error, UnicodeError) as error:
        why = error.args[0] if isinstance(error, re2.error) else "the expression is not UTF-8"
        text = why.decode("utf-8", "replace") if isinstance(why, bytes) else str(why)
        raise RegexRefused(one_line(text)[:_LONGEST_REASON]) from None
    return lambda name: found.Match(name) is not None
