"""Options shared by `kctl why` and `kctl doctor`."""

from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from kctl.cli import click
from kctl.cli.options import duration_ms
from kctl.cli.output_options import Words

if TYPE_CHECKING:
    from kctl.client.admin import Admin

DEFAULT_INTERVAL_MS, LEAST_INTERVAL_MS = 10_000, 1_000
LEAST_BUDGET, REQUESTS_EACH = 200, 50
"""Default of --max-requests: minimum, and number per broker."""
MOST_SAMPLES = 2
LOOPBACK, LARGEST_PORT = "127.0.0.1", 65_535
_severities = Words(("error", "warning", "note"))


class WhyOptions(NamedTuple):
    """Values of the options."""

    watch_ms: int
    only: frozenset[str]
    ignored: frozenset[str]
    severity: str
    budget: int | None
    interval_ms: int
    address: tuple[str, int] | None


def find_budget(admin: "Admin", options: WhyOptions) -> int:
    """Return the maximum number of requests. Raises: KafkaError: no broker responds."""
    if options.budget is not None:
        return options.budget
    from kctl.why.gathering.gatherer import MOST_ASKED  # deferred import: keeps --help fast

    return max(LEAST_BUDGET, REQUESTS_EACH * min(len(admin.describe_cluster().nodes), MOST_ASKED))


def why_options(
    samples: Annotated[
        int | None,
        typer.Option(
            "--samples",
            min=1,
            max=MOST_SAMPLES,
            metavar="N",
            help="Number of samples. Two samples, --interval apart, show problems that develop over time [default: 1].",
        ),
    ] = None,
    watch: Annotated[bool, typer.Option("--watch", hidden=True)] = False,  # the former name of --samples 2
    interval: Annotated[
        int | None,
        typer.Option(
            "--interval",
            parser=duration_ms,
            metavar="DURATION",
            help="Time between two samples. Implies --samples 2 [default: 10s].",
        ),
    ] = None,
    only: Annotated[
        list[str] | None, typer.Option("--only", metavar="ID", help="Finding to check for. Repeatable [default: all].")
    ] = None,
    ignore: Annotated[
        list[str] | None, typer.Option("--ignore", metavar="ID", help="Finding to ignore. Repeatable.")
    ] = None,
    severity: Annotated[
        str,
        typer.Option(
            "--severity",
            parser=_severities,
            metavar=_severities.metavar,
            help="Lowest severity to report.",
        ),
    ] = "note",
    budget: Annotated[
        int | None,
        typer.Option(
            "--max-requests",
            min=1,
            max=100_000,
            metavar="N",
            help="Maximum number of requests in total [default: 200, or 50 for each broker if that is more].",
        ),
    ] = None,
    serve: Annotated[
        str | None,
        typer.Option(
            "--serve",
            metavar="HOST:PORT",
            help="Address for Prometheus metrics at /metrics, refreshed every --interval. :PORT means 127.0.0.1:PORT.",
        ),
    ] = None,
) -> WhyOptions:
    """Return the options. Raises: click.BadParameter, click.UsageError: a value is invalid, or options conflict."""
    interval_ms = DEFAULT_INTERVAL_MS if interval is None else interval
    if interval_ms < LEAST_INTERVAL_MS:
        raise click.BadParameter("the interval between samples must be at least 1s.", param_hint="'--interval'")
    if samples == 1 and (watch or interval is not None) and serve is None:
        raise click.UsageError("--samples 1 cannot be combined with --interval, which is the time between two samples.")
    is_compared = watch or samples == MOST_SAMPLES or (interval is not None and serve is None)
    return WhyOptions(
        interval_ms if is_compared else 0,
        _ids(only, "--only"),
        _ids(ignore, "--ignore"),
        severity,
        budget,
        interval_ms,
        _address(serve),
    )


def _address(text: str | None) -> tuple[str, int] | None:
    if text is None:
        return None
    host, _, port = text.rpartition(":")
    if not (port.isascii() and port.isdecimal() and len(port) <= 5 and int(port) <= LARGEST_PORT):
        raise click.BadParameter(f"{text[:80]!r} is not an address: use :PORT or HOST:PORT.", param_hint="'--serve'")
    return host.strip("[]") or LOOPBACK, int(port)


def _ids(given: list[str] | None, flag: str) -> frozenset[str]:
    if not given:
        return frozenset()
    from difflib import get_close_matches  # wanted only where findings are named

    from kctl.cli.other_tools import FORMER_FINDINGS
    from kctl.why.table import FINDINGS

    names = [FORMER_FINDINGS.get(name, name) for name in given]
    for name in names:
        if name not in FINDINGS:
            near = get_close_matches(name[:80], FINDINGS, n=1)
            hint = f": did you mean {near[0]}?" if near else ". List all findings with kctl explain --list."
            raise click.BadParameter(f"unknown finding {name[:80]!r}{hint}", param_hint=f"'{flag}'")
    return frozenset(names)
