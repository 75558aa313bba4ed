"""Escapes in templates and separators."""

import pytest

from kctl.cli.formats.escapes import parse_literal
from kctl.cli.formats.template_error import TemplateError


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("\\t|%v\\x00é", "\t|%v\0é".encode()),
        ("\\n\\r\\0\\\\", b"\n\r\0\\"),
        ("\\xff\\x0A", b"\xff\n"),
        ("\udcff", b"\xff"),
        ("", b""),
    ],
)
def test_reads(text: str, expected: bytes) -> None:
    assert parse_literal(text) == expected


@pytest.mark.parametrize(
    ("text", "problem", "caret"),
    [
        ("ab\\q", "unknown escape \\q", "  ^^"),
        ("ab\\", "a single \\ at the end", "  ^"),
        ("\\x4", "two hexadecimal digits", "^^^"),
        ("\\xg0", "two hexadecimal digits", "^^^^"),
    ],
)
def test_points_at_what_it_does_not_understand(text: str, problem: str, caret: str) -> None:
    with pytest.raises(TemplateError) as e:
        parse_literal(text)
    assert problem in str(e.value)
    assert str(e.value).endswith(f"\n  {caret}")
