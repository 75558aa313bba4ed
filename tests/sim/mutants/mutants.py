"""The planted bugs: one replacement of text each. A text that is gone or changed makes its mutant an error."""

from typing import NamedTuple

_CONSUMER = "kctl/client/consumer"
_FETCH = f"{_CONSUMER}/fetch"
_GROUP = f"{_CONSUMER}/group"
_CLASSIC = f"{_GROUP}/classic_membership.py"
_RECONCILIATION = f"{_GROUP}/reconciliation.py"
_KIP_848 = f"{_GROUP}/consumer_membership.py"


class Mutant(NamedTuple):
    """One bug: in the file at `path`, `old` becomes `new`; `also`: replacements in other files, (path, old, new)."""

    name: str
    path: str
    old: str
    new: str
    also: tuple[tuple[str, str, str], ...] = ()

    @property
    def replacements(self) -> tuple[tuple[str, str, str], ...]:
        """Every replacement, each (path, old, new)."""
        return ((self.path, self.old, self.new), *self.also)


REFUSED_FOR_GOOD = (
    "kctl/client/network/cluster_connection_states.py",
    "return record.state in _WITHOUT_CONNECTION and now_ms >= record.may_connect_at_ms",
    "return record.state is NodeState.DISCONNECTED and now_ms >= record.may_connect_at_ms",
)
_DAMAGE_REFUSES = (
    "kctl/client/network/network_client.py",
    "lost = error if error.retriable else connect_errors.broken(connection.target, error)",
    "lost = error",
)

MUTANTS: tuple[Mutant, ...] = (
    Mutant("a node that refused is never dialled again", *REFUSED_FOR_GOOD),
    Mutant("a damaged frame is a refusal", *_DAMAGE_REFUSES),
    Mutant(
        "a silent connection that is replaced stays open",
        "kctl/client/network/dialer.py",
        'self._channels.close(replaced, "the server did not respond, so the client opened another connection")',
        "pass",
    ),
    Mutant(
        "a refusal fails clients that were accepted",
        "kctl/client/network/refusals.py",
        "if self._is_given_by_broker or any(",
        "if any(",
    ),
    Mutant(
        "a leader that refuses fails its partitions in each poll",
        f"{_FETCH}/reports.py",
        "        for tp, state, _ in entries:\n            self.wait(",
        "        for tp, state, _ in entries:\n            if error is not None and not error.retriable:\n"
        "                state.stopped = True\n"
        "                self.report(PartitionFailed(tp, state.epoch, state.next_offset, error))\n"
        "                continue\n            self.wait(",
    ),
    Mutant(
        "stale events are current",
        f"{_CONSUMER}/subscription.py",
        "return state if state is not None and state.epoch == epoch else None",
        "return state",
    ),
    Mutant(
        "stale fetches count",
        f"{_FETCH}/manager.py",
        "                if state.epoch == epoch:",
        "                if True:",
    ),
    Mutant(
        "paused partitions deliver",
        f"{_CONSUMER}/fetched_data.py",
        " and not self._subscription.state(tp).paused:",
        ":",
    ),
    Mutant(
        "commits one too far",
        f"{_GROUP}/application_side.py",
        "OffsetAndMetadata(state.position, ",
        "OffsetAndMetadata(state.position + 1, ",
    ),
    Mutant(
        "waits past its deadline",
        f"{_CONSUMER}/mailbox.py",
        "min(timer.deadline_at_ms, until_ms)",
        "min(timer.deadline_at_ms + 3, until_ms)",
    ),
    Mutant("nobody is woken", f"{_CONSUMER}/network_loop.py", "            self._has_news = True", "            pass"),
    Mutant(
        "joins before it let go",
        _CLASSIC,
        "        if not self._reports.is_applied:\n            return Poll([])\n        if self._owned",
        "        if self._owned",
    ),
    Mutant("eager keeps its partitions", _CLASSIC, "if self._owned and not self._is_cooperative:", "if False:"),
    Mutant("never gives up", f"{_GROUP}/membership.py", "now_ms >= self._liveness.expires_at_ms:", "False:"),
    Mutant(
        "a lost member keeps its partitions",
        _CLASSIC,
        "        if self._reports.held:\n            self._change((), is_lost=True, is_complete=False)\n",
        "",
    ),
    Mutant(
        "says that it gave up what it still reads",
        _RECONCILIATION,
        "return self._applied if self._reports.is_applied else united(self._applied, self.reported or {})",
        "return self.reported or {}",
    ),
    Mutant(
        "keeps what the group took", _RECONCILIATION, "            self._send({}, is_lost=True)", "            pass"
    ),
    Mutant(
        "lost coordinator stays",
        "kctl/client/requests/coordinator.py",
        "        self._node = None\n        self.is_recheck_pending = False",
        "        self.is_recheck_pending = False",
    ),
    Mutant(
        "goes back too far in a cut log",
        f"{_CONSUMER}/fetched_data.py",
        "self._subscription.rewind(tp, event.end_offset, event.leader_epoch)",
        "self._subscription.rewind(tp, event.end_offset // 2, event.leader_epoch)",
    ),
    Mutant(
        "a pattern waits for metadata",
        f"{_GROUP}/classic_generation.py",
        "            metadata.request_update()",
        "            pass",
    ),
    Mutant(
        "an old goodbye counts",
        f"{_GROUP}/membership.py",
        "            self._leave = None  # result of an earlier subscription",
        "            pass",
    ),
    Mutant(
        "callers of a closed loop wait",
        "kctl/client/loop/client_loop.py",
        "                steps.callback(self._client.close)\n",
        "                pass\n",
    ),
    Mutant(
        "a wakeup comes twice",
        f"{_CONSUMER}/mailbox.py",
        "            self._is_woken = False\n            raise WakeupError",
        "            raise WakeupError",
    ),
    Mutant(
        "commits at their end forget to answer",
        f"{_GROUP}/commits.py",
        "            self._report(CommitDone(commit.event.commit_id, error))",
        "            pass",
    ),
    Mutant(
        "old positions are committed to a new topic",
        f"{_GROUP}/commits.py",
        "return topic_ids if has_all and speaks_ids else NO_IDS",
        "return NO_IDS",
    ),
    Mutant(
        "a new topic is read under the name of the old one",
        "kctl/client/requests/leaders.py",
        "if topic_id in (NO_TOPIC_ID, known) or known == NO_TOPIC_ID:",
        "if True:",
    ),
    Mutant(
        "heartbeats four times too rare",
        f"{_GROUP}/timers.py",
        "        self._is_in_flight = True\n        self._due_at_ms = now_ms + self._interval_ms",
        "        self._is_in_flight = True\n        self._due_at_ms = now_ms + 4 * self._interval_ms",
    ),
    Mutant(
        "joins that the group asks for have no back-off",
        f"{_GROUP}/timers.py",
        "if self._asked_again > AT_ONCE:",
        "if False:",
    ),
    Mutant(
        "a static leader that restarts trusts the assignment of its former process",
        _CLASSIC,
        "elif self._rebalance.is_incomplete:",
        "elif False:",
    ),
    Mutant("refused joins have no back-off", f"{_GROUP}/timers.py", "self._is_refused = True", "pass"),
    Mutant(
        "records are handed out after the session",
        f"{_GROUP}/application_side.py",
        "return self.subscribed is None or self._clock.now_ms() < self._session_until_ms",
        "return True",
    ),
    Mutant(
        "a refused commit takes nothing away",
        _KIP_848,
        "        if code in UNKNOWN:\n            self._lose(Loss(str(error), error))\n"
        "            self._join(str(error))\n            self._may_be_member = True\n        elif",
        "        if",
    ),
    Mutant(
        "a wake-up that the poll before a deadline reads is lost",
        f"{_CONSUMER}/network_loop.py",
        "            if self._mailbox.awake():  # this poll may have read the wake-up for new events\n"
        "                self._take()\n",
        "",
    ),
    Mutant(
        "a poll that began before its subscription does not join",
        f"{_GROUP}/coordinator_client.py",
        "        if self._is_polled:  # the poll began while the subscription waited for commits\n"
        "            self.membership.poll_began()\n",
        "",
    ),
    Mutant(
        "a commit refused during a join ends the membership",
        f"{_GROUP}/commits.py",
        "        is_outdated = code in OUTDATED and self._membership.is_joining",
        "        is_outdated = False",
    ),
    Mutant(
        "a commit before the close is not retried",
        f"{_CONSUMER}/close.py",
        "        group.commits.insist(now_ms)\n",
        "",
    ),
    Mutant(
        "positions of a former topic are read in the present one",
        f"{_FETCH}/former_topics.py",
        "        self._reports.truncated(tp, state, -1, NO_EPOCH, is_recreated=True)\n        return True\n",
        "        return False\n",
    ),
    Mutant(
        "responses without progress count as data",
        f"{_FETCH}/manager.py",
        "if whole_bytes > 0 and walk.next_offset <= fetch_offset:",
        "if False:",
    ),
    Mutant(
        "empty responses that come early are not counted",
        f"{_FETCH}/progress.py",
        "if early >= EARLY_RESPONSES:",
        "if False:",
    ),
    Mutant(
        "a loop counts as given all that was polled",
        f"{_CONSUMER}/consumer.py",
        "                result.given += 1",
        "                result.given = result.count",
    ),
    Mutant(
        "a poll counts as given before it returns",
        f"{_CONSUMER}/fetched_data.py",
        "            if run.end <= result.given:",
        "            if run.end <= result.given or not result.is_one_by_one:",
    ),
    Mutant(
        "an event leaves its queue before it is taken",
        f"{_CONSUMER}/mailbox.py",
        "            self._handle(self.reports[0])\n            self.reports.popleft()",
        "            self._handle(self.reports.popleft())",
    ),
    Mutant(
        "a group does not commit where a partition begins",
        "kctl/cli/consume/group_reading.py",
        "        self._uncommitted[tp] = offset\n",
        "",
    ),
    Mutant(
        "a reading ends where its offsets are gone",
        "kctl/cli/consume/reading.py",
        "            self._continue_after(error)\n            return None",
        "            raise",
    ),
)
