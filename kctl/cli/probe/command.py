"""Options of `kctl probe`."""

import re
from itertools import takewhile
from typing import Any

from kctl.cli.commands import Commands, Group
from kctl.cli.formats.listing import SHAPES
from kctl.cli.options import Common, with_common
from kctl.cli.probe import options
from kctl.cli.probe.report.command import report


class ProbeGroup(Group):
    """Command group that accepts HOST:PORT as -b HOST:PORT."""

    def arrange(self, ctx: Any, args: list[str]) -> list[str]:
        args = super().arrange(ctx, args)
        rest = self.make_parser(ctx).parse_args(list(args))[1]
        servers = list(takewhile(_SERVERS.fullmatch, rest))
        behind = len(args) - len(rest)
        return [*args[:behind], *(word for each in servers for word in ("-b", each)), *rest[len(servers) :]]


_SERVERS = re.compile(r"([\w.-]+|\[[0-9A-Fa-f:]+\]):[0-9]{1,5}(,.*)?")
app = Commands(cls=ProbeGroup, invoke_without_command=True, subcommand_metavar="[COMMAND]")

INTERVAL_MS = 1000


@app.callback()
@with_common(
    *SHAPES,
    repeats=lambda given: given["watch"] or given["count"] is not None or given["interval"] is not None,
)
def probe(
    common: Common,
    strict: options.Strict = False,
    group: options.Group = None,
    idle: options.Idle = 0,
    cert_warn: options.CertWarn = options.CERT_WARN_MS,
    resolve: options.Resolve = None,
    sni: options.Sni = None,
    try_protocols: options.TryProtocols = True,
    watch: options.Watch = False,
    count: options.Count = None,
    interval: options.Interval = None,
    write_out: options.WriteOut = None,
) -> int:
    """Test the connection to every broker, step by step: DNS, TCP, TLS, ApiVersions, SASL, Metadata.

    The probe also tests all addresses that the brokers advertise. In scripts, use -q, --output, or --write-out.

    Exit codes: 0 if the cluster is usable, 18 if no advertised address works, 19 if the group has no coordinator,
    otherwise the code of the connection error.
    """
    from kctl.cli.probe.session import ProbeRequest, run_probe  # deferred import: keeps --help fast

    request = ProbeRequest(
        strict=strict,
        group=group,
        idle_ms=idle,
        cert_warn_ms=cert_warn,
        resolve=resolve or (),
        sni=sni,
        try_protocols=try_protocols,
        rounds=count if watch or count is not None or interval is not None else 1,
        interval_ms=INTERVAL_MS if interval is None else interval,
        template=write_out,
    )
    return run_probe(common, request)


app.command("report")(report)
