"""Sandbox: what its users hold. It runs on sockets (`serve`) or in virtual time (`attach`); its methods control it.

    with Sandbox(nodes=3, topics={"t": 3}).serve() as served:      # sockets, one thread
        use(served.bootstrap)
        served.sandbox.start_fault(2, Fault.BLACKHOLE)

    bootstrap = Sandbox(nodes=3).attach(network)                    # inside a simulation

Everything here may be called from any thread: the thread that runs the cluster carries it out.
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
    from kctl.sandbox.server import ServedSandbox
    from tests.sim.virtual.network import SimNetwork
    from tests.sim.virtual.resolver import SimResolver

T = TypeVar("T")

_KAFKA_PORT = 9092
MAX_NODES = 250


class StoredLog(NamedTuple):
    """A copy of the log of a partition.

    Attributes:
        data: its batches.
        start_offset, end_offset: offset of the first record that readers see, and after the last record.
        stable_offset: offset of the first record of an open transaction; `end_offset` without one.
        aborted: producer id and first offset of each aborted transaction.
    """

    data: bytes
    start_offset: int
    end_offset: int
    stable_offset: int
    aborted: tuple[tuple[int, int], ...]


class Sandbox:
    """A Kafka cluster in this process."""

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
        """Make the cluster; nothing runs yet.

        Args:
            nodes: how many; their ids follow each other.
            topics: topics to start with, and their numbers of partitions.
            settings: broker properties.
            security: what listeners ask of clients; PLAINTEXT by default.
            racks: the rack of each node.
            first_node_id: the id of the first node.
        """
        if not 1 <= nodes <= MAX_NODES:
            raise ValueError(f"nodes must be 1 to {MAX_NODES}, not {nodes}")
        if racks is not None and len(racks) != nodes:
            raise ValueError(f"{len(racks)} racks for {nodes} nodes")
        settings = settings or ClusterSettings()
        rack_of = dict(enumerate(racks or (), start=first_node_id))
        ids = range(first_node_id, first_node_id + nodes)
        slots = settings.max_incremental_fetch_session_cache_slots
        self.cluster = Cluster([ClusterNode(node_id, "", 0, rack_of.get(node_id), slots) for node_id in ids], settings)
        self.security = security or ListenerSecurity()
        if self.security.users is not None:
            self.cluster.scram_users.add_passwords(self.security.users.passwords)
        self.listeners: dict[int, NodeListener] = {}
        """By node id, once the cluster runs."""
        self._carry_out: Callable[[Callable[[], None]], None] = _at_once
        for name, partitions in (topics or {}).items():
            self.cluster.create_topic(name, partitions)

    # --- running ----------------------------------------------------------------------------------------------------

    def serve(self, *, host: str = "127.0.0.1", port: int = 0, advertised_host: str | None = None) -> "ServedSandbox":
        """Serve all nodes on sockets, in a thread of their own, and return the handle that ends it.

        Args:
            host: the address to listen on.
            port: node i listens on `port` + i - 1; 0 lets the system choose.
            advertised_host: the host in the metadata of clients; `host` by default.
        Raises:
            OSError: an address cannot be listened on.
        """
        from kctl.sandbox.server import ServedSandbox

        return ServedSandbox(self, host, port, advertised_host or host)

    def attach(self, network: "SimNetwork", resolver: "SimResolver | None" = None) -> str:
        """Let all nodes listen in a simulation and return its bootstrap.servers.

        Node i is 10.0.0.i:9092; with a `resolver` it is advertised as node-i, a name that the resolver learns.
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
        """Make the listeners of all nodes; for those who bring sockets or a simulation.

        Args:
            scheduler: time for the cluster.
            entropy: nonces.
            carry_out: runs a function where the cluster runs and returns when it has; at once by default.
        Raises:
            IllegalStateError: somebody else runs the cluster.
        """
        self.cluster.run_on(scheduler)
        self._carry_out = carry_out or _at_once
        self.listeners = {
            node.node_id: NodeListener(self.cluster, node, self.security, entropy)
            for node in self.cluster.nodes.values()
        }

    @property
    def bootstrap(self) -> str:
        """The advertised addresses of all nodes, as bootstrap.servers wants them."""
        return ",".join(place_text(node.host, node.port) for node in self.cluster.nodes.values())

    # --- what can be done to it -------------------------------------------------------------------------------------

    def _do(self, action: Callable[[], T]) -> T:
        results: list[T] = []
        self._carry_out(lambda: results.append(action()))
        return results[0]

    def create_topic(
        self, name: str, partitions: int = 1, replication_factor: int = 1, properties: dict[str, str] | None = None
    ) -> None:
        """Create a topic.

        Raises:
            TopicRefused: it exists, or name, counts or properties are not possible.
        """
        self._do(lambda: self.cluster.create_topic(name, partitions, replication_factor, properties))

    def move_leader(self, topic: str, partition: int, node_id: int, *, end_offset: int | None = None) -> None:
        """Let another node lead a partition, with a new leader epoch.

        Args:
            topic, partition: what it leads.
            node_id: the new leader.
            end_offset: where its log ends; what is behind is lost, as in an unclean election. In the middle of a
                batch, the whole batch is lost. None: nothing is lost, but what a follower that was held back lacks.
        Raises:
            KeyError: no such topic, partition or node.
            OffsetOutOfRange: the log has no `end_offset`.
        """
        self._do(lambda: self.cluster.move_leader(topic, partition, node_id, end_offset))

    def elect_late(self, topic: str, partition: int, node_id: int, *, ms: int) -> None:
        """Leave a partition without a leader for `ms` milliseconds, then let a node lead it.

        Raises:
            KeyError: no such topic, partition or node.
        """
        self._do(lambda: self.cluster.elect_late(topic, partition, node_id, ms))

    def hold_follower(self, topic: str, partition: int, node_id: int) -> None:
        """Let a follower copy nothing more: it is out of sync, and answers fetches up to where it stands.

        Raises:
            KeyError: no such topic or partition.
            ValueError: the node is not a follower.
        """
        self._do(lambda: self.cluster.topics[topic].partitions[partition].hold(node_id))

    def lag_follower(self, topic: str, partition: int, node_id: int) -> None:
        """Let a follower copy nothing more, and count as in sync for replica.lag.time.max.ms.

        Until then acks=all waits for it. If it is made the leader meanwhile, what it lacks is lost, which was
        acknowledged to acks=1 alone.
        Raises:
            KeyError: no such topic or partition.
            ValueError: the node is not a follower.
        """
        cluster = self.cluster
        self._do(lambda: cluster.replication.lag(cluster.topics[topic].partitions[partition], node_id))

    def release_follower(self, topic: str, partition: int, node_id: int) -> None:
        """Let a follower that was held back catch up at once."""
        self._do(lambda: self.cluster.topics[topic].partitions[partition].release(node_id))

    def forget_fetch_sessions(self, node_id: int) -> None:
        """Let a node forget its fetch sessions, as one does that starts again.

        Raises:
            KeyError: no such node.
        """
        self._do(lambda: self.cluster.nodes[node_id].fetch_sessions.clear())

    def move_coordinator(self, group_id: str, node_id: int) -> None:
        """Let another node coordinate a group, which it knows as it was when its last rebalance was complete."""
        self._do(lambda: self.cluster.groups.move(group_id, node_id))

    def trouble_coordinator(self, group_id: str, code: ErrorCode | None) -> None:
        """Let requests about a group end in NOT_COORDINATOR, COORDINATOR_LOAD_IN_PROGRESS or
        COORDINATOR_NOT_AVAILABLE; None ends that.

        Raises:
            ValueError: some other code.
        """
        self._do(lambda: self.cluster.groups.trouble(group_id, code))

    def move_transaction_coordinator(self, transactional_id: str, node_id: int) -> None:
        """Let another node coordinate a transactional id; it knows all that the one before knew.

        Raises:
            KeyError: no such node.
        """
        self._do(lambda: self.cluster.transactions.move(transactional_id, node_id))

    def trouble_transaction_coordinator(self, transactional_id: str, code: ErrorCode | None) -> None:
        """Let requests about a transactional id end in an error, as `trouble_coordinator` does for a group.

        Raises:
            ValueError: some other code.
        """
        self._do(lambda: self.cluster.transactions.trouble(transactional_id, code))

    def hold_markers(self, transactional_id: str) -> None:
        """Let a transaction that is decided stay incomplete: its markers are not written before `release_markers`."""
        self._do(lambda: self.cluster.transactions.hold_markers(transactional_id))

    def release_markers(self, transactional_id: str) -> None:
        """Write the markers of a transactional id that were held back, and further ones at once."""
        self._do(lambda: self.cluster.transactions.release_markers(transactional_id))

    def lose_markers(self, transactional_id: str) -> None:
        """Let the transaction that ends next count as complete without its markers: it hangs on its partitions."""
        self._do(lambda: self.cluster.transactions.lose_markers(transactional_id))

    def hold_moves(self) -> None:
        """Let no move of a partition end before `release_moves`."""
        self._do(self.cluster.reassignments.hold)

    def release_moves(self) -> None:
        """Let moves of partitions end again."""
        self._do(self.cluster.reassignments.release)

    def expire_producers(self, topic: str, partition: int) -> None:
        """Let a partition forget the producers that wrote to it, as Kafka does after producer.id.expiration.ms.

        Those with an open transaction are kept.
        Raises:
            KeyError: no such topic or partition.
        """
        self._do(lambda: self.cluster.topics[topic].partitions[partition].log.producers.expire())

    def limit(self, quota: Quota, bytes_per_s: int | None, *, node_id: int | None = None) -> None:
        """Limit what each client may produce or fetch a second; a client above it is throttled and muted.

        Args:
            quota: what is limited.
            bytes_per_s: how much; None: no limit.
            node_id: at which node; None: at each.
        Raises:
            KeyError: no such node.
            ValueError: the limit is not possible.
        """

        self._do_on_nodes(node_id, lambda node: node.quotas.limit(quota, bytes_per_s))

    def delete_records(self, topic: str, partition: int, before_offset: int) -> None:
        """Let a partition start at `before_offset`, as retention does."""
        self._do(lambda: self.cluster.topics[topic].partitions[partition].log.delete_records(before_offset))

    def advertise(self, node_id: int, host: str, port: int) -> None:
        """Tell clients another address of a node than the one it listens on."""

        def change() -> None:
            node = self.cluster.nodes[node_id]
            node.host, node.port = host, port

        self._do(change)

    def start_fault(self, node_id: int, fault: Fault, *, ms: int = 0) -> None:
        """Switch a fault of a node on; `ms` is the delay of `Fault.DELAY`.

        Raises:
            KeyError: no such node.
            ValueError: `ms` does not fit the fault.
        """
        self._do(lambda: self.cluster.nodes[node_id].faults.start(fault, ms=ms))

    def stop_fault(self, node_id: int, fault: Fault) -> None:
        """Switch a fault of a node off."""
        self._do(lambda: self.cluster.nodes[node_id].faults.stop(fault))

    def fail_requests(self, api: str, code: ErrorCode, *, times: int = 1, node_id: int | None = None) -> None:
        """Answer the next requests of an API with an error; they are not carried out.

        Args:
            api: Kafka's name, such as Fetch or OffsetCommit.
            code: the error, for all that a request asks. Produce with acks=0 is still not answered.
            times: how many requests, of each node.
            node_id: of which node; None: of all.
        Raises:
            KeyError: no such node.
            ValueError: the sandbox has no such API, it has no error codes, or `times` is not possible.
        """
        api_key = failing_api(api)
        self._do_on_nodes(node_id, lambda node: node.faults.fail_requests(api_key, code, Times(times)))

    def fail_when(self, api: str, code: ErrorCode, trigger: Trigger, *, node_id: int | None = None) -> None:
        """Answer requests of an API with an error when a trigger says so; all nodes count together.

        Raises:
            KeyError, ValueError: as `fail_requests`.
        """
        api_key = failing_api(api)
        self._do_on_nodes(node_id, lambda node: node.faults.fail_requests(api_key, code, trigger))

    def _do_on_nodes(self, node_id: int | None, change: Callable[[ClusterNode], None]) -> None:
        """Change a node, or without an id each."""

        def change_all() -> None:
            nodes = self.cluster.nodes
            for node in nodes.values() if node_id is None else [nodes[node_id]]:
                change(node)

        self._do(change_all)

    def heal(self, node_id: int | None = None) -> None:
        """Switch all faults of a node off, or of all nodes and the controllers."""

        def change() -> None:
            if node_id is None:
                self.cluster.quorum.start()
            for node in self.cluster.nodes.values():
                if node_id in (None, node.node_id):
                    node.faults.heal()
                    node.state.heal()

        self._do(change)

    def set_disk(self, node_id: int, total_bytes: int | None) -> None:
        """Give the disk of a node this size; None takes its directory offline. Nothing is refused for lack of space.

        Raises:
            KeyError: no such node.
        """

        def change() -> None:
            state = self.cluster.nodes[node_id].state
            state.is_disk_offline = total_bytes is None
            state.disk_bytes = state.disk_bytes if total_bytes is None else total_bytes

        self._do(change)

    def hold_metadata(self, node_id: int) -> None:
        """Let a node report topics and leaders as they are now, and fall behind the quorum, until `release_metadata`.

        Raises:
            KeyError: no such node.
        """

        def change() -> None:
            cluster = self.cluster
            cluster.nodes[node_id].state.hold_metadata(cluster.topics.values(), cluster.scheduler.wall_ms())

        self._do(change)

    def release_metadata(self, node_id: int) -> None:
        """Let a node follow the metadata again."""
        self._do(lambda: self.cluster.nodes[node_id].state.release_metadata())

    def register(self, node_id: int, *, is_registered: bool = True) -> None:
        """Let the metadata of the cluster name a node, or not: replicas and leaders stay as they are.

        Raises:
            KeyError: no such node.
        """

        def change() -> None:
            self.cluster.nodes[node_id].state.is_registered = is_registered

        self._do(change)

    def fence(self, node_id: int, *, is_fenced: bool = True) -> None:
        """Let the controller hear no heartbeats of a node, or hear them again: replicas and leaders stay as they are.

        Raises:
            KeyError: no such node.
        """

        def change() -> None:
            self.cluster.nodes[node_id].state.is_fenced = is_fenced

        self._do(change)

    def secure(self, node_id: int, security: ListenerSecurity) -> None:
        """Let new connections of a node meet another security, such as a renewed certificate.

        Raises:
            KeyError: no such node.
        """

        def change() -> None:
            self.listeners[node_id].security = security

        self._do(change)

    def stop_controllers(self) -> None:
        """Let no node be the controller: what brokers forward to it waits, as if all controllers were down."""
        self._do(self.cluster.quorum.stop)

    def start_controllers(self) -> None:
        """Let a majority of the nodes elect a controller again, which takes what waits for it."""
        self._do(self.cluster.quorum.start)

    # --- contents -----------------------------------------------------------------------------------------------------

    def topics(self) -> dict[str, int]:
        """Return the topics and their numbers of partitions."""
        return self._do(lambda: {name: len(topic.partitions) for name, topic in self.cluster.topics.items()})

    def stored(self, topic: str, partition: int) -> StoredLog:
        """Return a copy of the log of a partition.

        Raises:
            KeyError: no such topic or partition.
        """

        def read() -> StoredLog:
            log = self.cluster.topics[topic].partitions[partition].log
            aborted = tuple((one.producer_id, one.first_offset) for one in log.aborted)
            data = b"".join(batch.data for batch in log.batches)
            return StoredLog(data, log.start_offset, log.end_offset, log.last_stable_offset, aborted)

        return self._do(read)

    def append(self, topic: str, partition: int, records: bytes) -> int:
        """Append a batch to a partition, as its leader does, and return the offset of its first record.

        Raises:
            KeyError: no such topic or partition.
            BatchRefused: the leader rejects the batch.
        """

        def write() -> int:
            part = self.cluster.topics[topic].partitions[partition]
            return part.log.append(records, part.leader_epoch, self.cluster.scheduler.wall_ms()).base_offset

        return self._do(write)

    def committed(self, group_id: str) -> dict[tuple[str, int], CommittedOffset]:
        """Return the committed offsets of a group, by topic and partition; without a group nothing is committed."""
        return self._do(lambda: dict(self.cluster.groups.offsets.get(group_id, {})))

    def members(self, group_id: str) -> list[str]:
        """Return the ids of the members of a group; without a group there are none."""
        return self._do(lambda: self.cluster.groups.members(group_id))

    def expire_session(self, group_id: str, member_id: str) -> None:
        """Let the session of a member expire now, as if it had sent no heartbeat for its session timeout.

        Raises:
            KeyError: the group has no such member.
        """
        self._do(lambda: self.cluster.groups.expire_session(group_id, member_id))

    def end_offset(self, topic: str, partition: int) -> int:
        """Return the offset that the next record will have."""
        return self._do(lambda: self.cluster.topics[topic].partitions[partition].log.end_offset)


def failing_api(api: str) -> int:
    """Return the key of an API that can be made to fail.

    Raises:
        ValueError: the sandbox has no such API, or its answers have no error codes.
    """
    by_name = {handler.request.NAME: handler.request for handler in HANDLERS.values()}
    request = by_name.get(api)
    if request is None or not has_error_code(request):
        able = ", ".join(sorted(name for name, one in by_name.items() if has_error_code(one)))
        raise ValueError(f"{api!r} cannot be made to fail; {able} can")
    api_key: int = request.API_KEY
    return api_key


def _at_once(action: Callable[[], None]) -> None:
    action()
