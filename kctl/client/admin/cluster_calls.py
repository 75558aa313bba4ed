from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING

from kctl.client.admin.call import Call, Results
from kctl.client.admin.cluster_values import FeatureUpdate, Replica, ReplicaLogDir, VoterEndpoint
from kctl.client.arguments import checked

if TYPE_CHECKING:
    from kctl.client.admin.delegation_tokens import DelegationToken
    from kctl.client.requests.producer_id import ProducerId

Timeout = float | timedelta | None


class ClusterCalls:
    """Methods of `Admin` that change the cluster itself."""

    def _call(self, what: str, timeout: Timeout, partial_timeout: Timeout = None) -> Call:
        raise NotImplementedError

    # --- delegation tokens --------------------------------------------------------------------------------------------

    @checked
    def create_delegation_token(
        self,
        *,
        owner: str | None = None,
        renewers: Sequence[str] = (),
        max_lifetime_ms: int = -1,
        timeout: Timeout = None,
    ) -> "DelegationToken":
        """Create a token with which clients authenticate as its owner.

        Args:
            owner: a principal such as `User:ann` (Kafka 3.3); None for the principal of this client.
            renewers: principals that may renew it.
            max_lifetime_ms: maximum lifetime; -1 is the limit of the brokers.

        Raises: BrokerError: DELEGATION_TOKEN_AUTH_DISABLED: the brokers do not support tokens.
            DELEGATION_TOKEN_REQUEST_NOT_ALLOWED: this client is not authenticated, or is authenticated with a token.
        """
        from kctl.client.admin import delegation_tokens  # deferred import: keeps start-up fast

        call = self._call("creating a delegation token", timeout)
        return delegation_tokens.create_token(call, owner, renewers, max_lifetime_ms)

    @checked
    def describe_delegation_tokens(
        self, owners: Sequence[str] | None = None, *, timeout: Timeout = None
    ) -> "list[DelegationToken]":
        """Return the delegation tokens of the given owners, or all that this client may describe."""
        from kctl.client.admin import delegation_tokens  # deferred import: keeps start-up fast

        return delegation_tokens.describe_tokens(self._call("describing delegation tokens", timeout), owners)

    @checked
    def renew_delegation_token(self, hmac: bytes, *, renew_period_ms: int = -1, timeout: Timeout = None) -> int:
        """Renew a delegation token; return its expiry, in ms since the epoch.

        Args: renew_period_ms: time from now; -1 is the limit of the brokers.
        """
        from kctl.client.admin import delegation_tokens  # deferred import: keeps start-up fast

        return delegation_tokens.renew_token(self._call("renewing a delegation token", timeout), hmac, renew_period_ms)

    @checked
    def expire_delegation_token(self, hmac: bytes, *, expiry_period_ms: int = -1, timeout: Timeout = None) -> int:
        """Change the expiry of a delegation token; return the new expiry, in ms since the epoch.

        Args: expiry_period_ms: time from now; -1 expires the token immediately.
        """
        from kctl.client.admin import delegation_tokens  # deferred import: keeps start-up fast

        call = self._call("expiring a delegation token", timeout)
        return delegation_tokens.expire_token(call, hmac, expiry_period_ms)

    # --- producers ----------------------------------------------------------------------------------------------------

    @checked
    def fence_producers(
        self, transactional_ids: Sequence[str], *, timeout: Timeout = None
    ) -> "Results[str, ProducerId]":
        """Fence the producers of transactional.ids, abort their open transactions, and return the new epochs."""
        from kctl.client.admin import fencing  # deferred import: keeps start-up fast

        return fencing.fence_producers(self._call("fencing producers", timeout), transactional_ids)

    # --- replicas -----------------------------------------------------------------------------------------------------

    @checked
    def alter_replica_log_dirs(
        self, moves: Mapping[Replica, str], *, timeout: Timeout = None
    ) -> Results[Replica, None]:
        """Start to move replicas to other log directories of their brokers, without waiting for the moves.

        Args: moves: path of the target directory for each replica.
        """
        from kctl.client.admin import replica_dirs  # deferred import: keeps start-up fast

        return replica_dirs.alter_replica_log_dirs(self._call("moving replicas between directories", timeout), moves)

    @checked
    def describe_replica_log_dirs(
        self, replicas: Sequence[Replica], *, timeout: Timeout = None
    ) -> Results[Replica, ReplicaLogDir]:
        """Return the log directory of each replica, and the target directory if it is being moved."""
        from kctl.client.admin import replica_dirs  # deferred import: keeps start-up fast

        call = self._call("describing the directories of replicas", timeout)
        return replica_dirs.describe_replica_log_dirs(call, replicas)

    # --- the cluster --------------------------------------------------------------------------------------------------

    @checked
    def update_features(
        self, updates: Mapping[str, FeatureUpdate], *, validate_only: bool = False, timeout: Timeout = None
    ) -> Results[str, None]:
        """Change the levels of features, such as metadata.version; from Kafka 4.0 on, all levels change or none.

        Args: validate_only: whether to check without a change.
        Raises: UnsupportedVersionError: before Kafka 2.7.
        """
        from kctl.client.admin import quorum_changes  # deferred import: keeps start-up fast

        call = self._call("updating features", timeout)
        return quorum_changes.update_features(call, updates, validate_only=validate_only)

    @checked
    def add_raft_voter(
        self,
        voter_id: int,
        directory_id: str | bytes,
        endpoints: Sequence[VoterEndpoint],
        *,
        timeout: Timeout = None,
    ) -> None:
        """Make a controller a voter of the KRaft quorum.

        Args:
            voter_id: node.id of the controller.
            directory_id: id of its metadata log directory, as in meta.properties or `QuorumReplica.directory_id`.
            endpoints: its listeners for controllers.

        Raises:
            BrokerError: DUPLICATE_VOTER: the controller is already a voter.
            UnsupportedVersionError: kraft.version is 0, or before Kafka 3.9.
        """
        from kctl.client.admin import quorum_changes  # deferred import: keeps start-up fast

        quorum_changes.add_voter(self._call("adding a voter", timeout), voter_id, directory_id, list(endpoints))

    @checked
    def remove_raft_voter(self, voter_id: int, directory_id: str | bytes, *, timeout: Timeout = None) -> None:
        """Remove a voter from the KRaft quorum.

        Raises:
            BrokerError: VOTER_NOT_FOUND: the controller is not a voter.
            UnsupportedVersionError: kraft.version is 0, or before Kafka 3.9.
        """
        from kctl.client.admin import quorum_changes  # deferred import: keeps start-up fast

        quorum_changes.remove_voter(self._call("removing a voter", timeout), voter_id, directory_id)

    @checked
    def unregister_broker(self, broker_id: int, *, timeout: Timeout = None) -> None:
        """Remove the registration of a broker that was shut down permanently.

        Raises: BrokerError: BROKER_ID_NOT_REGISTERED.
        """
        from kctl.client.admin import quorum_changes  # deferred import: keeps start-up fast

        quorum_changes.unregister_broker(self._call("unregistering a broker", timeout), broker_id)
