"""Options of all jobs, and execution of jobs.

A job is a function of task properties, Spark options, and a receiver of progress.
"""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, Protocol, Self, TypeVar

import typer

from kctl.cli import click
from kctl.cli.options import Common, duration_ms
from kctl.cli.setting import Setting
from kctl.cli.settings import Settings
from kctl.pipeline.locations import StoreUrl, parse_location

if TYPE_CHECKING:
    from kctl.client.events import EventSink
    from kctl.pipeline.running import OnProgress
    from kctl.pipeline.session import SessionOptions


AllowLossOption = Annotated[
    bool,
    typer.Option(
        "--allow-loss",
        help="Continue if records were deleted from the source, or if the target would delete or reject records.",
    ),
]


class ContinuingOptions(NamedTuple):
    """Options of jobs that can be continuous. `allow_loss`: continue although records are missing."""

    continuous: bool
    interval_ms: int | None
    allow_loss: bool

    def interval_ms_or(self, default_ms: int) -> int | None:
        if not self.continuous:
            return None
        return default_ms if self.interval_ms is None else self.interval_ms


def continuing_options(
    continuous: Annotated[
        bool, typer.Option("--continuous", help="Keep running and process new records until Ctrl-C.")
    ] = False,
    interval: Annotated[
        int | None,
        typer.Option(
            "--interval",
            parser=duration_ms,
            metavar="DURATION",
            help="Interval between checks for new records [default: 10s].",
        ),
    ] = None,
    allow_loss: AllowLossOption = False,
) -> ContinuingOptions:
    if interval is not None and not continuous:
        raise click.UsageError("--interval needs --continuous.")
    return ContinuingOptions(continuous, interval, allow_loss)


def path(text: str | Path) -> Path:
    """Return the path of a local file. Used as `parser` of options. Raises: click.BadParameter: another location."""
    found = parse_location(target_text(str(text)))
    if not isinstance(found, Path):
        raise click.BadParameter(f"{str(text)[:80]!r} is not a local file: use a path such as /data/orders.html")
    return found


def target_text(text: str) -> str:
    """Return `text` if it is a location. Used as `parser` of options that accept tables.

    Raises: click.BadParameter: `text` is empty or has an unsupported scheme.
    """
    try:
        parse_location(text)
    except ValueError as e:
        raise click.BadParameter(str(e)) from None
    return text


def files_text(text: str) -> str:
    """Return `text` if it is a directory or an object store URL. Raises: click.BadParameter: another location."""
    if not isinstance(parse_location(target_text(text)), Path | StoreUrl):
        raise click.BadParameter(f"{text[:80]!r} is a table: use a directory, or a URL such as s3://BUCKET/PREFIX")
    return text


def files_at(text: str) -> Path | StoreUrl:
    """Return the directory or URL that `files_text` accepted."""
    found = parse_location(text)
    assert isinstance(found, Path | StoreUrl)
    return found


T = TypeVar("T")

LOCAL_MASTER = "local[*]"
MASTERS = r"local(\[([1-9]\d{0,8}|\*)(,[1-9]\d{0,8})?\])?|spark://[^\s/]+:\d+|yarn|k8s://(https?://)?[^\s/:]+(:\d+)?/?"


class SparkOptions(NamedTuple):
    """Options of Spark.

    Attributes:
        asked: whether --master or --remote was given.
        dry_run: show only the plan.
    """

    master: str
    asked: bool
    properties: Mapping[str, str]
    log_path: Path | None
    worker_python: str | None
    dry_run: bool
    remote: str | None = None

    @property
    def is_local(self) -> bool:
        return self.remote is None and self.master.startswith("local")

    def settings_of(self, common: Common) -> Settings:
        """Return the settings. Only dry runs fail fast if all bootstrap servers refuse."""
        return common.fail_fast_settings if self.dry_run else common.settings

    def session_options(self) -> "SessionOptions":
        from kctl.pipeline.session import SessionOptions

        return SessionOptions(self.master, self.properties, self.log_path, self.worker_python, self.remote)


def spark_options(
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show the partitions, offsets, and tasks of the job without running it.")
    ] = False,
    master: Annotated[
        str | None,
        typer.Option(
            "--master",
            metavar="URL",
            help=f"Spark master: local[N], spark://HOST:PORT, yarn, or k8s://URL [default: {LOCAL_MASTER}].",
        ),
    ] = None,
    remote: Annotated[
        str | None,
        typer.Option(
            "--remote",
            metavar="URL",
            help="Spark Connect server: sc://HOST:PORT. Write a URL with a token as env:NAME or file:PATH.",
        ),
    ] = None,
    spark_conf: Annotated[
        list[str] | None,
        typer.Option("--spark-conf", metavar="KEY=VALUE", help="Spark property. Must not be a secret. Repeatable."),
    ] = None,
    spark_log: Annotated[
        Path | None,
        typer.Option(
            "--spark-log",
            metavar="FILE",
            help="Write Spark's log to this file [default: keep the log only after errors].",
        ),
    ] = None,
    worker_python: Annotated[
        str | None,
        typer.Option(
            "--worker-python",
            metavar="PATH",
            help="Path of Python on the workers of a cluster [default: $PYSPARK_PYTHON, then the Python of kctl].",
        ),
    ] = None,
) -> SparkOptions:
    import re

    url = LOCAL_MASTER if master is None else master
    if re.fullmatch(MASTERS, url) is None:
        problem = (
            f"{url[:80]!r} is not a Spark master: use local, local[2], local[*], spark://HOST:PORT, yarn, or k8s://URL"
        )
        raise click.BadParameter(problem, param_hint="'--master'")
    if remote is not None:
        _check_remote(remote, master, worker_python)
    properties = {}
    for text in spark_conf or ():
        key, equals, value = text.partition("=")
        if not equals or not key.startswith("spark."):
            raise click.BadParameter(f"{text[:80]!r} is not in the form spark.KEY=VALUE", param_hint="'--spark-conf'")
        if re.search(r"(?i)(password|secret|token|secret[.]?key|access[.]?key)$", key):
            problem = f"{key[:80]} is a secret, which other users can see in the list of processes"
            raise click.BadParameter(
                f"{problem}: set the property in spark-defaults.conf.", param_hint="'--spark-conf'"
            )
        properties[key] = value
    asked = master is not None or remote is not None
    return SparkOptions(url, asked, properties, spark_log, worker_python, dry_run, remote)


def _check_remote(remote: str, master: str | None, worker_python: str | None) -> None:
    from kctl.client.errors import ConfigError
    from kctl.pipeline.connect_url import parse_connect_url

    if master is not None or worker_python is not None:
        other = "--master" if master is not None else "--worker-python"
        raise click.UsageError(f"--remote and {other} exclude each other.")
    try:
        parse_connect_url(remote)
    except ConfigError as e:
        raise click.BadParameter(str(e), param_hint="'--remote'") from None


class JobRequest(Protocol):
    """Request of a job: a named tuple whose fields include the Kafka properties and an event sink."""

    def _replace(self, *, properties: Mapping[str, Any], events: "EventSink") -> Self: ...


R = TypeVar("R", bound=JobRequest)


def plan_of(common: Common, spark: SparkOptions, plan: Callable[[R], T], request: R) -> T:
    """Return the plan for a request, which is made without Spark."""
    from kctl.pipeline.references import lent

    properties = task_properties(spark.settings_of(common).by_name, is_local=spark.is_local)
    with lent(properties) as referring, notices_of_stores(common):
        return plan(request._replace(properties=referring, events=common.events))


def result_of(common: Common, spark: SparkOptions, job: Callable[..., T], request: JobRequest) -> T:
    """Run the job for a request, with a progress view, and return its result."""
    return run_job(
        common,
        spark,
        lambda properties, options, on_progress: job(
            request._replace(properties=properties, events=common.events), options=options, on_progress=on_progress
        ),
    )


def notices_of_stores(common: Common) -> AbstractContextManager[None]:
    from kctl.pipeline.store_waits import waits_reported_to  # not wanted for --help

    return nullcontext() if common.notices is None else waits_reported_to(common.notices.during)


def run_job(
    common: Common, spark: SparkOptions, job: "Callable[[dict[str, object], SessionOptions, OnProgress], T]"
) -> T:
    """Run a job with Kafka properties for its tasks and a progress view."""
    from kctl.cli.view.status import ProgressStatus
    from kctl.pipeline.references import lent

    properties = task_properties(common.settings.by_name, is_local=spark.is_local)
    with lent(properties) as referring:
        status = ProgressStatus(common.environment, wanted=not common.quiet)
        if common.notices is not None:
            common.notices.say = status.say
        try:
            with notices_of_stores(common):
                return job(referring, spark.session_options(), status.on_job)
        finally:
            status.close()


def task_properties(settings: Mapping[str, Setting], *, is_local: bool) -> dict[str, object]:
    """Return the Kafka properties for tasks. On a cluster, secrets are references to their variable or file.

    Raises: CommandError: a secret exists only on this machine.
    """
    from kctl.cli.exit_codes import ExitCode
    from kctl.cli.failures import CommandError
    from kctl.pipeline.references import is_secret

    found: dict[str, object] = {}
    for name, setting in settings.items():
        found[name] = setting.text
        if is_local or not is_secret(name, setting.text):
            continue
        if setting.origin.startswith("$"):
            found[name] = f"env:{setting.origin[1:]}"
        elif Path(setting.origin).is_file():
            found[name] = f"file:{Path(setting.origin).absolute()}#{name}"
        else:
            raise CommandError(
                ExitCode.USAGE,
                f"cannot use {name} of {setting.origin} on the workers: the file exists only on this machine",
                "put the file at the same path on each worker, with mode 0600, and use --command-config",
            )
    return found
