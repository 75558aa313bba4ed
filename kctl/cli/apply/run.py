"""Execution of `kctl apply`. All changes are shown and validated before the first is sent.

Deletions are sent last, and skipped if an earlier change failed. Changes without a response are `unknown`; a second
`kctl apply` completes them.
"""

import shlex
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from kctl.cli.admin_client import open_admin
from kctl.cli.apply.declaration import Declaration, DeclaredTopic, name_of, read_declaration
from kctl.cli.apply.followers import knows_changes
from kctl.cli.apply.plan import ApplyChange, ApplyPlan, Kind, acl_changes, in_order, make_plan
from kctl.cli.apply.state import read_topics
from kctl.cli.changes import Consent, is_confirmed, report_failures, say_dry_run
from kctl.cli.exit_codes import ExitCode
from kctl.cli.failures import CommandError, Failure
from kctl.cli.formats.listing import Listing, write_listing
from kctl.cli.formats.rows import Row
from kctl.cli.interrupts import Interrupted
from kctl.cli.metadata_wait import wait_for_brokers
from kctl.cli.options import Common
from kctl.cli.output_options import Output
from kctl.cli.overtime import interrupted_after
from kctl.client.admin import BROKER_DEFAULT, AclFilter, AclRule, Admin, ConfigResource, NewTopic, ResourceType
from kctl.client.config import AdminConfig
from kctl.client.errors import ApiTimeout, KafkaError
from kctl.client.wording import counted

COLUMNS = ("action", "resource", "key", "previous", "value", "result")
DIFF_COLUMNS = COLUMNS[:-1]
Item = str | AclRule
Failures = Mapping[Any, KafkaError]
"""Errors by topic or rule."""
CHECKED = (Kind.CREATE, Kind.CONFIGS, Kind.PARTITIONS)
"""Kinds of changes that brokers can validate."""
BATCH = 100
"""Number of topics in one request, and so of topics whose state is unknown after an interrupt."""
DONE, FAILED, NOT_DONE, UNKNOWN, WOULD_BE_DONE = "done", "failed", "not done", "unknown", "would be done"
UNDER_WAY = "under way"
"""Result of changes that were sent and have no response yet. Never shown."""


class Wish(NamedTuple):
    """Options of the command line."""

    path: str
    diff: bool
    prune: bool
    consent: Consent

    @property
    def command(self) -> str:
        return f"kctl apply -f {shlex.quote(self.path)}{' --prune' if self.prune else ''}"


class ApplyOutcome:
    """Changes, with their results and errors so far."""

    def __init__(self, changes: Sequence[ApplyChange]) -> None:
        self.changes = changes
        self.results: dict[ApplyChange, str] = dict.fromkeys(changes, NOT_DONE)
        self.errors: list[KafkaError] = []
        self._noted: set[int] = set()
        """IDs of the errors in `errors`: one timeout can be the error of many topics."""

    def count(self, result: str) -> int:
        return sum(each == result for each in self.results.values())

    def settle(self, batch: Sequence[ApplyChange], failed: Failures, done: str) -> None:
        for change in batch:
            error = failed.get(change.item)
            self.results[change] = done if error is None else _result_of(error)
        for error in failed.values():
            if id(error) not in self._noted:
                self._noted.add(id(error))
                self.errors.append(error)

    def end_under_way(self, result: str) -> None:
        """Set `result` for all changes that were sent and got no response."""
        self.results.update({change: result for change, each in self.results.items() if each == UNDER_WAY})

    @property
    def is_late(self) -> bool:
        return any(isinstance(error, ApiTimeout) for error in self.errors)

    def rows(self) -> list[Row]:
        return [
            {
                "action": change.action,
                "resource": change.resource,
                "key": change.key,
                "previous": change.previous,
                "value": change.value,
                "result": result,
            }
            for change, result in self.results.items()
        ]


def _result_of(error: KafkaError) -> str:
    if error.outcome_unknown:
        return UNKNOWN
    return NOT_DONE if isinstance(error, ApiTimeout) else FAILED


def run_apply(common: Common, output: Output, wish: Wish) -> int:
    """Change the cluster to match the file, or show the changes; return the exit code."""
    timeout_ms = common.settings.parse(AdminConfig).default_api_timeout_ms
    with interrupted_after(timeout_ms, common.environment.clock, f"reading {name_of(wish.path)}"):
        declaration = read_declaration(wish.path, common.environment.stdin)
    declared = declaration.topics or {}
    for kind, given in (("topic", declaration.topics), ("acl", declaration.acls)):
        if wish.prune and given is not None and not given:
            text = (
                f"cannot prune {kind}s: {name_of(wish.path)} declares no {kind}s, so --prune would delete all "
                f"{kind}s of the cluster"
            )
            raise CommandError(ExitCode.USAGE, text, f"delete {kind}s by name with: kctl {kind}s delete")
    with open_admin(common) as admin:
        with admin.within():
            plan = _plan(admin, declaration, prune=wish.prune)
            outcome = ApplyOutcome(plan.changes)
            if wish.diff:
                return _show_difference(common, output, outcome, plan.conflicts)
            if plan.conflicts:
                return _refuse(common, output, outcome, plan.conflicts)
            if not plan.changes:
                write_listing(common.environment, output, Listing("changes", COLUMNS, outcome.rows()))
                common.say(f"{common.environment.program}: no changes needed: {_as_declared(declaration)}")
                return ExitCode.OK
            _check(admin, declared, outcome)
            if outcome.errors:
                return _refuse(common, output, outcome, [])
            prunes = any(change.is_pruned for change in plan.changes)
            if wish.consent is Consent.GIVEN or (wish.consent is Consent.NEEDED and not prunes):
                return _make(common, output, admin, declaration, outcome, wish, shows=True)
        if is_confirmed(common, wish.consent, _lines(plan.changes), _question(plan.changes)):
            with admin.within():  # new timeout: the prompt may have waited long
                return _make(common, output, admin, declaration, outcome, wish)
    write_listing(common.environment, output, Listing("changes", COLUMNS, outcome.rows()))
    what = f"{counted(len(plan.changes), 'change')} would be made"
    if wish.consent is Consent.DENIED:
        common.say(f"{common.environment.program}: dry run: {what}")
    else:
        say_dry_run(common, f"{what} ({_deletions(plan.changes)})")
    return ExitCode.OK


def _plan(admin: Admin, declaration: Declaration, *, prune: bool) -> ApplyPlan:
    plan = ApplyPlan([], [])
    if declaration.topics is not None:
        plan = make_plan(declaration.topics, read_topics(admin, declaration.topics), prune=prune)
    if declaration.acls is None:
        return plan
    rules = acl_changes(declaration.acls, admin.describe_acls(), prune=prune)
    return ApplyPlan(in_order([*plan.changes, *rules]), plan.conflicts)


# --- what is shown ----------------------------------------------------------------------------------------------------


def _as_declared(declaration: Declaration) -> str:
    counts = {"topic": declaration.topics, "ACL": declaration.acls}
    parts = [counted(len(given), name) for name, given in counts.items() if given is not None]
    names = " and ".join(parts)
    is_one = parts[0].startswith("1 ") and len(parts) == 1
    return f"{names} matches the file" if is_one else f"{names} match the file"


def _lines(changes: Sequence[ApplyChange]) -> list[str]:
    lines = []
    for change in changes:
        if change.action == "create":
            lines.append(f"+ {change.resource} {change.value or ''}".rstrip())
        elif change.action == "delete":
            what = f" ({change.previous}) with all its records" if change.kind is Kind.DELETE else ""
            lines.append(f"- {change.resource}{what}")
        else:
            was = "not set" if change.previous is None else change.previous
            will = "not set" if change.value is None else change.value
            lines.append(f"~ {change.resource} {change.key}: {was} -> {will}")
    return lines


def _deletions(changes: Sequence[ApplyChange]) -> str:
    deleted = sum(change.kind is Kind.DELETE for change in changes)
    rules = sum(change.kind is Kind.DELETE_ACL for change in changes)
    unset = sum(change.is_pruned for change in changes) - deleted - rules
    parts = [
        *([f"{counted(deleted, 'topic')} deleted with all records"] if deleted else []),
        *([f"{counted(rules, 'ACL')} deleted"] if rules else []),
        *([f"{counted(unset, 'topic config')} unset"] if unset else []),
    ]
    return " and ".join(parts)


def _question(changes: Sequence[ApplyChange]) -> str:
    return f"Make {counted(len(changes), 'change')} ({_deletions(changes)})?"


def _show_difference(common: Common, output: Output, outcome: ApplyOutcome, conflicts: Sequence[str]) -> int:
    write_listing(common.environment, output, Listing("changes", DIFF_COLUMNS, outcome.rows()))
    _report_conflicts(common, conflicts)
    return ExitCode.PARTIAL_FAILURE if outcome.changes or conflicts else ExitCode.OK


def _refuse(common: Common, output: Output, outcome: ApplyOutcome, conflicts: Sequence[str]) -> int:
    write_listing(common.environment, output, Listing("changes", COLUMNS, outcome.rows()))
    common.say(f"{common.environment.program}: nothing was changed")
    _report_conflicts(common, conflicts)
    return report_failures(common, False, outcome.errors) or ExitCode.USAGE


def _report_conflicts(common: Common, conflicts: Sequence[str]) -> None:
    for text in conflicts:
        common.environment.say_failure(Failure(ExitCode.USAGE, text), is_error=False)


# --- what is done -----------------------------------------------------------------------------------------------------


def _batches(changes: Sequence[ApplyChange], kind: Kind) -> list[list[ApplyChange]]:
    """Split the changes of a kind into requests, with all changes of a topic in the same request."""
    of_topic: dict[Item, list[ApplyChange]] = {}
    for change in changes:
        if change.kind is kind:
            of_topic.setdefault(change.item, []).append(change)
    groups = list(of_topic.values())
    return [[c for group in groups[at : at + BATCH] for c in group] for at in range(0, len(groups), BATCH)]


def _check(admin: Admin, declared: Mapping[str, DeclaredTopic], outcome: ApplyOutcome) -> None:
    for kind in Kind:
        for batch in _batches(outcome.changes, kind):
            failed = {} if kind not in CHECKED else _ask(admin, declared, kind, batch, validate_only=True)
            outcome.settle(batch, failed, WOULD_BE_DONE)
    if outcome.errors:
        for change, result in outcome.results.items():
            outcome.results[change] = NOT_DONE if result == WOULD_BE_DONE else FAILED


def _make(
    common: Common,
    output: Output,
    admin: Admin,
    declaration: Declaration,
    outcome: ApplyOutcome,
    wish: Wish,
    *,
    shows: bool = False,
) -> int:
    """Send the changes and print their results, even after an interrupt. Then wait until brokers have applied them.

    Args: shows: print the changes first.
    """
    outcome.results = dict.fromkeys(outcome.changes, NOT_DONE)
    try:
        for line in _lines(outcome.changes) if shows else ():
            common.say(line)
        for kind in Kind:
            for batch in _batches(outcome.changes, kind):
                if (kind in (Kind.DELETE, Kind.DELETE_ACL) and outcome.errors) or outcome.is_late:
                    break
                outcome.results.update(dict.fromkeys(batch, UNDER_WAY))
                outcome.settle(batch, _ask(admin, declaration.topics or {}, kind, batch, validate_only=False), DONE)
    except Interrupted:
        outcome.end_under_way(UNKNOWN)
        _report(common, output, outcome, wish)
        raise
    except KafkaError as error:  # the whole request failed: later requests would fail as well
        outcome.errors.append(error)
        outcome.end_under_way(_result_of(error))
    code = _report(common, output, outcome, wish)
    made = {change for change, result in outcome.results.items() if result == DONE}
    if made:
        wait_for_brokers(common, admin, knows_changes(admin, declaration, made))
    return code


def _report(common: Common, output: Output, outcome: ApplyOutcome, wish: Wish) -> int:
    write_listing(common.environment, output, Listing("changes", COLUMNS, outcome.rows()))
    code = report_failures(common, outcome.count(DONE), outcome.errors)
    done, unknown, total = outcome.count(DONE), outcome.count(UNKNOWN), len(outcome.changes)
    if done < total:
        maybe = f", {unknown} possibly made" if unknown else ""
        common.environment.say(f"{common.environment.program}: {done} of {total} changes made{maybe}")
        common.environment.say(f"hint: apply the remaining changes with: {wish.command}")
    return code


def _ask_configs(admin: Admin, batch: Sequence[ApplyChange], *, validate_only: bool) -> Failures:
    entries: dict[ConfigResource, dict[str, str | None]] = {}
    for change in batch:
        assert change.key is not None
        entries.setdefault(ConfigResource(ResourceType.TOPIC, str(change.item)), {})[change.key] = change.value
    failed = admin.alter_configs(entries, validate_only=validate_only).failed
    return {resource.name: error for resource, error in failed.items()}


def _ask(
    admin: Admin,
    declared: Mapping[str, DeclaredTopic],
    kind: Kind,
    batch: Sequence[ApplyChange],
    *,
    validate_only: bool,
) -> Failures:
    """Send a batch and return the errors by topic or rule. Raises: KafkaError: the whole request failed."""
    if kind in (Kind.ADD_ACL, Kind.DELETE_ACL):
        return _ask_rules(admin, kind, [change.item for change in batch if isinstance(change.item, AclRule)])
    names = list(dict.fromkeys(change.item for change in batch if isinstance(change.item, str)))
    if kind is Kind.CREATE:
        topics = [_new_topic(declared[name]) for name in names]
        return admin.create_topics(topics, validate_only=validate_only).failed
    if kind is Kind.CONFIGS:
        return _ask_configs(admin, batch, validate_only=validate_only)
    if kind is Kind.PARTITIONS:
        counts = {str(change.item): int(change.value or 0) for change in batch}
        return admin.create_partitions(counts, validate_only=validate_only).failed
    return admin.delete_topics(names).failed


def _ask_rules(admin: Admin, kind: Kind, rules: Sequence[AclRule]) -> Failures:
    """Create or delete rules, and return the errors by rule. Missing rules count as deleted."""
    if kind is Kind.ADD_ACL:
        return admin.create_acls(rules).failed
    results = admin.delete_acls([AclFilter.of(rule) for rule in rules])
    failed: dict[Any, KafkaError] = {}
    for rule in rules:
        wanted = AclFilter.of(rule)
        if wanted in results.failed:
            failed[rule] = results.failed[wanted]
        else:
            failed.update(results.done[wanted].failed)
    return failed


def _new_topic(topic: DeclaredTopic) -> NewTopic:
    return NewTopic(
        topic.name,
        topic.partitions or BROKER_DEFAULT,
        topic.replication_factor or BROKER_DEFAULT,
        configs={key: value for key, value in topic.configs.items() if value is not None},
    )
