"""The options of `kctl probe`, each declared once. What they come to is decided in `request.py`."""

from pathlib import Path
from typing import Annotated, Any

import typer

from kctl.cli.options import duration_ms

CERT_WARN_MS = 21 * 24 * 3_600_000


def _duration(name: str, text: str) -> Any:
    return typer.Option(name, parser=duration_ms, metavar="DURATION", help=text, show_default=False)


Strict = Annotated[bool, typer.Option("--strict", help="Exit with 3 for any problem, even if the cluster is usable.")]
Group = Annotated[
    str | None, typer.Option("--group", "-g", metavar="GROUP", help="Find the coordinator of this consumer group too.")
]
Idle = Annotated[int, _duration("--idle", "Keep each connection idle for this time, then check that it still works.")]
CertWarn = Annotated[int, _duration("--cert-warn", "Report certificates that expire within this time (21d).")]
Resolve = Annotated[
    list[str] | None,
    typer.Option("--resolve", metavar="HOST:PORT:IP", help="Address to use for this host and port; repeatable."),
]
Sni = Annotated[
    str | None,
    typer.Option("--sni", metavar="NAME", help="Server name to send in TLS (SNI), and to check certificates for."),
]
TryProtocols = Annotated[
    bool,
    typer.Option(
        "--try-protocols/--no-try-protocols",
        help="If a server seems to expect TLS, or no TLS, try that once, without credentials.",
    ),
]
Watch = Annotated[bool, typer.Option("--watch", help="Repeat the probe, with statistics of each address.")]
Count = Annotated[int | None, typer.Option("--count", min=1, metavar="N", help="Stop after N rounds; implies --watch.")]
Interval = Annotated[int | None, _duration("--interval", "Interval between rounds (1s); implies --watch.")]
WriteOut = Annotated[
    str | None,
    typer.Option("--write-out", metavar="TEMPLATE", help="Print only this for each address: '%{host} %{outcome}\\n'."),
]
Diff = Annotated[
    tuple[Path, Path] | None,
    typer.Option(
        "--diff",
        metavar="BEFORE AFTER",
        help="Compare two saved results (--output json or jsonl); nothing is probed.",
    ),
]
