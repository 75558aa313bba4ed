from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from functools import partial
from types import TracebackType
from typing import Self
from weakref import finalize

from kctl.client.acls import (
    SUPPORTED_OPERATIONS,
    AclDecision,
    AclFilter,
    AclOperation,
    AclPermission,
    AclRequest,
    AclResourceType,
    AclRule,
    PatternType,
    decide,
)
from kctl.client.admin import api_request, cluster, group_descriptions, group_offsets, groups, offsets, topics
from kctl.client.admin.api_request import ApiDescription, ApiResponse, declared_apis
from kctl.client.admin.call import Call, Results, Span
from kctl.client.admin.cluster import ClusterDescription, Feature, MetadataView, QuorumDescription, QuorumReplica
from kctl.client.admin.cluster_calls import ClusterCalls
from kctl.client.admin.cluster_values import (
    FeatureUpdate,
    Replica,
    ReplicaLogDir,
    UpgradeType,
    VoterEndpoint,
)
from kctl.client.admin.configs import (
    CONFIG_SOURCES,
    CONFIG_TYPES,
    ConfigEntry,
    ConfigResource,
    ListChange,
    ResourceType,
)
from kctl.client.admin.elections import ElectionType, EligibleLeaders
from kctl.client.admin.group_values import GroupDescription, GroupList, GroupListing, MemberDescription, MemberToRemove
from kctl.client.admin.hanging import OpenTransaction, OpenTransactions, Verdict
from kctl.client.admin.log_dirs import LogDir
from kctl.client.admin.offsets import MAX_TIMESTAMP, EpochEnd
from kctl.client.admin.operator_calls import OperatorCalls, Timeout
from kctl.client.admin.producers import ActiveProducer
from kctl.client.admin.reassignments import Reassignment
from kctl.client.admin.records import KeyRange, KeySample, RecordShape, RecordTime
from kctl.client.admin.scram_values import SCRAM_NUMBERS, Credential, ScramChange, ScramPassword, ScramRemoval
from kctl.client.admin.share_groups import ShareOffset
from kctl.client.admin.topics import BROKER_DEFAULT, CreatedTopic, NewTopic, TopicListing
from kctl.client.admin.transactions import TransactionDescription, TransactionList, TransactionListing
from kctl.client.arguments import check, checked, instant_ms
from kctl.client.clock import Timer, to_timeout_ms
from kctl.client.cluster import TopicInfo, TopicPartition
from kctl.client.cluster_client import ClusterClient
from kctl.client.config import AdminConfig
from kctl.client.errors import IllegalStateError, KafkaError
from kctl.client.events import EventSink, OwnedSink, ignore_events
from kctl.client.lifetime import NotCopied, follow_forks, forked_error, when_dropped
from kctl.client.loop.close import CloseResult
from kctl.client.network.system import has_threads, system_runtime
from kctl.client.protocol.api import api_key_of, api_name
from kctl.client.quotas import DEFAULT_TEXT, EffectiveQuota, QuotaEntity, effective_quotas
from kctl.client.requests.group_offsets import OffsetAndMetadata, checked_offsets
from kctl.client.requests.list_offsets import EARLIEST, ISOLATION_LEVELS, LATEST, OffsetAndTimestamp
from kctl.client.requests.retry import retry_backoff
from kctl.client.runtime import Runtime
from kctl.client.wording import listed

__all__ = [
    "BROKER_DEFAULT",
    "CONFIG_SOURCES",
    "CONFIG_TYPES",
    "DEFAULT_TEXT",
    "EARLIEST",
    "LATEST",
    "MAX_TIMESTAMP",
    "SCRAM_NUMBERS",
    "SUPPORTED_OPERATIONS",
    "AclDecision",
    "AclFilter",
    "AclOperation",
    "AclPermission",
    "AclRequest",
    "AclResourceType",
    "AclRule",
    "ActiveProducer",
    "Admin",
    "ApiDescription",
    "ApiResponse",
    "CloseResult",
    "ClusterDescription",
    "ConfigEntry",
    "ConfigResource",
    "CreatedTopic",
    "Credential",
    "EffectiveQuota",
    "ElectionType",
    "EligibleLeaders",
    "EpochEnd",
    "Feature",
    "FeatureUpdate",
    "GroupDescription",
    "GroupList",
    "GroupListing",
    "KeyRange",
    "KeySample",
    "ListChange",
    "LogDir",
    "MemberDescription",
    "MemberToRemove",
    "MetadataView",
    "NewTopic",
    "OffsetAndMetadata",
    "OffsetAndTimestamp",
    "OpenTransaction",
    "OpenTransactions",
    "PatternType",
    "QuorumDescription",
    "QuorumReplica",
    "QuotaEntity",
    "Reassignment",
    "RecordShape",
    "RecordTime",
    "Replica",
    "ReplicaLogDir",
    "ResourceType",
    "Results",
    "ScramChange",
    "ScramPassword",
    "ScramRemoval",
    "ShareOffset",
    "TopicListing",
    "TransactionDescription",
    "TransactionList",
    "TransactionListing",
    "UpgradeType",
    "Verdict",
    "VoterEndpoint",
    "api_key_of",
    "api_name",
    "decide",
    "declared_apis",
    "effective_quotas",
]


class Admin(OperatorCalls, ClusterCalls, NotCopied):
    """Client for cluster administration. Not thread-safe; it has no thread.

    Calls accept `timeout` in seconds; None is default.api.timeout.ms. Retriable errors are retried until then. A call
    raises ApiTimeout if nothing responded in time, and other errors immediately. Calls about several items return
    `Results` with the outcome of each.

    Args:
        config: Kafka property names and values, or a parsed AdminConfig; `bootstrap.servers` is required.
        runtime: clock, threads, and sockets; None for those of the system.
        events: function that gets the connection and request events.

    Raises: ConfigError: a property is unknown, malformed, or impossible.
    """

    def __init__(
        self,
        config: Mapping[str, object] | AdminConfig,
        runtime: Runtime | None = None,
        *,
        events: EventSink = ignore_events,
    ) -> None:
        self.config = AdminConfig.parse(config)
        check("events", events, EventSink)
        runtime = runtime or system_runtime()
        self._events = OwnedSink(events)
        self._new_client = partial(ClusterClient, self.config, runtime, events=self._events.lend())
        self._client = self._new_client()
        self._backoff = retry_backoff(self.config, runtime.rng)
        self._within: Span | None = None
        self._is_closed = False
        self._is_forked = False
        self._has_threads = has_threads(runtime.driver)
        self._on_drop = self._close_when_dropped()
        follow_forks(self)

    def _after_fork(self) -> None:
        self._is_forked = self._is_closed = True

    def _call(self, what: str, timeout: Timeout, partial_timeout: Timeout = None) -> Call:
        if self._is_forked:
            raise forked_error("admin client")
        if self._is_closed:
            raise IllegalStateError("the admin client is closed")
        if self._client.steps.under_way:
            self._connect_again()
        return Call(
            self._client,
            self._backoff,
            self._span(timeout),
            request_timeout_ms=self.config.request_timeout_ms,
            retries=self.config.retries,
            what=what,
            partial_ms=None if partial_timeout is None else to_timeout_ms(partial_timeout, 0),
        )

    def _connect_again(self) -> None:
        """Replace the connections of an interrupted call, because requests or responses may be incomplete."""
        client, requests = self._new_client(), self._client.network.requests
        client.network.requests.sent, client.network.requests.left = requests.sent, requests.left
        if self._within is not None:
            self._within = self._within._replace(since=client.time_mark())
        self._client.close()
        self._client = client
        self._on_drop.detach()
        self._on_drop = self._close_when_dropped()

    def _close_when_dropped(self) -> "finalize[..., Admin]":
        return when_dropped(self, self._client.close, self._client, has_threads=self._has_threads)

    def _span(self, timeout: Timeout) -> Span:
        """Return the time for a call: its timeout within the `within` block, or without one, the time of the block."""
        within = self._within
        if within is not None and timeout is None:
            return within
        timeout_ms = to_timeout_ms(timeout, self.config.default_api_timeout_ms)
        timer = Timer(self._client.clock, timeout_ms) if within is None else within.timer.sub(timeout_ms)
        return Span(timer, self._client.time_mark())

    def remaining_ms(self) -> int:
        """Return the time left for the next call in ms: the time of the `within` block, or the API timeout."""
        timer = self._span(None).timer
        timer.update()
        return timer.remaining_ms

    @property
    def requests_sent(self) -> int:
        """Number of requests sent, except for connecting and authentication."""
        return self._client.network.requests.sent

    @checked
    def count_requests(self, count: int) -> None:
        """Count requests of other clients, as if this client had sent them within `request_budget`."""
        network = self._client.network
        network.requests.sent += count
        if network.requests.left is not None:
            network.requests.left = max(0, network.requests.left - count)

    @property
    def requests_left(self) -> int | None:
        """Number of requests that may still be sent in the `request_budget` block; None outside of a block."""
        return self._client.network.requests.left

    @property
    def has_requests_left(self) -> bool:
        """Whether more requests may be sent; true outside of a `request_budget` block."""
        return self._client.network.requests.left != 0

    @checked
    def has_heard(self, node_id: int, asked_at_ms: int) -> bool:
        """Return whether a broker has sent bytes since `asked_at_ms`, so it is slow but running."""
        return self._client.network.status.has_heard(node_id, asked_at_ms)

    @checked
    def unfinished(self, node_id: int) -> KafkaError | None:
        """Return an error that describes the state of an unfinished connection to a broker, or None."""
        return self._client.network.status.unfinished(node_id)

    @contextmanager
    def request_budget(self, most: int) -> Iterator[None]:
        """Limit the number of requests of all calls in a `with` block; further requests raise RequestBudgetError."""
        network = self._client.network
        outer = network.requests.left
        network.requests.left = most
        try:
            yield
        finally:
            network.requests.left = outer

    @contextmanager
    def within(self, timeout: Timeout = None) -> Iterator[None]:
        """Set one timeout for all calls of a block: `with admin.within(5): ...`.

        A shorter timeout of a call still applies. At the deadline, the error has the timeout of the block and all its
        waits; later calls fail immediately.

        Args: timeout: seconds from now; None is default.api.timeout.ms.
        """
        outer = self._within
        self._within = self._span(timeout)
        try:
            yield
        finally:
            self._within = outer

    # --- topics -------------------------------------------------------------------------------------------------------

    @checked
    def create_topics(
        self, new_topics: Sequence[NewTopic], *, validate_only: bool = False, timeout: Timeout = None
    ) -> Results[str, CreatedTopic]:
        """Create topics, and return them as created; with `validate_only`, as they would be created."""
        return topics.create_topics(self._call("creating topics", timeout), new_topics, validate_only=validate_only)

    @checked
    def delete_topics(self, names: Sequence[str], *, timeout: Timeout = None) -> Results[str, None]:
        """Delete topics."""
        return topics.delete_topics(self._call("deleting topics", timeout), names)

    @checked
    def list_topics(self, *, include_internal: bool = False, timeout: Timeout = None) -> dict[str, TopicListing]:
        """Return the topics that this client may describe, sorted by name."""
        return topics.list_topics(self._call("listing topics", timeout), include_internal=include_internal)

    @checked
    def list_topic_names(self, *, include_internal: bool = False, timeout: Timeout = None) -> list[str]:
        """Return the sorted names of the topics that this client may describe.

        On large clusters, this is several times faster than `list_topics`.
        """
        return topics.list_topic_names(self._call("listing topic names", timeout), include_internal=include_internal)

    @checked
    def describe_topics(
        self, names: Sequence[str], *, broker_id: int | None = None, timeout: Timeout = None
    ) -> Results[str, TopicInfo]:
        """Return topics with partitions, leaders, and replicas, without creating them.

        Args: broker_id: broker to query. By default, any broker is queried, and another one about topics that it does
            not know.
        """
        return topics.describe_topics(self._call("describing topics", timeout), names, broker_id)

    @checked
    def wait_for_topics(self, names: Sequence[str], *, timeout: Timeout = None) -> dict[str, TopicInfo]:
        """Wait until topics exist and all their partitions have a leader; return the topics.

        Raises: ApiTimeout: its `cause` is the error of a missing topic. Other errors are raised immediately.
        """
        return topics.wait_for_topics(self._call(f"waiting for {listed(names)}", timeout), names)

    # --- cluster ------------------------------------------------------------------------------------------------------

    def describe_cluster(self, *, timeout: Timeout = None) -> ClusterDescription:
        """Return the cluster's id, nodes, and controller."""
        return cluster.describe_cluster(self._call("describing the cluster", timeout))

    @checked
    def request_api(
        self,
        name: str,
        fields: Mapping[str, object],
        *,
        broker: int | None = None,
        version: int | None = None,
        timeout: Timeout = None,
    ) -> ApiResponse:
        """Send one request of any API and return the response, both as JSON values with Kafka's field names.

        The request is not retried: after a lost connection, its outcome is unknown.

        Args:
            name: Kafka's name or key of an API of `declared_apis()`, such as `DescribeCluster`.
            fields: values by name, in PascalCase or camelCase; bytes are base64. Absent fields have Kafka's default.
            broker: broker id. None chooses the controller, the coordinator of the first group or transaction, the
                leader of the first partition, the broker of the config, or any broker.
            version: API version; None is the highest common version.

        Raises:
            UnsupportedVersionError: the broker does not have the API or the version.
            ValueError: the API or version does not exist, or the fields are invalid. The message has the expected
                values.
        """
        call = self._call(f"requesting {name}", timeout)
        return api_request.request_api(call, name, fields, broker=broker, version=version)

    # --- offsets ------------------------------------------------------------------------------------------------------

    @checked
    def list_offsets(
        self,
        specs: Mapping[TopicPartition, int | datetime],
        *,
        isolation_level: str = "read_uncommitted",
        timeout: Timeout = None,
        partial_timeout: Timeout = None,
    ) -> Results[TopicPartition, OffsetAndTimestamp]:
        """Return one offset of each partition.

        Args:
            specs: for each partition `LATEST`, `EARLIEST`, `MAX_TIMESTAMP`, or the time of the first record to
                find: milliseconds since the epoch, or a datetime with a time zone.
            isolation_level: `read_committed` lets LATEST be the last stable offset.
            partial_timeout: seconds from now after which a call with at least one response does not wait for other
                leaders.
        """
        if isolation_level not in ISOLATION_LEVELS:
            raise ValueError(f"isolation_level must be one of {', '.join(ISOLATION_LEVELS)}, not {isolation_level!r}")
        wanted = {tp: instant_ms("specs", spec) for tp, spec in specs.items()}
        for tp, spec in wanted.items():
            if spec < offsets.MAX_TIMESTAMP:
                raise ValueError(f"invalid offset {spec} for {tp}: use a time, LATEST, EARLIEST, or MAX_TIMESTAMP")
        call = self._call("listing offsets", timeout, partial_timeout)
        return offsets.find_offsets(call, wanted, isolation_level)

    @checked
    def epoch_ends(
        self, epochs: Mapping[TopicPartition, int], *, timeout: Timeout = None
    ) -> Results[TopicPartition, EpochEnd]:
        """Return where a leader epoch of each partition ends in the log of the current leader (KIP-320).

        If this end is below an offset that was read in that epoch, an election has lost the records from there on.
        """
        return offsets.epoch_ends(self._call("comparing leader epochs", timeout), epochs)

    # --- groups -------------------------------------------------------------------------------------------------------

    @checked
    def list_groups(
        self,
        *,
        states: Sequence[str] = (),
        types: Sequence[str] = (),
        broker_ids: Sequence[int] | None = None,
        timeout: Timeout = None,
        partial_timeout: Timeout = None,
    ) -> GroupList:
        """Return the groups of all brokers, and the brokers that did not respond.

        Brokers that refuse connections are tried three times, brokers with a connect timeout once; the list is then
        incomplete. Brokers that stop responding are retried until the timeout.

        Args:
            states: states to return, such as `Stable` or `Empty`, in any case.
            types: types to return, such as `classic` or `consumer`, in any case.
            broker_ids: coordinators to query.
            partial_timeout: seconds from now after which a call with at least one response does not wait for other
                brokers.

        Raises: KafkaError: no broker responded.
        """
        return groups.list_groups(self._call("listing groups", timeout, partial_timeout), states, types, broker_ids)

    @checked
    def describe_groups(
        self, group_ids: Sequence[str], *, timeout: Timeout = None, partial_timeout: Timeout = None
    ) -> Results[str, GroupDescription]:
        """Return groups with state, assignor, coordinator, and members; an unknown group fails with GROUP_ID_NOT_FOUND.

        Args: partial_timeout: seconds from now after which a call with at least one result does not wait for other
            groups.
        """
        return group_descriptions.describe_all(self._call("describing groups", timeout, partial_timeout), group_ids)

    @checked
    def list_group_offsets(
        self,
        group_id: str,
        partitions: Sequence[TopicPartition] | None = None,
        *,
        require_stable: bool = False,
        timeout: Timeout = None,
    ) -> Results[TopicPartition, OffsetAndMetadata | None]:
        """Return the committed offsets of a group; an unknown group has none.

        Args:
            partitions: partitions to return, with None if nothing is committed. By default, all committed offsets.
            require_stable: whether to wait for the end of transactions that commit offsets of the group.
        """
        call = self._call(f"listing offsets of group {group_id}", timeout)
        return group_offsets.list_group_offsets(call, group_id, partitions, require_stable=require_stable)

    @checked
    def list_offsets_of_groups(
        self, group_ids: Sequence[str], *, timeout: Timeout = None
    ) -> Results[str, Results[TopicPartition, OffsetAndMetadata]]:
        """Return all committed offsets of several groups, with one request to each coordinator (from Kafka 3.0 on)."""
        return group_offsets.list_offsets_of_groups(self._call("listing offsets of groups", timeout), group_ids)

    @checked
    def alter_group_offsets(
        self,
        group_id: str,
        offsets: Mapping[TopicPartition, int | OffsetAndMetadata],
        *,
        timeout: Timeout = None,
    ) -> Results[TopicPartition, None]:
        """Set committed offsets, and create a missing group. Groups with members fail with UNKNOWN_MEMBER_ID."""
        checked = checked_offsets(offsets)
        call = self._call(f"setting offsets of group {group_id}", timeout)
        return group_offsets.alter_group_offsets(call, group_id, checked)

    @checked
    def delete_group_offsets(
        self, group_id: str, partitions: Iterable[TopicPartition], *, timeout: Timeout = None
    ) -> Results[TopicPartition, None]:
        """Delete the committed offsets of partitions; partitions fail if a member reads their topic."""
        call = self._call(f"deleting offsets of group {group_id}", timeout)
        return group_offsets.delete_group_offsets(call, group_id, partitions)

    @checked
    def delete_groups(self, group_ids: Iterable[str], *, timeout: Timeout = None) -> Results[str, None]:
        """Delete groups with their committed offsets; groups with members fail with NON_EMPTY_GROUP."""
        return groups.delete_groups(self._call("deleting groups", timeout), group_ids)

    @checked
    def remove_members(
        self, group_id: str, members: Iterable[MemberToRemove], *, timeout: Timeout = None
    ) -> Results[MemberToRemove, None]:
        """Remove members from a group, by member id or group.instance.id. A running consumer joins again."""
        call = self._call(f"removing members of group {group_id}", timeout)
        return groups.remove_members(call, group_id, members)

    # --- the end ------------------------------------------------------------------------------------------------------

    def close(self) -> CloseResult:
        """Close all connections without waiting. Idempotent."""
        if self._is_forked:
            raise forked_error("admin client")
        started_at_ms = self._client.clock.now_ms()
        self._is_closed = True
        self._client.close()
        self._on_drop.detach()
        return CloseResult(elapsed_ms=self._client.clock.now_ms() - started_at_ms)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if not self._is_forked:
            self.close()
