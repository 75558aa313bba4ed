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
        help="Output template: %t topic, %p partition, %o offset, %k key, %v value, %h{...} headers, %d "
        "timestamp, \\n \\t \\xNN. Verbs are the verbs of rpk and kcl [default: %v\\n].",
    ),
]
KeySeparatorOption = Annotated[
    str | None,
    typer.Option("--key-separator", "-K", metavar="TEXT", help="Write each key and TEXT before the value."),
]
DelimiterOption = Annotated[
    str | None,
    typer.Option("--delimiter", "-D", metavar="TEXT", help="End of each record (\\n); escapes \\n \\t \\0 \\xNN."),
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
        help="Print only records whose key or value matches a regular expression. Prefixes: k: v: t: match key, "
        "value, or topic, hk: hv: h:NAME= match headers, ! inverts. Repeated patterns must all match.",
    ),
]
