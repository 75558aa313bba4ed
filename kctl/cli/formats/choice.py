"""Choice of the record output, according to the options in record_options.py."""

from collections.abc import Sequence
from functools import partial

from kctl.cli import click
from kctl.cli.decode.options import NO_DECODING, DecodeRequest
from kctl.cli.formats.decoded import NOT_DECODED, Sides
from kctl.cli.formats.escapes import parse_literal
from kctl.cli.formats.grep import parse_greps
from kctl.cli.formats.output import Part, RecordOutput
from kctl.cli.formats.plans import PRINTED_OFFSETS, template_parts
from kctl.cli.formats.record_options import SHAPES
from kctl.cli.formats.shapes import CSV_HEAD, base64_parts, csv_parts, hex_parts, jsonl_parts, raw_parts
from kctl.cli.formats.template import parse_template
from kctl.cli.options import Common
from kctl.cli.output_options import Output

DEFAULT_TEMPLATE = "%v\\n"


def choose_record_output(
    common: Common,
    *,
    template: str | None,
    print_offsets: bool,
    null: str | None,
    greps: Sequence[str],
    is_csv_safe: bool = False,
    decoding: DecodeRequest = NO_DECODING,
) -> RecordOutput:
    """Return the record output for the options. Raises: click.UsageError: an option or combination is invalid."""
    _refuse_contradictions(common, template, null, print_offsets=print_offsets)
    if decoding.decodes or decoding.jq is not None:
        _refuse_undecodable(common, decoding, template)
    if is_csv_safe and common.output is not Output.CSV:
        raise click.UsageError("--csv-safe needs --output csv.")
    for_terminal = common.environment.stdout_is_tty
    sides = NOT_DECODED
    if decoding.decodes:
        from kctl.cli.decode.decoding import open_sides  # deferred import: only for --decode

        sides = open_sides(common, decoding, for_terminal=for_terminal and decoding.jq is None)
    conditions = click.parsed(partial(parse_greps, sides=sides), greps, "'--grep'")
    for side in (sides.key, sides.value):
        conditions = [*([] if side is None else side.conditions()), *conditions]
    word = b"" if null is None else click.parsed(parse_literal, null, "'--null'")
    if common.output is not None:
        parts = _shape(common.output, word, sides, for_terminal=for_terminal, is_csv_safe=is_csv_safe)
    elif decoding.jq is not None:
        parts = jsonl_parts(for_terminal=False, sides=sides)
    else:
        text = DEFAULT_TEMPLATE if template is None else template
        parts = template_parts(
            click.parsed(parse_template, text, "'--format' / '-f'"), null=word, for_terminal=for_terminal, sides=sides
        )
    if print_offsets:
        parts = [*PRINTED_OFFSETS, *parts]
    head = CSV_HEAD if common.output is Output.CSV else b""
    if decoding.jq is not None:
        from kctl.cli.decode.jq_output import JqOutput

        return JqOutput(decoding.jq, parts, conditions, sides, for_terminal=for_terminal)
    if sides.decodes:
        from kctl.cli.decode.decoding import DecodedOutput

        return DecodedOutput(parts, sides, head=head, null=word, conditions=conditions)
    return RecordOutput(parts, head=head, null=word, conditions=conditions)


def _refuse_undecodable(common: Common, decoding: DecodeRequest, template: str | None) -> None:
    option = "--jq" if decoding.jq is not None else "--decode"
    if decoding.jq is not None and (common.output not in (None, Output.JSONL) or template):
        raise click.UsageError("--jq cannot be combined with another output format: it always prints JSON lines.")
    if common.output in (Output.RAW, Output.HEX, Output.BASE64):
        raise click.UsageError(
            f"{option} cannot be combined with --output {common.output.value}, which writes the bytes unchanged."
        )


def _refuse_contradictions(common: Common, template: str | None, null: str | None, *, print_offsets: bool) -> None:
    if common.output is not None:
        common.choose_output(*SHAPES)
    shape = f"--output {common.output.value}" if common.output is not None else ""
    if template is not None and shape:
        raise click.UsageError(f"--format and {shape} cannot be combined: both set the format of records.")
    if common.output in (Output.JSONL, Output.CSV):
        if print_offsets:
            raise click.UsageError(f"--print-offsets cannot be combined with {shape}, which already prints offsets.")
        if null is not None:
            raise click.UsageError(f"--null cannot be combined with {shape}, which has its own form of null.")
    if common.output is Output.RAW and print_offsets:
        raise click.UsageError("--print-offsets cannot be combined with --output raw, which writes only the values.")


def _shape(output: Output, null: bytes, sides: Sides, *, for_terminal: bool, is_csv_safe: bool) -> list[Part]:
    if output is Output.JSONL:
        return jsonl_parts(for_terminal=for_terminal, sides=sides)
    if output is Output.CSV:
        return csv_parts(for_terminal=for_terminal, is_safe=is_csv_safe, sides=sides)
    if output is Output.RAW:
        return raw_parts(null=null, for_terminal=for_terminal)
    return hex_parts(null=null) if output is Output.HEX else base64_parts(null=null)
