from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import timedelta

from kctl.client.acls import AclFilter, AclRule
from kctl.client.admin import (
    abort,
    cluster,
    configs,
    elections,
    hanging,
    log_dirs,
    offsets,
    producers,
    reassignments,
    records,
    share_groups,
    topics,
    transactions,
)
from kctl.client.admin.call import Call, Results
from kctl.client.admin.cluster import Feature, MetadataView, QuorumDescription
from kctl.client.admin.configs import ConfigChange, ConfigResource, Configs
from kctl.client.admin.elections import ElectionType, EligibleLeaders
from kctl.client.admin.hanging import OpenTransactions
from kctl.client.admin.log_dirs import LogDir
from kctl.client.admin.producers import ActiveProducer, Producers
from kctl.client.admin.reassignments import Reassignment
from kctl.client.admin.records import KeyRange, KeySample, RecordShape, RecordTime
from kctl.client.admin.scram_values import Credential, ScramChange, ScramMechanisms
from kctl.client.admin.share_groups import ShareOffset
from kctl.client.admin.transactions import TransactionDescription, TransactionFilter, TransactionList
from kctl.client.arguments import checked
from kctl.client.cluster import TopicPartition
from kctl.client.quotas import QuotaEntity, Quotas

Timeout = float | timedelta | None

STEPS = 4
"""Part of the remaining time for which a step waits for brokers that do not respond: one fourth,"""
LEAST_STEP_S = 2
"""but at least two seconds, because a broker may only be slow."""


class OperatorCalls:
    """Methods of `Admin` beyond topics, offsets, and groups."""

    def _call(self, what: str, timeout: Timeout, partial_timeout: Timeout = None) -> Call:
        raise NotImplementedError

    def within(self, timeout: Timeout = None) -> AbstractContextManager[None]:
        raise NotImplementedError

    # --- configs ------------------------------------------------------------------------------------------------------

    @checked
    def describe_configs(
        self,
        resources: Sequence[ConfigResource],
        *,
        include_synonyms: bool = False,
        include_documentation: bool = False,
        keys: Sequence[str] | None = None,
        broker_id: int | None = None,
        timeout: Timeout = None,
    ) -> Results[ConfigResource, Configs]:
        """Return the config entries of topics, brokers, or groups, by name.

        Args:
            include_synonyms: whether to include the overridden values of other sources.
            include_documentation: whether to include the broker's description of each property.
            keys: names of the properties to return; None for all.
            broker_id: broker to query about resources that any broker can describe.

        Raises: ValueError: the name of a broker is not its id.
        """
        call = self._call("describing configs", timeout)
        return configs.describe_configs(
            call,
            resources,
            synonyms=include_synonyms,
            documentation=include_documentation,
            keys=keys,
            broker_id=broker_id,
        )

    @checked
    def alter_configs(
        self,
        changes: Mapping[ConfigResource, Mapping[str, ConfigChange]],
        *,
        validate_only: bool = False,
        timeout: Timeout = None,
    ) -> Results[ConfigResource, None]:
        """Change single config entries and keep the others; each resource is changed as a whole or not at all.

        Args:
            changes: for each resource, values by name. None restores the default; a `ListChange` adds or removes items.
            validate_only: whether to check without a change.

        Raises:
            UnsupportedVersionError: before Kafka 2.3.
            ValueError: the name of a broker is not its id.
        """
        return configs.alter_configs(self._call("changing configs", timeout), changes, validate_only=validate_only)

    # --- partitions ---------------------------------------------------------------------------------------------------

    @checked
    def create_partitions(
        self, counts: Mapping[str, int], *, validate_only: bool = False, timeout: Timeout = None
    ) -> Results[str, None]:
        """Increase the number of partitions of topics; existing records do not move.

        Args:
            counts: new total for each topic.
            validate_only: whether to check without a change.
        """
        call = self._call("creating partitions", timeout)
        return topics.create_partitions(call, counts, validate_only=validate_only)

    @checked
    def delete_records(
        self, before: Mapping[TopicPartition, int], *, timeout: Timeout = None
    ) -> Results[TopicPartition, int]:
        """Permanently delete the records before an offset of each partition; return the new start offset of its log.

        Args: before: offsets. An offset beyond the end of the log fails with OFFSET_OUT_OF_RANGE.
        """
        return offsets.delete_records(self._call("deleting records", timeout), before)

    # --- moves --------------------------------------------------------------------------------------------------------

    @checked
    def alter_partition_reassignments(
        self, targets: Mapping[TopicPartition, Sequence[int] | None], *, timeout: Timeout = None
    ) -> Results[TopicPartition, None]:
        """Start to move partitions to other brokers, or cancel moves, without waiting for the moves.

        Args: targets: final brokers of each partition, starting with the preferred leader. None cancels a move; without
            a move, the partition fails with NO_REASSIGNMENT_IN_PROGRESS.
        """
        return reassignments.alter_reassignments(self._call("moving partitions", timeout), targets)

    @checked
    def list_partition_reassignments(
        self, partitions: Sequence[TopicPartition] | None = None, *, timeout: Timeout = None
    ) -> dict[TopicPartition, Reassignment]:
        """Return the moves in progress, of the given partitions or of all."""
        return reassignments.list_reassignments(self._call("listing partition moves", timeout), partitions)

    @checked
    def elect_leaders(
        self, election_type: ElectionType, partitions: Sequence[TopicPartition], *, timeout: Timeout = None
    ) -> Results[TopicPartition, bool]:
        """Elect the preferred leaders of partitions, or with UNCLEAN, a leader for partitions without one.

        Unclean elections may lose records.

        Returns: for each partition, whether an election was held. False means that the wanted leader already leads.
            After a lost response, True may be returned without an election.
        """
        return elections.elect_leaders(self._call("electing leaders", timeout), election_type, partitions)

    # --- cluster ------------------------------------------------------------------------------------------------------

    def describe_features(self, *, timeout: Timeout = None) -> list[Feature]:
        """Return the features of the cluster, such as metadata.version, with their levels; old brokers have none."""
        return cluster.describe_features(self._call("describing the features", timeout))

    def describe_quorum(self, *, timeout: Timeout = None) -> QuorumDescription:
        """Return the quorum of controllers: leader, voters, observers, and their lags.

        Raises: UnsupportedVersionError: the cluster has no KRaft, or is older than Kafka 3.0.
        """
        return cluster.describe_quorum(self._call("describing the quorum", timeout))

    @checked
    def metadata_views(
        self, broker_ids: Sequence[int], topics: Sequence[str] | None = None, *, timeout: Timeout = None
    ) -> Results[int, MetadataView]:
        """Return the metadata of each broker, or its error, without retries.

        Args: topics: names; None for all.
        """
        call = self._call("comparing the metadata of brokers", timeout)
        return cluster.metadata_views(call, broker_ids, topics)

    @checked
    def describe_log_dirs(
        self,
        broker_ids: Sequence[int],
        *,
        partitions: Collection[TopicPartition] | None = None,
        timeout: Timeout = None,
    ) -> Results[int, list[LogDir]]:
        """Return the log directories of each broker, with disk sizes, and replica sizes of `partitions` or of all."""
        return log_dirs.describe_log_dirs(self._call("describing log directories", timeout), broker_ids, partitions)

    # --- access -------------------------------------------------------------------------------------------------------

    @checked
    def describe_acls(
        self, wanted: AclFilter | None = None, *, broker_id: int | None = None, timeout: Timeout = None
    ) -> list[AclRule]:
        """Return the ACL rules that a filter matches, or all rules.

        Args: broker_id: broker to query; None for any.
        Raises: BrokerError: SECURITY_DISABLED: the brokers have no authorizer.
        """
        from kctl.client.admin import acls  # deferred import: keeps start-up fast

        return acls.describe_acls(self._call("describing ACLs", timeout), wanted or AclFilter(), broker_id)

    @checked
    def create_acls(self, rules: Sequence[AclRule], *, timeout: Timeout = None) -> Results[AclRule, None]:
        """Create ACL rules; existing rules count as created."""
        from kctl.client.admin import acls  # deferred import: keeps start-up fast

        return acls.create_acls(self._call("creating ACLs", timeout), rules)

    @checked
    def delete_acls(
        self, filters: Sequence[AclFilter], *, timeout: Timeout = None
    ) -> Results[AclFilter, Results[AclRule, None]]:
        """Delete the ACL rules that filters match; return the deleted rules of each filter."""
        from kctl.client.admin import acls  # deferred import: keeps start-up fast

        return acls.delete_acls(self._call("deleting ACLs", timeout), filters)

    @checked
    def describe_user_scram_credentials(
        self, users: Sequence[str] | None = None, *, broker_id: int | None = None, timeout: Timeout = None
    ) -> Results[str, ScramMechanisms]:
        """Return the SCRAM mechanisms of users, with their iterations.

        Args:
            users: user names; None for all users with credentials.
            broker_id: broker to query; None for any.
        Raises: UnsupportedVersionError: before Kafka 2.7.
        """
        from kctl.client.admin import scram_users  # deferred import: keeps start-up fast

        return scram_users.describe_scram_users(self._call("describing users", timeout), users, broker_id)

    @checked
    def alter_user_scram_credentials(
        self, changes: Sequence[ScramChange], *, timeout: Timeout = None
    ) -> Results[Credential, None]:
        """Set and delete SCRAM credentials; return the outcome of each, by user and mechanism.

        Args: changes: credentials to set (`ScramPassword`, which creates missing users) and to delete (`ScramRemoval`).
        Raises: UnsupportedVersionError: before Kafka 2.7.
        """
        from kctl.client.admin import scram_users  # deferred import: keeps start-up fast

        return scram_users.alter_scram_users(self._call("changing users", timeout), changes)

    @checked
    def eligible_leaders(
        self, topics: Sequence[str], *, timeout: Timeout = None
    ) -> Results[TopicPartition, EligibleLeaders]:
        """Return the replicas that may lead the partitions of topics although they are not in sync.

        Raises: UnsupportedVersionError: before Kafka 3.8.
        """
        return elections.eligible_leaders(self._call("describing eligible leaders", timeout), topics)

    @checked
    def describe_client_quotas(
        self, entity_types: Sequence[str] = (), *, broker_id: int | None = None, timeout: Timeout = None
    ) -> dict[QuotaEntity, Quotas]:
        """Return the quotas of all entities, by key.

        Args:
            entity_types: parts that an entity must have: `user`, `client-id`, `ip`.
            broker_id: broker to query; None for any.

        Raises: UnsupportedVersionError: before Kafka 2.6.
        """
        from kctl.client.admin import client_quotas  # deferred import: keeps start-up fast

        return client_quotas.describe_client_quotas(self._call("describing quotas", timeout), entity_types, broker_id)

    @checked
    def alter_client_quotas(
        self,
        changes: Mapping[QuotaEntity, Mapping[str, float | None]],
        *,
        validate_only: bool = False,
        timeout: Timeout = None,
    ) -> Results[QuotaEntity, None]:
        """Change quotas; other quotas of an entity are unchanged.

        Args:
            changes: for each entity, values by key; None removes a quota.
            validate_only: whether to check without a change.

        Raises: UnsupportedVersionError: before Kafka 2.6.
        """
        from kctl.client.admin import client_quotas  # deferred import: keeps start-up fast

        call = self._call("changing quotas", timeout)
        return client_quotas.alter_client_quotas(call, changes, validate_only=validate_only)

    # --- share groups -------------------------------------------------------------------------------------------------

    @checked
    def list_share_group_offsets(
        self, group_id: str, partitions: Sequence[TopicPartition] | None = None, *, timeout: Timeout = None
    ) -> Results[TopicPartition, ShareOffset]:
        """Return start offset and lag of the given partitions, or of all partitions that the share group has read.

        Raises:
            BrokerError: GROUP_ID_NOT_FOUND: the share group does not exist.
            UnsupportedVersionError: before Kafka 4.1.
        """
        call = self._call(f"listing offsets of share group {group_id}", timeout)
        return share_groups.list_share_offsets(call, group_id, partitions)

    @checked
    def alter_share_group_offsets(
        self, group_id: str, offsets: Mapping[TopicPartition, int], *, timeout: Timeout = None
    ) -> Results[TopicPartition, None]:
        """Set start offsets of a share group; a group with members fails with NON_EMPTY_GROUP."""
        call = self._call(f"setting offsets of share group {group_id}", timeout)
        return share_groups.alter_share_offsets(call, group_id, offsets)

    @checked
    def delete_share_group_offsets(
        self, group_id: str, topics: Iterable[str], *, timeout: Timeout = None
    ) -> Results[str, None]:
        """Delete the start offsets of a share group in topics; a group with members fails with NON_EMPTY_GROUP."""
        call = self._call(f"deleting offsets of share group {group_id}", timeout)
        return share_groups.delete_share_offsets(call, group_id, topics)

    # --- transactions -------------------------------------------------------------------------------------------------

    @checked
    def list_transactions(
        self,
        *,
        states: Sequence[str] = (),
        producer_ids: Sequence[int] = (),
        longer_than_ms: int | None = None,
        pattern: str | None = None,
        broker_ids: Sequence[int] | None = None,
        timeout: Timeout = None,
    ) -> TransactionList:
        """Return the transactional.ids of all brokers, and the brokers that did not respond.

        Args:
            states: states to return: `Ongoing`, `PrepareCommit`, `CompleteAbort`, ...
            producer_ids: producers to return.
            longer_than_ms: minimum time for which a transaction is ongoing (Kafka 3.8).
            pattern: regular expression that the ids match (Kafka 4.1).
            broker_ids: coordinators to query.

        Raises:
            UnsupportedVersionError: before Kafka 3.0, or before the release of a filter.
            KafkaError: no broker responded.
        """
        wanted = TransactionFilter(states, producer_ids, longer_than_ms, pattern)
        return transactions.list_transactions(self._call("listing transactions", timeout), wanted, broker_ids)

    @checked
    def describe_transactions(
        self, transactional_ids: Sequence[str], *, timeout: Timeout = None
    ) -> Results[str, TransactionDescription]:
        """Return transactions with state, producer, and partitions; unknown ids fail with TRANSACTIONAL_ID_NOT_FOUND.

        Raises: UnsupportedVersionError: before Kafka 3.0.
        """
        call = self._call("describing transactions", timeout)
        return transactions.describe_transactions(call, transactional_ids)

    @checked
    def describe_producers(
        self, partitions: Iterable[TopicPartition], *, timeout: Timeout = None
    ) -> Results[TopicPartition, Producers]:
        """Return the producers that the leader of each partition remembers, and the starts of their open transactions.

        Raises: UnsupportedVersionError: before Kafka 2.8.
        """
        return producers.describe_producers(self._call("describing producers", timeout), partitions)

    @checked
    def open_transactions(self, partitions: Iterable[TopicPartition], *, timeout: Timeout = None) -> OpenTransactions:
        """Return the open transactions of partitions, each with a verdict: running, overdue, hanging, or undecided.

        Raises: UnsupportedVersionError: before Kafka 3.0.
        """

        def new_call() -> Call:
            left_s = self._call(what, None).timer.remaining_ms / 1000
            return self._call(what, None, max(LEAST_STEP_S, left_s / STEPS))

        what = "finding open transactions"
        with self.within(timeout):
            return hanging.open_transactions(new_call, partitions)

    @checked
    def abort_transaction(
        self, partition: TopicPartition, start_offset: int, *, timeout: Timeout = None
    ) -> ActiveProducer:
        """Abort the open transaction that begins at an offset of a partition, regardless of its coordinator.

        Use it for hanging transactions only: it would split a transaction in use.

        Returns: the producer of the transaction.
        Raises:
            BrokerError: INVALID_TXN_STATE: no open transaction begins there. CLUSTER_AUTHORIZATION_FAILED.
            UnsupportedVersionError: before Kafka 2.8.
        """
        call = self._call(f"aborting the transaction at offset {start_offset} of {partition}", timeout)
        return abort.abort_transaction(call, partition, start_offset)

    # --- records by offset --------------------------------------------------------------------------------------------

    @checked
    def find_records(
        self, offsets: Mapping[TopicPartition, int], *, timeout: Timeout = None
    ) -> Results[TopicPartition, RecordTime | None]:
        """Return offset and time of the first record at or after each offset, or None if no record exists.

        Reads one batch of each partition. An offset outside of the log fails with OFFSET_OUT_OF_RANGE.
        """
        return records.find_records(self._call("reading records", timeout), offsets)

    @checked
    def inspect_records(
        self, offsets: Mapping[TopicPartition, int], *, timeout: Timeout = None
    ) -> Results[TopicPartition, RecordShape | None]:
        """Return size and schema id of the first record at or after each offset, or None if no record exists.

        Partitions with an unreadable batch fail with CorruptBatchError.
        """
        return records.inspect_records(self._call("reading records", timeout), offsets)

    @checked
    def sample_keys(
        self, ranges: Mapping[TopicPartition, KeyRange], *, timeout: Timeout = None
    ) -> Results[TopicPartition, KeySample]:
        """Count the first records of each range, and the records among them whose key occurs again.

        Uses one fetch of 256 KiB for each partition. Compacted records have no repeated keys.
        """
        return records.sample_keys(self._call("reading keys", timeout), ranges)
