"""`kctl topics`: list, describe, create, alter and delete topics."""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Annotated

import typer

from kctl.cli import click
from kctl.cli.changes import (
    UNKNOWN,
    Consent,
    DryRun,
    YesUnneeded,
    checking,
    consent_options,
    read_pairs,
    report_failures,
)
from kctl.cli.commands import Commands
from kctl.cli.exit_codes import ExitCode
from kctl.cli.formats.listing import SHAPES, Listing, listing_lines, write_lines, write_listing
from kctl.cli.formats.rows import Row
from kctl.cli.options import Common, with_common, with_options
from kctl.cli.output_options import Output
from kctl.client.config import AdminConfig
from kctl.client.wording import counted

CREATE_COLUMNS = ("topic", "topic_id", "partitions", "replication_factor", "result")

app = Commands(no_args_is_help=True)

Names = Annotated[
    list[str],
    typer.Argument(metavar="TOPIC...", show_default=False, help="Topics, or '/PATTERN/' for all topics that match."),
]
Described = Annotated[
    list[str] | None,
    typer.Argument(metavar="[TOPIC]...", show_default=False, help="Topics, or '/PATTERN/' for all topics that match."),
]
UnderReplicated = Annotated[
    bool,
    typer.Option(
        "--under-replicated",
        help="Show only partitions with replicas that are not in sync.",
    ),
]
Offline = Annotated[bool, typer.Option("--offline", help="Show only partitions without a leader.")]
Name = Annotated[
    str,
    typer.Argument(
        metavar="TOPIC[:P,P-P]", show_default=False, help="Topic, or '/PATTERN/' for all topics that match."
    ),
]
NewNames = Annotated[list[str], typer.Argument(metavar="NAME...", show_default=False)]


@app.callback()
def topics() -> None:
    """List, create, alter, and delete topics."""


@app.command("list")
@with_common(*SHAPES)
def list_(
    common: Common,
    internal: Annotated[bool, typer.Option("--internal", help="Include internal topics.")] = False,
    under_replicated: UnderReplicated = False,
    offline: Offline = False,
    size: Annotated[
        bool, typer.Option("--size", help="Show the total size of all replicas. Queries all brokers.")
    ] = False,
) -> int:
    """List topics with their partitions and replication factor."""
    from kctl.cli.admin_client import admin_of, nothing_found  # the client: not wanted for --help
    from kctl.cli.changes import report_failures
    from kctl.cli.topic_rows import Health, list_listing, topic_sizes

    output = common.choose_output(*SHAPES)
    with admin_of(common) as admin, _within_api_timeout(common, "showing the topics"):
        listed = admin.list_topics(include_internal=internal).values()
        folders = admin.describe_log_dirs([node.node_id for node in admin.describe_cluster().nodes]) if size else None
        sizes = None if folders is None else topic_sizes(folders.done.values())
        listing = list_listing(listed, Health(under_replicated, offline), internal=internal, sizes=sizes)
        lines = listing_lines(common.environment, output, listing)
    write_lines(common.environment, lines)
    if not listing.rows and output is Output.TABLE:
        common.say(
            f"kctl topics: {'no topic matches' if under_replicated or offline else nothing_found(admin, 'topics')}"
        )
    if folders is None or not folders.failed:
        return ExitCode.OK
    common.say(f"kctl topics: note: sizes do not include the replicas on {counted(len(folders.failed), 'broker')}")
    return report_failures(common, True, list(folders.failed.values()))


@app.command()
@with_common(*SHAPES)
def describe(
    common: Common,
    names: Described = None,
    under_replicated: UnderReplicated = False,
    offline: Offline = False,
    configs: Annotated[
        bool, typer.Option("--configs", help="Show configs with sources and defaults instead of partitions.")
    ] = False,
    docs: Annotated[bool, typer.Option("--docs", help="With --configs, add the description of each config.")] = False,
    size: Annotated[bool, typer.Option("--size", help="Show the size of each replica.")] = False,
) -> int:
    """Show the leader, replicas, and in-sync replicas of each partition."""
    from kctl.cli.admin_client import admin_of  # the client: not wanted for --help
    from kctl.cli.named_partitions import chosen_topics, parse_patterns
    from kctl.cli.nearest_names import suggest_topics
    from kctl.cli.topic_rows import Health, describe_listing

    output = common.choose_output(*SHAPES)
    words, health = parse_patterns(names or ()), Health(under_replicated, offline)
    if not names and not health.is_any:
        raise click.UsageError("Missing argument 'TOPIC': use a name, '/PATTERN/', --under-replicated, or --offline.")
    if configs + size + health.is_any > 1:
        raise click.UsageError("--configs, --size, and --under-replicated or --offline cannot be combined.")
    if docs and not configs:
        raise click.UsageError("--docs needs --configs.")
    if configs:
        from kctl.cli.topic_configs import describe_configs

        return describe_configs(common, output, words, docs=docs)
    if size:
        from kctl.cli.topic_sizes import describe_sizes

        return describe_sizes(common, output, words)
    with admin_of(common) as admin, _within_api_timeout(common, "showing the partitions"):
        results = admin.describe_topics(chosen_topics(admin, words))
        lines = listing_lines(common.environment, output, describe_listing(results.done.values(), health))
        suggest_topics(admin, results.failed)
    if results.done or not results.failed:
        write_lines(common.environment, lines)
    return report_failures(common, results.done, list(results.failed.values()))


@app.command()
@with_common(*SHAPES)
def create(
    common: Common,
    names: NewNames,
    partitions: Annotated[
        int | None,
        typer.Option(
            "--partitions", "-p", min=1, metavar="N", help="Partitions of each topic [default: set by the broker]."
        ),
    ] = None,
    replication_factor: Annotated[
        int | None,
        typer.Option(
            "--replication-factor",
            "-r",
            min=1,
            metavar="N",
            help="Replication factor of each topic [default: set by the broker].",
        ),
    ] = None,
    configs: Annotated[
        list[str] | None,
        typer.Option("--config", metavar="KEY=VALUE", help="Topic config to set. Repeatable."),
    ] = None,
    if_not_exists: Annotated[bool, typer.Option("--if-not-exists", help="Skip topics that already exist.")] = False,
    dry_run: DryRun = False,
    yes: YesUnneeded = False,  # noqa: ARG001
) -> int:
    """Create topics."""
    from kctl.cli.admin_client import admin_of  # the client: not wanted for --help
    from kctl.cli.metadata_wait import is_created, wait_for_topics
    from kctl.cli.topic_rows import count_of, id_text
    from kctl.client.admin import BROKER_DEFAULT, NewTopic
    from kctl.client.broker_errors import ErrorCode

    output = common.choose_output(*SHAPES)
    properties = read_pairs(configs or (), "'--config'")
    wanted = [
        NewTopic(name, partitions or BROKER_DEFAULT, replication_factor or BROKER_DEFAULT, configs=properties)
        for name in _distinct(names)
    ]
    with admin_of(common) as admin:
        results = admin.create_topics(wanted, validate_only=dry_run)
        rows: list[Row] = [
            {
                "topic": topic.name,
                "topic_id": id_text(topic.topic_id),
                "partitions": count_of(topic.num_partitions),
                "replication_factor": count_of(topic.replication_factor),
                "result": "would be created" if dry_run else "created",
            }
            for topic in results.done.values()
        ]
        rows += [
            {"topic": name, "topic_id": None, "partitions": None, "replication_factor": None, "result": UNKNOWN}
            for name, error in results.failed.items()
            if error.outcome_unknown
        ]
        if rows:
            is_created_all = not dry_run and len(rows) == len(results.done)
            shown = CREATE_COLUMNS[:-1] if is_created_all else CREATE_COLUMNS
            write_listing(common.environment, output, Listing("topics", CREATE_COLUMNS, rows, shown=shown))
        failed = []
        for name, error in results.failed.items():
            if if_not_exists and getattr(error, "code", None) == ErrorCode.TOPIC_ALREADY_EXISTS:
                common.say(f"kctl topics: skipped topic {name}, which already exists")
            else:
                failed.append(error)
        check = checking("kctl topics describe", results.failed)
        code = report_failures(common, len(failed) < len(wanted), failed, check)
        if not dry_run:
            created = {name: is_created(topic.topic_id) for name, topic in results.done.items()}
            wait_for_topics(common, admin, created)
    return code


@app.command()
@with_common(*SHAPES)
def alter(
    common: Common,
    names: Names,
    configs: Annotated[
        list[str] | None,
        typer.Option(
            "--config", metavar="KEY=VALUE", help="Topic config to set. KEY- restores the default. Repeatable."
        ),
    ] = None,
    partitions: Annotated[
        int | None,
        typer.Option("--partitions", "-p", min=1, metavar="N", help="New total number of partitions."),
    ] = None,
    dry_run: DryRun = False,
    yes: YesUnneeded = False,  # noqa: ARG001
) -> int:
    """Change configs of topics, or add partitions.

    Existing records are not moved. With more partitions, new records with the same key may go to a different partition.
    """
    from kctl.cli.named_partitions import parse_patterns  # the client: not wanted for --help
    from kctl.cli.topic_configs import Alteration, alter_topics

    output = common.choose_output(*SHAPES)
    wanted = Alteration.read(parse_patterns(names), configs or (), partitions)
    return alter_topics(common, output, wanted, dry_run=dry_run)


@app.command()
@with_common(*SHAPES)
def offsets(
    common: Common,
    name: Name,
    at: Annotated[
        str | None,
        typer.Option(
            "--at",
            metavar="OFFSET",
            help="Offset to show: start, end, @TIME, or max-timestamp [default: start and end].",
        ),
    ] = None,
) -> int:
    """Show the start and end offsets of partitions, or the offsets at a time."""
    from kctl.cli.topic_offsets import show_offsets  # the client: not wanted for --help

    return show_offsets(common, common.choose_output(*SHAPES), name, at)


@app.command()
@with_common(*SHAPES)
@with_options(consent=consent_options)
def trim(
    common: Common,
    consent: Consent,
    name: Name,
    before: Annotated[
        str, typer.Option("--before", metavar="OFFSET", help="First offset to keep: an offset, @TIME, or end.")
    ],
) -> int:
    """Delete the oldest records of a topic.

    Shows the offsets and prompts for confirmation. In scripts, add --execute.
    """
    from kctl.cli.topic_offsets import trim_topic  # the client: not wanted for --help

    return trim_topic(common, common.choose_output(*SHAPES), name, before, consent)


@app.command()
@with_common(*SHAPES)
@with_options(consent=consent_options)
def delete(
    common: Common,
    consent: Consent,
    names: Names,
) -> int:
    """Delete topics and all their records.

    Shows the topics and prompts for confirmation. In scripts, add --execute.
    """
    from kctl.cli.admin_client import open_admin  # the client: not wanted for --help
    from kctl.cli.named_partitions import parse_patterns
    from kctl.cli.topic_deletion import delete_topics

    output = common.choose_output(*SHAPES)
    words = parse_patterns(names)
    with open_admin(common) as admin:
        return delete_topics(common, admin, words, output, consent)


# --- what they share ------------------------------------------------------------------------------------------------


def _within_api_timeout(common: Common, doing: str) -> AbstractContextManager[None]:
    """Interrupt the block at the API timeout."""
    from kctl.cli.overtime import interrupted_after  # not wanted for --help

    timeout_ms = common.settings.parse(AdminConfig).api_timeout_ms
    return interrupted_after(timeout_ms, common.environment.clock, doing, calls=True)


def _distinct(names: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(names))
