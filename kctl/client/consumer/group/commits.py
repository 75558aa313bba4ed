"""CommitManager: commits offsets in order, one request at a time.

When a commit_sync is done, all earlier commits have ended. Commits are retried until their own deadline.
"""

from collections import deque
from collections.abc import Callable, Collection, Iterable
from random import Random

from kctl.client.broker_errors import ErrorCode, broker_error
from kctl.client.clock import FOREVER_MS
from kctl.client.cluster import NO_TOPIC_ID, TopicPartition
from kctl.client.config import ConsumerConfig
from kctl.client.consumer.events import CallDone, Report
from kctl.client.consumer.group.events import NO_IDS, CommitAsync, CommitDone, CommitSync, IdsByName
from kctl.client.consumer.group.membership import MemberIdentity, Membership
from kctl.client.errors import ApiTimeout, BrokerError, CloseTimeout, CommitFailedError, KafkaError
from kctl.client.network.in_flight import Answer, Outgoing
from kctl.client.protocol.api.committed_offsets import OffsetCommitRequest, OffsetCommitResponse
from kctl.client.requests.coordinator import PROMPT, Coordinator
from kctl.client.requests.group_offsets import LAST_VERSION_WITH_NAMES, OffsetAndMetadata, codes_in, offset_commit
from kctl.client.requests.items import each_once
from kctl.client.requests.leaders import Leaders
from kctl.client.requests.request import CallProgress, Poll
from kctl.client.requests.retry import OFFSET_COMMIT, RetryPause, decisive_code, retry_backoff

FENCED = frozenset({ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.ILLEGAL_GENERATION, ErrorCode.STALE_MEMBER_EPOCH})
"""Codes that reject a member or generation that is not in the group."""
OUTDATED = frozenset({ErrorCode.ILLEGAL_GENERATION, ErrorCode.REBALANCE_IN_PROGRESS})
"""Codes that are inconclusive during a join, because the join brings the next generation."""
UNKNOWN_TOPIC = frozenset({ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.UNKNOWN_TOPIC_ID})
IdsOf = Callable[[Iterable[TopicPartition]], IdsByName]
"""Function that returns the topic ids of the topics that the positions belong to."""


class PendingCommit:
    __slots__ = (
        "error",
        "event",
        "given_up",
        "gone",
        "identity",
        "incarnation",
        "is_abandoned",
        "is_awaited",
        "is_in_flight",
        "left",
        "pause",
        "until_ms",
        "was_fenced",
    )

    def __init__(self, event: CommitSync | CommitAsync, incarnation: int, pause: RetryPause) -> None:
        self.event = event
        self.left: dict[TopicPartition, OffsetAndMetadata] = dict(event.offsets)
        """Unconfirmed offsets."""
        self.incarnation = incarnation
        self.identity: MemberIdentity | None = None
        """Identity of the request in flight."""
        self.is_in_flight = False
        self.is_abandoned = False
        self.is_awaited = False
        """True if a later step waits for it, so that it must be retried."""
        self.until_ms = FOREVER_MS
        """Time at which that step continues without it."""
        self.was_fenced = False
        """True if its generation has ended."""
        self.gone: KafkaError | None = None
        """Reason of left-out partitions: lost with the generation, unassigned, or a deleted topic."""
        self.given_up: set[TopicPartition] = set()
        """Partitions that were unassigned after the call, which other members may have."""
        self.pause = pause
        self.error: KafkaError | None = None

    @property
    def may_retry(self) -> bool:
        return isinstance(self.event, CommitSync) or self.event.may_retry or self.is_awaited

    @property
    def deadline_at_ms(self) -> int:
        return min(self.event.deadline_at_ms, self.until_ms)

    @property
    def call_id(self) -> int | None:
        return self.event.call_id if isinstance(self.event, CommitSync) else None


class CommitManager:
    def __init__(
        self,
        config: ConsumerConfig,
        coordinator: Coordinator,
        membership: Membership,
        leaders: Leaders,
        ids_of: IdsOf,
        rng: Random,
        report: Callable[[Report], None],
    ) -> None:
        self._request_timeout_ms = config.request_timeout_ms
        self._release_ms = min(config.request_timeout_ms, config.max_poll_interval_ms // 2)
        """Limit for commits before partitions are released; the rest of max.poll.interval.ms is for the rebalance."""
        self._group_instance_id = config.group_instance_id
        self._coordinator = coordinator
        self._membership = membership
        self._leaders = leaders
        self._ids_of = ids_of
        self._report = report
        self._backoff = retry_backoff(config, rng)
        self._queue: deque[PendingCommit | Callable[[], None]] = deque()
        self._failed: dict[TopicPartition, PendingCommit] = {}
        """Last commit of each partition, if it failed and may succeed later; `insist` retries it."""
        self.committed = 0
        """Number of successful commits."""

    # --- from the application ---------------------------------------------------------------------------------------

    def commit(self, event: CommitSync | CommitAsync) -> None:
        if not event.topic_ids:
            event = event._replace(topic_ids=self._ids_of(event.offsets))
        self._queue.append(PendingCommit(event, self._membership.incarnation, RetryPause(self._backoff)))
        for tp in event.offsets:
            self._failed.pop(tp, None)

    def forget(self, topic_partition: TopicPartition) -> None:
        """Do not retry commits of an unassigned partition: other members may have committed later offsets."""
        self._failed.pop(topic_partition, None)
        for each in self._queue:
            if isinstance(each, PendingCommit) and isinstance(each.event, CommitAsync):
                each.given_up.add(topic_partition)

    def before_release(self, released: Collection[TopicPartition], action: Callable[[], None], now_ms: int) -> None:
        """Call `action`, which releases partitions or changes the subscription, when all earlier commits have ended or
        their time is over. Until then, retry failed commits of released partitions.

        Differs: Java waits for all of max.poll.interval.ms, after which the group removes the member.
        """
        self.insist(now_ms, released)
        for each in self._queue:
            if isinstance(each, PendingCommit) and (each.call_id is None or each.is_abandoned):
                each.until_ms = min(each.until_ms, now_ms + self._release_ms)
        self._queue.append(action)
        self._run_actions()

    @property
    def holds_up(self) -> bool:
        """Whether an action waits for commits."""
        return any(not isinstance(each, PendingCommit) for each in self._queue)

    @property
    def waiting_for(self) -> tuple[str, KafkaError | None]:
        """What the first commit waits for, and its last error."""
        error = next((each.error for each in self._queue if isinstance(each, PendingCommit)), None)
        return f"{self._coordinator.waiting_for} to commit the offsets", error or self._coordinator.last_error()

    @property
    def is_idle(self) -> bool:
        return not self._queue

    def abandon(self, call_id: int) -> None:
        for each in list(self._queue):
            if isinstance(each, PendingCommit) and each.call_id == call_id:
                each.is_abandoned = True
                if not each.is_in_flight:
                    self._queue.remove(each)
        self._run_actions()

    def insist(self, now_ms: int, partitions: Collection[TopicPartition] | None = None) -> None:
        """Retry pending and failed commits, even of commit_async, because no later commit replaces them.

        Args: partitions: partitions of the commits; None means all.
        """
        held = self._membership.held
        for commit in dict.fromkeys(self._failed.values()):
            assert isinstance(commit.event, CommitAsync)
            failed = [tp for tp, last in self._failed.items() if last is commit]
            if partitions is not None and not any(tp in partitions for tp in failed):
                continue
            for tp in failed:
                del self._failed[tp]
            commit.event = commit.event._replace(deadline_at_ms=now_ms + commit.event.timeout_ms)
            commit.until_ms = FOREVER_MS
            commit.left = {tp: commit.left[tp] for tp in failed if tp in held or not commit.event.as_member}
            if commit.left:
                self._queue.append(commit)
        for each in self._queue:
            if isinstance(each, PendingCommit) and (partitions is None or any(tp in partitions for tp in each.left)):
                each.is_awaited = True

    def abort(self, late: CloseTimeout) -> None:
        """Fail every commit at a close, and run the actions that wait for it. The cause is the commit's last error."""
        while self._queue:
            each = self._queue.popleft()
            if not isinstance(each, PendingCommit):
                each()
                continue
            cause = each.error or self._coordinator.last_error()
            timeout_ms, elapsed_ms = late.timeout_ms, late.elapsed_ms
            error = CloseTimeout(late.waiting_for, timeout_ms=timeout_ms, elapsed_ms=elapsed_ms, cause=cause)
            self._report_end(each, error)

    def progress(self, call_id: int) -> CallProgress | None:
        for each in self._queue:
            if isinstance(each, PendingCommit) and each.call_id == call_id:
                return CallProgress(self.waiting_for[0], each.error or self._coordinator.last_error())
        return None

    # --- requests ---------------------------------------------------------------------------------------------------

    def poll(self, now_ms: int) -> Poll:
        self._expire(now_ms)
        self._run_actions()
        if not self._queue:
            return Poll([])
        if self._coordinator.refusal is not None:
            self._refuse_all(self._coordinator.refusal)
            return Poll([])
        deadline_at_ms = min(each.deadline_at_ms for each in self._queue if isinstance(each, PendingCommit))
        head = self._queue[0]
        assert isinstance(head, PendingCommit)
        return self._poll_head(head, now_ms, deadline_at_ms)

    def _poll_head(self, head: PendingCommit, now_ms: int, deadline_at_ms: int) -> Poll:
        if head.is_in_flight:
            return Poll([], deadline_at_ms)
        if head.pause.until_ms > now_ms:
            return Poll([], min(deadline_at_ms, head.pause.until_ms))
        identity = self._identity_for(head)
        if head.was_fenced and identity is not None:
            if self._membership.is_joining:
                return Poll([], deadline_at_ms)
            self._leave_out_lost(head)
        if head.left and identity is None:
            self._finish(head, not_a_member(head.error if head.was_fenced else None))
            return Poll([], now_ms)
        if head.left and not self._coordinator.ready(PROMPT):
            return Poll([], deadline_at_ms)
        self._leave_out_given_up(head)
        self._leave_out_former(head)
        if identity is None or not head.left:
            self._finish(head, head.gone)
            return Poll([], now_ms)
        return Poll([self._request(head, identity, now_ms)], deadline_at_ms)

    def _leave_out_lost(self, commit: PendingCommit) -> None:
        held = self._membership.held
        lost = [tp for tp in commit.left if tp not in held]
        for tp in lost:
            del commit.left[tp]
        if lost:
            commit.gone = not_a_member(commit.error)

    def _leave_out_given_up(self, commit: PendingCommit) -> None:
        """Leave out unassigned partitions of a retry, unless the group checks the membership."""
        if commit.error is not None and not commit.event.as_member:
            for tp in commit.given_up & commit.left.keys():
                del commit.left[tp]
                commit.gone = commit.error

    def _leave_out_former(self, commit: PendingCommit) -> None:
        """Leave out partitions of recreated topics, unless the coordinator checks topic ids."""
        if self._ids_for(commit):
            return  # the coordinator checks the id
        for tp in list(commit.left):
            if not self._leaders.is_the_one(tp.topic, commit.event.topic_ids.get(tp.topic, NO_TOPIC_ID)):
                del commit.left[tp]
                commit.gone = broker_error(ErrorCode.UNKNOWN_TOPIC_ID, f"commit the offset of {tp}")

    def unsent(self, now_ms: int) -> list[Outgoing]:
        """Return the unsent commits, for a close without time."""
        if not self._coordinator.ready(PROMPT):
            return []
        requests = []
        for each in self._queue:
            if not isinstance(each, PendingCommit) or each.is_in_flight:
                continue
            identity = self._identity_for(each)
            if each.was_fenced:
                self._leave_out_lost(each)
            self._leave_out_given_up(each)
            self._leave_out_former(each)
            if identity is not None and each.left:
                requests.append(self._request(each, identity, now_ms))
        return requests

    def _identity_for(self, commit: PendingCommit) -> MemberIdentity | None:
        if not commit.event.as_member:
            return MemberIdentity(group_instance_id=self._group_instance_id)
        identity = self._membership.identity
        return identity if identity is not None and identity.incarnation == commit.incarnation else None

    def _request(self, commit: PendingCommit, identity: MemberIdentity, now_ms: int) -> Outgoing:
        commit.is_in_flight = True
        commit.identity = identity
        topic_ids = self._ids_for(commit)
        request = offset_commit(
            self._coordinator.key,
            commit.left,
            topic_ids=topic_ids,
            generation=identity.generation,
            member_id=identity.member_id,
            group_instance_id=identity.group_instance_id if commit.event.as_member else None,
        )
        timeout_ms = min(self._request_timeout_ms, max(1, commit.deadline_at_ms - now_ms))
        max_version = None if topic_ids else LAST_VERSION_WITH_NAMES
        return self._coordinator.outgoing(
            PROMPT, request, timeout_ms, lambda answer: self._on_answer(commit, answer), max_version
        )

    def _ids_for(self, commit: PendingCommit) -> IdsByName:
        topic_ids = commit.event.topic_ids
        has_all = all(tp.topic in topic_ids for tp in commit.left)
        speaks_ids = self._coordinator.speaks(PROMPT, OffsetCommitRequest, LAST_VERSION_WITH_NAMES + 1)
        return topic_ids if has_all and speaks_ids else NO_IDS

    # --- answers ----------------------------------------------------------------------------------------------------

    def _on_answer(self, commit: PendingCommit, answer: Answer) -> None:
        commit.is_in_flight = False
        if commit not in self._queue:
            return
        if commit.is_abandoned:
            self._queue.remove(commit)
            self._run_actions()
            return
        error = answer.error
        if isinstance(answer.response, OffsetCommitResponse):
            error = self._read(commit, answer.response)
        if error is None:
            self._finish(commit, commit.gone)
        else:
            self._on_error(commit, error, answer.received_at_ms)

    def _read(self, commit: PendingCommit, response: OffsetCommitResponse) -> KafkaError | None:
        refused: dict[int, TopicPartition] = {}
        wrong: KafkaError | None = None
        codes = codes_in(response.topics, commit.event.topic_ids)
        for tp, code in each_once(codes, commit.left, "OffsetCommit", self._coordinator.name).items():
            if isinstance(code, KafkaError):
                wrong = wrong or code
            elif code == ErrorCode.NONE:
                del commit.left[tp]
            else:
                refused.setdefault(code, tp)
        if wrong is not None and not refused:
            return wrong
        code = decisive_code(refused)
        return self._coordinator.check(code, f"commit the offset of {refused.get(code, '')} for")

    def _on_error(self, commit: PendingCommit, error: KafkaError, now_ms: int) -> None:
        code = getattr(error, "code", None)
        is_outdated = code in OUTDATED and self._membership.is_joining
        if commit.event.as_member and (code in FENCED or is_outdated):
            self._on_fenced(commit, error, now_ms, is_outdated=is_outdated)
        elif commit.may_retry and OFFSET_COMMIT.is_retried(error, commit.pause.failures + 1):
            self._retry(commit, error, now_ms)
        else:
            if commit.identity is not None and code == ErrorCode.FENCED_INSTANCE_ID:
                self._membership.fenced(commit.identity, error)
            self._finish(commit, error)

    def _on_fenced(self, commit: PendingCommit, error: KafkaError, now_ms: int, *, is_outdated: bool) -> None:
        """Retry in the next generation if the member keeps its partitions, otherwise fail.

        Commits use another connection, so they may learn of a new generation before the member does, as with KIP-848
        epochs.
        """
        identity = self._identity_for(commit)
        if identity is not None and (is_outdated or identity != commit.identity):
            commit.was_fenced = True
            self._retry(commit, error, now_ms)
            return
        assert commit.identity is not None
        self._membership.fenced(commit.identity, error)
        if identity is not None and getattr(error, "code", None) == ErrorCode.STALE_MEMBER_EPOCH:
            self._retry(commit, error, now_ms)
            return
        self._finish(commit, not_a_member(error))

    def _retry(self, commit: PendingCommit, error: KafkaError, now_ms: int) -> None:
        if getattr(error, "code", None) in UNKNOWN_TOPIC:
            self._leaders.refresh()
        commit.error = error
        commit.pause.failed(now_ms)

    # --- ends -------------------------------------------------------------------------------------------------------

    def _expire(self, now_ms: int) -> None:
        for each in list(self._queue):
            if not isinstance(each, PendingCommit) or now_ms < (
                each.until_ms if each.is_in_flight else each.deadline_at_ms
            ):
                continue
            self._queue.remove(each)
            if isinstance(each.event, CommitAsync):
                limit_ms = each.event.timeout_ms - each.event.deadline_at_ms + each.deadline_at_ms
                cause = each.error or self._coordinator.last_error()
                late = ApiTimeout(self.waiting_for[0], timeout_ms=limit_ms, elapsed_ms=limit_ms, cause=cause)
                self._report_end(each, late)

    def _refuse_all(self, error: KafkaError) -> None:
        for each in list(self._queue):
            if isinstance(each, PendingCommit) and not each.is_in_flight:
                self._finish(each, error)

    def _finish(self, commit: PendingCommit, error: KafkaError | None) -> None:
        self._queue.remove(commit)
        self._report_end(commit, error)
        self._run_actions()

    def _report_end(self, commit: PendingCommit, error: KafkaError | None) -> None:
        self.committed += error is None
        if isinstance(commit.event, CommitAsync):
            if error is not None and OFFSET_COMMIT.is_retried(error):
                self._keep_failed(commit)
            self._report(CommitDone(commit.event.commit_id, error))
        elif not commit.is_abandoned:
            self._report(CallDone(commit.event.call_id, None, error))

    def _keep_failed(self, commit: PendingCommit) -> None:
        later = {tp for each in self._queue if isinstance(each, PendingCommit) for tp in each.event.offsets}
        for tp in commit.left.keys() - later - commit.given_up:
            self._failed.setdefault(tp, commit)

    def _run_actions(self) -> None:
        while self._queue and not isinstance(action := self._queue[0], PendingCommit):
            self._queue.popleft()
            action()


def not_a_member(cause: KafkaError | None) -> CommitFailedError:
    why = "" if cause is None else f" ({cause.name if isinstance(cause, BrokerError) else cause})"
    return CommitFailedError(
        f"cannot commit the offsets: the group has assigned the partitions to other members{why}. "
        "Poll more often (max.poll.interval.ms) or return fewer records per poll (max.poll.records)",
        cause=cause,
    )
