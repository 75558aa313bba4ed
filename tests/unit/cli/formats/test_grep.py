"""The grammar of --grep, and which records it finds."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kctl.cli.formats.grep import parse_greps
from kctl.cli.formats.output import RecordOutput
from kctl.cli.formats.template_error import TemplateError
from kctl.client.records import OutputField
from tests.unit.cli.formats.running import Content, chunk_of, written

RECORDS: list[Content] = [
    (b"a", b"red apple", [("kind", b"fruit"), ("eq=ual", b"x")]),
    (b"b", b"r\xffd\nline", [("kind", None)]),
    (None, b"", []),
    (b"v:", "käse".encode(), [("vkind", b"milk")]),
]


def found(*greps: str) -> str:
    """Return which of the records are found, by their numbers."""
    output = RecordOutput([OutputField("offset"), b" "], conditions=parse_greps(greps))
    return " ".join(str(int(offset) - 40) for offset in written(output, chunk_of(*RECORDS)).split())


@pytest.mark.parametrize(
    ("grep", "expected"),
    [
        ("a", "0"),
        ("!a", "1 2 3"),
        ("k:a", "0"),
        ("k:", "0 1 2 3"),
        ("!k:.", "2"),
        ("v:^r", "0 1"),
        ("!v:^r", "2 3"),
        ("v:^$", "2"),
        ("v:(?i)RED", "0"),
        ("v:(?m)^line$", "1"),
        ("v:\\xff", "1"),
        ("v:ä", "3"),
        ("hk:^kind$", "0 1"),
        ("hk:kind", "0 1 3"),
        ("!hk:kind", "2"),
        ("hv:milk", "3"),
        ("h:kind=u", "0"),
        ("h:kind=", "0 1"),
        ("!h:kind=u", "1 2 3"),
        ("h:eq=ual=x", ""),
        ("t:^a-", "0 1 2 3"),
        ("!t:^a-", ""),
        ("t:other", ""),
        ("[k]:", ""),
        ("[v]:", "3"),
        ("[!]", ""),
        ("", "0 1 2 3"),
    ],
)
def test_finds(grep: str, expected: str) -> None:
    assert found(grep) == expected


def test_all_have_to_hold() -> None:
    assert found("k:[ab]", "v:^r", "!hv:fruit") == "1"
    assert found() == "0 1 2 3"


@pytest.mark.parametrize(
    ("grep", "problem", "caret"),
    [
        ("v:a(b", "invalid regular expression: missing ), unterminated subpattern", "   ^"),
        ("!v:é(b", "invalid regular expression: missing ), unterminated subpattern", "    ^"),
        ("*", "invalid regular expression: nothing to repeat", "^"),
        ("h:kind", "h: needs a header name and a pattern", "  ^"),
        ("h:k=[", "invalid regular expression: unterminated character set", "    ^"),
        ("k:a{99999999999}", "invalid regular expression: the repetition number is too large", "  ^"),
    ],
)
def test_points_at_what_it_does_not_understand(grep: str, problem: str, caret: str) -> None:
    with pytest.raises(TemplateError) as e:
        parse_greps([grep])
    assert problem in str(e.value)
    assert str(e.value).endswith(f"\n  {caret}")


@given(st.text(max_size=30) | st.text(alphabet="!kvht:=()[]{}*+?|\\^$12a", max_size=10))
def test_any_text_is_read_or_refused(grep: str) -> None:
    try:
        parse_greps([grep])
    except TemplateError:
        return
    found(grep)
