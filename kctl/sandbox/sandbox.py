"""Sandbox: the public class, which runs on sockets (`serve`) or in virtual time (`attach`).

    with Sandbox(nodes=3, topics={"t": 3}).serve() as served:      # sockets, one thread use(served.bootstrap)
        served.sandbox.start_fault(2, Fault.BLACKHOLE)

    bootstrap = Sandbox(nodes=3).attach(network)                    # inside a simulation

All methods are thread-safe: the thread of the cluster executes them.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from kctl.client.broker_errors import ErrorCode
from kctl.client.runtime import Entropy
from kctl.client.wording import place_text
from kctl.sandbox.apis import HANDLERS
from kctl.sandbox.cluster import Cluster, ClusterNode
from kctl.sandbox.error_answers import has_error_code
from kctl.sandbox.faults import Fault
from kctl.sandbox.groups.offsets import CommittedOffset
from kctl.sandbox.node import ListenerSecurity, NodeListener
from kctl.sandbox.quotas import Quota
from kctl.sandbox.runtime import Scheduler
from kctl.sandbox.settings import ClusterSettings
from kctl.sandbox.triggers import Times, Trigger

if TYPE_CHECKING:
    from pathlib import Path

    from kctl.sandbox.server import ServedSandbox
    from tests.sim.virtual.network import SimNetwork
    from tests.sim.virtual.resolver import SimResolver

T = TypeVar("T")

_KAFKA_PORT = 9092
MAX_NODES = 250


class StoredLog(NamedTuple):
    """Copy of the log of a partition.

    Attributes:
        data: record batches.
        start_offset: first visible offset.
        end_offset: offset after the last record.
        stable_offset: start of the first open transaction, or `end_offset` if none is open.
        aborted: producer ID and first offset of each aborted transaction.
    """

    data: bytes
    start_offset: int
    end_offset: int
    stable_offset: int
    aborted: tuple[tuple[int, int], ...]


class Sandbox:
    """In-process Kafka cluster. Methods raise KeyError if a node, topic, or partition does not exist."""

    def __init__(
        self,
        nodes: int = 3,
        *,
        topics: Mapping[str, int] | None = None,
        settings: ClusterSettings | None = None,
        security: ListenerSecurity | None = None,
        racks: Sequence[str] | None = None,
        first_node_id: int = 1,
    ) -> None:
        """Create the cluster without starting it.

        Args:
            nodes: number of nodes, with consecutive IDs.
            topics: dict from name to partition count of the topics to create.
            settings: broker properties.
            security: security of the listeners. PLAINTEXT by default.
            racks: rack of each node.
        """
        if not 1 <= nodes <= MAX_NODES:
            raise ValueError(f"nodes must be from 1 to {MAX_NODES}, not {nodes}")
        if racks is not None and len(racks) != nodes:
            raise ValueError(f"racks must have {nodes} entries, one per node, not {len(racks)}")
        settings = settings or ClusterSettings()
        rack_of = dict(enumerate(racks or (), start=first_node_id))
        ids = range(first_node_id, first_node_id + nodes)
        slots = settings.max_incremental_fetch_session_cache_slots
        self.cluster = Cluster([ClusterNode(node_id, "", 0, rack_of.get(node_id), slots) for node_id in ids], settings)
        self.security = security or ListenerSecurity()
        if self.security.users is not None:
            self.cluster.scram_users.add_passwords(self.security.users.passwords)
        self.listeners: dict[int, NodeListener] = {}
        """Listeners by node ID, after the start of the cluster."""
        self._carry_out: Callable[[Callable[[], None]], None] = _at_once
        for name, partitions in (topics or {}).items():
            self.cluster.create_topic(name, partitions)

    # --- start --------------------------------------------------------------------------------------------------------

    def serve(
        self,
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        advertised_host: str | None = None,
        data: "Path | None" = None,
    ) -> "ServedSandbox":
        """Serve all nodes on sockets in a new thread. Return the handle that stops it.

        Args:
            host: address to listen on.
            port: port of the first node. The next nodes have the next ports. 0 uses free ports.
            advertised_host: host in the metadata. `host` by default.
            data: directory of the topics, records, and committed offsets, which are loaded now and saved by `stop`.

        Raises:
            OSError: an address is not available.
            DataRefused: the data is damaged, is of more brokers, or cannot be read.
        """
        from kctl.sandbox.server import ServedSandbox

        return ServedSandbox(self, host, port, advertised_host or host, data)

    def attach(self, network: "SimNetwork", resolver: "SimResolver | None" = None) -> str:
        """Start all nodes in a simulation and return its bootstrap.servers.

        Node i listens on 10.0.0.i:9092. With a `resolver`, it is advertised as node-i.
        """
        from tests.sim.virtual.runtime import HubScheduler, SimEntropy

        for node in self.cluster.nodes.values():
            ip = f"10.0.0.{node.node_id}"
            node.host, node.port = ip, _KAFKA_PORT
            if resolver is not None:
                node.host = f"node-{node.node_id}"
                resolver.add(node.host, [ip])
        self.run_on(HubScheduler(network.hub, "sandbox"), SimEntropy(network.hub, "sandbox"))
        for node_id, listener in self.listeners.items():
            network.listen(f"10.0.0.{node_id}", _KAFKA_PORT, listener)
        return self.bootstrap

    def run_on(
        self,
        scheduler: Scheduler,
        entropy: Entropy,
        carry_out: Callable[[Callable[[], None]], None] | None = None,
    ) -> None:
        """Create the listeners of all nodes, for code that supplies sockets or a simulation.

        Args:
            carry_out: calls a function in the thread of the cluster and returns after it. By default, calls it
                directly.

        Raises:
            IllegalStateError: the cluster is already started.
        """
        self.cluster.run_on(scheduler)
        self._carry_out = carry_out or _at_once
        self.listeners = {
            node.node_id: NodeListener(self.cluster, node, self.security, entropy)
            for node in self.cluster.nodes.values()
        }

    @property
    def bootstrap(self) -> str:
        """Advertised addresses of all nodes, for bootstrap.servers."""
        return ",".join(place_text(node.host, node.port) for node in self.cluster.nodes.values())

    # --- control ------------------------------------------------------------------------------------------------------

    def _do(self, action: Callable[[], T]) -> T:
        results: list[T] = []
        self._carry_out(lambda: results.append(action()))
        return results[0]

    def create_topic(
        self, name: str, partitions: int = 1, replication_factor: int = 1, properties: dict[str, str] | None = None
    ) -> None:
        """Create a topic.

        Raises:
            TopicRefused: the topic exists, or its name, counts, or properties are invalid.
        """
        self._do(lambda: self.cluster.create_topic(name, partitions, replication_factor, properties))

    def move_leader(self, topic: str, partition: int, node_id: int, *, end_offset: int | None = None) -> None:
        """Elect another leader of a partition, with a new leader epoch.

        Args:
            end_offset: end of the new leader's log. Later records are lost, as in an unclean election, including the
                whole batch that contains the offset. If None, only records that the new leader lacks are lost.

        Raises:
            OffsetOutOfRange: the log has no `end_offset`.
        """
        self._do(lambda: self.cluster.move_leader(topic, partition, node_id, end_offset))

    def elect_late(self, topic: str, partition: int, node_id: int, *, ms: int) -> None:
        """Remove the leader of a partition for `ms` milliseconds, then elect a node."""
        self._do(lambda: self.cluster.elect_late(topic, partition, node_id, ms))

    def hold_follower(self, topic: str, partition: int, node_id: int) -> None:
        """Stop a follower and remove it from the in-sync replicas. It serves fetches up to its end offset.

        Raises:
            ValueError: the node is not a follower.
        """
        self._do(lambda: self.cluster.topics[topic].partitions[partition].hold(node_id))

    def lag_follower(self, topic: str, partition: int, node_id: int) -> None:
        """Stop a follower, which stays in sync for replica.lag.time.max.ms.

        During this time, requests with acks=all wait for it. If it is elected, records that it lacks are lost.

        Raises:
            ValueError: the node is not a follower.
        """
        cluster = self.cluster
        self._do(lambda: cluster.replication.lag(cluster.topics[topic].partitions[partition], node_id))

    def release_follower(self, topic: str, partition: int, node_id: int) -> None:
        """Let a stopped follower replicate again. It catches up immediately."""
        self._do(lambda: self.cluster.topics[topic].partitions[partition].release(node_id))

    def forget_fetch_sessions(self, node_id: int) -> None:
        """Drop the fetch sessions of a node, as after a restart."""
        self._do(lambda: self.cluster.nodes[node_id].fetch_sessions.clear())

    def move_coordinator(self, group_id: str, node_id: int) -> None:
        """Move the coordinator of a group. The new coordinator has the state after the last completed rebalance."""
        self._do(lambda: self.cluster.groups.move(group_id, node_id))

    def trouble_coordinator(self, group_id: str, code: ErrorCode | None) -> None:
        """Fail requests of a group with a coordinator error. None stops the errors.

        Raises:
            ValueError: not NOT_COORDINATOR, COORDINATOR_LOAD_IN_PROGRESS, or COORDINATOR_NOT_AVAILABLE.
        """
        self._do(lambda: self.cluster.groups.trouble(group_id, code))

    def move_transaction_coordinator(self, transactional_id: str, node_id: int) -> None:
        """Move the coordinator of a transactional ID. No state is lost."""
        self._do(lambda: self.cluster.transactions.move(transactional_id, node_id))

    def trouble_transaction_coordinator(self, transactional_id: str, code: ErrorCode | None) -> None:
        """Fail requests of a transactional ID as `trouble_coordinator` does."""
        self._do(lambda: self.cluster.transactions.trouble(transactional_id, code))

    def hold_markers(self, transactional_id: str) -> None:
        """Write no markers of a transactional ID until `release_markers`."""
        self._do(lambda: self.cluster.transactions.hold_markers(transactional_id))

    def release_markers(self, transactional_id: str) -> None:
        """Write the held markers, and write later markers immediately."""
        self._do(lambda: self.cluster.transactions.release_markers(transactional_id))

    def lose_markers(self, transactional_id: str) -> None:
        """Complete the next transaction of an ID without markers, so that it stays open in its partitions."""
        self._do(lambda: self.cluster.transactions.lose_markers(transactional_id))

    def hold_moves(self) -> None:
        """Complete no reassignment until `release_moves`."""
        self._do(self.cluster.reassignments.hold)

    def release_moves(self) -> None:
        """Complete reassignments again."""
        self._do(self.cluster.reassignments.release)

    def expire_producers(self, topic: str, partition: int) -> None:
        """Remove the producers of a partition, as Kafka does after producer.id.expiration.ms.

        Producers with an open transaction stay.
        """
        self._do(lambda: self.cluster.topics[topic].partitions[partition].log.producers.expire())

    def limit(self, quota: Quota, bytes_per_s: int | None, *, node_id: int | None = None) -> None:
        """Limit the bytes per second of each client, and throttle clients above the limit.

        Args:
            bytes_per_s: the limit. None removes it.
            node_id: the node. None means all nodes.

        Raises:
            ValueError: the limit is invalid.
        """

        self._do_on_nodes(node_id, lambda node: node.quotas.limit(quota, bytes_per_s))

    def delete_records(self, topic: str, partition: int, before_offset: int) -> None:
        """Delete the records of a partition before an offset."""
        self._do(lambda: self.cluster.topics[topic].partitions[partition].log.delete_records(before_offset))

    def advertise(self, node_id: int, host: str, port: int) -> None:
        """Change the advertised address of a node."""

        def change() -> None:
            node = self.cluster.nodes[node_id]
            node.host, node.port = host, port

        self._do(change)

    def start_fault(self, node_id: int, fault: Fault, *, ms: int = 0) -> None:
        """Start a fault of a node.

        Args:
            ms: delay of `Fault.DELAY`.

        Raises:
            ValueError: `ms` does not fit the fault.
        """
        self._do(lambda: self.cluster.nodes[node_id].faults.start(fault, ms=ms))

    def stop_fault(self, node_id: int, fault: Fault) -> None:
        """Stop a fault of a node."""
        self._do(lambda: self.cluster.nodes[node_id].faults.stop(fault))

    def fail_requests(self, api: str, code: ErrorCode, *, times: int = 1, node_id: int | None = None) -> None:
        """Fail the next requests of an API with an error. They have no other effect.

        Args:
            api: Kafka's name, such as Fetch or OffsetCommit.
            code: the error of the entire request. Produce with acks=0 still gets no response.
            times: number of requests to each node.
            node_id: the node. None means all nodes.

        Raises:
            ValueError: the API is unknown or has no error codes, or `times` is invalid.
        """
        api_key = failing_api(api)
        self._do_on_nodes(node_id, lambda node: node.faults.fail_requests(api_key, code, Times(times)))

    def fail_when(self, api: str, code: ErrorCode, trigger: Trigger, *, node_id: int | None = None) -> None:
        """Fail requests of an API with an error when a trigger fires. The trigger counts the requests to all nodes.

        Raises:
            ValueError: as for `fail_requests`.
        """
        api_key = failing_api(api)
        self._do_on_nodes(node_id, lambda node: node.faults.fail_requests(api_key, code, trigger))

    def _do_on_nodes(self, node_id: int | None, change: Callable[[ClusterNode], None]) -> None:
        def change_all() -> None:
            nodes = self.cluster.nodes
            for node in nodes.values() if node_id is None else [nodes[node_id]]:
                change(node)

        self._do(change_all)

    def heal(self, node_id: int | None = None) -> None:
        """Stop all faults of a node. None also starts the controllers, and heals all nodes."""

        def change() -> None:
            if node_id is None:
                self.cluster.quorum.start()
            for node in self.cluster.nodes.values():
                if node_id in (None, node.node_id):
                    node.faults.heal()
                    node.state.heal()

        self._do(change)

    def set_disk(self, node_id: int, total_bytes: int | None) -> None:
        """Set the disk size of a node. None takes its log directory offline. Writes are not affected."""

        def change() -> None:
            state = self.cluster.nodes[node_id].state
            state.is_disk_offline = total_bytes is None
            state.disk_bytes = state.disk_bytes if total_bytes is None else total_bytes

        self._do(change)

    def hold_metadata(self, node_id: int) -> None:
        """Freeze the topics and leaders in the metadata of a node until `release_metadata`."""

        def change() -> None:
            cluster = self.cluster
            cluster.nodes[node_id].state.hold_metadata(cluster.topics.values(), cluster.scheduler.wall_ms())

        self._do(change)

    def release_metadata(self, node_id: int) -> None:
        """Update the metadata of a node again."""
        self._do(lambda: self.cluster.nodes[node_id].state.release_metadata())

    def register(self, node_id: int, *, is_registered: bool = True) -> None:
        """Add a node to the metadata or remove it. Replicas and leaders do not change."""

        def change() -> None:
            self.cluster.nodes[node_id].state.is_registered = is_registered

        self._do(change)

    def fence(self, node_id: int, *, is_fenced: bool = True) -> None:
        """Fence or unfence a node in the metadata. Replicas and leaders do not change."""

        def change() -> None:
            self.cluster.nodes[node_id].state.is_fenced = is_fenced

        self._do(change)

    def secure(self, node_id: int, security: ListenerSecurity) -> None:
        """Change the security of new connections to a node, such as its certificate."""

        def change() -> None:
            self.listeners[node_id].security = security

        self._do(change)

    def stop_controllers(self) -> None:
        """Stop all controllers. Forwarded requests wait."""
        self._do(self.cluster.quorum.stop)

    def start_controllers(self) -> None:
        """Start all controllers, which then handle waiting requests."""
        self._do(self.cluster.quorum.start)

    # --- contents -----------------------------------------------------------------------------------------------------

    def topics(self) -> dict[str, int]:
        """Return a dict from topic to partition count."""
        return self._do(lambda: {name: len(topic.partitions) for name, topic in self.cluster.topics.items()})

    def stored(self, topic: str, partition: int) -> StoredLog:
        """Return a copy of the log of a partition."""

        def read() -> StoredLog:
            log = self.cluster.topics[topic].partitions[partition].log
            aborted = tuple((one.producer_id, one.first_offset) for one in log.aborted)
            data = b"".join(batch.data for batch in log.batches)
            return StoredLog(data, log.start_offset, log.end_offset, log.last_stable_offset, aborted)

        return self._do(read)

    def append(self, topic: str, partition: int, records: bytes) -> int:
        """Append a batch to a partition as its leader does. Return the offset of the first record.

        Raises:
            BatchRefused: the leader rejects the batch.
        """

        def write() -> int:
            part = self.cluster.topics[topic].partitions[partition]
            return part.log.append(records, part.leader_epoch, self.cluster.scheduler.wall_ms()).base_offset

        return self._do(write)

    def committed(self, group_id: str) -> dict[tuple[str, int], CommittedOffset]:
        """Return the committed offsets of a group, by topic and partition, or an empty dict if it does not exist."""
        return self._do(lambda: dict(self.cluster.groups.offsets.get(group_id, {})))

    def members(self, group_id: str) -> list[str]:
        return self._do(lambda: self.cluster.groups.members(group_id))

    def expire_session(self, group_id: str, member_id: str) -> None:
        """Expire the session of a member immediately.

        Raises: KeyError: the group has no such member.
        """
        self._do(lambda: self.cluster.groups.expire_session(group_id, member_id))

    def end_offset(self, topic: str, partition: int) -> int:
        return self._do(lambda: self.cluster.topics[topic].partitions[partition].log.end_offset)


def failing_api(api: str) -> int:
    """Return the key of an API that can fail. Raise ValueError if it is unknown or has no error codes."""
    by_name = {handler.request.NAME: handler.request for handler in HANDLERS.values()}
    request = by_name.get(api)
    if request is None or not has_error_code(request):
        able = ", ".join(sorted(name for name, one in by_name.items() if has_error_code(one)))
        raise ValueError(f"cannot fail requests of {api!r}: use one of {able}")
    api_key: int = request.API_KEY
    return api_key


def _at_once(action: Callable[[], None]) -> None:
    action()
