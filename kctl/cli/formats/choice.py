"""Which output the options of `kctl consume` ask for, and what of them cannot hold together.

Owns the meaning of the options that record_options.py declares. Shown by tests/unit/cli/formats/test_choice.py.
"""

from collections.abc import Sequence
from functools import partial

from kctl.cli import click
from kctl.cli.formats.escapes import parse_literal
from kctl.cli.formats.grep import parse_greps
from kctl.cli.formats.output import Part, RecordOutput
from kctl.cli.formats.plans import PRINTED_OFFSETS, template_parts
from kctl.cli.formats.record_options import SHAPES
from kctl.cli.formats.shapes import CSV_HEAD, base64_parts, csv_parts, hex_parts, jsonl_parts, raw_parts
from kctl.cli.formats.template import parse_template
from kctl.cli.options import Common, Output

DEFAULT_TEMPLATE = "%v\\n"


def choose_record_output(
    common: Common,
    *,
    template: str | None,
    kcat_format: str | None,
    print_offsets: bool,
    null: str | None,
    greps: Sequence[str],
    is_csv_safe: bool = False,
) -> RecordOutput:
    """Return what to write of which records.

    Raises: click.UsageError: something that is not understood, or options that cannot hold together.
    """
    _refuse_contradictions(common, template, kcat_format, null, print_offsets=print_offsets)
    if is_csv_safe and common.output is not Output.CSV:
        raise click.UsageError("--csv-safe is for --output csv.")
    for_terminal = common.environment.stdout_is_tty
    conditions = click.parsed(parse_greps, greps, "'--grep'")
    word = b"" if null is None else click.parsed(parse_literal, null, "'--null'")
    if kcat_format is not None:
        parse = partial(kcat_parts_of, null=word, for_terminal=for_terminal)
        parts = click.parsed(parse, kcat_format, "'--kcat-format'")
    elif common.output is not None:
        parts = _shape(common.output, word, for_terminal=for_terminal, is_csv_safe=is_csv_safe)
    else:
        text = DEFAULT_TEMPLATE if template is None else template
        parts = template_parts(
            click.parsed(parse_template, text, "'--format' / '-f'"), null=word, for_terminal=for_terminal
        )
    if print_offsets:
        parts = [*PRINTED_OFFSETS, *parts]
    head = CSV_HEAD if common.output is Output.CSV else b""
    return RecordOutput(parts, head=head, null=word, conditions=conditions)


def kcat_parts_of(text: str, null: bytes, *, for_terminal: bool) -> list[Part]:
    """Return the parts of `--kcat-format`; its module is loaded only for who uses it."""
    from kctl.cli.formats.kcat import kcat_parts

    return kcat_parts(text, null=null, for_terminal=for_terminal)


def _refuse_contradictions(
    common: Common, template: str | None, kcat_format: str | None, null: str | None, *, print_offsets: bool
) -> None:
    if common.output is not None:
        common.choose_output(*SHAPES)
    shape = f"--output {common.output.value}" if common.output is not None else ""
    given = [
        *(["--format"] if template is not None else []),
        *(["--kcat-format"] if kcat_format is not None else []),
        *([shape] if shape else []),
    ]
    if len(given) > 1:
        raise click.UsageError(f"{given[0]} and {given[1]} cannot be combined: each sets the format of a record.")
    if common.output in (Output.JSONL, Output.CSV):
        if print_offsets:
            raise click.UsageError(f"--print-offsets with {shape} would print each offset twice.")
        if null is not None:
            raise click.UsageError(f"--null with {shape}: it has its own way of writing null.")
    if common.output is Output.RAW and print_offsets:
        raise click.UsageError("--print-offsets with --output raw: raw is the values' bytes and nothing else.")


def _shape(output: Output, null: bytes, *, for_terminal: bool, is_csv_safe: bool) -> list[Part]:
    if output is Output.JSONL:
        return jsonl_parts(for_terminal=for_terminal)
    if output is Output.CSV:
        return csv_parts(for_terminal=for_terminal, is_safe=is_csv_safe)
    if output is Output.RAW:
        return raw_parts(null=null, for_terminal=for_terminal)
    return hex_parts(null=null) if output is Output.HEX else base64_parts(null=null)
