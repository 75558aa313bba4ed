"""`kctl sandbox`: a Kafka cluster inside this process, on loopback, until Ctrl-C.

Shown by tests/cli/test_sandbox.py.
"""

import re
from signal import Signals
from typing import Annotated

import click
import typer

from kctl.cli.data_out import DataOut
from kctl.cli.environment import Environment
from kctl.cli.exit_codes import ExitCode
from kctl.cli.failures import CommandError
from kctl.client.config.endpoints import HIGHEST_PORT
from kctl.sandbox import Sandbox
from kctl.sandbox.cluster import TopicRefused
from kctl.sandbox.sandbox import MAX_NODES
from kctl.sandbox.server import ServedSandbox, run_until_signal

app = typer.Typer(rich_markup_mode=None, add_completion=False, no_args_is_help=True)

_TOPIC = re.compile(r"(?P<name>[^:]+)(?::(?P<partitions>[0-9]{1,5}))?")


@app.callback()
def sandbox() -> None:
    """Run a Kafka cluster inside this process, to try things on."""


@app.command()
def up(
    ctx: typer.Context,
    nodes: Annotated[int, typer.Option("--nodes", min=1, max=MAX_NODES, help="How many brokers.")] = 3,
    port: Annotated[
        int,
        typer.Option("--port", min=0, max=HIGHEST_PORT, help="Node i listens on this port + i - 1; 0: any free ports."),
    ] = 9092,
    host: Annotated[str, typer.Option("--host", metavar="ADDRESS", help="Address to listen on.")] = "127.0.0.1",
    topics: Annotated[
        list[str] | None,
        typer.Option("--topic", metavar="NAME[:PARTITIONS]", help="A topic to start with; repeatable."),
    ] = None,
    quiet: Annotated[bool, typer.Option("-q", "--quiet", help="Say nothing but errors on stderr.")] = False,
) -> int:
    """Start the cluster and keep it until Ctrl-C; its records live in memory.

    Once connections are accepted, its bootstrap servers are printed on stdout.
    """
    if port and port + nodes - 1 > HIGHEST_PORT:
        raise click.BadParameter(f"{nodes} nodes from {port} on end above {HIGHEST_PORT}", param_hint="'--port'")
    environment: Environment = ctx.obj

    def tell(served: ServedSandbox) -> None:
        out = DataOut(environment.stdout)
        out.write_line(served.bootstrap)
        out.flush()
        if not quiet:
            environment.say(f"kctl sandbox: {nodes} nodes are up; Ctrl-C ends them and what they hold")

    try:
        cluster = Sandbox(nodes, topics=dict(map(_read_topic, topics or ())))
        ended_by = run_until_signal(cluster, host=host, port=port, on_ready=tell)
    except TopicRefused as e:
        raise click.BadParameter(str(e), param_hint="'--topic'") from None
    except OSError as e:
        raise CommandError(
            ExitCode.USAGE, f"cannot listen on {host}:{port}: {e.strerror or e}", "choose another --port, or 0 for any"
        ) from None
    return ExitCode.SIGINT if ended_by is Signals.SIGINT else ExitCode.SIGTERM


def _read_topic(text: str) -> tuple[str, int]:
    match = _TOPIC.fullmatch(text)
    if match is None:
        raise click.BadParameter(f"{text!r} is not NAME or NAME:PARTITIONS", param_hint="'--topic'")
    return match["name"], int(match["partitions"] or 1)
