"""The options of `kctl consume` that say what is written of each record; choice.py has what they come to.

Apart from it because `--help` needs these only.
"""

from typing import Annotated

import typer

from kctl.cli.options import Output

SHAPES = (Output.JSONL, Output.CSV, Output.RAW, Output.HEX, Output.BASE64)

FormatOption = Annotated[
    str | None,
    typer.Option(
        "--format",
        "-f",
        metavar="TEMPLATE",
        help="What to write for each record: %t topic, %p partition, %o offset, %k key, %v value, %h{...} headers, "
        "%d timestamp, \\n \\t \\xNN; the verbs and modifiers of rpk and kcl. Default: %v\\n.",
    ),
]
KcatFormatOption = Annotated[
    str | None,
    typer.Option(
        "--kcat-format", metavar="TEMPLATE", help="The same with kcat's tokens: %s %S %R %k %K %T %t %p %o %h."
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
    bool, typer.Option("--print-offsets", help="Write partition and offset before each record.")
]
NullOption = Annotated[
    str | None, typer.Option("--null", metavar="TEXT", help="What to write for a null key or value (nothing).")
]
CsvSafeOption = Annotated[
    bool,
    typer.Option(
        "--csv-safe",
        help="With --output csv: put an apostrophe before values that a spreadsheet would take for formulas.",
    ),
]
GrepOption = Annotated[
    list[str] | None,
    typer.Option(
        "--grep",
        metavar="PATTERN",
        help="Only records whose key or value contains a match: [!][k:|v:|hk:|hv:|h:NAME=|t:]REGEX; ! inverts it, "
        "k: v: t: look at key, value, topic, hk: hv: h:NAME= at headers. Repeatable: all must hold.",
    ),
]
