"""Execution of `kctl partitions move`: starts, resumes or cancels the moves of a plan, and waits for their end.

All checks precede the first change. The throttle is set before the first copy and removed after the last.
"""

import shlex
import stat
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import NamedTuple

from kctl.cli import click
from kctl.cli.admin_client import open_admin
from kctl.cli.changes import report_failures, word_of
from kctl.cli.exit_codes import ExitCode
from kctl.cli.failures import CommandError
from kctl.cli.formats.listing import Listing, write_listing
from kctl.cli.formats.rows import Row
from kctl.cli.options import Common
from kctl.cli.output_options import Output
from kctl.cli.partitions.copies import Copies
from kctl.cli.partitions.plan_file import read_plan
from kctl.cli.partitions.throttle import (
    RATES,
    Copy,
    copy_of,
    find_rate,
    list_changes,
    other_rates,
    remove_throttle,
    set_rates,
)
from kctl.cli.partitions.watch import ELSEWHERE, GONE, MOVED, NOT_MOVED, SETTLE_MS, View, Watch, view_of
from kctl.cli.view.status import PLAIN_EVERY_MS, ProgressStatus
from kctl.cli.wait_loop import look_until
from kctl.client.admin import Admin
from kctl.client.broker_errors import ErrorCode, broker_error
from kctl.client.clock import FOREVER_MS, Timer, duration_text
from kctl.client.cluster import TopicPartition
from kctl.client.config import AdminConfig
from kctl.client.errors import KafkaError
from kctl.client.network.system import system_runtime
from kctl.client.wording import counted, listed, size_text

COLUMNS = ("topic", "partition", "replicas", "target_replicas", "result")
CANCELLED, FAILED, STARTED, NOT_STARTED = "cancelled", "failed", "started", "not in progress"
WHY = {
    NOT_MOVED: "another client cancelled the move",
    ELSEWHERE: "a move to other brokers is in progress",
    GONE: "the partition no longer exists",
}


class Wanted(NamedTuple):
    """Options of the command. `wait_ms`: maximum wait; None for no limit, 0 for no wait."""

    path: Path
    throttle_bytes: int | None
    wait_ms: int | None
    resume: bool
    cancel: bool
    dry_run: bool

    def command(self, flag: str) -> str:
        try:
            is_file = stat.S_ISREG(self.path.stat().st_mode)
        except OSError:
            is_file = False
        return f"kctl partitions move {shlex.quote(str(self.path)) if is_file else 'PLAN'} {flag}"


def run_move(common: Common, output: Output, wanted: Wanted) -> int:
    """Start, resume or cancel the moves, and return the exit code."""
    if wanted.resume and wanted.cancel:
        raise click.UsageError("--resume cannot be combined with --cancel.")
    if wanted.cancel and wanted.throttle_bytes is not None:
        raise click.UsageError("--throttle cannot be combined with --cancel.")
    config = common.settings.parse(AdminConfig)
    targets = read_plan(wanted.path, common.environment.clock, config.default_api_timeout_ms)
    if not targets:
        common.say(f"{common.environment.program}: nothing to move: the plan has no partitions")
        return ExitCode.OK
    with open_admin(common) as admin:
        return _Move(common, admin, wanted, targets).run(output)


class _Move:
    def __init__(
        self, common: Common, admin: Admin, wanted: Wanted, targets: dict[TopicPartition, tuple[int, ...]]
    ) -> None:
        self._common = common
        self._admin = admin
        self._wanted = wanted
        self._targets = targets
        self._results: dict[TopicPartition, str] = {}
        self._failed: list[KafkaError | CommandError] = []
        self._brokers: set[int] = set()
        self._throttled: set[int] | None = None
        """Brokers whose rates this run may have set; None before its first change of a throttle."""

    def run(self, output: Output) -> int:
        before = self._survey()
        if self._wanted.cancel:
            self._cancel(before)
        elif not self._wanted.dry_run:
            self._start_and_wait(before)
        self._write(output, before)
        done = [each for each in self._results.values() if each in (MOVED, CANCELLED, STARTED, NOT_STARTED)]
        code = report_failures(self._common, done, self._failed, self._wanted.command("--dry-run"))
        if code and not self._wanted.dry_run and not self._wanted.cancel:
            self._common.say(f"hint: move the remaining partitions with: {self._wanted.command('--resume')}")
        return code

    # --- what is refused --------------------------------------------------------------------------------------------

    def _survey(self) -> View:
        with self._admin.within():
            self._brokers = {node.node_id for node in self._admin.describe_cluster().nodes}
            view = view_of(self._admin, self._targets)
        for key, error in view.failed.items():
            raise error or broker_error(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"find {key}")
        if not self._wanted.cancel and not self._wanted.resume:
            self._refuse_missing_brokers(view)
            _refuse_moving(view)
        return view

    def _refuse_missing_brokers(self, view: View) -> None:
        placed = {
            each: key
            for key, target in self._targets.items()
            for each in copy_of(view.replicas[key], target, view.moves.get(key)).targets
            if each not in self._brokers
        }
        if placed:
            broker, key = min(placed.items())
            raise CommandError(
                ExitCode.UNKNOWN_RESOURCE,
                f"cannot move {key} to broker {broker}: the broker is down or does not exist",
                "list running brokers with: kctl cluster describe",
            )

    # --- start and wait ---------------------------------------------------------------------------------------------

    def _divide(self, before: View) -> tuple[list[TopicPartition], list[TopicPartition]]:
        """Return partitions that are moving, and partitions whose move must be started. Record the result of others."""
        moving, needed = [], []
        for key, target in self._targets.items():
            if key in before.moves and not before.is_moving(key, target):
                self._end(key, ELSEWHERE)
            elif key in before.moves:
                moving.append(key)
            elif before.replicas[key] == target:
                self._results[key] = MOVED
            else:
                needed.append(key)
        return moving, needed

    def _start_and_wait(self, before: View) -> None:
        moving, needed = self._divide(before)
        if moving or needed:
            with self._continues() if moving else nullcontext():
                self._throttle(before, moving, needed)
        with self._continues():
            started = [*moving, *self._start(needed)]
            if self._wanted.wait_ms == 0:
                self._results |= dict.fromkeys(started, STARTED)
                if started:
                    self._say_how_it_ends()
                    return
            self._wait(before, started)
        self._unthrottle()

    def _throttle(self, before: View, moving: list[TopicPartition], needed: list[TopicPartition]) -> None:
        rate = self._wanted.throttle_bytes
        if rate is None and self._wanted.resume:
            rate = find_rate(self._admin, self._targets, self._brokers)
        if rate is None:
            return
        keys = [*moving, *needed]
        copies = {key: copy_of(before.replicas[key], self._targets[key], before.moves.get(key)) for key in keys}
        used = {each for copy in copies.values() for each in (*copy.sources, *copy.targets)} & self._brokers
        others = other_rates(self._admin, keys, used)
        try:
            self._limit(copies, used, rate)
        except BaseException:
            if not moving:
                self._common.say(
                    f"{self._common.environment.program}: no partitions moved because the throttle could not be set"
                )
            if not self._wanted.resume:
                self._undo_throttle()
            raise
        for broker, was in others.items():
            if was != rate:
                self._common.say(
                    f"{self._common.environment.program}: note: broker {broker} limited another move to "
                    f"{size_text(was)}/s. Both moves are now limited to {size_text(rate)}/s"
                )

    def _limit(self, copies: Mapping[TopicPartition, Copy], brokers: set[int], rate: int) -> None:
        changes = list_changes(self._admin, copies)
        self._throttled = set()
        if changes:
            self._admin.alter_configs(changes).raise_first()
        self._throttled = brokers
        failed = set_rates(self._admin, brokers, rate)
        self._throttled = brokers - {each for each, error in failed.items() if not error.retriable}
        for error in failed.values():
            raise error

    def _undo_throttle(self) -> None:
        """Remove a partly set throttle. If this fails, print the command that removes the rest."""
        with suppress(KafkaError):
            self._unthrottle()
            if not self._failed:
                return
        self._common.say(f"hint: remove the rest of the throttle with: {self._wanted.command('--cancel')}")

    def _start(self, keys: list[TopicPartition]) -> list[TopicPartition]:
        if not keys:
            return []
        results = self._admin.alter_partition_reassignments({key: self._targets[key] for key in keys})
        for key, error in results.failed.items():
            self._results[key] = word_of(error, STARTED)
            self._failed.append(error)
        return list(results.done)

    def _wait(self, before: View, keys: list[TopicPartition], *, shows: bool = True) -> None:
        if not keys:
            return
        runtime = system_runtime()
        watch = Watch(self._admin, {key: self._targets[key] for key in keys}, runtime.clock)
        copies = Copies(self._admin, before, watch, self._targets, self._brokers, runtime.clock)
        is_wanted = shows and not self._common.quiet
        status = ProgressStatus(self._common.environment, wanted=is_wanted, plain_after_ms=PLAIN_EVERY_MS)
        timer = Timer(runtime.clock, FOREVER_MS if self._wanted.wait_ms is None else self._wanted.wait_ms)

        def missing() -> str:
            missed = watch.look()
            if missed:
                status.on_move(copies.progress())
            return missed

        try:
            look_until(runtime, timer, "--wait", "the move", missing)
        finally:
            status.close()
        for key, outcome in watch.outcomes.items():
            self._end(key, outcome)

    def _end(self, key: TopicPartition, outcome: str) -> None:
        self._results[key] = outcome
        if outcome != MOVED:
            code = ExitCode.UNKNOWN_RESOURCE if outcome == GONE else ExitCode.UNAVAILABLE
            self._failed.append(CommandError(code, f"cannot move {key}: {WHY[outcome]}"))

    @contextmanager
    def _continues(self) -> Iterator[None]:
        """Print how to end the moves if the block raises."""
        try:
            yield
        except BaseException:
            self._say_how_it_ends()
            raise

    def _say_how_it_ends(self) -> None:
        throttle = " with the throttle" if self._throttled else ""
        removes = " and remove the throttle" if self._throttled else ""
        self._common.say(f"{self._common.environment.program}: the started moves continue{throttle}")
        self._common.say(
            f"hint: wait for the moves{removes} with: {self._wanted.command('--resume')}. "
            f"Cancel the moves{removes} with: {self._wanted.command('--cancel')}"
        )

    # --- the end ----------------------------------------------------------------------------------------------------

    def _unthrottle(self) -> None:
        finds_more = self._wanted.resume or self._wanted.cancel
        if self._throttled is None and not finds_more:
            return
        brokers = {node.node_id for node in self._admin.describe_cluster().nodes}
        removed = remove_throttle(self._admin, self._targets, brokers, self._throttled or (), finds_more=finds_more)
        self._failed += removed.failed
        if removed.was_set and not removed.failed and self._common.verbose:
            self._common.say(f"{self._common.environment.program}: the throttle was removed")
        for broker in removed.left_on:
            self._common.say(
                f"hint: when broker {broker} is up, run: kctl configs unset broker {broker} {' '.join(RATES)}"
            )

    # --- cancel -----------------------------------------------------------------------------------------------------

    def _note_uncancelled(self, failed: Mapping[TopicPartition, KafkaError]) -> list[TopicPartition]:
        """Record the errors of a cancellation. Return partitions whose moves had already ended."""
        over: list[TopicPartition] = []
        for key, error in failed.items():
            if getattr(error, "code", None) == ErrorCode.NO_REASSIGNMENT_IN_PROGRESS:
                over.append(key)
            else:
                self._results[key] = word_of(error, CANCELLED)
                self._failed.append(error)
        return over

    def _cancel(self, before: View) -> None:
        moving = [key for key, target in self._targets.items() if before.is_moving(key, target)]
        for key in before.moves.keys() - set(moving):
            self._end(key, ELSEWHERE)
        if self._wanted.dry_run:
            return
        results = self._admin.alter_partition_reassignments(dict.fromkeys(moving)) if moving else None
        over: list[TopicPartition] = [key for key in self._targets if key not in before.moves]
        if results is not None:
            self._results |= dict.fromkeys(results.done, CANCELLED)
            over += self._note_uncancelled(results.failed)
        try:
            self._settle(over)
        finally:
            self._unthrottle()

    def _settle(self, keys: Collection[TopicPartition]) -> None:
        """Wait for the results of partitions that are not moving, because brokers may learn late that a move ended."""
        if not keys:
            return
        runtime = system_runtime()
        watch = Watch(self._admin, {key: self._targets[key] for key in keys}, runtime.clock)
        timer = Timer(runtime.clock, self._admin.config.default_api_timeout_ms)
        if watch.look():
            of_plan = counted(len(watch.pending), "partition")
            self._common.say(
                f"{self._common.environment.program}: note: no move is in progress for {of_plan}. Waiting up to "
                f"{duration_text(SETTLE_MS)} for moves that have just ended"
            )
        look_until(runtime, timer, "--api-timeout", "the metadata of brokers", watch.look)
        for key, outcome in watch.outcomes.items():
            if outcome == NOT_MOVED:
                self._results[key] = NOT_STARTED
            else:
                self._end(key, outcome)

    # --- what is shown ----------------------------------------------------------------------------------------------

    def _write(self, output: Output, before: View) -> None:
        rows: list[Row] = []
        for key, target in self._targets.items():
            result = self._results.get(key) or self._would_be(key, before)
            rows.append(
                {
                    "topic": key.topic,
                    "partition": key.partition,
                    "replicas": list(before.replicas[key]),
                    "target_replicas": list(target),
                    "result": result,
                }
            )
        write_listing(self._common.environment, output, Listing("partitions", COLUMNS, rows))

    def _would_be(self, key: TopicPartition, before: View) -> str:
        if self._wanted.cancel:
            return "would be cancelled" if key in before.moves else NOT_STARTED
        return "unchanged" if before.replicas[key] == self._targets[key] else "would be moved"


def _refuse_moving(view: View) -> None:
    if view.moves:
        moving = counted(len(view.moves), "partition")
        raise CommandError(
            ExitCode.UNAVAILABLE,
            f"cannot start the plan during another move of {moving}: {listed(view.moves)}",
            "continue the move with --resume, or cancel the move with --cancel",
        )
