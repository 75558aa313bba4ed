"""Regular expressions that clients send, run by RE2 as brokers run them by RE2/J: in linear time, whatever the pattern.

Python's `re` backtracks: one pattern such as (a+)+$ would hold up every node. What RE2 has not, such as lookahead and
backreferences, Kafka has not either.
"""

from collections.abc import Callable
from functools import lru_cache

from kctl.client.wording import one_line
from kctl.version import install_command

MOST_KEPT = 100
_LONGEST_REASON = 200


class RegexRefused(Exception):
    """A pattern that is not valid, or that the sandbox cannot run; says why."""


@lru_cache(MOST_KEPT)
def full_matcher(pattern: str) -> Callable[[str], bool]:
    """Return what says whether the pattern matches the whole of a name. Raises: RegexRefused."""
    try:
        import re2  # optional, and wanted for patterns alone
    except ImportError:
        raise RegexRefused(f"the sandbox needs google-re2 to run it: {install_command('sandbox')}") from None
    options = re2.Options()
    options.log_errors = False  # to stderr
    found = re2.Set.FullMatchSet(options)  # a match costs a twentieth of that of a compiled pattern
    try:
        re2.compile(pattern, options)  # names what is wrong, as a set does not
        found.Add(pattern)
        found.Compile()
    except (re2.error, UnicodeError) as error:
        why = error.args[0] if isinstance(error, re2.error) else "it is not UTF-8"
        text = why.decode("utf-8", "replace") if isinstance(why, bytes) else str(why)
        raise RegexRefused(one_line(text)[:_LONGEST_REASON]) from None
    return lambda name: found.Match(name) is not None
