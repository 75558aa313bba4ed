"""`kctl topics delete`: look the topics up, show them, ask on a terminal, and delete.

Owns the order: a topic that cannot be found is reported before any other is deleted. Shown by tests/cli/test_topics.py.
"""

from kctl.cli.changes import is_confirmed, report_failures, say_dry_run
from kctl.cli.exit_codes import ExitCode
from kctl.cli.formats.listing import Listing, write_listing
from kctl.cli.formats.rows import Row
from kctl.cli.nearest_names import suggest_topics
from kctl.cli.options import Common, Output
from kctl.client.admin import Admin
from kctl.client.cluster import TopicInfo
from kctl.client.wording import counted

COLUMNS = ("topic", "partitions", "replication_factor", "result")


def delete_topics(
    common: Common,
    admin: Admin,
    names: list[str],
    output: Output,
    *,
    execute: bool,
) -> int:
    """Show the topics, and delete them if that was asked for or is confirmed; return the exit code."""
    results = None
    with admin.within():
        found = admin.describe_topics(names)
        suggest_topics(admin, found.failed)
        if execute and not found.failed:
            results = admin.delete_topics(list(found.done))
    if found.failed:
        common.say(f"{common.environment.program}: nothing was deleted")
        return report_failures(common, (), list(found.failed.values()))
    lines = [f"{name}: {counted(len(topic.partitions), 'partition')}" for name, topic in found.done.items()]
    question = f"Delete {counted(len(lines), 'topic')} and all records?"
    if results is None and not execute and is_confirmed(common, lines, question):
        results = admin.delete_topics(list(found.done))  # with a new timeout: the answer took its time
    failed = {} if results is None else results.failed
    rows: list[Row] = []
    for name, topic in found.done.items():
        result = "would be deleted"
        if results is not None:
            result = "failed" if name in failed else "deleted"
        rows.append({**_facts(topic), "result": result})
    write_listing(common.environment, output, Listing("topics", COLUMNS, rows))
    if results is not None:
        return report_failures(common, results.done, list(failed.values()))
    say_dry_run(common, f"{counted(len(rows), 'topic')} would be deleted with all records")
    return ExitCode.OK


def _facts(topic: TopicInfo) -> Row:
    replicas = [len(partition.replicas) for partition in topic.partitions.values()]
    return {
        "topic": topic.name,
        "partitions": len(topic.partitions),
        "replication_factor": max(replicas, default=None),
    }
