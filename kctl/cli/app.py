"""The root of the command line, which imports commands when needed, so that `kctl --help` is fast."""

import errno
import importlib
import os
import sys
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from functools import cache
from typing import Any, NamedTuple

import typer

from kctl.cli.click import PARSER_ERRORS, HelpWanted, UsageError
from kctl.cli.commands import Commands, Group, note_form_of_errors
from kctl.cli.data_out import OutputClosed, StdoutFailed
from kctl.cli.environment import Environment, system_environment
from kctl.cli.exit_codes import ExitCode
from kctl.cli.failures import Failure, explain
from kctl.cli.interrupts import Interrupted, Interrupts
from kctl.cli.limit_names import DerivedLimits
from kctl.cli.other_tools import command_words, kcat_mode_first
from kctl.client.errors import ConfigError
from kctl.version import VERSION

WIDEST_HELP, NARROWEST_HELP = 78, 24
"""Columns of help texts: wider lines are hard to read, narrower ones have no room."""


class Entry(NamedTuple):
    """A command: the module of its `app`, its line in `kctl --help`, and the heading above the line."""

    module: str
    summary: str
    heading: str


_RECORDS, _DIAGNOSIS, _MANAGEMENT, _OTHER = "Records", "Diagnosis", "Management", "Other commands"

COMMANDS = {
    "consume": Entry("kctl.cli.consume.command", "Print records from topics.", _RECORDS),
    "produce": Entry("kctl.cli.produce.command", "Send records to a topic.", _RECORDS),
    "pipeline": Entry("kctl.cli.pipeline.command", "Export, import, and mirror topics with Spark.", _RECORDS),
    "bench": Entry("kctl.cli.bench.command", "Measure throughput and latency.", _RECORDS),
    "probe": Entry("kctl.cli.probe.command", "Test the connection to every broker.", _DIAGNOSIS),
    "why": Entry("kctl.cli.why.command", "Find problems with a group, a topic, or the cluster.", _DIAGNOSIS),
    "doctor": Entry("kctl.cli.why.doctor", "Check the whole cluster.", _DIAGNOSIS),
    "explain": Entry("kctl.cli.explain", "Explain an exit code, an error, or a setting.", _DIAGNOSIS),
    "wait": Entry("kctl.cli.wait", "Wait until topics, brokers, or groups are ready.", _DIAGNOSIS),
    "topics": Entry("kctl.cli.topics", "List, create, alter, and delete topics.", _MANAGEMENT),
    "groups": Entry("kctl.cli.groups.command", "Inspect consumer groups and reset offsets.", _MANAGEMENT),
    "configs": Entry("kctl.cli.configs", "Show and change configs.", _MANAGEMENT),
    "apply": Entry("kctl.cli.apply.command", "Create and change topics and ACLs from a file.", _MANAGEMENT),
    "acls": Entry("kctl.cli.acls.command", "Manage ACLs and test permissions.", _MANAGEMENT),
    "users": Entry("kctl.cli.users", "Manage SCRAM users.", _MANAGEMENT),
    "quotas": Entry("kctl.cli.quotas", "Manage client quotas.", _MANAGEMENT),
    "partitions": Entry("kctl.cli.partitions.command", "Move partitions and elect leaders.", _MANAGEMENT),
    "brokers": Entry("kctl.cli.brokers", "Show the disk usage of brokers.", _MANAGEMENT),
    "cluster": Entry("kctl.cli.cluster", "Show brokers, features, and the controller quorum.", _MANAGEMENT),
    "schemas": Entry("kctl.cli.schemas", "Manage schemas of a schema registry.", _MANAGEMENT),
    "transactions": Entry("kctl.cli.transactions.command", "List transactions and abort hanging ones.", _MANAGEMENT),
    "profile": Entry("kctl.cli.profile.command", "Manage connection profiles.", _OTHER),
    "options": Entry("kctl.cli.common_options", "Show connection, timeout, and output options.", _OTHER),
    "completion": Entry("kctl.cli.completion.command", "Set up shell completion.", _OTHER),
    "sandbox": Entry("kctl.cli.sandbox", "Run a local test cluster.", _OTHER),
    "api": Entry("kctl.cli.api", "Send a raw Kafka request.", _OTHER),
    "help-json": Entry("kctl.cli.help_json", "Print all commands and options as JSON.", _OTHER),
}

HELP = """Consume, produce, diagnose, and manage Apache Kafka.

kctl waits for brokers for at most --api-timeout [default: 60s], and reports the reason for each wait.

Exit codes: 0 success, 1 unexpected error, 2 usage error, 3 partial failure, 10-25 specific failures.
Run `kctl explain` to list all exit codes."""


KCAT_MODES = {
    "-L": "use kctl probe to show brokers, and kctl topics list to show topics",
    "-C": "use kctl consume TOPIC to read a topic. In kctl, -C selects a profile",
    "-Q": "use kctl topics offsets TOPIC --at @TIME to show the offsets at a time",
}
"""Options of kcat that are commands of kctl."""
CONNECTION_OPTIONS = frozenset({"-b", "--bootstrap", "--bootstrap-server", "--brokers", "-C", "--profile", "-X"})
"""Options that select a cluster."""


@cache
def command_of(app: typer.Typer) -> Any:
    """Return the click command of an application. It is cached because building it takes milliseconds."""
    return typer.main.get_command(app)


class RootGroup(Group):
    """The `kctl` command, which imports subcommands when needed."""

    def arrange(self, ctx: Any, args: list[str]) -> list[str]:
        """Return the arguments, translated to kctl's names, with the command first.

        Raises: UsageError: the command is missing.
        """
        if not args or args[0] in ("-h", "--help", "-V", "--version"):
            return args
        words = kcat_mode_first(args, COMMANDS.__contains__) if args[0].startswith("-") else args
        words = self._moved(ctx, words) if words[0].startswith("-") else self.translate(words)
        if words and words[0] not in COMMANDS and not words[0].startswith("-"):
            note_form_of_errors(ctx, self.make_parser(ctx), words)
        return words

    def translate(self, words: list[str]) -> list[str]:
        return command_words(words, COMMANDS.__contains__)

    def _moved(self, ctx: Any, args: list[str]) -> list[str]:
        note_form_of_errors(ctx, self.make_parser(ctx), args)
        try:
            words = self.move_shared_options(ctx, args)
        except PARSER_ERRORS:
            _refuse_kcat_mode(ctx, args, ("-L", "-Q"))
            raise
        if not words:
            _refuse_kcat_mode(ctx, args, KCAT_MODES)
            if args[0].partition("=")[0] in CONNECTION_OPTIONS:
                raise UsageError("Missing command. To check the connection, run: kctl probe -b HOST:PORT.", ctx)
        return words

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002 - typer's signature
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ARG002 - as above
        entry = COMMANDS.get(cmd_name)
        if entry is None:
            return None
        app: typer.Typer = importlib.import_module(entry.module).app
        command = command_of(app)
        command.name = cmd_name
        return command

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        name = args[0]
        if name not in COMMANDS and not name.startswith("-"):
            raise UsageError(f"No such command '{name}'.", ctx)
        environment: Environment | None = ctx.obj
        if environment is not None:
            environment.closing_notice.program = f"kctl {name}"
            ctx.obj = environment._replace(program=f"kctl {name}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002 - as above
        from kctl.cli.help_sections import column_of_names  # wanted for help alone

        names = column_of_names(formatter)
        for heading in dict.fromkeys(entry.heading for entry in COMMANDS.values()):
            with formatter.section(heading):
                rows = [(name, entry.summary) for name, entry in COMMANDS.items() if entry.heading == heading]
                formatter.write_dl(rows, names)


def _refuse_kcat_mode(ctx: Any, args: Sequence[str], modes: Iterable[str]) -> None:
    mode = next((word for word in args if word in modes), None)
    if mode is not None:
        raise UsageError(f"kctl does not support the kcat mode {mode}: {KCAT_MODES[mode]}.", ctx)


root = Commands(
    cls=RootGroup,
    help=HELP,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"kctl {VERSION}")
        raise typer.Exit


@root.callback()
def _options(
    _version: bool = typer.Option(
        False, "--version", "-V", callback=_print_version, is_eager=True, help="Show the version and exit."
    ),
) -> None:
    pass


def main() -> int:
    environment = system_environment()
    arguments = sys.argv[1:]
    interrupts = Interrupts(
        environment.closing_notice,
        stdout_is_tty=environment.stdout_is_tty,
        stderr_is_tty=environment.stderr_is_tty,
    )
    try:
        interrupts.install()
        code = run(arguments, environment)
        interrupts.remove()
    except Interrupted as e:  # before the command had begun, or when it had reported its end
        interrupts.remove()
        code = e.code
    _forget_closed_streams()
    return code


def run(arguments: Sequence[str], environment: Environment) -> int:
    """Run one command line and return its exit code. Failures are printed as one line and a hint."""
    with ExitStack() as resources:
        return _run(list(arguments), environment._replace(resources=resources, limits=DerivedLimits()))


def _run(arguments: Sequence[str], environment: Environment) -> int:
    environment.secrets.values = ()
    try:
        with command_of(root).make_context(
            "kctl", arguments, obj=environment, terminal_width=_help_width(environment)
        ) as ctx:
            try:
                code: int = ctx.command.invoke(ctx)
            finally:
                environment = ctx.obj  # the command knows the form of errors
            return code
    except HelpWanted as e:
        for line in e.format_message().splitlines():
            environment.say(line)
        return ExitCode.USAGE
    except typer.Exit as e:  # the parser has printed a help, or the version
        if sys.stdout is None:  # closed by our caller, which the parser passes over
            failed = StdoutFailed(OSError(errno.EBADF, os.strerror(errno.EBADF)), b"")
            return _report(failed, explain(failed), environment, verbose=False)
        return e.exit_code
    except (OutputClosed, BrokenPipeError):
        return ExitCode.OK
    except Interrupted as e:
        environment.say_failure(Failure(e.code, str(e)), is_error=False)
        return e.code
    except Exception as e:  # noqa: BLE001 - the last line of defence: a user never sees a bare traceback
        return _report(e, explain(e), environment, verbose=_is_verbose(arguments))


def _help_width(environment: Environment) -> int:
    return max(NARROWEST_HELP, min(environment.columns - 2, WIDEST_HELP))


def _is_verbose(arguments: Sequence[str]) -> bool:
    return "-v" in arguments or "--verbose" in arguments


def _report(error: Exception, failure: Failure, environment: Environment, *, verbose: bool) -> int:
    if isinstance(error, PARSER_ERRORS) and error.ctx is not None:
        hint = getattr(error, "hint", "") or f"show the options with: {error.ctx.command_path} --help"
        failure = failure._replace(hint=hint)
    if isinstance(error, ConfigError) and error.key == "bootstrap.servers":
        from kctl.cli.suggestions import SERVERS_VARIABLE, VARIABLES  # wanted only for mistakes

        for name in sorted(VARIABLES.keys() & environment.environ.keys()):
            failure = failure._replace(hint=f"set ${SERVERS_VARIABLE} instead of ${name}, which kctl does not read")
    if failure.code is ExitCode.UNEXPECTED and verbose:
        import traceback  # 5 ms of import, wanted only here

        trace = "".join(traceback.format_exception(error)).splitlines()
        failure = failure._replace(details=(*failure.details, *trace))
    environment.say_failure(failure)
    return failure.code


def _forget_closed_streams() -> None:
    """Flush stdout and stderr. Redirect a failing stream to /dev/null, or Python would print an error at exit."""
    for stream in (sys.stdout, sys.stderr):
        if stream is None:  # our caller closed it
            continue
        try:
            stream.flush()
        except OSError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
