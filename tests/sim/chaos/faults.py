"""Faults of a plan on network, sandbox, and hub: started and stopped on time, and all healed together."""

from collections.abc import Callable

from kctl.client.broker_errors import ErrorCode
from kctl.client.cluster import TopicPartition
from kctl.sandbox import Fault as NodeFault
from tests.sim.chaos.chaos_cluster import ChaosCluster
from tests.sim.chaos.damages import CHANGES
from tests.sim.chaos.history import CLUSTER
from tests.sim.chaos.plan import NODES, Fault, Kind
from tests.sim.hub.strangers import TLS_ALERT, UNAVAILABLE, Stranger
from tests.sim.virtual import LinkFault
from tests.sim.virtual.network import Connection

GROUPS = ("g", "k")
MOST_PARTITIONS_OF_U = 5
LONGEST_WITHOUT_TOPIC_MS = 5000
MOST_CUT = 30
End = Callable[[], None]

_LINK_FAULTS = {
    Kind.CLOG_REQUESTS: (LinkFault.CLOG_REQUESTS,),
    Kind.CLOG_RESPONSES: (LinkFault.CLOG_RESPONSES,),
    Kind.CLOG: (LinkFault.CLOG_REQUESTS, LinkFault.CLOG_RESPONSES),
    Kind.BLACKHOLE: (LinkFault.BLACKHOLE,),
    Kind.REFUSE: (LinkFault.REFUSE,),
    Kind.SLOW: (LinkFault.SLOW,),
    Kind.RATE: (LinkFault.RATE,),
    Kind.SEGMENTS: (LinkFault.SEGMENTS,),
    Kind.WINDOW: (LinkFault.WINDOW,),
}
DAMAGES = (
    (2**31 - 1).to_bytes(4, "big") + bytes(60),
    bytes([0xFF] * 16),
    (64).to_bytes(4, "big") + bytes([0x55] * 64),
)
"""Frames that brokers never send: of 2 GiB, of a negative size, and an unexpected response."""
_ENDINGS: dict[Kind, Callable[[Connection, int], None]] = {
    Kind.CUT: lambda connection, _: connection.cut(),
    Kind.HALF_CLOSE: lambda connection, _: connection.half_close(),
    Kind.FORGOTTEN: lambda connection, _: connection.forget_broker(),
    Kind.ORPHAN: lambda connection, execute_after_ms: connection.orphan(execute_after_ms),
    Kind.DAMAGE: lambda connection, choice: connection.inject(DAMAGES[choice % len(DAMAGES)]),
    Kind.UNREADABLE: lambda connection, choice: connection.damage(CHANGES[choice % len(CHANGES)]),
}

_NODE_FAULTS = {
    Kind.PAUSE: NodeFault.FREEZE,
    Kind.SILENCE: NodeFault.SILENCE,
    Kind.RESET_ON_REQUEST: NodeFault.RESET_ON_REQUEST,
    Kind.DROP_ANSWERS: NodeFault.DROP_RESPONSES,
    Kind.DELAY: NodeFault.DELAY,
}
_SWIZZLE_STEP_MS = 70


def ip_of(node: int) -> str:
    """Return the IP of a node; 0 means all nodes."""
    return f"10.0.0.{node}" if node else ""


class Trouble:
    """The faults of one run; whoever has more kinds adds them to `_do`, by the word in a plan."""

    def __init__(self, world: ChaosCluster) -> None:
        self._world = world
        self._on_nodes: dict[tuple[int, NodeFault], list[int]] = {}
        self._is_healed = False
        self._forgotten: list[Connection] = []
        self._rejecting: dict[int, list[End]] = {}
        of_kinds: dict[Kind, Callable[[Fault], End | None]] = {
            **dict.fromkeys(_LINK_FAULTS, self._link),
            **dict.fromkeys(_ENDINGS, self._ending),
            **dict.fromkeys(_NODE_FAULTS, self._node),
            Kind.SWIZZLE: self._swizzle,
            Kind.REJECT: self._reject,
            Kind.CRASH: self._crash,
            Kind.LEADER: self._leader,
            Kind.ELECTION: self._election,
            Kind.CUT_LOG: self._cut_log,
            Kind.COORDINATOR: self._coordinator,
            Kind.TROUBLE: self._trouble,
            Kind.RETENTION: self._retention,
            Kind.PARTITIONS: self._partitions,
            Kind.RECREATE: self._recreate,
            Kind.THROTTLE: self._throttle,
            Kind.NO_PROGRESS: self._no_progress,
            Kind.ERRORS: self._errors,
            Kind.LATE: self._late,
            Kind.STALL: self._stall,
            Kind.WALL_CLOCK: self._wall_clock,
            Kind.RESOLVER: self._resolver,
        }
        self._do = {kind.value: do for kind, do in of_kinds.items()}

    def schedule(self) -> None:
        """Have every fault begin at its time."""
        for number, fault in enumerate(self._world.plan.faults):
            self._world.hub.call_later_ms(fault.at_ms, "plan", self._beginning(number, fault))

    def _beginning(self, number: int, fault: Fault) -> Callable[[], None]:
        return lambda: self._begin(number, fault)

    @staticmethod
    def _later(action: Callable[[int], None], node: int) -> Callable[[], None]:
        return lambda: action(node)

    def _begin(self, number: int, fault: Fault) -> None:
        world = self._world
        if self._is_healed:
            return
        world.history.event(CLUSTER, "fault", fault._asdict())
        world.coverage.begin(number, fault.kind, fault.node if fault.node else 0, fault.client)
        end = self._do[fault.kind](fault)

        def ended() -> None:
            world.coverage.end(number)
            if end is not None and not self._is_healed:
                world.history.event(CLUSTER, "fault-ended", fault.kind)
                end()

        world.hub.call_later_ms(max(1, fault.duration_ms), "plan", ended)

    def heal(self) -> None:
        """End everything; what begins or ends later has no effect."""
        world = self._world
        self._is_healed = True
        for connection in self._forgotten:
            connection.cut()  # or the first request on it, in the calm, would be the one that finds out
        world.network.faults.heal()
        for ends in self._rejecting.values():
            while ends:
                ends.pop()()
        world.sandbox.heal()
        world.replies.heal()
        for group in GROUPS:
            world.sandbox.trouble_coordinator(group, None)
        for node in range(1, NODES + 1):
            world.resolver.add(f"node-{node}", [ip_of(node)])
        world.resolver.answer_all()
        world.create_topic("u")
        world.elect_where_nobody_leads()

    # --- links ------------------------------------------------------------------------------------------------------

    def _link(self, fault: Fault) -> End:
        return self._start(fault, fault.node)

    def _start(self, fault: Fault, node: int) -> End:
        faults = self._world.network.faults
        numbers = [
            faults.start(each, client=fault.client, ip=ip_of(node), value=fault.number)
            for each in _LINK_FAULTS.get(Kind(fault.kind), _LINK_FAULTS[Kind.CLOG])
        ]

        def end() -> None:
            for number in numbers:
                faults.stop(number)

        return end

    def _ending(self, fault: Fault) -> None:
        for connection in self._world.network.connections_of(fault.client, ip_of(fault.node)):
            if fault.kind == Kind.FORGOTTEN.value:
                self._forgotten.append(connection)
            _ENDINGS[Kind(fault.kind)](connection, fault.number)

    def _swizzle(self, fault: Fault) -> End:
        """Clog some nodes one by one; they are opened in the opposite order."""
        chosen = [node for node in range(1, NODES + 1) if fault.number >> node & 1] or [fault.node]
        ends: list[End] = []

        def clog(node: int) -> None:
            if not self._is_healed:
                ends.append(self._start(fault, node))

        for step, node in enumerate(chosen):
            self._world.hub.call_later_ms(step * _SWIZZLE_STEP_MS, "plan", self._later(clog, node))

        def end() -> None:
            for step, one in enumerate(reversed(ends)):
                self._world.hub.call_later_ms(step * _SWIZZLE_STEP_MS, "plan", one)

        return end

    # --- nodes ------------------------------------------------------------------------------------------------------

    def _node(self, fault: Fault) -> End:
        kind = _NODE_FAULTS[Kind(fault.kind)]
        key = fault.node, kind
        running = self._on_nodes.setdefault(key, [])
        running.append(fault.number)
        ms = fault.number if kind is NodeFault.DELAY else 0
        self._world.sandbox.start_fault(fault.node, kind, ms=ms)

        def end() -> None:
            running.pop()
            if not running:
                self._world.sandbox.stop_fault(fault.node, kind)

        return end

    def _crash(self, fault: Fault) -> End:
        network = self._world.network
        for connection in network.connections_of(ip=ip_of(fault.node)):
            connection.cut()
        number = network.faults.start(LinkFault.REFUSE, ip=ip_of(fault.node))
        return lambda: network.faults.stop(number)

    def _reject(self, fault: Fault) -> End:
        """Replace a node by another server: a load balancer without a backend, or a TLS listener."""
        network, ip = self._world.network, ip_of(fault.node)
        for connection in network.connections_of(ip=ip):
            connection.cut()
        ends = self._rejecting.setdefault(fault.node, [])
        ends.append(network.replace_listener(ip, Stranger((UNAVAILABLE, TLS_ALERT)[fault.number % 2])))

        def end() -> None:
            if ends:
                ends.pop()()  # the latest first, so that each restores the previous listener

        return end

    # --- the cluster ------------------------------------------------------------------------------------------------

    def _chosen(self, fault: Fault) -> TopicPartition | None:
        there = self._world.partitions()
        return there[fault.number % len(there)] if there else None

    def _leader(self, fault: Fault) -> None:
        tp = self._chosen(fault)
        if tp is not None:
            self._world.sandbox.move_leader(tp.topic, tp.partition, fault.node)

    def _election(self, fault: Fault) -> None:
        tp = self._chosen(fault)
        if tp is not None:
            self._world.sandbox.elect_late(*tp, fault.node, ms=max(1, fault.duration_ms))

    def _cut_log(self, fault: Fault) -> None:
        tp = self._chosen(fault)
        if tp is not None:
            self._world.cut(tp, fault.node, fault.number % MOST_CUT + 1)

    def _coordinator(self, fault: Fault) -> None:
        for group in GROUPS:
            self._world.sandbox.move_coordinator(group, fault.node)

    def _trouble(self, fault: Fault) -> End:
        sandbox = self._world.sandbox
        for group in GROUPS:
            sandbox.trouble_coordinator(group, ErrorCode[fault.word])

        def end() -> None:
            for group in GROUPS:
                sandbox.trouble_coordinator(group, None)

        return end

    def _retention(self, fault: Fault) -> None:
        tp = self._chosen(fault)
        if tp is not None:
            start, end = self._world.start(tp), self._world.end(tp)
            self._world.trim(tp, start + (end - start) * (fault.number % 101) // 100)

    def _partitions(self, fault: Fault) -> None:
        self._world.add_partitions("u", fault.number, MOST_PARTITIONS_OF_U)

    def _recreate(self, fault: Fault) -> End | None:
        if "u" not in self._world.sandbox.cluster.topics:
            return None
        self._world.delete_topic("u")
        after_ms = min(fault.duration_ms, LONGEST_WITHOUT_TOPIC_MS)
        self._world.hub.call_later_ms(after_ms, "plan", lambda: self._world.create_topic("u"))
        return None

    # --- responses and hosts ------------------------------------------------------------------------------------------

    def _throttle(self, fault: Fault) -> End:
        replies = self._world.replies
        replies.throttle_ms = fault.number

        def end() -> None:
            replies.throttle_ms = 0

        return end

    def _no_progress(self, fault: Fault) -> End:
        """Respond to fetches immediately, without new records."""
        replies = self._world.replies
        replies.without_progress[fault.node] = fault.number % 2 == 0

        def end() -> None:
            replies.without_progress.pop(fault.node, None)

        return end

    def _errors(self, fault: Fault) -> None:
        api, code = fault.word.split()
        self._world.replies.refuse(api, ErrorCode[code], fault.number)

    def _late(self, fault: Fault) -> End:
        """Let the responses of one API come late."""
        late_ms = self._world.replies.late_ms
        late_ms[fault.word] = fault.number

        def end() -> None:
            late_ms.pop(fault.word, None)

        return end

    def _stall(self, fault: Fault) -> None:
        self._world.hub.stall(fault.client, fault.duration_ms)

    def _wall_clock(self, fault: Fault) -> End | None:
        self._world.hub.jump_wall(fault.number)
        return None

    def _resolver(self, fault: Fault) -> End:
        name, ip = f"node-{fault.node}", ip_of(fault.node)
        if fault.word == "fail":
            self._world.resolver.fail(name, delay_ms=1)
        else:
            self._world.resolver.add(name, [ip], delay_ms=fault.duration_ms)
        return lambda: self._world.resolver.add(name, [ip])
