"""Record formats of `--output`: raw, jsonl, csv, hex and base64 (docs/formats.md)."""

from base64 import b64encode
from binascii import hexlify
from collections.abc import Callable

from kctl.cli.formats.decoded import NOT_DECODED, DecodedForm, DecodedSide, Sides
from kctl.cli.formats.output import Part
from kctl.cli.formats.texts import JsonForm, base64_between
from kctl.client.records import OutputField
from kctl.client.wording import harmless_bytes

CSV_HEAD = b"topic,partition,offset,timestamp,key,key_encoding,value,value_encoding,headers\r\n"


def raw_parts(*, null: bytes, for_terminal: bool) -> list[Part]:
    """Return the output parts for the value, without a separator between records."""
    return [OutputField("value", harmless_bytes, null) if for_terminal else OutputField("value")]


def hex_parts(*, null: bytes) -> list[Part]:
    """Return the output parts for the value in hexadecimal, one record per line."""
    return [OutputField("value", hexlify, null), b"\n"]


def base64_parts(*, null: bytes) -> list[Part]:
    """Return the output parts for the value in base64 (RFC 4648, padded), one record per line."""
    return [OutputField("value", b64encode, null), b"\n"]


def jsonl_parts(*, for_terminal: bool, sides: Sides = NOT_DECODED) -> list[Part]:
    """Return the output parts for one JSON object per record, from which the record can be restored.

    `{"topic","partition","offset","timestamp","key","value","headers":[[name,value],...]}`.

    Bytes that are not UTF-8 are `{"base64":"..."}`. For decoded keys and values, `key_schema` and `value_schema`
    contain the schema `{"id":7,"type":"AVRO"}`, or null.
    """
    form = DecodedForm(sides, is_ascii=for_terminal) if sides.decodes else JsonForm(is_ascii=for_terminal)
    schemas = [
        part
        for name, side in (("key", sides.key), ("value", sides.value))
        if side is not None
        for part in (f',"{name}_schema":'.encode(), OutputField(name, side.schema, b"null"))
    ]
    return [
        b'{"topic":',
        OutputField("topic", lambda topic: form.text(topic.encode())),
        b',"partition":',
        OutputField("partition"),
        b',"offset":',
        OutputField("offset"),
        b',"timestamp":',
        OutputField("timestamp"),
        b',"key":',
        OutputField("key", form.key, b"null"),
        b',"value":',
        OutputField("value", form.value, b"null"),
        b',"headers":',
        OutputField("headers", form.headers, b"[]"),
        *schemas,
        b"}\n",
    ]


FORMULA_STARTS = b"=+-@\t\r"
"""First characters of formulas in spreadsheets, even in quoted fields."""


def csv_parts(*, for_terminal: bool, is_safe: bool = False, sides: Sides = NOT_DECODED) -> list[Part]:
    """Return the output parts for one CSV line per record, with the columns of CSV_HEAD (RFC 4180).

    Encodings are `utf-8`, `base64` for other bytes, `json` for decoded data, or `null`. Headers are as in jsonl.

    Args: is_safe: write an apostrophe before keys and values that start a formula.
    """
    form = JsonForm(is_ascii=for_terminal)

    def cell(data: bytes) -> bytes:
        if not data.isascii():
            try:
                data.decode()
            except UnicodeDecodeError:
                return base64_between(b'"', data, b'",base64')
        quoted = (harmless_bytes(data) if for_terminal else data).replace(b'"', b'""')
        if is_safe and data[:1] and data[:1] in FORMULA_STARTS:
            return b'"\'%b",utf-8' % quoted
        return b'"%b",utf-8' % quoted

    def cell_of(side: DecodedSide | None) -> Callable[[bytes], bytes]:
        if side is None:
            return cell

        def decoded(data: bytes) -> bytes:
            json = side.json(data)
            return cell(data) if json is None else b'"%b",json' % json.replace(b'"', b'""')

        return decoded

    return [
        OutputField("topic", lambda topic: b'"%b"' % topic.encode().replace(b'"', b'""')),
        b",",
        OutputField("partition"),
        b",",
        OutputField("offset"),
        b",",
        OutputField("timestamp"),
        b",",
        OutputField("key", cell_of(sides.key), b",null"),
        b",",
        OutputField("value", cell_of(sides.value), b",null"),
        b",",
        OutputField("headers", lambda headers: b'"%b"' % form.headers(headers).replace(b'"', b'""')),
        b"\r\n",
    ]
