"""Execution of `kctl acls list`, `create` and `delete`."""

from collections.abc import Collection, Iterable, Sequence

from kctl.cli import click
from kctl.cli.acls.rules import EVERY, Resources, RuleOptions, check_operations, rules_of
from kctl.cli.admin_client import admin_of, open_admin
from kctl.cli.changes import Consent, after_yes, end_change, report_failures, result_word, word_of
from kctl.cli.exit_codes import ExitCode
from kctl.cli.formats.listing import SHAPES, Listing, write_listing
from kctl.cli.formats.rows import Row
from kctl.cli.options import Common
from kctl.cli.output_options import Output
from kctl.client.admin import AclFilter, AclOperation, AclRule, Admin, Results
from kctl.client.errors import BrokerError, KafkaError
from kctl.client.wording import counted, one_line

COLUMNS = ("permission", "principal", "host", "operation", "resource_type", "resource", "pattern")
_OF_PRODUCERS = {
    "topic": (AclOperation.WRITE, AclOperation.DESCRIBE, AclOperation.CREATE),
    "transactional-id": (AclOperation.WRITE, AclOperation.DESCRIBE),
}
_OF_CONSUMERS = {"topic": (AclOperation.READ, AclOperation.DESCRIBE), "group": (AclOperation.READ,)}
"""Permissions of clients. Source: --producer and --consumer of AclCommand."""


def rule_row(rule: AclRule) -> Row:
    return {
        "permission": rule.permission.word,
        "principal": rule.principal,
        "host": rule.host,
        "operation": rule.operation.word,
        "resource_type": rule.resource_type.word,
        "resource": rule.resource_name,
        "pattern": rule.pattern_type.word,
    }


def list_rules(common: Common, filters: Sequence[AclFilter]) -> int:
    output = common.choose_output(*SHAPES)
    with admin_of(common) as admin:
        rules = {rule: None for wanted in filters for rule in admin.describe_acls(wanted)}
    rows = [rule_row(rule) for rule in _in_order(rules)]
    write_listing(common.environment, output, Listing("acls", COLUMNS, rows))
    if not rows and output is Output.TABLE:
        which = "no ACLs found" if list(filters) == [AclFilter()] else "no matching ACLs found"
        common.say(f"{common.environment.program}: {which}")
    return ExitCode.OK


def _need(option: str, missing: set[str]) -> None:
    if missing:
        kinds = " and ".join(f"--{kind}" for kind in sorted(missing, reverse=True))
        raise click.UsageError(f"{option} needs {kinds}.")


def rules_of_clients(resources: Resources, options: RuleOptions, *, producer: bool, consumer: bool) -> list[AclRule]:
    """Return the rules that producers or consumers need.

    Raises: click.UsageError: a resource is missing, or --operation is given.
    """
    if options.operations:
        raise click.UsageError(
            "--operation cannot be combined with --producer or --consumer, which set the operations."
        )
    kinds = {kind for kind, _ in resources.named}
    if producer:
        _need("--producer", {"topic"} - kinds)
    if consumer:
        _need("--consumer", {"topic", "group"} - kinds)
    rules: dict[AclRule, None] = {}
    for is_wanted, of_kind in ((producer, _OF_PRODUCERS), (consumer, _OF_CONSUMERS)):
        for kind, operations in of_kind.items() if is_wanted else ():
            named = tuple(each for each in resources.named if each[0] == kind)
            if named:
                found = rules_of(resources._replace(named=named), options._replace(operations=operations))
                rules.update(dict.fromkeys(found))
    check_operations(rules)
    return list(rules)


def _note_stars(common: Common, rules: Sequence[AclRule]) -> None:
    for rule in rules:
        if rule.resource_name.endswith(EVERY) and rule.resource_name != EVERY:
            common.say(
                f"{common.environment.program}: note: {rule.resource_name!r} matches only this exact name. Add "
                "--prefixed to match all names that begin with it"
            )


def create_rules(common: Common, rules: Sequence[AclRule], *, dry_run: bool) -> int:
    """Create rules, print the results, and return the exit code."""
    output = common.choose_output(*SHAPES)
    _note_stars(common, rules)
    with admin_of(common) as admin:
        known = _existing(admin, rules, is_needed=dry_run)
        results = Results[AclRule, None]({}, {}) if dry_run else admin.create_acls(rules)
        rows: list[Row] = []
        for rule in rules:
            result = word_of(results.failed.get(rule), "exists" if rule in known else "created")
            if dry_run and rule not in known:
                result = "would be created"
            rows.append({**rule_row(rule), "result": result})
        write_listing(common.environment, output, Listing("acls", (*COLUMNS, "result"), rows))
        code = report_failures(common, results.done, list(results.failed.values()), "kctl acls list")
        _wait(common, admin, results.done, are_there=True)
    return code


def _existing(admin: Admin, rules: Sequence[AclRule], *, is_needed: bool) -> set[AclRule]:
    """Return the rules that exist. If they cannot be listed, return an empty set unless `is_needed`."""
    try:
        return {rule for rule in rules if admin.describe_acls(AclFilter.of(rule))}
    except BrokerError:
        if is_needed:
            raise
        return set()


def delete_rules(common: Common, filters: Sequence[AclFilter], consent: Consent) -> int:
    """Show the matching rules, delete them with consent, and return the exit code."""
    output = common.choose_output(*SHAPES)
    with open_admin(common) as admin:
        with admin.within():
            rules = _in_order({rule: None for wanted in filters for rule in admin.describe_acls(wanted)})
            if not rules:
                common.say(f"{common.environment.program}: no matching ACLs found")
                return ExitCode.OK
            failed = _delete(admin, rules) if consent is Consent.GIVEN else None
        if failed is None:
            facts, question = [one_line(str(rule)) for rule in rules], f"Delete {counted(len(rules), 'rule')}?"
            failed = after_yes(common, admin, consent, facts, question, lambda: _delete(admin, rules))
        rows = [{**rule_row(rule), "result": result_word(AclFilter.of(rule), failed, "deleted")} for rule in rules]
        listing = Listing("acls", (*COLUMNS, "result"), rows)
        code = end_change(
            common, output, listing, failed, f"{counted(len(rules), 'rule')} would be deleted", "kctl acls list"
        )
        deleted = [] if failed is None else [rule for rule in rules if AclFilter.of(rule) not in failed]
        _wait(common, admin, deleted, are_there=False)
    return code


def _wait(common: Common, admin: Admin, rules: Collection[AclRule], *, are_there: bool) -> None:
    if rules:
        from kctl.cli.metadata_wait import wait_for_rules  # deferred import: only after a change

        wait_for_rules(common, admin, rules, are_there=are_there)


def _delete(admin: Admin, rules: Sequence[AclRule]) -> dict[AclFilter, KafkaError]:
    """Delete rules and return the errors by filter. Missing rules count as deleted."""
    results = admin.delete_acls([AclFilter.of(rule) for rule in rules])
    refused = {wanted: error for wanted, found in results.done.items() for error in found.failed.values()}
    return {**results.failed, **refused}


def _in_order(rules: Iterable[AclRule]) -> list[AclRule]:
    return sorted(rules, key=lambda rule: (rule.resource_type, rule.resource_name, rule.pattern_type, *rule[3:]))
