"""Templates carried out over a real batch: every verb, every modifier, null, and what reaches a terminal."""

import pytest

from kctl.cli.formats.output import RecordOutput
from kctl.cli.formats.plans import template_parts
from kctl.cli.formats.template import Verb, parse_template
from tests.unit.cli.formats.running import Content, by_template, chunk_of, written

RECORD: Content = (b"key", b"v\x1b[2J\xff", [("h1", b"x\x07"), ("h2", None), ("h1", b"")])
NULLS: Content = (None, None, [])
EMPTY: Content = (b"", b"", [])
ESC: Content = (b"\x1b", b"\x1b", [("\x1b", b"\x1b")])


CASES = [
    ("%v\\n", b"v\x1b[2J\xff\n"),
    ("%t %p %o %k", b"a-topic 3 40 key"),
    ("%d", b"1700000000000"),
    ("%T %K %V %H", b"7 3 6 3"),
    ("%i", b"1"),
    ("%e %x %y", b"7 9 2"),
    ("%[ %] %|", b"11 99 -1"),
    ("%h{%k=%v,}", b"h1=x\x07,h2=,h1=,"),
    ("%h{%K:%V;}", b"2:2;2:0;2:0;"),
    ("%h{%%%{%k{hex}%}}", b"%{6831}%{6832}%{6831}"),
    ("%h{%v{json}}", b'"x\\u0007"null""'),
    ("%h{%K{big16}}", b"\x00\x02\x00\x02\x00\x02"),
    ("%a{compression} %a{compression;hex8}", b"none 00"),
    ("%a{timestamp-type} %a{timestamp-type;bool}", b"0 false"),
    ("%a{transactional-bit} %a{transactional-bit;bool}", b"0 false"),
    ("%a{control-bit} %a{control-bit;bool} %a{control-bit;big16}", b"0 false \x00\x00"),
    ("%t{hex} %t{base64} %t{json}", b'612d746f706963 YS10b3BpYw== "a-topic"'),
    ("%k{hex} %k{base64} %k{json}", b'6b6579 a2V5 "key"'),
    ("%v{base64} %v{json}", b'dhtbMkr/ {"base64":"dhtbMkr/"}'),
    ("%t{base64raw}", b"YS10b3BpYw"),
    ("%k{unpack[>Hc]}", b"27493y"),
    ("%t{unpack{ccs}}", b"a-topic"),
    ("%o{hex16} %o{big32} %o{little16} %o{byte} %o{bool}", b"0028 \x00\x00\x00( (\x00 ( true"),
    ("%p{hex4}%i{hex8}%e{ascii}%x{number}%y{bool}", b"30179true"),
    ("%[{hex}%]{big16}%|{bool}", b"b\x00ctrue"),
    ("%d{big64}", (1_700_000_000_000).to_bytes(8, "big")),
    ("%d{strftime[%F %T]}", b"2023-11-14 22:13:20"),
    ("%%\\xff%{%}", b"%\xff{}"),
]


@pytest.mark.parametrize(("template", "expected"), CASES)
def test_templates(template: str, expected: bytes) -> None:
    assert by_template(template, RECORD) == expected


def test_every_verb_is_tried_above() -> None:
    tried = "".join(template for template, _ in CASES)
    assert [verb for verb in Verb if f"%{verb.value}" not in tried] == []


def test_the_count_goes_on_and_attributes_follow_the_batch() -> None:
    parts = template_parts(
        parse_template("%i:%o:%a{compression}/%a{compression;number} "), null=b"", for_terminal=False
    )
    chunk = chunk_of(EMPTY, EMPTY, EMPTY, codec="gzip")
    assert written(RecordOutput(parts), chunk) == b"1:40:gzip/1 2:41:gzip/1 3:42:gzip/1 "


def test_null_has_the_word_it_is_given() -> None:
    template = "%k|%k{hex}|%k{base64}|%k{unpack[s]}|%v{json}|%K|%V|%h{%v}."
    assert by_template(template, NULLS, EMPTY) == b'||||null|0|0|.||||""|0|0|.'
    headed: Content = (None, b"", [("a", None), ("b", b"")])
    assert by_template("[%k %v %k{hex} %k{json}%h{ %v}]", headed, null=b"NULL") == b"[NULL  NULL null NULL ]"
    assert by_template("%v\\n", NULLS, EMPTY, null=b"NULL") == b"NULL\n\n"
    assert by_template("%v\\n", NULLS, EMPTY, null=b"NULL", for_terminal=True) == b"NULL\n\n"


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        ("%v\\n", b"v\\x1b[2J\\xff\n"),
        ("%h{%k=%v}", b"h1=x\\x07h2=h1="),
        ("\\x1b[1m%k", b"\x1b[1mkey"),
        ("%v{json}", b'{"base64":"dhtbMkr/"}'),
    ],
)
def test_on_a_terminal_only_the_template_may_steer(template: str, expected: bytes) -> None:
    assert by_template(template, RECORD, for_terminal=True) == expected


@pytest.mark.parametrize("form", ["", "{json}", "{unpack[s]}", "{unpack[c]}", "{hex}"])
@pytest.mark.parametrize("verb", ["%k", "%v", "%h{%k", "%h{%v"])
def test_no_form_lets_an_escape_through_to_a_terminal(verb: str, form: str) -> None:
    template = verb + form + ("}" if verb.startswith("%h") else "")
    assert b"\x1b" not in by_template(template, ESC, for_terminal=True)


def test_no_number_lets_an_escape_through_to_a_terminal() -> None:
    long = b"x" * 0x1B
    record: Content = (long, long, [("x" * 0x1B, long)] * 0x1B)
    template = "%K{byte}%V{big16}%H{little8}%h{%K{byte}%V{byte}}%T{byte}%o{byte}%[{byte}"
    assert b"\x1b" in by_template(template, record)
    assert b"\x1b" not in by_template(template, record, for_terminal=True)


def test_a_topic_may_not_steer_either() -> None:
    parts = template_parts(parse_template("%t"), null=b"", for_terminal=True)
    assert written(RecordOutput(parts), chunk_of(EMPTY, topic="\x1b[2J")) == b"\\x1b[2J"
