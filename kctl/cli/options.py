"""Options that every command shares, and the settings that result from them.

`@with_common(...)` adds them to a command, whose first parameter receives a `Common`. `@with_options(...)` adds options
that some commands share.
"""

import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from kctl.cli import click
from kctl.cli.data_out import StdoutFailed
from kctl.cli.environment import Environment
from kctl.cli.output_options import AsJson, Output, output_option, refuse_shape, shape_of_json
from kctl.cli.profiles.choice import FOR_OTHERS, Chosen, choose_profile
from kctl.cli.profiles.locations import foreign_project_files, working_folder
from kctl.cli.setting import Setting
from kctl.cli.settings import Settings, known_variables, merge_settings, unknown_variables
from kctl.cli.suggestions import Unknown, did_you_mean
from kctl.client.config import DEFAULT_PORT, ClientConfig, has_no_port
from kctl.client.events import Event, EventSink, ignore_events, keep_off_stderr
from kctl.grammar.durations import parse_duration_ms

if TYPE_CHECKING:
    from kctl.cli.notices import WaitNotices
    from kctl.cli.trace.trace_file import TraceFile
    from kctl.cli.trace.tracer import Tracer

keep_off_stderr()  # commands report waits and failures themselves
DEFAULT_CLOSE_MS = 30_000
FAIL_FAST = "bootstrap.refused.timeout.ms"
FAIL_FAST_MS = 5000
"""Retry time while all bootstrap servers refuse or do not resolve, for commands that exit without a signal."""


def duration_ms(value: str | int) -> int:
    """Parse a duration with its unit to ms. Used as `parser` of options. Raises: click.BadParameter."""
    if isinstance(value, int):
        return value
    try:
        return parse_duration_ms(value)
    except ValueError as e:
        raise click.BadParameter(str(e)) from None


class Common(NamedTuple):
    """Values of the shared options."""

    environment: Environment
    settings: Settings
    close_timeout_given_ms: int | None
    output: Output | None
    quiet: bool
    verbose: bool
    tracer: "Tracer | None" = None
    trace_file: "TraceFile | None" = None
    profile: Chosen | None = None
    notices: "WaitNotices | None" = None

    @property
    def events(self) -> EventSink:
        """Return the event sink for the client: requested traces, and wait notices, which are started."""
        if self.notices is not None:
            from kctl.client.network.system import system_runtime  # the client is wanted anyway

            self.notices.start(system_runtime().driver)
        sinks = [each.on_event for each in (self.tracer, self.trace_file, self.notices) if each is not None]
        if len(sinks) <= 1:
            return sinks[0] if sinks else ignore_events

        def on_event(event: Event) -> None:
            for sink in sinks:
                sink(event)

        return on_event

    def finish_traces(self) -> None:
        """Finish the traces and the notices."""
        self.end_notices()
        for trace in (self.tracer, self.trace_file):
            if trace is not None:
                trace.finish()

    def end_notices(self) -> None:
        if self.notices is not None:
            self.notices.stop()

    @property
    def fail_fast_settings(self) -> Settings:
        """Return settings that fail fast if all bootstrap servers refuse, for commands that exit without a signal."""
        settings = self.settings.with_defaults({FAIL_FAST: FAIL_FAST_MS})
        if self.notices is not None:
            from kctl.cli.notices import WaitLimit
            from kctl.grammar.integers import integer_in

            given_ms = integer_in(settings.by_name[FAIL_FAST].text)
            if given_ms is not None and given_ms < _api_timeout_ms(settings):
                self.notices.refused_limit = WaitLimit(given_ms, "--fail-fast")
        return settings

    @property
    def close_timeout_ms(self) -> int:
        return DEFAULT_CLOSE_MS if self.close_timeout_given_ms is None else self.close_timeout_given_ms

    @property
    def close_timeout_s(self) -> float:
        return self.close_timeout_ms / 1000

    def choose_output(self, *offered: Output) -> Output:
        """Return the requested output format. The first in `offered` is the default.

        Raises: click.UsageError: the command does not offer the requested format.
        """
        if self.output is None:
            return offered[0]
        if self.output not in offered:
            refuse_shape(self.output.value, [shape.value for shape in offered])
        return self.output

    def say(self, line: str) -> None:
        """Write a line to stderr, unless --quiet is set."""
        if not self.quiet:
            self.environment.say(line)

    def note_ignored(self, config: ClientConfig) -> None:
        """Print the properties that have no effect. Those in files and variables are printed only with -v."""
        without_sasl = {"sasl.mechanism": f"security.protocol={config.security_protocol} does not use SASL"}
        for name, reason in {**config.ignored, **({} if config.uses_sasl else without_sasl)}.items():
            setting = self.settings.by_name.get(name)
            if setting is not None and (
                setting.origin == "-X" or (self.verbose and not setting.origin.startswith("--"))
            ):
                self.say(f"{self.environment.program}: note: {name} from {setting.origin} is ignored: {reason}")


def _duration(*names: str, text: str) -> Any:
    return typer.Option(*names, parser=duration_ms, metavar="DURATION", help=text)


def common(
    ctx: typer.Context,
    bootstrap: Annotated[
        list[str] | None,
        typer.Option(
            "--bootstrap",
            "-b",
            metavar="HOST:PORT",
            help="Bootstrap servers, comma-separated. The port defaults to 9092 [default: $KCTL_BOOTSTRAP_SERVERS].",
        ),
    ] = None,
    brokers: Annotated[
        list[str] | None,
        typer.Option("--bootstrap-server", "--bootstrap-servers", "--brokers", metavar="HOST:PORT", hidden=True),
    ] = None,
    api_timeout: Annotated[
        int | None,
        _duration("--api-timeout", text="Maximum time for each operation, including retries [default: 60s]."),
    ] = None,
    connect_timeout: Annotated[
        int | None,
        _duration(
            "--connect-timeout",
            text="Maximum time to connect to a broker, including TLS and SASL [default: 10s].",
        ),
    ] = None,
    request_timeout: Annotated[
        int | None, _duration("--request-timeout", text="Maximum time to wait for a response [default: 30s].")
    ] = None,
    close_timeout: Annotated[
        int | None,
        _duration("--close-timeout", text="Maximum time to close connections and leave the group [default: 30s]."),
    ] = None,
    fail_fast: Annotated[
        bool | None,
        typer.Option(
            "--fail-fast/--no-fail-fast",
            help="Exit after 5s if all bootstrap servers refuse connections or do not resolve. With "
            "--no-fail-fast, retry until --api-timeout. --no-fail-fast is the default for wait, pipeline jobs, produce "
            "from stdin, and consume without an end offset.",
        ),
    ] = None,
    security_protocol: Annotated[
        str | None,
        typer.Option(
            "--security-protocol",
            metavar="NAME",
            help="Security protocol: PLAINTEXT, SSL, SASL_PLAINTEXT, or SASL_SSL.",
        ),
    ] = None,
    override: Annotated[
        list[str] | None,
        typer.Option("-X", metavar="KEY=VALUE", help="Kafka client property to set, such as client.id=me. Repeatable."),
    ] = None,
    command_config: Annotated[
        Path | None,
        typer.Option("--command-config", metavar="FILE", help="Client properties file, as used by Kafka's tools."),
    ] = None,
    profile: Annotated[
        str | None,
        typer.Option(
            "--profile",
            "-C",
            metavar="PROFILE",
            help="Profile to use [default: $KCTL_PROFILE, then the current profile].",
        ),
    ] = None,
    output: Annotated[Output | None, typer.Option("--output")] = None,  # each command offers shapes of its own
    as_json: AsJson = False,
    quiet: Annotated[bool, typer.Option("-q", "--quiet", help="Print only errors on stderr.")] = False,
    verbose: Annotated[bool, typer.Option("-v", "--verbose", help="Print more detail on stderr.")] = False,
    trace: Annotated[
        bool,
        typer.Option(
            "--trace", help="Log requests and connection attempts to stderr, with a time breakdown at the end."
        ),
    ] = False,
    trace_file: Annotated[
        Path | None,
        typer.Option(
            "--trace-file", metavar="FILE", help="Log requests and connection attempts to a file, as JSON lines."
        ),
    ] = None,
    *,
    fetches: bool = True,
    offered: Sequence[Output] = (),
    is_stream: bool = False,
) -> Common:
    """Declare the shared options and return their values.

    Args:
        fetches: resolve the references of the profile.
        offered: output formats of the command.
        is_stream: let --json select jsonl.
    """
    if as_json:
        output = shape_of_json(output, offered, is_stream=is_stream)
    environment: Environment = ctx.obj
    servers = [*(bootstrap or ()), *(brokers or ())]
    for each in brokers or ():
        if each.replace(",", "").isdecimal():
            raise click.UsageError(
                f"--brokers {each}: --brokers sets bootstrap servers. For broker IDs, use --to-brokers."
            )
    flags = {
        "default.api.timeout.ms": _limit("--api-timeout", api_timeout),
        "max.block.ms": _limit("--api-timeout", api_timeout),
        "socket.connection.setup.timeout.ms": _limit("--connect-timeout", connect_timeout),
        "request.timeout.ms": _limit("--request-timeout", request_timeout),
        "security.protocol": Setting(security_protocol, "--security-protocol") if security_protocol else None,
        "bootstrap.servers": Setting(",".join(servers), "--bootstrap") if servers else None,
        FAIL_FAST: None if fail_fast is None else Setting(FAIL_FAST_MS if fail_fast else -1, "--fail-fast"),
    }
    given = {name: setting for name, setting in flags.items() if setting is not None}
    chosen = choose_profile(profile, environment.environ)
    written = {} if chosen is None else settings_of(chosen)
    settings = merge_settings(
        given, override or (), environment.environ, command_config, written, keeps_login=profile is not None
    )
    if fetches and chosen is not None:
        settings = _fetch_references(settings, chosen, environment)
    environment.secrets.values = settings.secrets
    shared = Common(
        environment=environment,
        settings=settings,
        profile=chosen,
        close_timeout_given_ms=close_timeout,
        output=output,
        quiet=quiet,
        verbose=verbose,
        tracer=_start_trace(environment, settings) if trace else None,
        trace_file=None if trace_file is None else _start_trace_file(environment, trace_file),
        notices=None if quiet or trace else _notices(environment, settings, verbose=verbose),
    )
    if chosen is not None and chosen.file.mode & FOR_OTHERS:
        _note_open_secrets(shared, chosen)
    for withheld in settings.withheld:
        takes = f". To use the login, add -C {chosen.name}" if chosen is not None and withheld.is_of_profile else ""
        shared.say(f"{environment.program}: note: {withheld}{takes}")
    if verbose:
        _note_default_ports(shared)
    for path in foreign_project_files(working_folder()):
        shared.say(f"{environment.program}: note: {path} belongs to another user and is ignored")
    for variable in unknown_variables(environment.environ):
        meant = did_you_mean(Unknown.VARIABLE, variable, known_variables())
        suggestion = "" if meant is None else f". Did you mean ${meant}?"
        shared.say(f"{environment.program}: note: ${variable} is not a known setting and is ignored{suggestion}")
    return shared


def settings_of(chosen: Chosen) -> dict[str, Setting]:
    return {name: Setting(value, chosen.origin, of_profile=True) for name, value in chosen.properties.items()}


def _note_default_ports(shared: Common) -> None:
    servers = shared.settings.by_name.get("bootstrap.servers")
    if servers is None:
        return
    for entry in servers.text.split(","):
        if has_no_port(entry.strip()):
            shared.say(
                f"{shared.environment.program}: note: {servers.origin} {entry.strip()} has no port: "
                f"kctl uses port {DEFAULT_PORT}"
            )


def _note_open_secrets(shared: Common, chosen: Chosen) -> None:
    from kctl.cli.profiles.foreign.transfer import is_literal_secret  # wanted for files that others may read

    if any(is_literal_secret(name, value) for name, value in chosen.properties.items()):
        program, path = shared.environment.program, chosen.file.path
        shared.say(f"{program}: note: other users can read the secrets in {path}: run chmod 600, or use ${{env:NAME}}")


def _fetch_references(settings: Settings, chosen: Chosen, environment: Environment) -> Settings:
    from kctl.cli.profiles.references import Sources, ask_on_terminal, fetch

    sources = Sources(environment.environ, chosen.file.path.parent, environment.clock, ask_on_terminal)
    return settings.with_references(lambda name, setting: fetch(name, setting.text, setting.origin, sources))


def _start_trace(environment: Environment, settings: Settings) -> "Tracer":
    from kctl.cli.trace.tracer import Tracer

    return Tracer(environment.say, environment.clock, environment.styled, limit_ms=_api_timeout_ms(settings))


def _notices(environment: Environment, settings: Settings, *, verbose: bool) -> "WaitNotices":
    from kctl.cli.notices import WaitLimit, WaitNotices

    limit = WaitLimit(_api_timeout_ms(settings), "--api-timeout")
    is_brief = not (environment.stderr_is_tty or verbose)
    say, clock = environment.say, environment.clock
    return WaitNotices(environment.program, say, clock, limit, verbose=verbose, is_brief=is_brief)


def _api_timeout_ms(settings: Settings) -> int:
    limit, declared = settings.by_name.get("default.api.timeout.ms"), ClientConfig.default_api_timeout_ms
    return declared.default if limit is None else declared.read(limit.value)


def _start_trace_file(environment: Environment, path: Path) -> "TraceFile":
    from kctl.cli.trace.trace_file import TraceFile

    return TraceFile(
        path,
        environment.clock,
        lambda text: environment.say(f"{environment.program}: {text}"),
        environment.secrets.masked,
    )


def _limit(flag: str, limit_ms: int | None) -> Setting | None:
    if limit_ms == 0:
        raise click.BadParameter(
            "a timeout of 0 leaves no time for requests: use at least 1ms, such as 5s", param_hint=f"'{flag}'"
        )
    return None if limit_ms is None else Setting(limit_ms, flag)


_OF_COMMAND = ("fetches", "offered", "is_stream")
"""Parameters of `common` that the declaration of a command sets, not its user."""


def _shared_parameters() -> dict[str, inspect.Parameter]:
    return {name: p for name, p in inspect.signature(common).parameters.items() if name not in _OF_COMMAND}


@cache
def shared_options() -> list[Any]:
    def command(common: Common) -> int:
        raise NotImplementedError  # only its options are read

    app = typer.Typer(add_completion=False)
    app.command()(with_common(*Output)(command))
    return typer.main.get_command(app).params


def common_names() -> frozenset[str]:
    return frozenset(_shared_parameters())


def with_common(
    *outputs: Output,
    fetches: bool = True,
    repeats: Callable[[Mapping[str, Any]], bool] | None = None,
    profile: str = "",
    has_json: bool = True,
) -> Callable[[Callable[..., int]], Callable[..., int]]:
    """Return a decorator that adds the shared options to a command and passes them as `Common`.

    Args:
        outputs: formats of --output. Without formats, the option is hidden and rejected.
        fetches: resolve the references of the profile.
        repeats: return whether the given options make the command print repeatedly, so that --json is a stream.
        profile: parameter that selects a profile, as -C does.
        has_json: offer --json. Commands that read JSON do not, because it would be ambiguous.
    """
    shared = _shared_parameters()
    shared["output"] = shared["output"].replace(annotation=Annotated[Output | None, output_option(*outputs)])
    if not outputs or not has_json:
        del shared["as_json"]

    def decorate(command: Callable[..., int]) -> Callable[..., int]:
        own = list(inspect.signature(command).parameters.values())[1:]

        def call(**given: Any) -> int:
            below = given["ctx"].invoked_subcommand
            if below is not None:  # the subcommand has options of its own, and these would be lost
                _refuse_options(given["ctx"], below)
                return 0
            named = given.get(profile)
            if named is not None:
                if given["profile"] not in (None, named):
                    raise click.UsageError(
                        f"-C {given['profile']} and {named} select different profiles: use only one of them."
                    )
                given["profile"] = named
            is_stream = repeats is not None and repeats(given)
            of_user = {name: given.pop(name) for name in shared}
            merged = common(**of_user, fetches=fetches, offered=outputs, is_stream=is_stream)
            try:
                return command(merged, **given)
            except StdoutFailed as failed:
                raise (failed.with_result() if "yes" in given else failed) from None  # it changes something
            finally:
                merged.finish_traces()

        return _taking(call, command, (*own, *shared.values()))

    return decorate


def _refuse_options(ctx: typer.Context, subcommand: str) -> None:
    for name in (each.opts[0] for each in ctx.command.params if _is_given(ctx, each.name or "")):
        raise click.UsageError(f"Put option {name} after '{subcommand}'.", ctx)


def _is_given(ctx: typer.Context, name: str) -> bool:
    source = ctx.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"


def with_options(**declarations: Callable[..., Any]) -> Callable[[Callable[..., int]], Callable[..., int]]:
    """Return a decorator that inserts options between a command's own options and the shared options.

    Args: declarations: for each parameter of the command, the function that declares its options and returns its value.
    """
    taken = {name: inspect.signature(declared).parameters for name, declared in declarations.items()}

    def decorate(command: Callable[..., int]) -> Callable[..., int]:
        common, *others = inspect.signature(command).parameters.values()
        own = [p for p in others if p.name not in declarations]

        def call(common: Common, **given: Any) -> int:
            for name, declared in declarations.items():
                given[name] = declared(**{option: given.pop(option) for option in taken[name]})
            return command(common, **given)

        options = (option for parameters in taken.values() for option in parameters.values())
        return _taking(call, command, (common, *own, *options))

    return decorate


def _taking(
    call: Callable[..., int], command: Callable[..., int], parameters: Sequence[inspect.Parameter]
) -> Callable[..., int]:
    """Give `call` the name, help and parameters of a command. typer reads the options from them."""
    named = [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in parameters]
    call.__signature__ = inspect.Signature(named)  # type: ignore[attr-defined]  # a function may have one
    call.__annotations__ = {p.name: p.annotation for p in named}
    call.__doc__ = command.__doc__
    call.__name__ = command.__name__
    return call
