"""Options of decoding, and parsers shared with encoding. No format is imported, to keep --help fast."""

from collections.abc import Callable, Sequence
from typing import Annotated, NamedTuple

import typer

from kctl.cli import click

KEY, VALUE = "key", "value"
FORMS = ("auto", "avro", "protobuf", "json-schema", "json", "msgpack")
LOCAL_FORMS = {"avro": "--avsc", "protobuf": "--protoset"}
"""Formats with schema files, and their options."""


class LocalSchemas(NamedTuple):
    """Schema files, and the message name in the Protobuf file."""

    avsc: str | None = None
    protoset: str | None = None
    message: str | None = None


class DecodeRequest(NamedTuple):
    """Decoding of keys and values.

    Attributes:
        key: format of keys; None to leave them unchanged.
        value: format of values; None to leave them unchanged.
        is_strict: fail if data cannot be decoded.
        jq: program to run on each record, or None.
    """

    key: str | None = None
    value: str | None = None
    local: LocalSchemas = LocalSchemas()
    is_strict: bool = False
    jq: str | None = None

    @property
    def decodes(self) -> bool:
        return self.key is not None or self.value is not None


NO_DECODING = DecodeRequest()


def _checked(texts: list[str] | None) -> list[str] | None:
    parse_sides(texts or (), "'--decode'", _form)
    return texts


def decode_options(
    decode: Annotated[
        list[str] | None,
        typer.Option(
            "--decode",
            callback=_checked,
            metavar="FORMAT",
            help="Format of keys and values: auto (schema ID in the data), avro, protobuf, json-schema, json, or "
            "msgpack. The prefix key= or value= limits decoding to keys or values. Set the registry with -X "
            "schema.registry.url=URL. Repeatable.",
        ),
    ] = None,
    avsc: Annotated[
        str | None,
        typer.Option(
            "--avsc", metavar="FILE", help="Avro schema for data without a schema ID, and reader schema for other data."
        ),
    ] = None,
    protoset: Annotated[
        str | None,
        typer.Option("--protoset", metavar="FILE", help="Protobuf FileDescriptorSet for --decode protobuf."),
    ] = None,
    message: Annotated[
        str | None, typer.Option("--protobuf-message", metavar="NAME", help="Full name of the message in --protoset.")
    ] = None,
    strict: Annotated[
        bool,
        typer.Option(
            "--strict",
            help="Reject keys and values that cannot be decoded, instead of printing them raw. kctl exits with 24.",
        ),
    ] = False,
    jq: Annotated[
        str | None,
        typer.Option(
            "--jq",
            metavar="PROGRAM",
            help="Print the output of a jq program. Its input is the record as in --output jsonl.",
        ),
    ] = None,
) -> DecodeRequest:
    forms = parse_sides(decode or (), "'--decode'", _form)
    local = LocalSchemas(avsc, protoset, message)
    if strict and not forms:
        raise click.UsageError("--strict needs --decode.")
    check_local(local, set(forms.values()), "--decode")
    return DecodeRequest(forms.get(KEY), forms.get(VALUE), local, strict, jq)


def parse_sides(texts: Sequence[str], option: str, check: Callable[[str], str]) -> dict[str, str]:
    """Return the values of `[key=|value=]TEXT` by KEY and VALUE. Without a prefix, TEXT applies to both.

    Args: check: return the problem of a text, or "".
    Raises: click.BadParameter: `check` found a problem.
    """
    found: dict[str, str] = {}
    for text in texts:
        side, equals, rest = text.partition("=")
        sides, given = ((side,), rest) if equals and side in (KEY, VALUE) else ((KEY, VALUE), text)
        problem = check(given)
        if problem:
            raise click.BadParameter(problem, param_hint=option)
        found |= dict.fromkeys(sides, given)
    return found


def _form(text: str) -> str:
    return "" if text in FORMS else f"{text!r} is not one of {', '.join(FORMS)}."


def check_local(local: LocalSchemas, forms: set[str], option: str) -> None:
    """Raise click.UsageError if a schema file is not used, or --protoset and --protobuf-message are not both given."""
    if (local.protoset is None) != (local.message is None):
        raise click.UsageError("--protoset and --protobuf-message must be used together.")
    for form, name in LOCAL_FORMS.items():
        given = local.avsc if form == "avro" else local.protoset
        if given is not None and form not in forms:
            raise click.UsageError(f"{name} can only be used with {option} {form}.")
