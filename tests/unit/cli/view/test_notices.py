"""Colours of what is said on a terminal."""

import pytest

from kctl.cli.view.notices import terminal_notice


@pytest.mark.parametrize(
    ("text", "is_error", "wanted"),
    [
        ("kctl topics: no such topic", True, "\x1b[1;31mkctl topics:\x1b[0m no such topic"),
        ("kctl topics: no\nhint: x", True, "\x1b[1;31mkctl topics:\x1b[0m no\n\x1b[36mhint:\x1b[0m x"),
        ("kctl produce: 3 records delivered", False, "kctl produce: 3 records delivered"),
        ("kctl probe: note: [a] unused", False, "\x1b[33mkctl probe: note:\x1b[0m [a] unused"),
        ("hint: kctl --help", False, "\x1b[36mhint:\x1b[0m kctl --help"),
    ],
)  # fmt: skip
def test_notice_has_its_start_coloured(text: str, is_error: bool, wanted: str) -> None:
    assert terminal_notice(text, is_error=is_error, width=80) == wanted


def test_line_with_colours_is_not_wrapped() -> None:
    line = "connect \x1b[32m" + "-" * 12 + "|\x1b[0m"
    assert terminal_notice(line, is_error=False, width=21) == line


@pytest.mark.parametrize(
    ("width", "wanted"),
    [
        (20, "\x1b[1;31mkctl topics:\x1b[0m broker\nb-1.example:9092\ndoes not respond\n  or is a\n  日本グループ"),
        (80, "\x1b[1;31mkctl topics:\x1b[0m broker b-1.example:9092 does not respond\n  or is a 日本グループ"),
    ],
)
def test_notice_is_wrapped_between_words(width: int, wanted: str) -> None:
    text = "kctl topics: broker b-1.example:9092 does not respond\n  or is a 日本グループ"
    assert terminal_notice(text, is_error=True, width=width) == wanted


@pytest.mark.parametrize("word", ["https://registry.example/subjects/orders-value", "日本グループ日本グループ"])
def test_word_that_is_longer_than_the_terminal_stays_whole(word: str) -> None:
    assert terminal_notice(f"kctl topics: see {word} now", is_error=False, width=20) == f"kctl topics: see\n{word}\nnow"
