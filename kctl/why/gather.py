"""Gatherer: reads a `Look` by read-only requests of an admin client, each with a share of the time that is left.

Owns the order of the requests and what is done without an answer: a broker that was silent once is not asked again, and
what is missing is a gap of the look. Keeps of configs what findings need. Shown by tests/sim/why/test_gather.py.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple, TypeVar

from kctl.client.admin import (
    EARLIEST,
    LATEST,
    MAX_TIMESTAMP,
    Admin,
    ConfigEntry,
    ConfigResource,
    GroupDescription,
    MetadataView,
    OffsetAndMetadata,
    OffsetAndTimestamp,
    RecordShape,
    RecordTime,
    ResourceType,
    Results,
)
from kctl.client.broker_errors import ErrorCode
from kctl.client.clock import Timer
from kctl.client.cluster import Node, PartitionInfo, TopicPartition
from kctl.client.errors import BrokerError, CorruptBatchError, KafkaError, RequestBudgetError
from kctl.client.runtime import Runtime
from kctl.client.wording import counted
from kctl.why.finding import NEWEST_TIMESTAMPS, PROBE
from kctl.why.look import ConfigValue, Expiring, Gap, GroupLook, Look
from kctl.why.looking import Looks, frozen_partitions
from kctl.why.probing import REQUESTS_EACH, Probed, probe
from kctl.why.throttles import Throttles

K = TypeVar("K")
V = TypeVar("V")

SHARE = 3
"""A request gets this part of the time that is left, so that one silent broker leaves time for the rest."""
MOST_STEP_MS = 10_000
RESERVE, RESERVE_EACH = 12, 8
"""Requests that are kept for what is read after the groups: in all, and for each broker."""
OLD_PERCENT = 90
"""A record that has reached this part of retention.ms is about to be deleted."""
NEIGHBOURS = 3
"""Records in front of one at which a group stands still, to compare it with."""
MOST_READ = 10
"""Partitions of which records are read."""
MOST_AGES = 1_000
"""The same where the age of each group's next record is wanted."""
MOST_TRANSACTIONS = 200
"""Transactional ids that are described."""
LEAST_STEP_MS = 50
"""With less left nothing is sent any more."""
TOPIC_CONFIGS = frozenset(
    {
        "cleanup.policy",
        "compression.type",
        "follower.replication.throttled.replicas",
        "leader.replication.throttled.replicas",
        "message.format.version",
        "message.timestamp.type",
        "min.insync.replicas",
        "retention.bytes",
        "retention.ms",
        "unclean.leader.election.enable",
    }
)
BROKER_CONFIGS = frozenset(
    {
        "follower.replication.throttled.rate",
        "leader.replication.throttled.rate",
        "auto.leader.rebalance.enable",
    }
)
"""The configs that are kept of a response; all others are dropped unread, those marked sensitive always."""


TIME_UP = "the time was up (--api-timeout)"
BUDGET_SPENT = "the budget of requests is spent (--budget)"


class Selection(NamedTuple):
    """What is looked at: groups and topics by name; None for all. The topics of a group belong to it."""

    groups: Sequence[str] | None = ()
    topics: Sequence[str] | None = ()
    has_brokers: bool = False
    """Whether disks, quorum and configs of brokers are looked at."""
    has_ages: bool = False
    """Whether the next record of each group is read, too: a group is that far behind in time."""


class Gatherer:
    """Reads looks.

    Args:
        admin: its calls are bounded by `timer`.
        timer: the time for all looks together.
        throttles: takes the events of `admin`.
        is_repeated: there will be a second look, which has to find half of the budget.
    """

    def __init__(
        self,
        admin: Admin,
        runtime: Runtime,
        timer: Timer,
        selection: Selection,
        throttles: Throttles | None = None,
        *,
        is_repeated: bool = False,
    ) -> None:
        self._throttles = throttles or Throttles()
        self._is_repeated = is_repeated
        self._admin = admin
        self._runtime = runtime
        self._clock = runtime.clock
        self._timer = timer
        self._selection = selection
        self._gaps: list[Gap] = []
        self._unreachable: dict[int, KafkaError] = {}

    def look(self, before: Look | None = None) -> Look:
        """Return what can be read in time.

        Args: before: an earlier look; what hardly changes is taken from it.
        Raises: KafkaError: no broker responds, or what was selected by name does not exist.
        """
        self._gaps = [] if before is None else [gap for gap in before.gaps if gap.request in _READ_ONCE]
        sent_before = self._admin.requests_sent
        look = Look(self._clock.wall_ms())
        cluster = self._admin.describe_cluster()
        look = look._replace(nodes=cluster.nodes, controller_id=cluster.controller_id)
        if self._selection.has_brokers:
            look = look._replace(probed=self._probed(look) if before is None else before.probed)
            look = self._with_brokers(look)
        look = look._replace(groups=self._groups(self._reserve(look, is_first=before is None)))
        look = self._with_topics(look)
        look = self._with_configs(look, before)
        look = self._with_offsets(look)
        look = self._with_expiring(look)
        look = self._with_records(look, before)
        look = self._with_open_transactions(look)
        return look._replace(
            unreachable=dict(self._unreachable),
            paused_ms=self._throttles.paused_ms(),
            gaps=tuple(self._gaps),
            requests=self._admin.requests_sent - sent_before,
        )

    # --- groups -------------------------------------------------------------------------------------------------------

    def _reserve(self, look: Look, *, is_first: bool) -> int:
        """Return how many requests of the budget are kept for what follows the groups, and for a second look."""
        left = self._admin.requests_left or 0
        return RESERVE + RESERVE_EACH * len(look.nodes) + (left // 2 if is_first and self._is_repeated else 0)

    def _groups(self, reserve: int) -> dict[str, GroupLook]:
        names = self._selection.groups
        if names is None:
            listed = self._ask("ListGroups", "the cluster", lambda s: self._admin.list_groups(timeout=s))
            names = [] if listed is None else list(listed.groups)
            for node, error in ({} if listed is None else listed.failed).items():
                self._gap("ListGroups", f"broker {node.node_id}", error)
        if not names:
            return {}
        described = self._each("DescribeGroups", lambda s: self._admin.describe_groups(names, timeout=s), names)
        found: dict[str, GroupLook] = {}
        for number, (group_id, description) in enumerate(described.items()):
            left = self._admin.requests_left
            if number and left is not None and left < reserve:
                self._gaps.append(
                    Gap("OffsetFetch", f"{counted(len(described) - number, 'group')}", None, BUDGET_SPENT)
                )
                break
            look = self._group(group_id, description)
            if look is not None:
                found[group_id] = look
        return found

    def _group(self, group_id: str, description: GroupDescription) -> GroupLook | None:
        what = f"group {group_id}"
        results = self._ask("OffsetFetch", what, lambda s: self._admin.list_group_offsets(group_id, timeout=s))
        if results is None:
            return None
        for error in list(results.failed.values())[:1]:
            self._gap("OffsetFetch", what, error)
        committed = {tp: each for tp, each in results.done.items() if not _is_of_mirror(each)}
        return GroupLook(description, committed)

    # --- topics -------------------------------------------------------------------------------------------------------

    def _with_topics(self, look: Look) -> Look:
        """Add the topics, and each broker's own metadata of them."""
        selected = self._selection.topics
        names: list[str] | None = None
        if selected is not None:
            names = sorted({*selected, *(topic for group in look.groups.values() for topic in group.topics)})
        views = self._views(look.nodes, names)
        look = look._replace(views=views)
        if names is None:
            listed = self._ask(
                "Metadata", "all topics", lambda s: self._admin.list_topics(include_internal=True, timeout=s)
            )
            return look._replace(topics={name: each.partitions for name, each in (listed or {}).items()})
        if not names:
            return look
        results = self._ask("Metadata", "topics", lambda s: self._admin.describe_topics(names, timeout=s))
        if results is None:
            return look
        for name in selected or ():
            if name in results.failed:
                raise results.failed[name]
        topics: dict[str, Mapping[int, PartitionInfo]] = {name: each.partitions for name, each in results.done.items()}
        return look._replace(topics=topics, missing_topics=results.failed)

    def _views(self, nodes: Sequence[Node], names: list[str] | None) -> dict[int, MetadataView]:
        asked = [node.node_id for node in nodes if node.node_id not in self._unreachable]
        try:
            results = self._admin.metadata_views(asked, names, timeout=self._share_s())
        except KafkaError as error:
            results = Results({}, dict.fromkeys(asked, error))
        for node_id, failure in results.failed.items():
            if isinstance(failure, RequestBudgetError | BrokerError):
                self._gap("Metadata", f"broker {node_id}", failure)
            else:
                self._unreachable[node_id] = failure
        return results.done

    # --- offsets ------------------------------------------------------------------------------------------------------

    def _with_offsets(self, look: Look) -> Look:
        wanted = self._readable(look, look.partitions)
        if not wanted:
            return look
        return look._replace(
            starts=self._offsets(wanted, EARLIEST, "log starts"),
            ends=self._offsets(wanted, LATEST, "log ends"),
            stable_ends=self._offsets(wanted, LATEST, "last stable offsets", "read_committed"),
            newest=self._offsets(wanted, MAX_TIMESTAMP, "newest timestamps"),
        )

    def _with_expiring(self, look: Look) -> Look:
        """Add what retention deletes next of the partitions that a group has not read to the end."""
        behind = [
            tp
            for group in look.groups.values()
            for tp, committed in group.committed.items()
            if committed is not None and tp in look.ends and committed.offset < look.ends[tp].offset
        ]
        ages: dict[TopicPartition, Expiring] = {}
        for tp in dict.fromkeys(behind):
            configs = look.topic_configs.get(tp.topic, {})
            retention, policy = configs.get("retention.ms"), configs.get("cleanup.policy")
            if retention is None or not retention.value.isdecimal() or (policy and "delete" not in policy.value):
                continue
            retention_ms = int(retention.value)
            ages[tp] = Expiring(-1, retention_ms * OLD_PERCENT // 100, retention_ms)
        specs = {tp: max(0, look.wall_ms - each.age_ms) for tp, each in ages.items()}
        if not specs:
            return look
        found = self._each("ListOffsets", lambda s: self._admin.list_offsets(specs, timeout=s), ["record ages"])
        expiring = {
            tp: ages[tp]._replace(until_offset=each.offset if each.offset >= 0 else look.ends[tp].offset)
            for tp, each in found.items()
        }
        late = {
            tp: max(committed.offset, look.starts[tp].offset)
            for group in look.groups.values()
            for tp, committed in group.committed.items()
            if committed is not None and tp in expiring and tp in look.starts
            if self._selection.has_ages or committed.offset < expiring[tp].until_offset
        }
        most = MOST_AGES if self._selection.has_ages else MOST_READ
        times = self._read("age of the next records", late, self._admin.find_records, most)
        dates = {tp: each.timestamp_ms for tp, each in times.items() if isinstance(each, RecordTime)}
        return look._replace(expiring=expiring, next_times={tp: date for tp, date in dates.items() if date is not None})

    def _with_records(self, look: Look, before: Look | None) -> Look:
        """Add what the records look like at which groups stand still, and those in front of them."""
        at: dict[TopicPartition, int] = {}
        for group_id in look.groups:
            for tp in frozen_partitions(Looks(look, before), group_id):
                committed = look.groups[group_id].committed[tp]
                if committed is not None and tp in look.starts and committed.offset >= look.starts[tp].offset:
                    at[tp] = committed.offset
        shapes = self._read("the next records", at, self._admin.inspect_records)
        earlier: dict[TopicPartition, tuple[RecordShape, ...]] = {}
        for back in range(1, NEIGHBOURS + 1):
            offsets = {tp: at[tp] - back for tp in shapes if at[tp] - back >= look.starts[tp].offset}
            for tp, shape in self._read("the records before", offsets, self._admin.inspect_records).items():
                if isinstance(shape, RecordShape):
                    earlier[tp] = (*earlier.get(tp, ()), shape)
        return look._replace(
            shapes={tp: shape for tp, shape in shapes.items() if shape is not None}, shapes_before=earlier
        )

    def _read(
        self,
        of: str,
        offsets: Mapping[TopicPartition, int],
        call: "Callable[..., Results[TopicPartition, V]]",
        most: int = MOST_READ,
    ) -> "dict[TopicPartition, V | KafkaError]":
        """Return the records at offsets of the first partitions, or the damage of their batches."""
        wanted = dict(sorted(offsets.items())[:most])
        results = self._ask("Fetch", of, lambda s: call(wanted, timeout=s)) if wanted else None
        if results is None:
            return {}
        found: dict[TopicPartition, V | KafkaError] = dict(results.done)
        for tp, error in results.failed.items():
            if isinstance(error, CorruptBatchError):
                found[tp] = error
            else:
                self._gap("Fetch", str(tp), error)
        return found

    def _with_open_transactions(self, look: Look) -> Look:
        held = [
            tp for tp, stable in look.stable_ends.items() if tp in look.ends and stable.offset < look.ends[tp].offset
        ]
        if not held:
            return look
        what = f"open transactions of {counted(len(held), 'partition')}"
        found = self._ask("DescribeProducers", what, lambda s: self._admin.open_transactions(held, timeout=s))
        if found is None:
            return look
        for tp, error in list(found.failed.items())[:1]:
            self._gap("DescribeProducers", str(tp), error)
        for name, error in found.missing.items():
            self._gap("ListTransactions", name, error)
        return look._replace(open_transactions=found.transactions)

    def _readable(self, look: Look, partitions: Iterable[TopicPartition]) -> list[TopicPartition]:
        """Return the partitions whose leader responds; the others have a gap or a finding of their own."""
        known = look.partitions
        alive = {node.node_id for node in look.nodes} - self._unreachable.keys()
        return [tp for tp in partitions if tp in known and known[tp].leader_id in alive]

    def _offsets(
        self, partitions: Sequence[TopicPartition], spec: int, what: str, isolation_level: str = "read_uncommitted"
    ) -> dict[TopicPartition, OffsetAndTimestamp]:
        specs = dict.fromkeys(partitions, spec)
        return self._each(
            NEWEST_TIMESTAMPS if spec == MAX_TIMESTAMP else "ListOffsets",
            lambda s: self._admin.list_offsets(specs, isolation_level=isolation_level, timeout=s),
            [what],
        )

    # --- configs and brokers ------------------------------------------------------------------------------------------

    def _with_configs(self, look: Look, before: Look | None) -> Look:
        if before is not None:
            return look._replace(
                topic_configs=before.topic_configs, broker_configs=before.broker_configs, moving=before.moving
            )
        topics = [ConfigResource(ResourceType.TOPIC, name) for name in look.topics]
        brokers = []
        if self._selection.has_brokers:
            alive = [node.node_id for node in look.nodes if node.node_id not in self._unreachable]
            brokers = [ConfigResource(ResourceType.BROKER, str(node_id)) for node_id in alive]
        if not topics and not brokers:
            return look
        resources = [*topics, *brokers]
        found = self._each("DescribeConfigs", lambda s: self._admin.describe_configs(resources, timeout=s), ["configs"])
        look = look._replace(
            topic_configs={each.name: _kept(found[each], TOPIC_CONFIGS) for each in topics if each in found},
            broker_configs={int(each.name): _kept(found[each], BROKER_CONFIGS) for each in brokers if each in found},
        )
        if not look.throttled_brokers and not look.throttled_topics:
            return look
        moves = self._ask(
            "ListPartitionReassignments", "the cluster", lambda s: self._admin.list_partition_reassignments(timeout=s)
        )
        return look._replace(moving=None if moves is None else frozenset(moves))

    def _with_brokers(self, look: Look) -> Look:
        alive = [node.node_id for node in look.nodes if node.node_id not in self._unreachable]
        dirs = self._each("DescribeLogDirs", lambda s: self._admin.describe_log_dirs(alive, timeout=s), ["disks"])
        quorum = self._ask("DescribeQuorum", "the cluster", lambda s: self._admin.describe_quorum(timeout=s))
        look = look._replace(log_dirs=dirs, quorum=quorum)
        features = self._ask("ApiVersions", "features", lambda s: self._admin.describe_features(timeout=s)) or []
        listed = self._ask("ListTransactions", "the cluster", lambda s: self._admin.list_transactions(timeout=s))
        names = [] if listed is None else list(listed.transactions)[:MOST_TRANSACTIONS]
        if names:
            found = self._ask(
                "DescribeTransactions", "the cluster", lambda s: self._admin.describe_transactions(names, timeout=s)
            )
            look = look._replace(transactions={} if found is None else found.done)
        return look._replace(features={feature.name: feature.level for feature in features})

    def _probed(self, look: Look) -> Probed:
        """Return what the probe finds, in a share of the time and only where the budget has room for all brokers."""
        most = REQUESTS_EACH * (len(look.nodes) + len(self._admin.config.bootstrap_servers))
        left = self._admin.requests_left
        share_ms = int(self._share_s() * 1000)
        if share_ms < LEAST_STEP_MS or (left is not None and left < most):
            reason = TIME_UP if share_ms < LEAST_STEP_MS else BUDGET_SPENT
            self._gaps.append(Gap(PROBE, "every broker", None, reason))
            return Probed()
        probed = probe(self._admin.config, self._runtime, self._timer.sub(share_ms))
        self._admin.count_requests(min(most, REQUESTS_EACH * len(probed.reports)))
        return probed

    # --- one request --------------------------------------------------------------------------------------------------

    def _share_s(self) -> float:
        self._timer.update()
        return min(self._timer.remaining_ms // SHARE, MOST_STEP_MS) / 1000

    def _ask(self, request: str, of: str, call: Callable[[float], V]) -> V | None:
        """Return the result of a call, or None and note the gap."""
        share_s = self._share_s()
        if not self._admin.has_requests_left or share_s * 1000 < LEAST_STEP_MS:
            reason = TIME_UP if self._admin.has_requests_left else BUDGET_SPENT
            self._gaps.append(Gap(request, of, None, reason))
            return None
        try:
            return call(share_s)
        except KafkaError as error:
            self._gap(request, of, error)
            return None

    def _each(self, request: str, call: Callable[[float], Results[K, V]], of: Sequence[str]) -> dict[K, V]:
        """Return the items that have a value; those that have none are gaps, one for each error.

        Raises: KafkaError: something selected by name does not exist.
        """
        named = of[0] if len(of) == 1 else counted(len(of), "item")
        results = self._ask(request, named, call)
        if results is None:
            return {}
        first: dict[str, tuple[K, KafkaError, int]] = {}
        for key, error in results.failed.items():
            if is_missing(error):
                raise error
            name = error.name if isinstance(error, BrokerError) else type(error).__name__
            key, kept, count = first.get(name, (key, error, 0))
            first[name] = (key, kept, count + 1)
        for key, error, count in first.values():
            more = f" and {count - 1} more" if count > 1 else ""
            self._gap(request, f"{key}{more}", error)
        return results.done

    def _gap(self, request: str, of: str, error: KafkaError) -> None:
        is_spent = isinstance(error, RequestBudgetError) or not self._admin.has_requests_left
        self._gaps.append(Gap(request, of, None if is_spent else error, BUDGET_SPENT if is_spent else str(error)))


_READ_ONCE = frozenset({"DescribeConfigs", "ListPartitionReassignments"})


def take_looks(
    admin: Admin,
    runtime: Runtime,
    timer: Timer,
    selection: Selection,
    watch_ms: int,
    throttles: Throttles | None = None,
) -> Looks:
    """Return one look, or two that are `watch_ms` apart.

    Raises: KafkaError: no broker responds, or what was selected by name does not exist.
    """
    gatherer = Gatherer(admin, runtime, timer, selection, throttles, is_repeated=watch_ms > 0)
    next_at_ms = runtime.clock.start_ms() + watch_ms
    first = gatherer.look()
    if not watch_ms:
        return Looks(first)
    runtime.driver.wait(runtime.driver.waiter(), min(next_at_ms, timer.deadline_at_ms))
    return Looks(gatherer.look(first), first)


def is_missing(error: KafkaError) -> bool:
    """Return whether an error means that a group or topic does not exist."""
    return isinstance(error, BrokerError) and error.code in (
        ErrorCode.GROUP_ID_NOT_FOUND,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    )


def _is_of_mirror(offset: OffsetAndMetadata | None) -> bool:
    """Whether an offset is the position of `kctl pipeline mirror`: an offset of the source, not of this topic."""
    if offset is None or not offset.metadata.startswith("{"):
        return False
    from kctl.pipeline.jobs.mirror_positions import is_position  # only where it may be one

    return is_position(offset)


def _kept(configs: Mapping[str, ConfigEntry], names: frozenset[str]) -> dict[str, ConfigValue]:
    return {
        name: ConfigValue(entry.value, entry.source)
        for name, entry in configs.items()
        if name in names and entry.value is not None and not entry.is_sensitive
    }
