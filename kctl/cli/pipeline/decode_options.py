"""Shared options of jobs that decode keys and values into columns. No format is imported, to keep --help fast."""

from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from kctl.cli import click
from kctl.cli.decode.options import KEY, VALUE, parse_sides

if TYPE_CHECKING:
    from kctl.pipeline.decoding.plan import DecodeRequest

COLUMN_FORMS = ("auto", "avro", "protobuf", "json-schema")


class ColumnOptions(NamedTuple):
    """Formats, reader schemas and message names, each by KEY and VALUE."""

    forms: dict[str, str]
    schemas: dict[str, str]
    messages: dict[str, str]

    def request(self) -> "DecodeRequest | None":
        """Return the parts to decode, or None. Raises: ConfigError: a schema is invalid."""
        if not self.forms:
            return None
        from kctl.pipeline.decoding.plan import DecodeRequest, side_request

        sides = {
            side: side_request(side, form, self.schemas.get(side), self.messages.get(side))
            for side, form in self.forms.items()
        }
        return DecodeRequest(sides.get(KEY), sides.get(VALUE), ())


def column_options(
    decode: Annotated[
        list[str] | None,
        typer.Option(
            "--decode",
            metavar="FORMAT",
            help="Decode keys and values into columns: auto, avro, protobuf, or json-schema. key=FORMAT or "
            "value=FORMAT decodes one of them. The registry is -X schema.registry.url=URL. Repeatable.",
        ),
    ] = None,
    schema: Annotated[
        list[str] | None,
        typer.Option(
            "--schema",
            metavar="SCHEMA",
            help="Reader schema: SUBJECT, SUBJECT@VERSION, or id:N. key= or value= applies to one of them. "
            "Repeatable [default: latest of TOPIC-key and TOPIC-value].",
        ),
    ] = None,
    message: Annotated[
        list[str] | None,
        typer.Option(
            "--protobuf-message",
            metavar="NAME",
            help="Full name of the Protobuf message [default: first message of the file].",
        ),
    ] = None,
) -> ColumnOptions:
    forms = parse_sides(decode or (), "'--decode'", _form)
    schemas = parse_sides(schema or (), "'--schema'", lambda text: "" if text else "the name is empty.")
    messages = parse_sides(message or (), "'--protobuf-message'", lambda text: "" if text else "the name is empty.")
    for option, found in (("--schema", schema), ("--protobuf-message", message)):
        if found and not forms:
            raise click.UsageError(f"{option} needs --decode.")
    return ColumnOptions(forms, schemas, messages)


def _form(text: str) -> str:
    return "" if text in COLUMN_FORMS else f"{text!r} is not one of {', '.join(COLUMN_FORMS)}."
