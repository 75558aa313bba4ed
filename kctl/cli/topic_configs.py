"""`kctl topics alter`, and `kctl topics describe --configs`.

If configs and partitions change, brokers validate both before the first change.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Self

from kctl.cli import click
from kctl.cli.admin_client import admin_of
from kctl.cli.changes import checking, read_pairs, report_failures
from kctl.cli.configs import SHOW_COLUMNS, SHOWN, entry_rows, result_of
from kctl.cli.formats.listing import Listing, write_listing
from kctl.cli.formats.rows import Row
from kctl.cli.named_partitions import chosen_topics
from kctl.cli.nearest_names import suggest_resources
from kctl.cli.options import Common
from kctl.cli.output_options import Output
from kctl.client.admin import Admin, ConfigResource, ResourceType
from kctl.client.errors import KafkaError
from kctl.grammar.command_lines import fill_command
from kctl.grammar.topics import TopicWords

DESCRIBE_COLUMNS = ("topic", *SHOW_COLUMNS)
DESCRIBE_SHOWN = ("topic", *SHOWN)
ALTER_COLUMNS = ("topic", "key", "value", "result")
PARTITIONS = "partitions"

Failures = dict[tuple[str, str], KafkaError]
"""Errors by topic, and `PARTITIONS` or `configs`."""


class Alteration(NamedTuple):
    """Requested changes of topics.

    Attributes:
        words: names and patterns on the command line.
        entries: values by config; None to remove the config.
        partitions: new number of partitions, or None.
        names: topics that match `words`.
    """

    words: TopicWords
    entries: Mapping[str, str | None]
    partitions: int | None
    names: Sequence[str] = ()

    @classmethod
    def read(cls, words: TopicWords, configs: Sequence[str], partitions: int | None) -> Self:
        """Return the changes that the options request. Raises: click.UsageError: no change, or an invalid --config."""
        removed = [text.removesuffix("-") for text in configs if "=" not in text and text.endswith("-") and text != "-"]
        pairs = read_pairs([text for text in configs if text.removesuffix("-") not in removed], "'--config'")
        if not configs and partitions is None:
            raise click.UsageError("Nothing to change: use --config KEY=VALUE, --config KEY-, or --partitions N.")
        return cls(words, {**pairs, **dict.fromkeys(removed)}, partitions)

    def command(self, name: str, part: str) -> str:
        """Return the command line that makes one part of the change on one topic."""
        given = {"name": name, "partitions": str(self.partitions)}
        if part == PARTITIONS:
            return fill_command("kctl topics alter {name} --partitions {partitions}", given)
        entries = [f"{key}-" if value is None else f"{key}={value}" for key, value in self.entries.items()]
        options = "".join(f" --config {{entry{number}}}" for number in range(len(entries)))
        given |= {f"entry{number}": entry for number, entry in enumerate(entries)}
        return fill_command(f"kctl topics alter {{name}}{options}", given)


def describe_configs(common: Common, output: Output, words: TopicWords, *, docs: bool) -> int:
    with admin_of(common) as admin:
        resources = [ConfigResource(ResourceType.TOPIC, name) for name in chosen_topics(admin, words)]
        results = admin.describe_configs(resources, include_synonyms=True, include_documentation=docs)
        suggest_resources(admin, results.failed)
    rows: list[Row] = [
        {"topic": resource.name, **row}
        for resource in resources
        if resource in results.done
        for row in entry_rows(results.done[resource].values(), docs=docs)
    ]
    if results.done:
        more = ["documentation"] if docs else []
        listing = Listing("configs", (*DESCRIBE_COLUMNS, *more), rows, shown=(*DESCRIBE_SHOWN, *more))
        write_listing(common.environment, output, listing)
    return report_failures(common, results.done, list(results.failed.values()))


def alter_topics(common: Common, output: Output, wanted: Alteration, *, dry_run: bool) -> int:
    has_both = bool(wanted.entries) and wanted.partitions is not None
    with admin_of(common) as admin:
        wanted = wanted._replace(names=chosen_topics(admin, wanted.words))
        failed = _alter(admin, wanted, validate_only=True) if has_both or dry_run else {}
        is_refused = bool(failed) and not dry_run
        if not dry_run and not is_refused:
            failed = _alter(admin, wanted, validate_only=False)
        code = _report(common, output, wanted, failed, is_refused=is_refused, dry_run=dry_run)
        if not dry_run and not is_refused:
            _wait(common, admin, wanted, failed)
    return code


def _wait(common: Common, admin: Admin, wanted: Alteration, failed: Failures) -> None:
    from kctl.cli.metadata_wait import has_partitions, wait_for_configs, wait_for_topics  # wanted after changes alone

    if wanted.partitions is not None:
        grown = [name for name in wanted.names if (name, PARTITIONS) not in failed]
        wait_for_topics(common, admin, dict.fromkeys(grown, has_partitions(wanted.partitions)))
    changed = [name for name in wanted.names if wanted.entries and (name, "configs") not in failed]
    if changed:
        resources = [ConfigResource(ResourceType.TOPIC, name) for name in changed]
        wait_for_configs(common, admin, dict.fromkeys(resources, wanted.entries))


def _report(
    common: Common, output: Output, wanted: Alteration, failed: Failures, *, is_refused: bool, dry_run: bool
) -> int:
    parts = [*([("configs", wanted.entries)] if wanted.entries else [])]
    if wanted.partitions is not None:
        parts.append((PARTITIONS, {PARTITIONS: str(wanted.partitions)}))
    rows: list[Row] = []
    for name in wanted.names:
        for part, entries in parts:
            for key, value in entries.items():
                result = result_of(value, failed.get((name, part)), dry_run=dry_run)
                if is_refused and (name, part) not in failed:
                    result = "not changed"
                rows.append({"topic": name, "key": key, "value": value, "result": result})
    write_listing(common.environment, output, Listing("configs", ALTER_COLUMNS, rows))
    if is_refused:
        common.say(f"{common.environment.program}: nothing was changed")
    has_done = not is_refused and len(failed) < len(wanted.names) * len(parts)
    check = checking("kctl topics describe", failed, lambda key: key[0])
    code = report_failures(common, has_done, list(failed.values()), check)
    if failed and has_done and not dry_run:
        for name, part in failed:
            common.say(f"hint: retry the failed change with: {wanted.command(name, part)}")
    return code


def _alter(admin: Admin, wanted: Alteration, *, validate_only: bool) -> Failures:
    failed: Failures = {}
    if wanted.entries:
        changes = {ConfigResource(ResourceType.TOPIC, name): wanted.entries for name in wanted.names}
        results = admin.alter_configs(changes, validate_only=validate_only)
        failed |= {(resource.name, "configs"): error for resource, error in results.failed.items()}
    if wanted.partitions is not None:
        grown = admin.create_partitions(dict.fromkeys(wanted.names, wanted.partitions), validate_only=validate_only)
        failed |= {(name, PARTITIONS): error for name, error in grown.failed.items()}
    return failed
