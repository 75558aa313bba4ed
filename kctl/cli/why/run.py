"""Execution of `kctl why`: one or two samples, diagnosis, output and exit code."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from kctl.cli import click
from kctl.cli.admin_client import open_admin, principal_text
from kctl.cli.exit_codes import ExitCode
from kctl.cli.failures import CommandError, explain
from kctl.cli.formats.listing import SHAPES
from kctl.cli.nearest_names import suggest_groups, suggest_topics
from kctl.cli.options import Common
from kctl.cli.why.options import WhyOptions, find_budget
from kctl.cli.why.view import write_diagnosis
from kctl.client.admin import Admin
from kctl.client.clock import Timer, duration_text
from kctl.client.config import nearest_name
from kctl.client.errors import BrokerError, UnsupportedVersionError
from kctl.client.network.system import system_runtime
from kctl.why import Diagnosis, Scope, Selection, Severity, Throttles, diagnose, share_s, take_looks
from kctl.why.table import FINDINGS, kinds_of


class Aim(NamedTuple):
    """Subject of a diagnosis: its name, what to request, and the scopes of findings."""

    subject: str
    selection: Selection
    scopes: tuple[Scope, ...]


def show_group(common: Common, name: str, options: WhyOptions) -> int:
    return _show(common, _group_aim(name), options)


def show_topic(common: Common, name: str, options: WhyOptions) -> int:
    return _show(common, _topic_aim(name), options)


def show_named(common: Common, name: str, options: WhyOptions) -> int:
    """Show the problems of the group and topic with this name, and return the exit code."""
    return _find_and_show(common, partial(_find_named, name), options)


def show_cluster(common: Common, options: WhyOptions) -> int:
    return _show(common, Aim("the cluster", Selection(topics=None, has_brokers=True), (Scope.CLUSTER,)), options)


def show_all(common: Common, groups: Sequence[str] | None, topics: Sequence[str] | None, options: WhyOptions) -> int:
    """Show the problems of the given groups and topics, or of everything, and return the exit code."""
    if groups or topics:
        selection = Selection(groups or (), topics or (), has_brokers=True)
    else:
        selection = Selection(groups=None, topics=None, has_brokers=True)
    return _show(common, Aim("the cluster, its topics and groups", selection, tuple(Scope)), options)


def _group_aim(name: str) -> Aim:
    return Aim(f"group {name}", Selection(groups=(name,)), (Scope.GROUP,))


def _topic_aim(name: str) -> Aim:
    return Aim(f"topic {name}", Selection(topics=(name,)), (Scope.TOPIC,))


def _find_named(name: str, admin: Admin, timer: Timer) -> Aim:
    listed = admin.list_groups(timeout=share_s(timer))
    topics = admin.list_topic_names(include_internal=True, timeout=share_s(timer))
    is_group, is_topic = name in listed.groups, name in topics
    if is_group and is_topic:
        selection = Selection(groups=(name,), topics=(name,))
        return Aim(f"group {name} and topic {name}", selection, (Scope.GROUP, Scope.TOPIC))
    if is_group or is_topic:
        return _group_aim(name) if is_group else _topic_aim(name)
    for error in listed.failed.values():
        raise error
    near = nearest_name(name, [*listed.groups, *topics])
    raise CommandError(
        ExitCode.UNKNOWN_RESOURCE,
        f"no group or topic {name!r} found that this principal may describe",
        "list names with: kctl groups list, or kctl topics list" if near is None else f"did you mean {near}?",
    )


def _show(common: Common, aim: Aim, options: WhyOptions) -> int:
    _refuse_out_of_scope(options, aim.scopes)
    return _find_and_show(common, lambda _admin, _timer: aim, options)


def _find_and_show(common: Common, find: Callable[[Admin, Timer], Aim], options: WhyOptions) -> int:
    """Find the subject and show its problems. The lookup counts toward the limits."""
    output = common.choose_output(*SHAPES)
    runtime = system_runtime()
    throttles = Throttles()
    is_compared = options.watch_ms > 0 or options.address is not None
    with open_admin(common, throttles.take) as admin:
        timeout_ms = admin.config.default_api_timeout_ms
        if options.address is None and options.watch_ms >= timeout_ms:
            raise click.UsageError(
                f"--interval {duration_text(options.watch_ms)} must be shorter than --api-timeout "
                f"({duration_text(timeout_ms)}), which covers both samples."
            )
        timer = Timer(runtime.clock, timeout_ms)
        if options.address is not None:
            from kctl.cli.why.exporter import serve  # wanted only here

            with admin.within(timeout_ms / 1000):
                aim = _found(find, admin, timer, options)
            selection = aim.selection._replace(is_compared=is_compared)
            return serve(common, admin, runtime, throttles, selection, aim.scopes, options, options.address)
        if options.watch_ms and common.environment.stderr_is_tty:
            common.say(f"{common.environment.program}: taking two samples, {duration_text(options.watch_ms)} apart")
        with admin.within(timeout_ms / 1000), admin.request_budget(find_budget(admin, options)):
            aim = _found(find, admin, timer, options)
            selection = aim.selection._replace(is_compared=is_compared)
            try:
                looks = take_looks(admin, runtime, timer, selection, options.watch_ms, throttles)
            except BrokerError as error:
                for suggest, names in ((suggest_groups, selection.groups), (suggest_topics, selection.topics)):
                    suggest(admin, {name: error for name in names or () if f" {name}:" in str(error)})
                raise
    diagnosis = diagnose(
        looks, aim.scopes, only=options.only, ignored=options.ignored, severity=Severity(options.severity)
    )
    write_diagnosis(common, output, aim.subject, looks, diagnosis)
    code = exit_code(diagnosis)
    seen: dict[str, Mapping[str, object]] = {}
    if selection.topics is None:
        seen["topics"] = looks.now.topics
    if selection.groups is None:
        seen["groups"] = looks.now.groups
    if seen and not any(seen.values()) and not any(gap.request == "Metadata" for gap in looks.now.gaps):
        what = " and ".join(f"0 {name}" for name in seen)
        text = f"{principal_text(admin.config)} sees {what}, so they were not checked"
        common.say(f"{common.environment.program}: {text}")
        return code or ExitCode.PARTIAL_FAILURE
    return code


def _found(find: Callable[[Admin, Timer], Aim], admin: Admin, timer: Timer, options: WhyOptions) -> Aim:
    aim = find(admin, timer)
    _refuse_out_of_scope(options, aim.scopes)
    return aim


def _refuse_out_of_scope(options: WhyOptions, scopes: tuple[Scope, ...]) -> None:
    found = {kind.id for kind in kinds_of(scopes)}
    for name in sorted(options.only):
        if name not in found:
            about = " or ".join(scope.value for scope in FINDINGS[name].scopes)
            raise click.BadParameter(
                f"this command does not check {name}, which is a finding about a {about}.", param_hint="'--only'"
            )
        if name in options.ignored:
            raise click.BadParameter(f"{name} cannot be in both --only and --ignore.", param_hint="'--only'")


def exit_code(diagnosis: Diagnosis) -> int:
    """Return 3 for problems. Otherwise return the exit code of an error that prevented checks, or 0.

    Missing permissions, and APIs that brokers lack, do not change the exit code.
    """
    if diagnosis.is_bad:
        return ExitCode.PARTIAL_FAILURE
    for unchecked in diagnosis.unchecked:
        error = unchecked.gap.error
        if unchecked.gap.right is not None or isinstance(error, UnsupportedVersionError):
            continue
        return ExitCode.PARTIAL_FAILURE if error is None else explain(error).code
    return ExitCode.OK
