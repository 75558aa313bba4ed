"""NodeList: the nodes of a client: current, dedicated, and leaving nodes.

It decides about the connection of a node that moves or leaves.
"""

from collections.abc import Callable, Sequence

from kctl.client.cluster import Node
from kctl.client.network.advertised import AdvertisedAddresses
from kctl.client.network.channel_table import ChannelTable
from kctl.client.network.cluster_connection_states import ClusterConnectionStates
from kctl.client.network.node_timers import NodeTimers
from kctl.client.network.nodes import NodeEntry
from kctl.client.network.refusals import Acceptance


class NodeList:
    """Nodes of one client, by id.

    Args: hang_up: closes the connection or attempt of a node, with a reason.
    Attributes:
        entries: nodes in the order of arrival; read-only for other classes.
        former: dropped nodes, for messages.
    """

    def __init__(
        self,
        states: ClusterConnectionStates,
        advertised: AdvertisedAddresses,
        channels: ChannelTable,
        timers: NodeTimers,
        acceptance: Acceptance,
        hang_up: Callable[[NodeEntry, str], None],
    ) -> None:
        self.entries: dict[int, NodeEntry] = {}
        self.former: dict[int, Node] = {}
        self._states = states
        self._advertised = advertised
        self._channels = channels
        self._timers = timers
        self._acceptance = acceptance
        self._hang_up = hang_up
        self._leaving: dict[int, NodeEntry] = {}
        """Nodes that are no longer in the list, but still have requests in flight."""

    def members(self) -> list[NodeEntry]:
        return [entry for entry in self.entries.values() if entry.is_member]

    def update(self, nodes: Sequence[Node]) -> None:
        """Set the current nodes; a node that is no longer included is dropped after its last response.

        Differs: if a node advertises the address of a bootstrap server, it gets the existing connection; Java opens a
            second one.
        """
        members = {node.node_id: node for node in nodes}
        self._advertised.learn(nodes)
        for node_id, entry in list(self.entries.items()):
            known = members.get(node_id)
            has_moved = known is None or (known.host, known.port) != (entry.node.host, entry.node.port)
            if has_moved and not entry.is_dedicated:
                entry.is_member = False
                self._leaving[node_id] = entry
                self._hand_over(entry, members)
        for node_id, node in members.items():
            present = self.entries.get(node_id)
            if present is not None and present.is_member:
                present.node = node
            else:
                self._replace(present, NodeEntry(node))

    def dedicate(self, node: Node) -> None:
        present = self.entries.get(node.node_id)
        if present is None or present.node != node:
            self._replace(present, NodeEntry(node, is_dedicated=True))

    def sweep(self) -> None:
        if not self._leaving:
            return
        for node_id, entry in list(self._leaving.items()):
            if entry.connection is None or not entry.connection.in_flight:
                self._hang_up(entry, "the broker left the cluster")
                self.former[node_id] = entry.node
                del self.entries[node_id], self._leaving[node_id]
                self._states.forget(node_id)

    def _replace(self, present: NodeEntry | None, entry: NodeEntry) -> None:
        """Add a node. If its id belonged to another address, requests in flight to that address fail."""
        if present is not None:
            self._hang_up(present, "the address of the broker changed")
            self._states.forget(entry.node.node_id)
            self._leaving.pop(entry.node.node_id, None)
        self.entries[entry.node.node_id] = entry

    def _hand_over(self, entry: NodeEntry, members: dict[int, Node]) -> None:
        """Give the connection of a node that left to the new node that has its address."""
        connection = entry.connection
        if connection is None:
            return
        for node in members.values():
            if node.node_id not in self.entries and (node.host, node.port) == (entry.node.host, entry.node.port):
                heir = self.entries[node.node_id] = NodeEntry(node)
                heir.connection, entry.connection = connection, None
                heir.throttled_until_ms, heir.heard_at_ms = entry.throttled_until_ms, entry.heard_at_ms
                if connection.answered:
                    self._acceptance.answered(node.node_id)
                self._states.renamed(entry.node.node_id, node.node_id)
                self._channels.handed_over(connection, heir)
                self._timers.note(heir, 0)  # whatever is due on the connection
                return
