"""Acceptance: whether the cluster accepts this client, and so whether a refusal is a reason to fail calls at once.

Knows who has answered a request so far. Until then a refusal (credentials, certificate, a server that is not Kafka) is
most likely a mistake in the configuration, and waiting does not help. Afterwards it is trouble of one node, which is
retried with a back-off and concerns nothing else. Shown by tests/sim/network/test_refusals.py.
"""

from collections.abc import Sequence

from kctl.client.errors import AuthenticationError, KafkaError
from kctl.client.network.cluster_connection_states import ClusterConnectionStates
from kctl.client.network.node_entry import NodeEntry
from kctl.client.network.states import NodeState


class Acceptance:
    """Who has accepted one client, over its whole life."""

    def __init__(self, states: ClusterConnectionStates) -> None:
        self._states = states
        self.is_given = False
        """Whether any node has answered a request."""
        self._is_given_by_broker = False

    def answered(self, node_id: int) -> None:
        """Note that a node answered a request; negative ids are bootstrap servers."""
        self.is_given = True
        self._is_given_by_broker = self._is_given_by_broker or node_id >= 0

    def fatal_error(self, members: Sequence[NodeEntry]) -> KafkaError | None:
        """Return the refusal that fails calls at once, if there is one.

        Credentials: the first node that refuses them, until any node has answered. Otherwise every node has to refuse;
        bootstrap servers that answered do not excuse brokers that all refuse, because their addresses differ.
        """
        if self._is_given_by_broker or any(entry.connection is not None for entry in members):
            return None
        node_ids = [entry.node.node_id for entry in members]
        refused = [node_id for node_id in node_ids if self._states.state(node_id) is NodeState.REFUSED]
        errors = [error for error in map(self._states.error, refused) if error is not None]
        credentials = [error for error in errors if isinstance(error, AuthenticationError)]
        if credentials and not self.is_given:
            return credentials[0]
        return errors[0] if errors and len(refused) == len(node_ids) else None
