"""Options of encoding. No format is imported, to keep --help fast."""

from typing import Annotated, NamedTuple

import typer

from kctl.cli import click
from kctl.cli.decode.options import KEY, VALUE, LocalSchemas, check_local, parse_sides
from kctl.client.config import nearest_name

LOCAL = ("avro", "protobuf", "json", "msgpack")
"""Formats without a registry."""


class EncodeRequest(NamedTuple):
    """Encoding of keys and values.

    Attributes:
        key: schema or format of keys; None to leave them unchanged.
        value: schema or format of values; None to leave them unchanged.
        json_schema: JSON Schema file to register.
        registers: register the schema of the file before encoding.
    """

    key: str | None = None
    value: str | None = None
    local: LocalSchemas = LocalSchemas()
    json_schema: str | None = None
    registers: bool = False

    @property
    def sides(self) -> frozenset[str]:
        """Return the parts of a record to encode: KEY, VALUE, or both."""
        return frozenset(name for name, given in ((KEY, self.key), (VALUE, self.value)) if given is not None)

    @property
    def by_record(self) -> frozenset[str]:
        """Return the parts, KEY or VALUE, whose schema each record specifies."""
        return frozenset(name for name, given in ((KEY, self.key), (VALUE, self.value)) if given == "auto")


NO_ENCODING = EncodeRequest()


def encode_options(
    encode: Annotated[
        list[str] | None,
        typer.Option(
            "--encode",
            metavar="SCHEMA",
            help="Registry schema for JSON input: SUBJECT[@VERSION], id:N, topic (TOPIC-value), record:NAME, "
            "topic-record:NAME, or auto (schema in each jsonl record). Formats without a registry: avro, protobuf, "
            "json, and msgpack. The prefix key= or value= limits encoding to keys or values. Repeatable.",
        ),
    ] = None,
    avsc: Annotated[
        str | None, typer.Option("--avsc", metavar="FILE", help="Avro schema for --encode avro or --register.")
    ] = None,
    protoset: Annotated[
        str | None,
        typer.Option(
            "--protoset",
            metavar="FILE",
            help="Protobuf FileDescriptorSet for --encode protobuf, or for schemas that the registry stores as text.",
        ),
    ] = None,
    message: Annotated[
        str | None, typer.Option("--protobuf-message", metavar="NAME", help="Full name of the message in --protoset.")
    ] = None,
    json_schema: Annotated[
        str | None, typer.Option("--json-schema", metavar="FILE", help="JSON Schema for --register.")
    ] = None,
    register: Annotated[
        bool,
        typer.Option("--register", help="Register the schema of --avsc or --json-schema before encoding."),
    ] = False,
) -> EncodeRequest:
    found: dict[str, str] = parse_sides(encode or (), "'--encode'", _problem)
    local = LocalSchemas(avsc, protoset, message)
    request = EncodeRequest(found.get(KEY), found.get(VALUE), local, json_schema, register)
    if register:
        _check_registration(request)
    else:
        is_of_registry = any(given not in LOCAL for given in found.values())
        check_local(local, {*found.values(), *(("protobuf",) if is_of_registry else ())}, "--encode")
        if json_schema is not None:
            raise click.UsageError("--json-schema needs --register.")
    return request


def _check_registration(request: EncodeRequest) -> None:
    files = [each for each in (request.local.avsc, request.json_schema) if each is not None]
    if len(files) != 1 or request.local.protoset is not None:
        raise click.UsageError("--register needs a schema file: use --avsc or --json-schema.")
    targets = [each for each in (request.key, request.value) if each is not None]
    if len(targets) != 1 or targets[0] in ("auto", *LOCAL) or "@" in targets[0] or targets[0].startswith("id:"):
        raise click.UsageError("--register needs one --encode with a subject, such as --encode value=topic.")


def _problem(text: str) -> str:
    if text in LOCAL:
        return ""
    near = nearest_name(text, (*LOCAL, "auto", "topic"), likeness=0.7)
    if near is not None and text != near:
        return f"{text!r}: did you mean {near}? For a subject with this name, write subject:{text}."
    from kctl.serdes.encoder import parse_target  # deferred import: only for --encode

    try:
        parse_target(text, VALUE)
    except ValueError as e:
        return f"{e}."
    return ""
