"""The bugs planted in the producer: one replacement of text each, found by the seeds of producers."""

from tests.sim.mutants.mutants import REFUSED_FOR_GOOD, Mutant

_PRODUCER = "kctl/client/producer"
_TRANSACTIONS = f"{_PRODUCER}/transactions/transactions.py"
_TRANSACTION_WORK = f"{_PRODUCER}/transactions/work.py"

PRODUCER_MUTANTS: tuple[Mutant, ...] = (
    Mutant(
        "metadata waits for a slot that Produce has",
        "kctl/client/network/node_choice.py",
        "if entry.connection is not None and now_ms >= entry.throttled_until_ms]",
        "if entry.connection is not None and len(entry.connection.in_flight) < 5]",
        ((f"{_PRODUCER}/sender.py", "        self._client.send_due_requests(now_ms)\n", ""),),
    ),
    Mutant("a node that refused a producer is never dialled again", *REFUSED_FOR_GOOD),
    Mutant(
        "the learned limit of a batch never grows",
        f"{_PRODUCER}/batch_limit.py",
        "        if self._successes < self._wanted_successes:\n",
        "        if self._successes:\n",
    ),
    Mutant(
        "a refusal is taken for an acknowledgement",
        f"{_PRODUCER}/produce_responses.py",
        "answer.error_code == ErrorCode.NONE:",
        "answer.error_code in (ErrorCode.NONE, ErrorCode.NOT_ENOUGH_REPLICAS):",
    ),
    Mutant(
        "a leader that steps down has written nothing",
        f"{_PRODUCER}/produce_responses.py",
        "_NOT_WRITTEN - _LOST_WHILE_WAITING if request.acks == _ACKS_ALL else _NOT_WRITTEN",
        "_NOT_WRITTEN",
    ),
    Mutant(
        "a lost answer is a certain failure",
        f"{_PRODUCER}/batch_sender.py",
        "no_response(answer.error, was_sent=answer.was_sent)",
        "no_response(answer.error, was_sent=False)",
    ),
    Mutant(
        "an answer that cannot be read is a certain failure",
        f"{_PRODUCER}/batch_sender.py",
        "no_response(answer.error, was_sent=answer.was_sent)",
        "no_response(answer.error.__cause__ or answer.error, was_sent=answer.error.__cause__ is None)",
    ),
    Mutant(
        "numbers of a batch that may be written are used again",
        f"{_PRODUCER}/partition_queue.py",
        "        if batch.may_be_written:\n            self.has_gap = True",
        "        if False:\n            self.has_gap = True",
    ),
    Mutant(
        "two batches go to a broker that does not know the producer",
        f"{_PRODUCER}/partition_queue.py",
        "not self.sequence.is_proven or ",
        "",
    ),
    Mutant(
        "a waiting record gets in front when its partition is served",
        f"{_PRODUCER}/accumulator.py",
        "        if batch is None:\n            return self.freeze(queue)",
        "        if batch is None or queue.runs:\n            return self.freeze(queue)",
    ),
    Mutant(
        "expired records are sent all the same",
        f"{_PRODUCER}/accumulator.py",
        "            self._cut_again(queue, batch)",
        "            pass",
    ),
    Mutant(
        "a record expires five milliseconds late",
        f"{_PRODUCER}/batch.py",
        "return self.runs[self._next_expiry].created_at_ms + delivery_timeout_ms",
        "return self.runs[self._next_expiry].created_at_ms + delivery_timeout_ms + 5",
    ),
    Mutant(
        "records that failed before the program ends are lost in silence",
        f"{_PRODUCER}/delivery_tracker.py",
        "records += group.outstanding + unhandled",
        "records += group.outstanding",
    ),
    Mutant(
        "the end of the program delivers nothing",
        "kctl/client/loop/at_exit.py",
        "min(self._limit_ms, most_ms)",
        "min(self._limit_ms, 0)",
    ),
    Mutant(
        "flush waits for the newest records alone",
        f"{_PRODUCER}/delivery_tracker.py",
        "any(group.outstanding for group, _ in self._flushes[0].groups)",
        "self._flushes[0].last.outstanding",
    ),
    Mutant(
        "flush keeps failures to itself",
        f"{_PRODUCER}/delivery_tracker.py",
        "flush.mark.finish(UndeliveredError(failed, error) if error is not None else None)",
        "flush.mark.finish(None)",
    ),
    Mutant(
        "one of several flushes tells of a failure",
        f"{_PRODUCER}/delivery_tracker.py",
        "for group, first in flush.groups:",
        "for group, first in [(group, len(group.failures) - 1) for group, _ in flush.groups]:",
    ),
    Mutant(
        "a stopped process is a callback that holds the loop up",
        "kctl/client/loop/mailbox.py",
        "if is_last_look or now_ms - deadline_at_ms < SUSPEND_THRESHOLD_MS:",
        "if True:",
    ),
    Mutant(
        "close calls failed what is unknown",
        f"{_PRODUCER}/batch.py",
        "return Outcome(error=error, is_unknown=self.is_unknown)",
        "return Outcome(error=error, is_unknown=False)",
    ),
    Mutant(
        "close calls records of an aborted transaction delivered",
        f"{_PRODUCER}/delivery_tracker.py",
        "        if not is_aborted:\n",
        "        if True:\n",
    ),
    Mutant(
        "close takes three milliseconds more",
        f"{_PRODUCER}/sender.py",
        "now_ms >= request.deadline_at_ms:",
        "now_ms >= request.deadline_at_ms + 3:",
    ),
    Mutant(
        "answers count after a close in a callback",
        f"{_PRODUCER}/batch_sender.py",
        "if not self.is_over and _is_current(",
        "if _is_current(",
    ),
    Mutant(
        "failed records keep their memory",
        f"{_PRODUCER}/delivery_tracker.py",
        "        self._memory.release(size_bytes)",
        "        self._memory.release(size_bytes if outcome.error is None else 0)",
    ),
    Mutant(
        "a send that is refused at the end keeps its memory",
        f"{_PRODUCER}/producer.py",
        "            record.holds_memory = True\n            self._memory.withdraw(record)\n",
        "",
    ),
    Mutant(
        "who waits for memory is not woken",
        f"{_PRODUCER}/buffer_memory.py",
        "        assert self._released <= self._acquired\n        self._wake_first()",
        "        assert self._released <= self._acquired",
    ),
    Mutant(
        "rows have their deadline from the call on and not from their acceptance",
        f"{_PRODUCER}/producer.py",
        "run.created_at_ms = self._clock.start_ms()",
        "run.created_at_ms = timer.start_at_ms",
    ),
    Mutant(
        "a line is lost where a batch ends before it",
        f"{_PRODUCER}/given_rows.py",
        "            yield RecordRun(future.topic, partition, rows, future, 0, size_bytes)\n            at = end\n",
        "            yield RecordRun(future.topic, partition, rows, future, 0, size_bytes)\n"
        "            at = packed.encoded_from(end, self._room_bytes, 1)[2] if end < packed.behind else end\n",
    ),
    Mutant(
        "rows that are put together by partition get the timestamps of others",
        "kctl/client/records/_hot/rows.py",
        "[self.timestamps_ms[row] for row in rows]",
        "self.timestamps_ms[: len(rows)]",
    ),
    Mutant(
        "a run that is cut keeps the memory of all its rows",
        f"{_PRODUCER}/record_run.py",
        "        self.size_bytes -= head.size_bytes\n",
        "",
    ),
    Mutant(
        "the future of columns takes unknown for delivered",
        f"{_PRODUCER}/future.py",
        "        if outcome.error is None:\n            self.delivered += count",
        "        if outcome.error is None or outcome.is_unknown:\n            self.delivered += count",
    ),
    Mutant(
        "a commit does not wait for its records",
        _TRANSACTION_WORK,
        "                if not self._has_work:\n                    self._send_end(committed=True)",
        "                if not self._exchange.api:\n                    self._send_end(committed=True)",
    ),
    Mutant(
        "a transaction goes on without a lost record",
        _TRANSACTIONS,
        "            self.record_lost(outcome.error)",
        "            pass",
    ),
    Mutant(
        "an abort of the older protocol does not wait for what is on its way",
        _TRANSACTION_WORK,
        "if not self.identity.is_v2 and (self._records.has_in_flight or self.offsets.is_in_flight):",
        "if False:",
    ),
    Mutant(
        "an abort of version 2 keeps the place of batches whose records have expired",
        _TRANSACTION_WORK,
        "if not (self._records.outstanding or self._records.has_in_flight):",
        "if not self._records.outstanding:",
    ),
    Mutant(
        "an abort of version 1 leaves a gap in sequence numbers",
        _TRANSACTION_WORK,
        "            elif self._records.fail_waiting(error):\n                self.identity.need_epoch_after_end()",
        "            else:\n                self._records.fail_waiting(error)",
    ),
    Mutant(
        "a clock before 1970 is noticed by nobody",
        f"{_PRODUCER}/record.py",
        '    if not 0 <= timestamp_ms <= LAST_TIMESTAMP_MS:\n        raise ValueError(\n            f"the clock',
        '    if False:\n        raise ValueError(\n            f"the clock',
    ),
    Mutant(
        "produce does not say which line was not sent",
        "kctl/cli/produce/run.py",
        "        self._report_in_hand(result.delivered + not_delivered(result))\n",
        "",
    ),
    Mutant(
        "produce does not say how far it has read",
        "kctl/cli/produce/run.py",
        "if (last := self._last_read) is not None:",
        "if (last := self._last_read) is None and last:",
    ),
    Mutant(
        "produce reads on when records fail",
        "kctl/cli/produce/run.py",
        "return self._undelivered is None and self._outcomes.is_hopeless",
        "return False",
    ),
)
