"""Tests and pages that quote a changed text in its former words are named."""

from tools.manual.gone_words import left_over

BEFORE = ["Name topics, or --all: one of the two.", "the file is empty", "{}: an unchanged text of words"]
AFTER = ["Name topics or use --all, not both.", "the file is empty", "{}: an unchanged text of words"]


def test_file_with_the_former_words_is_named() -> None:
    files = {
        "tests/a.py": '(("elect",), 2, "Name topics, or --all"),\n',
        "docs/b.md": "the file is empty; an unchanged text of words\n",
        "docs/c.md": "| elect | Name topics or use --all, not both. |\n",
    }
    assert left_over(BEFORE, AFTER, files) == ["tests/a.py: Name topics or --all"]


def test_words_that_another_text_still_has_are_not_gone() -> None:
    assert left_over(BEFORE, [*BEFORE, "more"], {"a": BEFORE[0]}) == []
    assert left_over(["one two three four five"], ["zero one two three four"], {"a": "one two three four"}) == []
