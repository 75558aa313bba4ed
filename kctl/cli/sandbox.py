"""`kctl sandbox`: a Kafka cluster in this process, on loopback, until Ctrl-C."""

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kctl.cli import click
from kctl.cli.commands import Command, Commands
from kctl.cli.data_out import DataOut
from kctl.cli.environment import Environment
from kctl.cli.exit_codes import ExitCode
from kctl.cli.failures import CommandError
from kctl.cli.formats.listing import SHAPES
from kctl.cli.output_options import AsJson, Output, output_option, shape_of_json
from kctl.client.config import HIGHEST_PORT

if TYPE_CHECKING:
    from kctl.sandbox import ClusterSettings
    from kctl.sandbox.server import ServedSandbox

app = Commands(no_args_is_help=True)

MOST_NODES = 250
"""Maximum brokers of a sandbox, repeated because --help does not import the sandbox."""
_TOPIC = re.compile(r"(?P<name>[^:]+)(?::(?P<partitions>[0-9]{1,5}))?")


class _Fault(Command):
    """The command `fault`, whose help lists the commands of the sandbox."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        from kctl.cli.help_sections import column_of_names, write_examples, write_sections
        from kctl.sandbox.commands import COMMANDS  # a cluster: not needed to run the command

        write_sections(self, ctx, formatter)
        with formatter.section("Commands"):
            rows = [(name, ": ".join(filter(None, command[:2]))) for name, command in COMMANDS.items()]
            formatter.write_dl(rows, column_of_names(formatter))
        write_examples(ctx.command_path, formatter)


@app.callback()
def sandbox() -> None:
    """Run a local test cluster."""


@app.command()
def start(
    ctx: typer.Context,
    nodes: Annotated[int, typer.Option("--nodes", min=1, max=MOST_NODES, metavar="N", help="Number of brokers.")] = 3,
    port: Annotated[
        int,
        typer.Option(
            "--port",
            min=0,
            max=HIGHEST_PORT,
            metavar="N",
            help="Port of the first broker. Other brokers use the next ports. With 0, all brokers use free ports.",
        ),
    ] = 9092,
    host: Annotated[str, typer.Option("--host", metavar="ADDRESS", help="Address to listen on.")] = "127.0.0.1",
    topics: Annotated[
        list[str] | None,
        typer.Option("--topic", metavar="NAME[:PARTITIONS]", help="Topic to create at startup. Repeatable."),
    ] = None,
    replication_factor: Annotated[
        int,
        typer.Option(
            "--replication-factor", "-r", min=1, max=MOST_NODES, metavar="N", help="Replication factor of new topics."
        ),
    ] = 1,
    num_partitions: Annotated[
        int, typer.Option("--num-partitions", min=1, metavar="N", help="Default number of partitions of new topics.")
    ] = 1,
    configs: Annotated[
        list[str] | None,
        typer.Option("--config", metavar="KEY=VALUE", help="Broker config to set. Repeatable."),
    ] = None,
    node_ids_from: Annotated[
        int, typer.Option("--node-ids-from", min=0, max=1000, metavar="N", help="ID of the first broker.")
    ] = 1,
    racks: Annotated[
        str | None,
        typer.Option("--racks", metavar="RACK,...", help="Racks of the brokers, in order."),
    ] = None,
    min_insync_replicas: Annotated[
        int,
        typer.Option(
            "--min-insync-replicas",
            min=1,
            max=MOST_NODES,
            metavar="N",
            help="Minimum number of in-sync replicas for acks=all.",
        ),
    ] = 1,
    transaction_version: Annotated[
        int,
        typer.Option(
            "--transaction-version",
            min=0,
            max=2,
            metavar="N",
            help="Level of the feature transaction.version. Level 2 raises the producer epoch for each transaction.",
        ),
    ] = 2,
    acls: Annotated[bool, typer.Option("--acls", help="Enforce ACLs.")] = False,
    super_users: Annotated[
        list[str] | None,
        typer.Option(
            "--super-user",
            metavar="PRINCIPAL",
            help="Super user with all permissions. Repeatable [default: User:ANONYMOUS, or the first --sasl-user].",
        ),
    ] = None,
    sasl_users: Annotated[
        list[str] | None,
        typer.Option(
            "--sasl-user",
            metavar="NAME=VALUE",
            help="SASL user and file with the password, as NAME=FILE. Clients must then use SASL. Repeatable.",
        ),
    ] = None,
    tls_certificate: Annotated[
        Path | None,
        typer.Option(
            "--tls-certificate",
            metavar="FILE",
            help="PEM file with private key and certificates. Clients must then use TLS.",
        ),
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option("--data", metavar="DIR", help="Directory to store topics, records, and committed offsets in."),
    ] = None,
    control: Annotated[
        Path | None,
        typer.Option(
            "--control",
            metavar="PATH",
            help="Control socket for `kctl sandbox fault` and `kctl sandbox status` [default: chosen automatically].",
        ),
    ] = None,
    quiet: Annotated[bool, typer.Option("-q", "--quiet", help="Print only errors on stderr.")] = False,
) -> int:
    """Start a cluster and run it until Ctrl-C. Records are kept in memory, and saved on exit if --data is set.

    Prints the bootstrap servers on stdout when the cluster is ready.
    """
    if port and port + nodes - 1 > HIGHEST_PORT:
        raise click.BadParameter(
            f"{nodes} brokers from port {port} need ports above {HIGHEST_PORT}", param_hint="'--port'"
        )
    from kctl.cli.sandbox_control import new_socket
    from kctl.cli.sandbox_security import ANONYMOUS, read_principal, read_security
    from kctl.sandbox import ClusterSettings, Sandbox  # a cluster: not wanted for --help
    from kctl.sandbox.cluster import TopicRefused
    from kctl.sandbox.data_file import DataRefused
    from kctl.sandbox.server import run_until_signal

    environment: Environment = ctx.obj

    def on_ready(served: "ServedSandbox") -> None:
        path = control or new_socket(environment.environ)
        if path is not None:
            _listen(served, path)
        out = DataOut(environment.stdout)
        out.write_line(served.bootstrap)
        out.flush()
        if not quiet:
            environment.say(f"kctl sandbox: {_running(nodes, keeps_data=data is not None)}")

    if replication_factor > nodes:
        raise click.BadParameter(
            f"{replication_factor} replicas need at least {replication_factor} brokers, but --nodes is {nodes}",
            param_hint="'--replication-factor'",
        )
    names = [text.partition("=")[0] for text in sasl_users or ()]
    settings = ClusterSettings(
        num_partitions=num_partitions,
        authorizer=acls,
        super_users=tuple(map(read_principal, super_users or names[:1] or [ANONYMOUS])),
        default_replication_factor=replication_factor,
        min_insync_replicas=min_insync_replicas,
        transaction_version=transaction_version,
    )
    if configs:
        settings = _with_configs(settings, configs)
    try:
        cluster = Sandbox(
            nodes,
            topics=dict(map(_read_topic, topics or ())),
            settings=settings,
            racks=_racks_of(nodes, racks),
            first_node_id=node_ids_from,
            security=read_security(sasl_users or (), tls_certificate),
        )
        ended_by = run_until_signal(cluster, host=host, port=port, data=data, on_ready=on_ready)
    except TopicRefused as e:
        raise click.BadParameter(str(e), param_hint="'--topic'") from None
    except DataRefused as e:
        raise click.BadParameter(str(e), param_hint="'--data'") from None
    except OSError as e:
        raise CommandError(
            ExitCode.USAGE,
            e.strerror or f"cannot listen on {host}:{port}: {e}",
            "choose another --port, or 0 for free ports",
        ) from None
    return 128 + ended_by


def _running(nodes: int, *, keeps_data: bool) -> str:
    ends = "saves" if keeps_data else "deletes"
    if nodes == 1:
        return f"1 broker is running. Ctrl-C stops it and {ends} its data"
    return f"{nodes} brokers are running. Ctrl-C stops them and {ends} their data"


@app.command("fault", cls=_Fault)
def inject_fault(
    ctx: typer.Context,
    words: Annotated[
        list[str], typer.Argument(metavar="COMMAND...", help="Command for the sandbox, such as: start 2 freeze.")
    ],
    control: Annotated[
        Path | None,
        typer.Option("--control", metavar="PATH", help="Socket of the sandbox [default: the running sandbox]."),
    ] = None,
) -> int:
    """Inject a fault into a running sandbox, or move leaders and coordinators.

    FAULT is blackhole, refuse, reset, reset-on-request, silence, freeze, drop-responses, or delay. NODE is a broker ID.
    """
    from kctl.cli.sandbox_control import PATIENCE_S, chosen_socket
    from kctl.sandbox import control_socket

    environment: Environment = ctx.obj
    control = chosen_socket(environment.environ, control)
    try:
        refusal = control_socket.tell(control, words, PATIENCE_S)
    except OSError as e:
        raise CommandError(
            ExitCode.USAGE,
            f"cannot connect to a sandbox at {control}: {e.strerror or e}",
            "start a sandbox with: kctl sandbox start --control PATH",
        ) from None
    except ValueError as e:
        raise click.BadParameter(str(e), param_hint="'COMMAND...'") from None
    if refusal is not None:
        raise click.BadParameter(refusal, param_hint="'COMMAND...'")
    return ExitCode.OK


@app.command()
def status(
    ctx: typer.Context,
    control: Annotated[
        Path | None,
        typer.Option("--control", metavar="PATH", help="Socket of a sandbox [default: all running sandboxes]."),
    ] = None,
    output: Annotated[Output | None, output_option(*SHAPES)] = None,
    as_json: AsJson = False,
) -> int:
    """Show running sandboxes with their brokers and faults."""
    from kctl.cli.formats.listing import write_listing
    from kctl.cli.sandbox_control import no_sandbox, read_status, status_listing

    environment: Environment = ctx.obj
    found = read_status(environment.environ, control)
    if not found:
        raise no_sandbox()
    shape = (shape_of_json(output) if as_json else output) or Output.TABLE
    write_listing(environment, shape, status_listing(found))
    return ExitCode.OK


def _listen(served: "ServedSandbox", control: Path) -> None:
    try:
        served.serve_commands(control)
    except OSError as e:
        raise CommandError(
            ExitCode.USAGE,
            f"cannot create control socket {control}: {e.strerror or e}",
            "choose a path that does not exist",
        ) from None


def _with_configs(settings: "ClusterSettings", configs: list[str]) -> "ClusterSettings":
    from kctl.cli.changes import read_pairs
    from kctl.sandbox.settings import InvalidSetting, with_properties

    try:
        return with_properties(settings, read_pairs(configs, "'--config'"))
    except InvalidSetting as e:
        raise click.BadParameter(str(e), param_hint="'--config'") from None


def _racks_of(nodes: int, text: str | None) -> list[str] | None:
    if text is None:
        return None
    racks = text.split(",")
    if "" in racks or len(racks) > nodes:
        raise click.BadParameter(
            f"use 1 to {nodes} racks, separated by commas, instead of {text!r}", param_hint="'--racks'"
        )
    return [racks[at % len(racks)] for at in range(nodes)]


def _read_topic(text: str) -> tuple[str, int]:
    match = _TOPIC.fullmatch(text)
    if match is None:
        raise click.BadParameter(f"use NAME or NAME:PARTITIONS instead of {text!r}", param_hint="'--topic'")
    return match["name"], int(match["partitions"] or 1)
