"""Output options of `kctl consume`. Separate from choice.py to keep --help fast."""

from typing import Annotated

import typer

from kctl.cli.output_options import Output

SHAPES = (Output.JSONL, Output.CSV, Output.RAW, Output.HEX, Output.BASE64)

FormatOption = Annotated[
    str | None,
    typer.Option(
        "--format",
        "-f",
        metavar="TEMPLATE",
        help="Output template with the verbs of rpk and kcl: %t topic, %p partition, %o offset, %k key, %v value, "
        "%h{...} headers, %d timestamp. Escapes are \\n \\t \\xNN [default: %v\\n].",
    ),
]
KeySeparatorOption = Annotated[
    str | None,
    typer.Option(
        "--key-separator", "-K", metavar="TEXT", help="Separator to print between key and value [default: no keys]."
    ),
]
DelimiterOption = Annotated[
    str | None,
    typer.Option(
        "--delimiter",
        "-D",
        metavar="TEXT",
        help="Delimiter after each record, with escapes \\n \\t \\0 \\xNN [default: \\n].",
    ),
]
PrintOffsetsOption = Annotated[
    bool, typer.Option("--print-offsets", help="Print partition and offset before each record.")
]
NullOption = Annotated[
    str | None, typer.Option("--null", metavar="TEXT", help="String to print for a null key or value [default: empty].")
]
CsvSafeOption = Annotated[
    bool,
    typer.Option(
        "--csv-safe",
        help="With --output csv, add an apostrophe before values that spreadsheets run as formulas.",
    ),
]
GrepOption = Annotated[
    list[str] | None,
    typer.Option(
        "--grep",
        metavar="PATTERN",
        help="Regular expression for the key or value of records to print. Prefixes select the key (k:), value (v:), "
        "topic (t:), or headers (hk:, hv:, h:NAME=). ! inverts the match. Repeatable: all patterns must match.",
    ),
]
