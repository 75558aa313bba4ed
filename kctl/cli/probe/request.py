"""ProbeRequest: what a `kctl probe` was asked for, as it was written. Shown by tests/unit/cli/test_command_lines.py."""

from collections.abc import Sequence
from typing import NamedTuple

from kctl.cli.options import Output

SHAPES = (Output.TABLE, Output.JSONL, Output.JSON)


class ProbeRequest(NamedTuple):
    """What to try, and how to tell of it.

    Attributes:
        strict: whether anything that is wrong changes the exit code.
        group: whose coordinator to find; None: no one's.
        idle_ms: how long to keep each connection silent.
        cert_warn_ms: how long before its end a certificate is told of.
        resolve: host:port:ip texts. sni: what to ask TLS peers for.
        rounds: how many; None: until it is interrupted. interval_ms: from one to the next.
        template: of --write-out.
    """

    strict: bool
    group: str | None
    idle_ms: int
    cert_warn_ms: int
    resolve: Sequence[str]
    sni: str | None
    try_protocols: bool
    rounds: int | None
    interval_ms: int
    template: str | None
