"""Templates read backwards: what they wrote comes back, and what cannot be read is refused with a caret."""

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kctl.cli.exit_codes import ExitCode
from kctl.cli.failures import CommandError
from kctl.cli.formats.numbers import NUMBER_FORMS
from kctl.cli.formats.template_error import TemplateError
from kctl.cli.formats.texts import TEXT_FORMS
from kctl.cli.input.field_reading import NUMBER_READERS, TEXT_READERS
from kctl.cli.input.form import InputRecord
from kctl.cli.input.template_reader import TemplateReader, parse_input_template
from tests.unit.cli.formats.running import TIMESTAMP_MS, Content, by_template
from tests.unit.cli.input.test_jsonl import contents
from tests.unit.cli.input.test_lines import Pieces

any_bytes = st.binary(max_size=12)
plain = st.binary(max_size=12).map(lambda b: b.translate(None, b":\n;=\xff"))


def read(template: str, *pieces: bytes, null: bytes | None = None, longest_bytes: int = 1000) -> list[InputRecord]:
    reader = TemplateReader(parse_input_template(template, null), longest_bytes)
    return list(reader.read(Pieces(pieces), "x"))


def kv(template: str, *pieces: bytes, null: bytes | None = None) -> list[tuple[bytes | None, bytes | None]]:
    return [(record.key, record.value) for record in read(template, *pieces, null=null)]


def test_every_form_that_is_written_is_read() -> None:
    assert set(NUMBER_READERS) == {"", *NUMBER_FORMS}
    assert set(TEXT_READERS) == {"", *TEXT_FORMS}


# --- where a field ends ---------------------------------------------------------------------------------------------


def test_delimited() -> None:
    assert kv("%k:%v\\n", b"a:1\nb:2:3\n\n"[:-1]) == [(b"a", b"1"), (b"b", b"2:3")]
    assert kv("%k:%v\\n", b"a:", b"1", b"\nb", b":2") == [(b"a", b"1"), (b"b", b"2")]
    assert kv("%v", b"all\nof ", b"it") == [(None, b"all\nof it")]
    assert kv("<%v>\\r\\n", b"<a>\r\n<b>\r", b"\n") == [(None, b"a"), (None, b"b")]
    assert kv("%v%%%{\\n", b"a%{\nb%{\n") == [(None, b"a"), (None, b"b")]


def test_sized() -> None:
    assert kv("%V{big32}%v", b"\0\0\0\3a\nb\0\0\0\0") == [(None, b"a\nb"), (None, b"")]
    assert kv("%K %V %k%v", b"1 2 abc0 1 d") == [(b"a", b"bc"), (b"", b"d")]
    assert kv("%V{hex4}%v", b"2ab") == [(None, b"ab")]


def test_a_length_counts_bytes_not_their_text() -> None:
    assert kv("%V{byte}%v{hex}%K{byte}%k{base64}", b"\x02ff00\x01eA==") == [(b"x", b"\xff\0")]


def test_json() -> None:
    text = b' "a\\"\\\\" {"base64":"/w=="} null [1, "]"] {"a":{"}":1}} 17 true'
    expected = [b'a"\\', b"\xff", None, b'[1, "]"]', b'{"a":{"}":1}}', b"17", b"true"]
    for size in (1, 2, 3, 7, 100):
        pieces = [text[at : at + size] for at in range(0, len(text), size)]
        assert [value for _, value in kv("%v{json}", *pieces)] == expected
    assert kv("%k{json}=%v{json}\\n", b'"k"="v"\n"l"=null\n') == [(b"k", b"v"), (b"l", None)]


def test_headers() -> None:
    (record,) = read("%h{%k=%v;}%v\\n".replace("}%v", "}|%v"), b"a=1;b=;a=2;|value\n")
    assert record.headers == (("a", b"1"), ("b", b""), ("a", b"2"))
    (record,) = read("%H{byte}%h{%K{byte}%k%V{byte}%v}%v", b"\x02\x01\xff\x00\x00\x01xrest")
    assert record.headers == (("\udcff", b""), ("", b"x"))
    assert record.value == b"rest"
    assert read("%h{%k;}\\n", b"\na;\n")[1].headers == (("a", None),)


def test_topic_partition_timestamp_and_what_is_passed_over() -> None:
    (record,) = read("%t/%p/%d/%o/%e/%x/%y %v\\n", b"to/3/1700000000000/42/7/9/2 v\n")
    assert record[1:7] == (b"v", None, (), "to", 3, 1_700_000_000_000)
    assert read("%d %v", b"-1 v")[0].timestamp_ms == -1


def test_null() -> None:
    assert kv("%k:%v\\n", b"NULL:NULL\n:\n", null=b"NULL") == [(None, None), (b"", b"")]
    assert kv("%V{byte}%v", b"\x04NULL", null=b"NULL") == [(None, b"NULL")]


# --- what was written comes back ------------------------------------------------------------------------------------

SIZED = "%T{big16}%t%p{big32}%d{big64}%K{hex8}%k%V{little32}%v{base64raw}%H{byte}%h{%K{big16}%k{hex}%V{big16}%v}"


@given(contents)
def test_sized_templates_keep_all_but_null(records: list[Content]) -> None:
    found = read(SIZED, by_template(SIZED, *records), longest_bytes=10_000)
    assert [record[1:7] for record in found] == [
        (value or b"", key or b"", tuple((name, data or b"") for name, data in headers), "a-topic", 3, TIMESTAMP_MS + i)
        for i, (key, value, headers) in enumerate(records)
    ]


@given(contents)
def test_json_keeps_null_too(records: list[Content]) -> None:
    template = "%k{json} %v{json} %H %h{%k{json}=%v{json}}\\n"
    found = read(template, by_template(template, *records), longest_bytes=10_000)
    assert [(r.key, r.value, list(r.headers)) for r in found] == records


@given(
    st.lists(st.tuples(plain, plain), min_size=1, max_size=5), st.sampled_from(["", "{hex}", "{base64}", "{base64raw}"])
)
def test_delimited_templates(records: list[tuple[bytes, bytes]], form: str) -> None:
    template = f"%k{form}:%v{form}\\n"
    data = by_template(template, *[(key, value, []) for key, value in records])
    assert kv(template, data) == records


@pytest.mark.parametrize("form", [form for form in NUMBER_FORMS if form != "bool"])
@given(number=st.integers(0, 15))
def test_numbers(form: str, number: int) -> None:
    data = NUMBER_FORMS[form](number)
    assert read(f"%p{{{form}}}|%v", data + b"|")[0].partition == number


# --- what cannot be read --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("template", "words", "caret"),
    [
        ("%k%v", "the end of %k is unknown: put the length %K before %k, or a delimiter between %k and %v", 2),
        ("%p%v", "the end of %p is unknown: add a size", 2),
        ("%v %V", "%V must come before %v", 3),
        ("%v %v", "%v appears twice", 3),
        ("%d{strftime[%F]} %v", "%d{strftime} is supported only for output", 0),
        ("%v{unpack[b]}", "%v{unpack} is supported only for output", 0),
        ("%a{compression} %v", "is supported only for output", 0),
        ("%h{%k=%v}|", "the end of %v is unknown", 0),
        ("%h{%k=%v;}%v", "the end of the headers is unknown", 10),
        ("%h{%v;}|", "%h{...} needs %k for the names of headers", 0),
        ("%v\\n%h{%k;}", "the end of the headers is unknown", 10),
        ("%h{%k;} %H", "%H must come before %h", 8),
        ("%q", "unknown verb %q", 0),
        ("%v{hexx}", "unknown modifier hexx", 3),
        ("", "the template is empty", 0),
        ("abc", "no verb", 0),
    ],
)
def test_templates_that_cannot_be_read_back(template: str, words: str, caret: int) -> None:
    with pytest.raises(TemplateError) as e:
        parse_input_template(template)
    assert words in str(e.value)
    assert e.value.position == caret


@pytest.mark.parametrize(
    ("template", "data", "words", "at"),
    [
        ("%k:%v\\n", b"a:1\nbcd", "the input ends inside %k, before ':'", 4),
        ("%V{big32}%v", b"\0\0\0\1a\0\0\0\5abc", "the input ends inside %v, which has 5 bytes", 9),
        ("%V{big32}%v", b"\0\0\0\1a\xff\xff\xff\xff", "%V is 4294967295, use 0 to 1000 (max.request.size)", 9),
        ("%V %v", b"1 a-1 b", "%V is -1, use", 6),
        ("%V{big32}%v", b"\0\0\0\1a\0\0", "ends inside %V, which has 4 bytes", 5),
        ("%v{hex}\\n", b"00\nzz\n", "%v is not valid hex", 3),
        ("%v{base64}\\n", b"AA==\nA\n", "%v is not valid base64", 5),
        ("%p %v\\n", b"0 a\nx b\n", "expected a number for %p", 4),
        ("%p{hex8}%v", b"zz", "expected 2 hexadecimal digits", 0),
        ("%p{bool}%v", b"maybe", "expected true or false", 0),
        ("%p %v\\n", b"0 a\n2147483648 b\n", "use 0 to 2147483647", None),
        ("%d %v\\n", b"99999999999999999999 b\n", "use -9223372036854775808 to", None),
        ("%p|%v", b"1" * 50 + b"|", "expected a number for %p", 0),
        ("<%v>", b"<a>x", "expected '<' here", 3),
        ("%v{json}\\n", b'"a"\n{"base64":"?"}\n', "%v: not valid base64", 4),
        ("%v{json}", b'"a', "ends inside the JSON", 0),
        ("%v{json}", b"oops", "not valid JSON", 0),
        ("%H %h{%k;}%v", b"9999999999 ", "%H is 9999999999, use", 11),
    ],
)
def test_bad_input_is_shown_with_record_line_byte_and_caret(
    template: str, data: bytes, words: str, at: int | None
) -> None:
    with pytest.raises(CommandError) as e:
        read(template, data)
    assert e.value.code is ExitCode.DATA
    assert words in str(e.value)
    assert str(e.value).startswith(
        ("x record 1 (byte 0)", "x record 1 (line 1, byte 0)", "x record 2 (byte ", "x record 2 (line 2, byte ")
    )
    if at is not None:
        _, shown, caret = str(e.value).split("\n")
        under = caret.index("^")
        printable = "".join(chr(byte) if 0x20 <= byte < 0x7F else "." for byte in data[at:])
        assert shown[under:].removesuffix("...") == printable[: len(shown[under:].removesuffix("..."))]
        assert len(shown) - under == len(printable) or shown.endswith("...")


def test_a_text_without_end_is_refused_and_not_gathered() -> None:
    class Endless:
        given = 0

        def read1(self, size: int, /) -> bytes:
            self.given += size
            return b"a" * size

    source = Endless()
    for template in ("%v\\n", "%v", "%v{json}"):
        with pytest.raises(CommandError, match=r"max\.request\.size|not valid JSON"):
            list(TemplateReader(parse_input_template(template), 100_000).read(source, "x"))
    assert source.given < 3 * 10 * 100_000


def test_records_before_bad_input_are_returned() -> None:
    reader = TemplateReader(parse_input_template("%p %v\\n"), 100).read(io.BytesIO(b"1 a\n2 b\nx\n"), "x")
    assert [next(reader).value, next(reader).value] == [b"a", b"b"]
    with pytest.raises(CommandError, match=r"x record 3 \(line 3, byte 8\)"):
        next(reader)


@pytest.mark.parametrize(
    ("template", "data", "place"),
    [
        ("%k:%v;\\n", b"a:1\n1;\n" * 9 + b"bad", "x record 10 (line 19, byte 63)"),  # values of two lines
        ("%v{json}\\n", b'{\n"a": 1\n}\n' * 2 + b"oops", "x record 3 (line 7, byte 22)"),
        ("%h{%k=%v\\n}|%v", b"a=1\nb|c", "x record 1 (line 1, byte 0)"),
        ("%V{byte}%v", b"\x02\n\n\x05", "x record 2 (byte 3)"),
        ("%p %v\\n", b"0 a\n9999999999 b\n", "x record 2 (line 2, byte 4)"),
    ],
)
def test_bad_input_is_named_by_its_line_where_the_template_has_lines(template: str, data: bytes, place: str) -> None:
    with pytest.raises(CommandError) as e:
        read(template, data)
    assert str(e.value).startswith(f"{place}: ")


@pytest.mark.slow
def test_line_is_right_behind_what_the_buffer_has_dropped() -> None:
    lines = [b"1 %d\n" % number for number in range(60_000)]
    with pytest.raises(CommandError, match=rf"^x record 60001 \(line 60001, byte {sum(map(len, lines))}\): "):
        read("%p %v\\n", *lines, b"x\n")


def test_line_of_a_record_is_right_where_its_beginning_was_dropped() -> None:
    value = b"a\n" * 40_000
    with pytest.raises(CommandError, match=r"^x record 2 \(line 40002, byte 80004\): "):
        read("%k;%v;%p\n", b"%b;;1\n" % value, b"%b;%b;x\n" % (value, value), longest_bytes=1_000_000)
