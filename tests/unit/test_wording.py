"""What a terminal gets to see of bytes from elsewhere."""

import unicodedata
from collections.abc import Collection

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kctl.client.wording import (
    MOST_NAMED,
    brokers_text,
    counted,
    harmless_bytes,
    harmless_text,
    listed,
    one_line,
    size_text,
)


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"plain text", b"plain text"),
        (b"two\nlines\t.", b"two\nlines\t."),
        ("höflich ✓".encode(), "höflich ✓".encode()),
        (b"\x1b[2J", b"\\x1b[2J"),
        (b"\x1b]0;title\x07", b"\\x1b]0;title\\x07"),
        (b"a\rb", b"a\\x0db"),
        (b"\x7f", b"\\x7f"),
        ("\x9b31m".encode(), b"\\x9b31m"),
        (b"\xff\xfe", b"\\xff\\xfe"),
        ("\u202eevil".encode(), b"\\u202eevil"),
        ("a\u2028b".encode(), b"a\\u2028b"),
    ],
)
def test_shows(data: bytes, expected: bytes) -> None:
    assert harmless_bytes(data) == expected


@given(st.binary(max_size=200))
def test_nothing_that_steers_gets_through(data: bytes) -> None:
    shown = harmless_bytes(data).decode()
    assert not [c for c in shown if unicodedata.category(c) == "Cc" and c not in "\n\t"]


@given(st.text(alphabet=st.characters(categories=["L", "N", "P", "S", "Zs"])))
def test_ordinary_text_is_untouched(text: str) -> None:
    assert harmless_text(text) == text


def test_one_line_escapes_line_feeds_tabs_and_marks_of_direction() -> None:
    assert one_line("a\nb\tc\u202ed\u2028e\x1b") == "a\\x0ab\\x09c\\u202ed\\u2028e\\x1b"


def test_lone_surrogates_are_escaped_so_that_text_can_be_encoded() -> None:
    text = "a\ud800\udcc2\udc9b\udfff😀"
    assert one_line(text) == harmless_text(text) == "a\\ud800\\udcc2\\udc9b\\udfff😀"


@pytest.mark.parametrize(("count", "text"), [(0, "0 records"), (1, "1 record"), (2, "2 records")])
def test_counted_noun_is_plural_unless_there_is_one(count: int, text: str) -> None:
    assert counted(count, "record") == text


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (1000, "1 kB"),
        (25_300, "25.3 kB"),
        (999_700, "1 MB"),
        (10**12, "1 TB"),
        (10**16, "10,000 TB"),
    ],
)
def test_size_is_in_the_largest_unit_that_leaves_at_least_1(size: int, text: str) -> None:
    assert size_text(size) == text


@pytest.mark.parametrize(
    ("count", "expected"),
    [(0, ""), (1, "1"), (5, "1, 2, 3, 4, 5"), (6, "1, 2, 3, 4, 5 and 1 more"), (1000, "1, 2, 3, 4, 5 and 995 more")],
)
def test_list_of_names_is_bounded(count: int, expected: str) -> None:
    assert MOST_NAMED == 5
    assert listed(range(1, count + 1)) == expected
    assert listed(str(number) for number in range(count)) == listed(range(count))


def test_list_of_names_has_a_bound_of_its_own_where_it_is_given() -> None:
    assert listed("abcd", 3) == "a, b, c and 1 more"


@pytest.mark.parametrize(
    ("node_ids", "expected"),
    [
        ([], "no broker"),
        ([1], "broker 1"),
        ([2, 1], "brokers 1 and 2"),
        ((3, 2, 1), "brokers 1, 2 and 3"),
        (set(range(1, 6)), "brokers 1, 2, 3, 4 and 5"),
        (range(1, 9), "brokers 1, 2, 3, 4, 5 and 3 more"),
    ],
)
def test_brokers_are_named_as_in_a_sentence(node_ids: Collection[int], expected: str) -> None:
    assert brokers_text(node_ids) == expected
