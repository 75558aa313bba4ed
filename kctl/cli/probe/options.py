"""Option declarations of `kctl probe`."""

from typing import Annotated, Any

import typer

from kctl.cli.options import duration_ms

CERT_WARN_MS = 21 * 24 * 3_600_000


def _duration(name: str, text: str) -> Any:
    return typer.Option(name, parser=duration_ms, metavar="DURATION", help=text, show_default=False)


Strict = Annotated[bool, typer.Option("--strict", help="Exit with 3 for any problem, even if the cluster is usable.")]
Group = Annotated[
    str | None, typer.Option("--group", "-g", metavar="GROUP", help="Consumer group whose coordinator to test as well.")
]
Idle = Annotated[int, _duration("--idle", "Time to keep each connection idle before testing it again.")]
CertWarn = Annotated[
    int, _duration("--cert-warn", "Remaining lifetime below which certificates are reported [default: 21d].")
]
Resolve = Annotated[
    list[str] | None,
    typer.Option(
        "--resolve", metavar="HOST:PORT:IP", help="IP address to use for a host and port, instead of DNS. Repeatable."
    ),
]
Sni = Annotated[
    str | None,
    typer.Option("--sni", metavar="NAME", help="Server name for TLS (SNI) and for certificate checks."),
]
TryProtocols = Annotated[
    bool,
    typer.Option(
        "--try-protocols/--no-try-protocols",
        help="If a server seems to expect TLS or plaintext instead, test that protocol without credentials.",
    ),
]
Watch = Annotated[
    bool, typer.Option("--watch", help="Repeat the probe until Ctrl-C, with statistics for each address.")
]
Count = Annotated[int | None, typer.Option("--count", min=1, metavar="N", help="Exit after N rounds. Implies --watch.")]
Interval = Annotated[int | None, _duration("--interval", "Interval between rounds. Implies --watch [default: 1s].")]
WriteOut = Annotated[
    str | None,
    typer.Option(
        "--write-out", metavar="TEMPLATE", help="Output template for each address, such as '%{host} %{outcome}\\n'."
    ),
]
