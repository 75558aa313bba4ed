"""Execution of `kctl topics delete`: describes topics, prompts on a terminal, and deletes.

If a topic does not exist, no topic is deleted.
"""

from collections.abc import Mapping

from kctl.cli.changes import Consent, after_yes, checking, end_change, report_failures, result_word
from kctl.cli.formats.listing import Listing
from kctl.cli.formats.rows import Row
from kctl.cli.metadata_wait import is_deleted, wait_for_topics
from kctl.cli.named_partitions import chosen_topics
from kctl.cli.nearest_names import suggest_topics
from kctl.cli.options import Common
from kctl.cli.output_options import Output
from kctl.client.admin import Admin
from kctl.client.cluster import TopicInfo
from kctl.client.errors import KafkaError
from kctl.client.wording import counted
from kctl.grammar.topics import TopicWords

COLUMNS = ("topic", "partitions", "replication_factor", "result")


def delete_topics(
    common: Common,
    admin: Admin,
    words: TopicWords,
    output: Output,
    consent: Consent,
) -> int:
    """Show the topics, delete them with consent, and return the exit code."""
    with admin.within():
        found = admin.describe_topics(chosen_topics(admin, words))
        suggest_topics(admin, found.failed)
        if found.failed:
            code = report_failures(common, (), list(found.failed.values()))
            common.say(f"{common.environment.program}: nothing was deleted")
            return code
        if consent is Consent.GIVEN:
            return _delete(common, admin, found.done, output)
    facts = [f"{name}: {counted(len(topic.partitions), 'partition')}" for name, topic in found.done.items()]
    question = f"Delete {counted(len(facts), 'topic')} and all records?"
    done = after_yes(common, admin, consent, facts, question, lambda: _delete(common, admin, found.done, output))
    return _report(common, found.done, output, None) if done is None else done


def _delete(common: Common, admin: Admin, topics: Mapping[str, TopicInfo], output: Output) -> int:
    results = admin.delete_topics(list(topics))
    code = _report(common, topics, output, results.failed)
    wait_for_topics(common, admin, {name: is_deleted(topics[name].topic_id) for name in results.done})
    return code


def _report(
    common: Common, topics: Mapping[str, TopicInfo], output: Output, failed: Mapping[str, KafkaError] | None
) -> int:
    rows = [{**_facts(topic), "result": result_word(name, failed, "deleted")} for name, topic in topics.items()]
    would = f"{counted(len(rows), 'topic')} would be deleted with all records"
    check = checking("kctl topics describe", failed or {})
    return end_change(common, output, Listing("topics", COLUMNS, rows), failed, would, check)


def _facts(topic: TopicInfo) -> Row:
    replicas = [len(partition.replicas) for partition in topic.partitions.values()]
    return {
        "topic": topic.name,
        "partitions": len(topic.partitions),
        "replication_factor": max(replicas, default=None),
    }
