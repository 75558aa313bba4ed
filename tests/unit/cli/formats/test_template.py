"""The grammar of -f."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kctl.cli.formats.template import Template, TemplateError, Verb, parse_literal, parse_template


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ()),
        ("plain", (b"plain",)),
        ("%v\\n", (Verb.VALUE, b"\n")),
        ("%t %p %o", (Verb.TOPIC, b" ", Verb.PARTITION, b" ", Verb.OFFSET)),
        ("%k%v", (Verb.KEY, Verb.VALUE)),
        ("100%%", (b"100%",)),
        ("%%v", (b"%v",)),
        ("\\t\\r\\n\\0\\\\", (b"\t\r\n\0\\",)),
        ("\\xff\\x0A", (b"\xff\n",)),
        ("é%K", ("é".encode(), Verb.KEY_BYTES)),
        ("%d %i %h %H %T %V", (
            Verb.TIMESTAMP, b" ", Verb.COUNT, b" ", Verb.HEADERS, b" ", Verb.HEADER_COUNT, b" ",
            Verb.TOPIC_BYTES, b" ", Verb.VALUE_BYTES,
        )),
    ],
)  # fmt: skip
def test_reads(text: str, expected: Template) -> None:
    assert parse_template(text) == expected


@pytest.mark.parametrize(
    ("text", "problem", "shown", "caret"),
    [
        ("%t %q", "unknown verb %q", "%t %q", "   ^^"),
        ("%v%", "a single % at the end", "%v%", "  ^"),
        ("ab\\q", "unknown escape \\q", "ab\\q", "  ^^"),
        ("ab\\", "a single \\ at the end", "ab\\", "  ^"),
        ("\\x4", "two hexadecimal digits", "\\x4", "^^^"),
        ("\\xg0", "two hexadecimal digits", "\\xg0", "^^^^"),
        ("%\n", "unknown verb", "% ", "^^"),
    ],
)
def test_points_at_what_it_does_not_understand(text: str, problem: str, shown: str, caret: str) -> None:
    with pytest.raises(TemplateError) as e:
        parse_template(text)
    *problem_lines, shown_line, caret_line = str(e.value).rsplit("\n", 2)
    assert problem in problem_lines[0]
    assert shown_line == f"  {shown}"
    assert caret_line == f"  {caret}"


def test_the_caret_stays_in_view_in_a_long_template() -> None:
    with pytest.raises(TemplateError) as e:
        parse_template("x" * 200 + "%q" + "y" * 200)
    _, shown, caret = str(e.value).split("\n")
    assert shown[caret.index("^") :].startswith("%q")
    assert len(shown) < 80


def test_a_template_has_a_largest_length() -> None:
    with pytest.raises(TemplateError, match="at most"):
        parse_template("x" * 10_001)


@given(st.text(max_size=50))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        parts = parse_template(text)
    except TemplateError:
        return
    assert all(part != b"" for part in parts)


def test_literals() -> None:
    assert parse_literal("\\t|%v\\x00é") == "\t|%v\0é".encode()
    with pytest.raises(TemplateError, match="unknown escape"):
        parse_literal("\\q")
