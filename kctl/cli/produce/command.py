"""The `kctl produce` command, its options, and their conflicts. run.py is imported only for execution."""

from typing import TYPE_CHECKING, Annotated

import typer

from kctl.cli import click
from kctl.cli.commands import Commands
from kctl.cli.decode.encode_options import NO_ENCODING, EncodeRequest, encode_options
from kctl.cli.formats.escapes import parse_delimiter, parse_literal
from kctl.cli.formats.listing import SHAPES
from kctl.cli.input.form import LINE_FEED, Form, InputForm
from kctl.cli.options import Common, duration_ms, with_common, with_options
from kctl.cli.setting import Setting
from kctl.grammar.sizes import parse_rate

if TYPE_CHECKING:
    from kctl.cli.input.template_reader import InputTemplate
    from kctl.cli.produce.request import ProduceRequest
    from kctl.client.records import Header


MOST_PARTITION = 2**31 - 1

app = Commands()


@app.command()
@with_common(*SHAPES, has_json=False)
@with_options(encoding=encode_options)
def produce(
    common: Common,
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="TOPIC [FILE]...",
            help="Topic, and files to send. Without files, or for -, kctl reads stdin. With "
            "--topic-from-record, all arguments are files.",
            show_default=False,
        ),
    ] = None,
    form: Annotated[
        InputForm,
        typer.Option(
            "--input",
            "-i",
            help="Input format: lines, or jsonl as written by consume --output jsonl.",
            show_default=False,
        ),
    ] = InputForm.LINES,
    template: Annotated[
        str | None,
        typer.Option(
            "--format",
            "-f",
            metavar="TEMPLATE",
            help="Input template with the verbs of consume -f, such as '%k:%v\\n', '%V{big32}%v', or '%v{json}'.",
        ),
    ] = None,
    file_per_message: Annotated[
        bool, typer.Option("--file-per-record", help="Send each file as one record, like kcat without -l.")
    ] = False,
    delimiter: Annotated[
        str | None,
        typer.Option(
            "--delimiter",
            "-D",
            metavar="TEXT",
            help="Delimiter after each record, with escapes \\n \\t \\0 \\xNN [default: \\n].",
        ),
    ] = None,
    key_separator: Annotated[
        str | None,
        typer.Option(
            "--key-separator",
            "-K",
            metavar="TEXT",
            help="Separator between key and value. Lines without the separator are values.",
        ),
    ] = None,
    key: Annotated[
        str | None,
        typer.Option("--key", "-k", metavar="TEXT", help="Key for records without a key."),
    ] = None,
    headers: Annotated[
        list[str] | None,
        typer.Option(
            "--header",
            "-H",
            metavar="NAME=VALUE",
            help="Header for all records. NAME alone sets a null value. Repeatable.",
        ),
    ] = None,
    tombstones: Annotated[
        bool, typer.Option("--tombstones", "-Z", help="Send empty values as null (tombstones).")
    ] = False,
    null: Annotated[
        str | None,
        typer.Option("--null", metavar="TEXT", help="With -f, send keys and values with this content as null."),
    ] = None,
    topic_from_record: Annotated[
        bool, typer.Option("--topic-from-record", help="Send each record to the topic in the record.")
    ] = False,
    keep_partition: Annotated[
        bool, typer.Option("--keep-partition", help="With -i jsonl, keep the partition of each record.")
    ] = False,
    now: Annotated[
        bool,
        typer.Option("--reset-timestamps", help="Replace record timestamps with the current time."),
    ] = False,
    partition: Annotated[
        int | None,
        typer.Option("--partition", "-p", min=0, max=MOST_PARTITION, metavar="N", help="Partition to send to."),
    ] = None,
    partitioner: Annotated[
        str | None,
        typer.Option(
            "--partitioner",
            metavar="NAME",
            help="Partitioner: default (by key, or sticky without a key) or round_robin.",
        ),
    ] = None,
    no_create: Annotated[
        bool, typer.Option("--no-create", help="Exit with 23 if a topic does not exist, instead of creating the topic.")
    ] = False,
    acks: Annotated[
        str | None,
        typer.Option("--acks", metavar="ACKS", help="Required acknowledgments: all, 1, or 0 [default: all]."),
    ] = None,
    compression: Annotated[
        str | None,
        typer.Option(
            "--compression", metavar="NAME", help="Compression: none, gzip, snappy, lz4, or zstd [default: none]."
        ),
    ] = None,
    rate: Annotated[str | None, typer.Option("--rate", metavar="N/s", help="Maximum rate, such as 500/s.")] = None,
    transaction: Annotated[
        bool,
        typer.Option("--transactional", help="Send all records in one transaction, aborted on any error or Ctrl-C."),
    ] = False,
    transactional_id: Annotated[
        str | None,
        typer.Option(
            "--transactional-id",
            metavar="ID",
            help="Transactional ID. Implies --transactional and fences older producers with this ID.",
        ),
    ] = None,
    undelivered: Annotated[
        str | None,
        typer.Option(
            "--undelivered",
            metavar="FILE",
            help="New file for undelivered records, in the format of -i jsonl.",
        ),
    ] = None,
    delivery_timeout: Annotated[
        int | None,
        typer.Option(
            "--delivery-timeout",
            parser=duration_ms,
            metavar="DURATION",
            help="Maximum time to deliver a record [default: 120s].",
        ),
    ] = None,
    encoding: EncodeRequest = NO_ENCODING,
) -> int:
    """Send records to a topic.

    Exits with 20 if a record was not delivered, and with 24 if the input is malformed. Records before the malformed
    line are still delivered.
    """
    parsed_template = _template(template, null)
    from kctl.cli.produce.request import ProduceRequest
    from kctl.cli.produce.run import run_producing  # deferred import: the client

    request = ProduceRequest(
        topic=None if topic_from_record else _topic(words),
        files=(words or [])[0 if topic_from_record else 1 :],
        form=Form(
            form,
            LINE_FEED if delimiter is None else click.parsed(parse_delimiter, delimiter, "'--delimiter' / '-D'"),
            None if key_separator is None else click.parsed(parse_delimiter, key_separator, "'--key-separator' / '-K'"),
            parsed_template,
            file_per_message,
            None if key is None else key.encode("utf-8", "surrogateescape"),
            encoding.sides,
            encoding.by_record,
        ),
        encoding=encoding,
        headers=tuple(click.parsed(parse_header, each, "'--header' / '-H'") for each in headers or ()),
        partition=partition,
        keeps_partition=keep_partition or parsed_template is not None,
        is_now=now,
        empty_is_null=tombstones,
        per_second=None if rate is None else click.parsed(parse_rate, rate, "'--rate'"),
        undelivered=undelivered,
        is_transaction=transaction or transactional_id is not None,
        flags={
            "acks": _setting(acks, "--acks"),
            "compression.type": _setting(compression, "--compression"),
            "transactional.id": _setting(transactional_id, "--transactional-id"),
            "allow.auto.create.topics": _setting("false" if no_create else None, "--no-create"),
            "partitioner.class": _setting(partitioner, "--partitioner"),
            "delivery.timeout.ms": _setting(
                None if delivery_timeout is None else str(delivery_timeout), "--delivery-timeout"
            ),
        },
    )
    _refuse_contradictions(request, keep_partition=keep_partition, delimiter=delimiter, null=null)

    return run_producing(common, request)


def _topic(words: list[str] | None) -> str:
    if not words:
        raise click.UsageError("Missing argument 'TOPIC'.")
    if not words[0]:
        raise click.UsageError("Argument 'TOPIC' is empty.")
    return words[0]


def _template(text: str | None, null: str | None) -> "InputTemplate | None":
    if text is None:
        return None
    from kctl.cli.input.template_reader import parse_input_template

    as_null = None if null is None else click.parsed(parse_literal, null, "'--null'")
    return click.parsed(lambda each: parse_input_template(each, as_null), text, "'--format' / '-f'")


def _refuse_contradictions(
    request: "ProduceRequest", *, keep_partition: bool, delimiter: str | None, null: str | None
) -> None:
    form = request.form
    is_jsonl = form.form is InputForm.JSONL
    ways = [
        *(["--input jsonl"] if is_jsonl else []),
        *(["--format"] if form.template is not None else []),
        *(["--file-per-record"] if form.is_whole else []),
    ]
    if len(ways) > 1:
        raise click.UsageError(f"{ways[0]} and {ways[1]} cannot be combined: both set the format of records.")
    if ways and (delimiter is not None or form.key_separator is not None):
        name = "--delimiter" if delimiter is not None else "--key-separator"
        raise click.UsageError(f"{name} cannot be combined with {ways[0]}, which defines where keys and values end.")
    if null is not None and form.template is None:
        raise click.UsageError("--null requires --format.")
    has_topic = is_jsonl or (form.template is not None and form.template.has_topic)
    if request.topic is None and not has_topic:
        raise click.UsageError("--topic-from-record needs topics in the records: --input jsonl, or %t in --format.")
    if request.is_transaction and request.undelivered is not None:
        raise click.UsageError(
            "--undelivered cannot be combined with --transactional: an aborted transaction delivers no records."
        )
    if keep_partition and not is_jsonl:
        raise click.UsageError("--keep-partition needs --input jsonl. With --format, %p always sets the partition.")
    if keep_partition and request.partition is not None:
        raise click.UsageError("--keep-partition cannot be combined with --partition.")


def _setting(value: str | None, flag: str) -> Setting | None:
    return None if value is None else Setting(value, flag)


def parse_header(text: str) -> "Header":
    """Parse a header `name=value`. `name=` has an empty value, and `name` has a null value.

    Raises: ValueError: the name is missing, or the form is `name:value`, which other tools use.
    """
    name, equals, value = text.partition("=")
    if not equals and ":" in text:
        name, _, value = text.partition(":")
        raise ValueError(f"invalid header {text!r}: use {name}={value}, or NAME alone for a null value")
    if not name:
        raise ValueError(f"invalid header {text!r}: use NAME=VALUE")
    return name, value.encode("utf-8", "surrogateescape") if equals else None
