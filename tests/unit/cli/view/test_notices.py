"""Colours of what is said on a terminal."""

import pytest

from kctl.cli.view.notices import coloured_notice


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
    assert coloured_notice(text, is_error=is_error) == wanted
