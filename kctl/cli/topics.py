"""`kctl topics`: list, describe, create and delete topics.

Owns what the rows show and the exit code of a call in which some topics failed. Shown by tests/cli/test_topics.py.
"""

from base64 import urlsafe_b64encode
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from kctl.cli import click
from kctl.cli.commands import Commands
from kctl.cli.exit_codes import ExitCode
from kctl.cli.failures import explain
from kctl.cli.formats.listing import SHAPES, Listing, listing_lines, write_lines, write_listing
from kctl.cli.formats.rows import Row
from kctl.cli.options import Common, with_common
from kctl.client.config import AdminConfig
from kctl.client.errors import KafkaError

if TYPE_CHECKING:
    from kctl.client.cluster import TopicInfo

LIST_COLUMNS = ("topic", "topic_id", "internal")
DESCRIBE_COLUMNS = ("topic", "partition", "leader", "leader_epoch", "replicas", "in_sync", "offline_replicas", "error")
CREATE_COLUMNS = ("topic", "topic_id", "partitions", "replication_factor")

app = Commands(no_args_is_help=True)

Names = Annotated[list[str], typer.Argument(metavar="TOPIC...", show_default=False)]
NewNames = Annotated[list[str], typer.Argument(metavar="NAME...", show_default=False)]


@app.callback()
def topics() -> None:
    """List, describe, create and delete topics."""


@app.command("list")
@with_common(*SHAPES)
def list_(
    common: Common,
    internal: Annotated[bool, typer.Option("--internal", help="Include internal topics.")] = False,
) -> int:
    """List the topics you can see."""
    from kctl.cli.admin_client import admin_of  # the client: not wanted for --help

    output = common.choose_output(*SHAPES)
    with admin_of(common) as admin, _within_api_timeout(common, "showing the topics"):
        listed = admin.list_topics(include_internal=internal).values()
        rows: list[Row] = [
            {"topic": topic.name, "topic_id": _id_text(topic.topic_id), "internal": topic.is_internal}
            for topic in listed
        ]
        lines = listing_lines(common.environment, output, Listing("topics", LIST_COLUMNS, rows))
    write_lines(common.environment, lines)
    return ExitCode.OK


@app.command()
@with_common(*SHAPES)
def describe(common: Common, names: Names) -> int:
    """Show the partitions of topics: leader, replicas, and which of them are in sync."""
    from kctl.cli.admin_client import admin_of  # the client: not wanted for --help

    output = common.choose_output(*SHAPES)
    with admin_of(common) as admin, _within_api_timeout(common, "showing the partitions"):
        results = admin.describe_topics(_distinct(names))
        rows = [row for name in results.done for row in _partition_rows(results.done[name])]
        lines = listing_lines(common.environment, output, Listing("partitions", DESCRIBE_COLUMNS, rows))
    if results.done:
        write_lines(common.environment, lines)
    return _tell_failures(common, results.done, results.failed)


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
        typer.Option("--config", metavar="KEY=VALUE", help="A property of the topics; repeatable."),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Validate on the broker without creating anything.")
    ] = False,
) -> int:
    """Create topics."""
    from kctl.cli.admin_client import admin_of  # the client: not wanted for --help
    from kctl.client.admin import BROKER_DEFAULT, NewTopic

    output = common.choose_output(*SHAPES)
    properties = _read_properties(configs or ())
    wanted = [
        NewTopic(name, partitions or BROKER_DEFAULT, replication_factor or BROKER_DEFAULT, configs=properties)
        for name in _distinct(names)
    ]
    with admin_of(common) as admin:
        results = admin.create_topics(wanted, validate_only=dry_run)
    rows: list[Row] = [
        {
            "topic": topic.name,
            "topic_id": _id_text(topic.topic_id),
            "partitions": _count(topic.num_partitions),
            "replication_factor": _count(topic.replication_factor),
        }
        for topic in results.done.values()
    ]
    if rows:
        write_listing(common.environment, output, Listing("topics", CREATE_COLUMNS, rows))
    return _tell_failures(common, results.done, results.failed)


@app.command()
@with_common(*SHAPES)
def delete(
    common: Common,
    names: Names,
    execute: Annotated[bool, typer.Option("--execute", help="Make the changes; without it, a dry run.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="The same as --execute.")] = False,
) -> int:
    """Delete topics and all their records: shows them, then asks on a terminal; elsewhere it needs --execute."""
    from kctl.cli.admin_client import open_admin  # the client: not wanted for --help
    from kctl.cli.topic_deletion import delete_topics

    output = common.choose_output(*SHAPES)
    with open_admin(common) as admin:
        return delete_topics(
            common, admin, _distinct(names), output, partial(_tell_failures, common), execute=execute or yes
        )


# --- what they share ------------------------------------------------------------------------------------------------


def _within_api_timeout(common: Common, doing: str) -> AbstractContextManager[None]:
    """Interrupt a block of one call and what is made of its response, when it takes longer than the API timeout."""
    from kctl.cli.overtime import interrupted_after  # not wanted for --help

    timeout_ms = common.settings.parse(AdminConfig).api_timeout_ms
    return interrupted_after(timeout_ms, common.environment.clock, doing)


def _distinct(names: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(names))


def _read_properties(texts: Sequence[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not name or not equals:
            raise click.BadParameter(f"{text!r} is not KEY=VALUE", param_hint="'--config'")
        found[name] = value
    return found


def _tell_failures(common: Common, done: Mapping[str, object], failed: Mapping[str, KafkaError]) -> int:
    """Say which topics failed; 3 when others did not, else the code of the first cause."""
    failures = {name: explain(error) for name, error in failed.items()}
    for failure in failures.values():
        common.environment.say("\n".join([f"kctl topics: {failure.message}", *failure.lines()[1:]]))
    if not failures:
        return ExitCode.OK
    return ExitCode.DEGRADED if done else next(iter(failures.values())).code


def _partition_rows(topic: "TopicInfo") -> Iterator[Row]:
    from kctl.client.cluster import NO_NODE

    for info in topic.partitions.values():
        yield {
            "topic": topic.name,
            "partition": info.partition,
            "leader": None if info.leader_id == NO_NODE else info.leader_id,
            "leader_epoch": _count(info.leader_epoch),
            "replicas": list(info.replicas),
            "in_sync": list(info.isr),
            "offline_replicas": list(info.offline_replicas),
            "error": None if info.error is None else info.error.name,
        }


def _id_text(topic_id: bytes) -> str | None:
    """Return a topic id as Kafka's tools write it; older brokers have none."""
    from kctl.client.cluster import NO_TOPIC_ID

    return None if topic_id == NO_TOPIC_ID else urlsafe_b64encode(topic_id).rstrip(b"=").decode()


def _count(number: int) -> int | None:
    return None if number < 0 else number
