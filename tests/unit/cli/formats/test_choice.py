"""What the options of `kctl consume` come to, and what cannot hold together."""

import io

import pytest
import typer

from kctl.cli.environment import ClosingNotice, Environment, Secrets
from kctl.cli.formats.choice import choose_record_output
from kctl.cli.options import Common
from kctl.cli.output_options import Output
from kctl.cli.settings import Settings
from kctl.client.clock import ManualClock
from tests.unit.cli.formats.running import Content, chunk_of, written

RECORDS: list[Content] = [(b"k", b"a\x1b", []), (None, None, [("h", b"1")])]


def run(
    output: Output | None = None,
    template: str | None = None,
    *,
    print_offsets: bool = False,
    null: str | None = None,
    greps: tuple[str, ...] = (),
    is_tty: bool = False,
) -> bytes:
    environment = Environment(
        io.BytesIO(),
        io.BytesIO(),
        io.StringIO(),
        {},
        ManualClock(),
        stdout_is_tty=is_tty,
        closing_notice=ClosingNotice(),
        secrets=Secrets(),
    )
    common = Common(environment, Settings({}), 0, output, False, False)
    chosen = choose_record_output(common, template=template, print_offsets=print_offsets, null=null, greps=greps)
    return written(chosen, chunk_of(*RECORDS))


def test_values_in_lines_are_the_default() -> None:
    assert run() == b"a\x1b\n\n"
    assert run(is_tty=True) == b"a\\x1b\n\n"


def test_templates() -> None:
    assert run(template="%k=%v;") == b"k=a\x1b;=;"


@pytest.mark.parametrize("is_tty", [False, True])
@pytest.mark.parametrize(
    ("output", "expected"),
    [
        (Output.RAW, b"a\x1b"),
        (Output.HEX, b"611b\n\n"),
        (Output.BASE64, b"YRs=\n\n"),
        (
            Output.CSV,
            b"topic,partition,offset,timestamp,key,key_encoding,value,value_encoding,headers\r\n"
            b'"a-topic",3,40,1700000000000,"k",utf-8,"a\x1b",utf-8,"[]"\r\n'
            b'"a-topic",3,41,1700000000001,,null,,null,"[[""h"",""1""]]"\r\n',
        ),
        (
            Output.JSONL,
            b'{"topic":"a-topic","partition":3,"offset":40,"timestamp":1700000000000,"key":"k",'
            b'"value":"a\\u001b","headers":[]}\n'
            b'{"topic":"a-topic","partition":3,"offset":41,"timestamp":1700000000001,"key":null,'
            b'"value":null,"headers":[["h","1"]]}\n',
        ),
    ],
)
def test_outputs(output: Output, expected: bytes, is_tty: bool) -> None:
    assert run(output, is_tty=is_tty) == (expected.replace(b"\x1b", b"\\x1b") if is_tty else expected)


def test_offsets_before_each_record() -> None:
    assert run(print_offsets=True) == b"Partition:3\tOffset:40\ta\x1b\nPartition:3\tOffset:41\t\n"
    assert run(Output.HEX, print_offsets=True).startswith(b"Partition:3\tOffset:40\t611b\nPartition:3")


def test_null_has_the_word_it_is_given() -> None:
    assert run(null="NULL") == b"a\x1b\nNULL\n"
    assert run(template="%k\\n", null="\\x00") == b"k\n\x00\n"
    assert run(Output.HEX, null="-") == b"611b\n-\n"
    assert run(Output.RAW, null="-") == b"a\x1b-"


def test_greps() -> None:
    assert run(template="%o ", greps=("h:h=1",)) == b"41 "
    assert run(Output.CSV, greps=("nothing",)).count(b"\r\n") == 1


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"template": "%q"}, "unknown verb %q"),
        ({"greps": ("(",)}, "invalid regular expression"),
        ({"null": "\\q"}, "unknown escape"),
        ({"template": "%v", "output": Output.CSV}, "--format and --output csv cannot be combined"),
        ({"output": Output.TABLE}, "--output table: this command offers jsonl, csv, raw, hex, base64"),
        ({"output": Output.JSONL, "print_offsets": True}, "--print-offsets cannot be combined with --output jsonl"),
        ({"output": Output.RAW, "print_offsets": True}, "--print-offsets cannot be combined with --output raw"),
        ({"output": Output.CSV, "null": "x"}, "--null cannot be combined with --output csv"),
    ],
)
def test_refuses(options: dict[str, object], problem: str) -> None:
    with pytest.raises(typer.BadParameter) as e:
        run(**options)  # type: ignore[arg-type]  # whatever the case says
    assert problem in e.value.message
