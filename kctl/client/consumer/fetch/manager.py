"""FetchManager: keeps one fetch in flight at each node, and passes on undecoded data.

It prefetches until each partition holds one response (`max.partition.fetch.bytes`), or more if memory allows three
responses of each partition. The memory of all partitions has a limit. After data, a partition moves to the end of the
fetch order.
"""

from collections.abc import Callable, Iterable, Mapping
from random import Random

from kctl.client.broker_errors import ErrorCode, broker_error
from kctl.client.clock import FOREVER_MS
from kctl.client.cluster import NO_EPOCH, NamedLeader, TopicPartition
from kctl.client.config import ConsumerConfig
from kctl.client.consumer.chunk import FetchedChunk, base_offset_behind, walk_batches
from kctl.client.consumer.events import Fetched, Report, StartFetch
from kctl.client.consumer.fetch.former_topics import FormerTopics
from kctl.client.consumer.fetch.partition import (
    QUIET_MS,
    Entry,
    FetchState,
    drop_quiet,
    held_while_fetching,
)
from kctl.client.consumer.fetch.position_check import PositionCheck
from kctl.client.consumer.fetch.progress import FetchPace, corrupt_batch, is_news, no_progress
from kctl.client.consumer.fetch.reports import PartitionReports
from kctl.client.consumer.fetch.requests import FetchRequests
from kctl.client.consumer.fetch.sessions import (
    SESSION_ERRORS,
    SessionsClose,
)
from kctl.client.consumer.waiting import WaitKind
from kctl.client.errors import KafkaError, RemoteProtocolError
from kctl.client.network.in_flight import Answer, Outgoing
from kctl.client.protocol.api.fetch import FetchResponse, PartitionData
from kctl.client.protocol.frame_slice import FrameSlice
from kctl.client.records import AbortedTransaction
from kctl.client.requests.items import each_once
from kctl.client.requests.leaders import Leaders
from kctl.client.requests.request import Poll
from kctl.client.requests.retry import FETCH

PREFETCH_BYTES = 64 * 1024 * 1024
"""Default limit of fetched, unconsumed data of all partitions."""


class FetchManager:
    def __init__(
        self,
        config: ConsumerConfig,
        leaders: Leaders,
        rng: Random,
        report: Callable[[Report], None],
        prefetch_bytes: int = PREFETCH_BYTES,
    ) -> None:
        self._config = config
        self._leaders = leaders
        self._reports = PartitionReports(config, leaders, rng, report)
        self._check = PositionCheck(config, leaders, self._reports, self._return_data)
        self._former_topics = FormerTopics(leaders, self._reports)
        self._prefetch_bytes = prefetch_bytes
        self._isolation_level = int(config.isolation_level == "read_committed")
        self._partitions: dict[TopicPartition, FetchState] = {}
        self._topics: dict[str, int] = {}
        """Number of partitions of each topic."""
        self._held_bytes = 0
        """Unconsumed bytes of all partitions."""
        self._suspended: dict[TopicPartition, FetchState] = {}
        """States of partitions whose position is being queried."""
        self._is_all_waiting = False
        """Whether the last poll found no partition to fetch; valid until a partition changes."""
        self._requests = FetchRequests(config, leaders, self._on_answer)
        self._pace = FetchPace(config, rng)
        self._close: SessionsClose | None = None
        self.fetches = self.throttle_time_ms = self.throttle_time_max_ms = 0
        self.wants_room = False
        """Whether the last poll would have fetched more with more memory."""

    # --- what the application decided -------------------------------------------------------------------------------

    def start(self, event: StartFetch) -> None:
        """Start to fetch from an offset; earlier data and requests of the partition are ignored from then on.

        Ignores duplicate events, which follow a KeyboardInterrupt.
        """
        before = self._partitions.get(event.topic_partition)
        if before is not None and before.epoch == event.epoch:
            return
        state = FetchState(*event[1:])
        if before is not None:
            state.node_id = before.node_id
            state.follower_id, state.follower_until_ms = before.follower_id, before.follower_until_ms
            state.leader_only_until_ms = before.leader_only_until_ms
            if state.node_id is not None:
                self._reports.restarted(state.node_id)
        repeated = self._remove(event.topic_partition) or self._suspended.pop(event.topic_partition, None)
        if repeated is not None and repeated.next_offset == event.offset:  # the same fetch again keeps its backoff
            state.read_id = repeated.read_id
            state.attempts, state.retry_at_ms = repeated.attempts, repeated.retry_at_ms
        self._partitions[event.topic_partition] = state
        topic = event.topic_partition.topic
        self._topics[topic] = self._topics.get(topic, 0) + 1
        self._is_all_waiting = False
        self._reports.at_its_end(event.topic_partition, state)

    def forget(self, topic_partition: TopicPartition) -> None:
        self._remove(topic_partition)
        self._suspended.pop(topic_partition, None)

    def _remove(self, topic_partition: TopicPartition) -> FetchState | None:
        state = self._partitions.pop(topic_partition, None)
        if state is None:
            return None
        self._held_bytes -= state.buffered_bytes
        topic = topic_partition.topic
        self._topics[topic] -= 1
        if not self._topics[topic]:
            del self._topics[topic]
        self._requests.change(state.node_id)
        return state

    def suspend(self, topic_partition: TopicPartition) -> None:
        """Stop fetching until a position is found; if it has the same offset, the partition keeps its backoff."""
        state = self._remove(topic_partition)
        if state is not None:
            self._suspended[topic_partition] = state

    def set_paused(self, topic_partition: TopicPartition, paused: bool) -> None:
        state = self._partitions.get(topic_partition)
        if state is not None:
            state.paused = paused
            state.is_return_requested = False
            self._is_all_waiting = False
            self._requests.change(state.node_id)

    def consumed(self, topic_partition: TopicPartition, epoch: int, next_offset: int) -> None:
        state = self._partitions.get(topic_partition)
        if state is not None and state.epoch == epoch:
            self._held_bytes -= state.consumed(next_offset)

    def stop(self, now_ms: int, deadline_at_ms: int) -> None:
        fetching, timeout_ms = frozenset(self._requests.in_flight), self._config.request_timeout_ms
        self._close = SessionsClose(
            self._requests.sessions, self._leaders, fetching, timeout_ms, now_ms=now_ms, deadline_at_ms=deadline_at_ms
        )

    def is_stopped(self, now_ms: int) -> bool:
        return self._close is not None and self._close.is_over(now_ms)

    def ids_of(self, topic_partitions: Iterable[TopicPartition]) -> dict[str, bytes]:
        states = ((tp, self._partitions.get(tp) or self._suspended.get(tp)) for tp in topic_partitions)
        return self._former_topics.ids_of(states)

    @property
    def topics(self) -> Iterable[str]:
        return self._topics

    # --- requests ---------------------------------------------------------------------------------------------------

    def poll(self, now_ms: int) -> Poll:
        if self._close is not None:
            return self._close.poll(now_ms)
        to_fetch: dict[int, list[Entry]] = {}
        to_check: dict[int, list[Entry]] = {}
        left_out: dict[int, None] = {}
        deadline_at_ms = FOREVER_MS
        most_bytes = self._config.max_partition_fetch_bytes
        held_bytes_at_most = held_while_fetching(most_bytes, len(self._partitions), self._prefetch_bytes)
        self._end_outdated()
        is_all_waiting = True
        for tp, state in () if self._is_all_waiting else self._partitions.items():
            if state.node_id is not None or state.paused or state.stopped or state.is_at_its_end:
                continue
            is_all_waiting = False
            if (retry_at_ms := self._reports.retry_at_ms(state, now_ms)) > now_ms:
                deadline_at_ms = min(deadline_at_ms, retry_at_ms)
                continue
            info = self._leaders.find(tp)
            if info is None:
                self._reports.no_leader(tp, state, now_ms)
                continue
            if self._former_topics.has(tp, state):
                continue
            if PositionCheck.is_due(state, info):
                to_check.setdefault(info.leader_id, []).append(Entry(tp, state, info))
                continue
            node_id = state.node_to_read(info, self._leaders.has_node, now_ms)
            if state.buffered_bytes > held_bytes_at_most:
                left_out[node_id] = None
            elif (next_at_ms := self._pace.next_at_ms(node_id)) > now_ms:
                deadline_at_ms = min(deadline_at_ms, next_at_ms)
            elif node_id not in self._requests.in_flight:
                to_fetch.setdefault(node_id, []).append(Entry(tp, state, info))
        requests: list[Outgoing] = []
        self._is_all_waiting = is_all_waiting
        self.wants_room = bool(left_out)
        deadline_at_ms = min(deadline_at_ms, drop_quiet(to_fetch, left_out, now_ms))
        is_due_again = self._add_checks(requests, to_check)
        is_due_again |= self._join_idle(to_fetch)
        is_due_again |= self._add_fetches(requests, to_fetch, left_out, now_ms)
        deadline_at_ms = min(deadline_at_ms, self._add_repeats(requests, left_out, now_ms))
        deadline_at_ms = min(
            deadline_at_ms, self._reports.report_overdue(self._requests.in_flight, self._partitions, now_ms)
        )
        return Poll(requests, now_ms if is_due_again else deadline_at_ms)

    def _add_checks(self, requests: list[Outgoing], to_check: dict[int, list[Entry]]) -> bool:
        is_due_again = False
        for node_id, entries in to_check.items():
            if not self._leaders.is_ready(node_id):
                self._reports.not_ready(node_id, entries)
            elif (request := self._check.request(node_id, entries)) is not None:
                requests.append(request)
            else:
                is_due_again = True
        return is_due_again

    def _add_fetches(
        self, requests: list[Outgoing], to_fetch: dict[int, list[Entry]], left_out: dict[int, None], now_ms: int
    ) -> bool:
        """Add a fetch for each ready node within the memory limit; return whether to poll again immediately.

        Nodes share the memory in proportion to their partitions. Each gets at least half its share or the maximum of
        one partition, because brokers send whole batches even for smaller limits.
        """
        is_due_again = is_out_of_room = False
        fetchable = self._requests.partitions + sum(map(len, to_fetch.values())) if to_fetch else 0
        for node_id, entries in to_fetch.items():
            if not self._leaders.is_ready(node_id):
                is_due_again |= self._not_ready(node_id, entries, now_ms)
                continue
            room = self._room(len(entries), fetchable)
            if room is None:
                is_out_of_room = True
            else:
                requests.append(self._requests.fetch(node_id, entries, room, now_ms, is_short=node_id in left_out))
        if is_out_of_room:
            self.wants_room = True
            self._reports.request_return(self._partitions, self._prefetch_bytes)
        return is_due_again

    def _room(self, partitions: int, fetchable: int) -> int | None:
        share = max(1, self._prefetch_bytes * partitions // max(1, fetchable))
        least = min(self._config.max_partition_fetch_bytes, share // 2)
        used = self._held_bytes + self._requests.reserved_bytes
        room = min(share, self._prefetch_bytes - used)
        return None if used > 0 and room < max(1, least) else room

    def _add_repeats(self, requests: list[Outgoing], left_out: dict[int, None], now_ms: int) -> int:
        next_at_ms = FOREVER_MS
        for node_id, fetch in list(self._requests.idle.items()):
            at_ms = self._pace.next_at_ms(node_id)
            if at_ms > now_ms:
                next_at_ms = min(next_at_ms, at_ms)
                continue
            room = self._room(len(fetch.epochs), self._requests.partitions)
            if room is None or not self._leaders.is_ready(node_id):
                self._end_idle(node_id)
                next_at_ms = now_ms
                continue
            requests.append(self._requests.repeat(node_id, room, now_ms, is_short=node_id in left_out))
        return next_at_ms

    def _end_outdated(self) -> None:
        for node_id in self._requests.outdated():
            self._end_idle(node_id)

    def _join_idle(self, to_fetch: dict[int, list[Entry]]) -> bool:
        joined = self._requests.idle.keys() & to_fetch.keys()
        for node_id in joined:
            del to_fetch[node_id]  # fetched with the others in the next poll
            self._end_idle(node_id)
        return bool(joined)

    def _end_idle(self, node_id: int) -> None:
        self._return_data(self._requests.idle.pop(node_id).epochs, node_id)

    # --- answers ----------------------------------------------------------------------------------------------------

    def _return_data(self, epochs: Mapping[TopicPartition, int], node_id: int) -> dict[TopicPartition, FetchState]:
        """Mark the partitions of a finished request as not in flight; return those whose epoch still matches."""
        self._is_all_waiting = False
        asked = {}
        for tp, epoch in epochs.items():
            state = self._partitions.get(tp)
            if state is not None and state.node_id == node_id:
                state.node_id = None
                if state.epoch == epoch:
                    asked[tp] = state
                    if state.is_overdue:
                        self._reports.responded(tp, state)
        return asked

    def _on_answer(self, node_id: int, answer: Answer) -> None:
        fetch = self._requests.in_flight.pop(node_id)
        session = self._requests.sessions.of(node_id)
        response = answer.response
        if not isinstance(response, FetchResponse):
            asked = self._return_data(fetch.epochs, node_id)
            session.failed()
            error = answer.error or RemoteProtocolError("no response to the Fetch request", api="Fetch")
            self._on_failure(asked, node_id, error, answer.received_at_ms)
            return
        session.answered(response)
        self.fetches += 1
        self.throttle_time_ms += response.throttle_time_ms
        self.throttle_time_max_ms = max(self.throttle_time_max_ms, response.throttle_time_ms)
        is_early = answer.received_at_ms + response.throttle_time_ms < fetch.early_before_ms
        if not self._reports.is_overdue(node_id, fetch) and self._requests.keep(node_id, fetch, response):
            self._pace.on_response(node_id, answer.received_at_ms, is_early_and_empty=is_early)
            return
        asked = self._return_data(fetch.epochs, node_id)
        if response.error_code != ErrorCode.NONE:
            if session.is_full or response.error_code not in SESSION_ERRORS:  # all is requested again, in full
                error = broker_error(response.error_code, f"fetch from {self._leaders.name_of(node_id)}")
                self._on_failure(asked, node_id, error, answer.received_at_ms)
            return
        if session.is_full and response.throttle_time_ms > 0 and not response.responses:
            return  # throttled responses to a full fetch are empty. Source: KIP-219.
        has_news = False
        requested = tuple(asked) if session.is_full else None
        items = each_once(session.partitions_in(response), requested, "Fetch", self._leaders.name_of(node_id))
        news = self._leaders.learn(_named_leaders(items, asked), response.node_endpoints)
        for tp, data in items.items():
            state = asked.pop(tp, None)
            if state is not None and isinstance(data, PartitionData):
                has_news = has_news or is_news(data, state.next_offset)
                self._on_partition(tp, state, node_id, data, tp in news, answer.received_at_ms)
            elif state is not None and isinstance(data, KafkaError):
                self._reports.retry(tp, state, data, answer.received_at_ms)
        self._pace.on_response(node_id, answer.received_at_ms, is_early_and_empty=is_early and not has_news)
        for tp, state in asked.items():
            self._on_nothing(tp, state, answer.received_at_ms)

    def _on_partition(
        self,
        tp: TopicPartition,
        state: FetchState,
        node_id: int,
        data: PartitionData,
        has_newer: bool,
        now_ms: int,
    ) -> None:
        if data.error_code != ErrorCode.NONE:
            self._on_error(tp, state, node_id, data, has_newer or self._knows_newer(tp, state, data), now_ms)
            return
        if data.diverging_epoch.end_offset >= 0:
            self._reports.truncated(tp, state, data.diverging_epoch.end_offset, data.diverging_epoch.epoch)
            return
        state.high_watermark, state.last_stable_offset = data.high_watermark, data.last_stable_offset
        if data.preferred_read_replica >= 0 and data.preferred_read_replica != node_id:
            state.follower_id = data.preferred_read_replica
            state.follower_until_ms = now_ms + self._config.metadata_max_age_ms
            if not self._leaders.has_node(data.preferred_read_replica):
                self._leaders.refresh()
                state.back_to_leader(now_ms)
        if data.records:
            self._on_records(tp, state, data, FrameSlice.of(data.records), now_ms)
            self._partitions[tp] = self._partitions.pop(tp)  # to the end of the order
        else:
            self._on_nothing(tp, state, now_ms)

    def _on_nothing(self, tp: TopicPartition, state: FetchState, now_ms: int) -> None:
        state.attempts = 0
        state.checked_epoch = state.asked_epoch
        offset = state.next_offset
        if state.last_stable_offset == offset < state.high_watermark and self._isolation_level:
            state.quiet_until_ms = now_ms + QUIET_MS
            self._reports.wait(tp, state, f"an open transaction begins at offset {offset}", WaitKind.OPEN_TRANSACTION)
        elif offset >= state.high_watermark:
            state.quiet_until_ms = now_ms + QUIET_MS
            self._reports.wait(tp, state, f"reached the end of the partition, offset {offset}", WaitKind.AT_END)

    def _on_records(
        self, tp: TopicPartition, state: FetchState, data: PartitionData, records: FrameSlice, now_ms: int
    ) -> None:
        fetch_offset = state.next_offset
        walk = walk_batches(records.frame, fetch_offset, records.start, records.end)
        whole_bytes = walk.end - records.start
        if whole_bytes > 0 and walk.next_offset <= fetch_offset:
            self._reports.fail(tp, state, no_progress(tp, fetch_offset, whole_bytes), now_ms)
            return
        if whole_bytes > 0:
            aborted = None
            if self._isolation_level:
                touching = data.aborted_transactions or ()
                aborted = tuple(AbortedTransaction(each.producer_id, each.first_offset) for each in touching)
            kept = FrameSlice(records.frame, records.start, walk.end if walk.damage else records.end).compact()
            state.attempts = 0
            state.checked_epoch = state.asked_epoch
            state.next_offset = walk.next_offset
            state.bytes_per_offset = whole_bytes / max(1, walk.next_offset - fetch_offset)
            state.fetched_epoch = walk.leader_epoch
            state.buffer(walk.next_offset, len(kept))
            self._held_bytes += len(kept)
            self._reports.wait(tp, state, "")
            self._reports.at_its_end(tp, state)
            self._reports.report(
                Fetched(
                    FetchedChunk(
                        topic_partition=tp,
                        epoch=state.epoch,
                        fetch_offset=fetch_offset,
                        next_offset=walk.next_offset,
                        buffer=kept.frame,
                        start=kept.start,
                        end=kept.end,
                        aborted_transactions=aborted,
                        check_crcs=self._config.check_crcs,
                        high_watermark=data.high_watermark,
                        log_start_offset=data.log_start_offset,
                        last_stable_offset=data.last_stable_offset,
                        leader_epoch=walk.leader_epoch,
                    )
                )
            )
        damage = walk.damage or ("the response contains no complete batch" if whole_bytes == 0 else "")
        if damage:
            resume_offset = base_offset_behind(bytes(records), whole_bytes)
            error = corrupt_batch(tp, state.next_offset, damage, whole_bytes, resume_offset)
            self._reports.fail(tp, state, error, now_ms)

    # --- what goes wrong --------------------------------------------------------------------------------------------

    def _on_failure(
        self, asked: dict[TopicPartition, FetchState], node_id: int, error: KafkaError, now_ms: int
    ) -> None:
        for tp, state in asked.items():
            if state.follower_id == node_id:
                state.back_to_leader(now_ms)
                self._reports.wait(tp, state, str(error), WaitKind.REFUSED, error)
            else:
                self._reports.retry(tp, state, error, now_ms)

    def _on_error(
        self,
        tp: TopicPartition,
        state: FetchState,
        node_id: int,
        data: PartitionData,
        has_newer: bool,
        now_ms: int,
    ) -> None:
        error = broker_error(data.error_code, f"fetch {tp} from offset {state.next_offset}")
        is_out_of_range = data.error_code == ErrorCode.OFFSET_OUT_OF_RANGE
        if state.follower_id == node_id and (is_out_of_range or FETCH.is_retried(error)):
            # A follower may be behind: a missing offset does not make the position invalid.
            state.back_to_leader(now_ms)
            self._leaders.refresh()
            self._reports.wait(tp, state, str(error), WaitKind.REFUSED, error)
        elif has_newer:
            self._leaders.refresh()
            self._reports.wait(tp, state, str(error), WaitKind.REFUSED, error)
        elif is_out_of_range and state.fetched_epoch > NO_EPOCH:
            # The broker may not know the epoch of the last record: fetch again without it.
            state.fetched_epoch = NO_EPOCH
        elif data.error_code == ErrorCode.CORRUPT_MESSAGE:
            self._reports.fail(tp, state, error, now_ms)
        else:
            self._reports.retry(tp, state, error, now_ms)

    def _knows_newer(self, tp: TopicPartition, state: FetchState, data: PartitionData) -> bool:
        if data.error_code not in (ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.FENCED_LEADER_EPOCH):
            return False
        info = self._leaders.find(tp)
        return info is not None and info.leader_epoch > state.asked_epoch

    def _not_ready(self, node_id: int, entries: list[Entry], now_ms: int) -> bool:
        """Report that partitions wait for a connection, or return to the leader from an unreachable follower.

        Returns: whether a partition returned to its leader.
        """
        at_follower = [entry for entry in entries if entry.state.follower_id == node_id]
        if not at_follower or self._leaders.why_not_ready(node_id) is None:
            self._reports.not_ready(node_id, entries)
            return False
        for entry in at_follower:
            entry.state.back_to_leader(now_ms)
        return True


def _named_leaders(
    items: Mapping[TopicPartition, PartitionData | KafkaError], asked: Mapping[TopicPartition, FetchState]
) -> dict[TopicPartition, NamedLeader]:
    named: dict[TopicPartition, NamedLeader] = {}
    for tp, data in items.items():
        if isinstance(data, PartitionData) and data.error_code != ErrorCode.NONE and tp in asked:
            leader = data.current_leader
            if leader.leader_id >= 0 and leader.leader_epoch > asked[tp].asked_epoch:
                named[tp] = NamedLeader(leader.leader_id, leader.leader_epoch)
    return named
