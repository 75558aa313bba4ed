"""Names and /patterns/ of topics."""

import pytest

from kctl.grammar.topics import TopicWords, parse_topics

TOPICS = ["orders-2", "orders-1", "bills", "__consumer_offsets", "my-orders-1"]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["bills", "new"], ["bills", "new"]),
        (["/orders-.*/"], ["orders-1", "orders-2"]),
        (["/^orders-.*$/"], ["orders-1", "orders-2"]),
        (["bills", "/orders-.*/", "orders-1"], ["bills", "orders-1", "orders-2"]),
        (["/.*/"], ["bills", "my-orders-1", "orders-1", "orders-2"]),
        (["/__.*/"], ["__consumer_offsets"]),
        (["/a|bills/"], ["bills"]),
        (["/orders/"], []),
    ],
)
def test_chosen(words: list[str], expected: list[str]) -> None:
    assert sorted(parse_topics(words).chosen_of(TOPICS)) == sorted(expected)


def test_one_pattern_for_a_group() -> None:
    pattern = TopicWords(("a.b",), ("x|y",)).as_pattern()
    assert [name for name in ("a.b", "aXb", "x", "y", "xz") if pattern.fullmatch(name)] == ["a.b", "x", "y"]


@pytest.mark.parametrize(
    ("word", "words"),
    [
        ("", "must not be empty"),
        ("a/b", "use /a/b/ for a pattern"),
        ("/", "use slashes, such as"),
        ("//", "use slashes, such as"),
        ("/abc", "use slashes, such as"),
        ("/" + "a" * 1000 + "/", "too many characters"),
    ],
)
def test_refused(word: str, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        parse_topics([word])


def test_the_caret_points_into_the_pattern() -> None:
    with pytest.raises(ValueError) as e:
        parse_topics(["/ab(c/"])
    _, shown, caret = str(e.value).splitlines()
    assert shown[caret.index("^")] == "("
