"""Regular expressions of clients: linear in time, with RE2's syntax, and refused with a reason."""

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from kctl.sandbox.regular_expressions import RegexRefused, full_matcher
from tests.support.bounds import bound

BOUND_S = bound(20)
LONGEST_NAME = "a" * 248 + "-"


@contextmanager
def bounded() -> Iterator[None]:
    """Fail, and do not hang, where a match takes for ever: Python's `re` looks at signals while it backtracks."""

    def fail(*_: object) -> None:
        raise AssertionError(f"it took more than {BOUND_S}s")

    before = signal.signal(signal.SIGALRM, fail)
    signal.alarm(BOUND_S)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize(
    "pattern", ["(a+)+$", "(a|a)*b", "(a|aa)+$", "(.*a){12}b", "a*a*a*a*a*a*a*a*b", "(a?){200}a{200}"]
)
def test_pattern_that_makes_others_backtrack_is_run_at_once(pattern: str) -> None:
    with bounded():
        assert not full_matcher(pattern)(LONGEST_NAME)


def test_pattern_matches_whole_names() -> None:
    matches = full_matcher(r"t|n.*|\Qa.b\E|[[:digit:]]+")
    assert [name for name in ("t", "tt", "n", "new", "on", "a.b", "axb", "12", "") if matches(name)] == [
        "t", "n", "new", "a.b", "12"
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("pattern", "why"),
    [
        ("(", "missing )"),
        ("(" * 20_000, "missing )"),
        ("(?=a)a", "invalid perl operator"),
        (r"(a)\1", "invalid escape sequence"),
        ("((a{100}){100}){100}", "invalid repetition size"),
        ("a" * 1_000_000, "too large"),
        ("\udc80", "not UTF-8"),
    ],
)
def test_pattern_that_kafka_does_not_run_is_refused_with_the_reason(pattern: str, why: str) -> None:
    with pytest.raises(RegexRefused, match=why.replace(")", r"\)")) as caught:
        full_matcher(pattern)
    assert len(str(caught.value)) <= 200


def test_pattern_is_refused_where_the_library_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "re2", None)
    with pytest.raises(RegexRefused, match=r"google-re2 for regular expressions: pip install 'kctl-kafka\[sandbox\]'"):
        full_matcher("no-other-test-has-this")
