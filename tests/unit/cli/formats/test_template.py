"""The grammar of -f: what is read, and a caret under what is not."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kctl.cli.formats.template import Attribute, Field, Template, Verb, parse_template
from kctl.cli.formats.template_error import TemplateError


def f(verb: Verb) -> Field:
    return Field(verb)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ()),
        ("plain", (b"plain",)),
        ("%v\\n", (f(Verb.VALUE), b"\n")),
        ("%t %p %o", (f(Verb.TOPIC), b" ", f(Verb.PARTITION), b" ", f(Verb.OFFSET))),
        ("%k%v", (f(Verb.KEY), f(Verb.VALUE))),
        ("100%%", (b"100%",)),
        ("%%v", (b"%v",)),
        ("%{%}{}", (b"{}{}",)),
        ("%v%{x}", (f(Verb.VALUE), b"{x}")),
        ("\\t\\r\\n\\0\\\\", (b"\t\r\n\0\\",)),
        ("é%K", ("é".encode(), f(Verb.KEY_BYTES))),
        ("%h{%k%}x}", (Field(Verb.HEADERS, parts=(f(Verb.KEY), b"}x")),)),
        ("%v{json}%k", (Field(Verb.VALUE, is_json=True), f(Verb.KEY))),
        ("%a{control-bit}", (Field(Verb.ATTRIBUTE, attribute=Attribute.CONTROL),)),
    ],
)
def test_reads(text: str, expected: Template) -> None:
    assert parse_template(text) == expected


@pytest.mark.parametrize("letter", [verb.value for verb in Verb if verb not in (Verb.HEADERS, Verb.ATTRIBUTE)])
def test_every_verb_has_its_letter(letter: str) -> None:
    (field,) = parse_template(f"%{letter}")
    assert isinstance(field, Field)
    assert field.verb.value == letter


@pytest.mark.parametrize(
    "text",
    [
        "%d{strftime[x]}",
        "%d{strftime##%F]##}",
        "%d{strftime{{%F}}}",
        "%d{strftime(%F)}",
        "%v{unpack<b>}",
        "%v{unpack///s///}",
    ],
)
def test_brackets_of_any_kind_and_number(text: str) -> None:
    (field,) = parse_template(text)
    assert isinstance(field, Field)
    assert field.convert is not None


@pytest.mark.parametrize(
    ("text", "problem", "shown", "caret"),
    [
        ("%t %q", "unknown verb %q: use %t %T %k", "%t %q", "   ^^"),
        ("%s", "unknown verb %s: did you mean %v?", "%s", "^^"),
        ("%X", "unknown verb %X: did you mean %x?", "%X", "^^"),
        ("%v%", "a single % at the end", "%v%", "  ^"),
        ("ab\\q", "unknown escape \\q", "ab\\q", "  ^^"),
        ("%\n", "unknown verb", "% ", "^^"),
        ("%v{hax}", "unknown modifier hax of %v: did you mean hex?", "%v{hax}", "   ^^^"),
        ("%v{qq}", "unknown modifier qq of %v: use hex base64", "%v{qq}", "   ^^"),
        ("%v{}", "unknown modifier  of %v", "%v{}", "   ^"),
        ("%o{big33}", "unknown modifier big33 of a number: did you mean big32?", "%o{big33}", "   ^^^^^"),
        ("%d{stftime[%F]}", "did you mean strftime[...]?", "%d{stftime[%F]}", "   ^^^^^^^"),
        ("%o{hex", "expected } after the modifier of %o", "%o{hex", "      ^"),
        ("%v{hex x}", "expected } after the modifier of %v", "%v{hex x}", "      ^"),
        ("%a", "%a needs an attribute", "%a", "^^"),
        ("%a{compresion}", "did you mean compression?", "%a{compresion}", "   ^^^^^^^^^^"),
        ("%a{compression;hax}", "unknown modifier hax of a number", "%a{compression;hax}", "               ^^^"),
        ("%h", "%h needs a template for each header", "%h", "^^"),
        ("%h{%k", "%h{ is not closed", "%h{%k", "^^^"),
        ("%h{%t}", "%t is not supported inside %h{...}: use %k", "%h{%t}", "   ^^"),
        ("%h{%v{hex}", "%h{ is not closed", "%h{%v{hex}", "^^^"),
        ("%d{strftime}", "the modifier needs a value in brackets", "%d{strftime}", "           ^"),
        ("%d{strftime[%F}", "the closing ] is missing", "%d{strftime[%F}", "           ^"),
        ("%d{strftime[%F %Q]}", "strftime does not support %Q", "%d{strftime[%F %Q]}", "               ^^"),
        ("%v{unpack[>bz]}", "unpack does not support 'z'", "%v{unpack[>bz]}", "            ^"),
        ("%v{unpack[sb]}", "s must be the last letter", "%v{unpack[sb]}", "           ^"),
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
    with pytest.raises(TemplateError, match="more than"):
        parse_template("x" * 10_001)


pieces = st.sampled_from(
    ["%", "h", "{", "}", "v", "k", "d", "a", "go", "strftime", "unpack", "hex", "[", "]", ";", "\\"]
)


@given(st.text(max_size=50) | st.lists(pieces, max_size=12).map("".join))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        parts = parse_template(text)
    except TemplateError:
        return
    assert all(part != b"" for part in parts)
