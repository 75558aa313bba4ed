"""Faults for producers only, in addition to tests/sim/chaos/faults.py."""

from kctl.client.broker_errors import ErrorCode
from kctl.client.cluster import TopicPartition
from kctl.sandbox.partition import NO_LEADER
from kctl.sandbox.quotas import Quota
from tests.sim.chaos.faults import End, Trouble
from tests.sim.chaos.history import CLUSTER
from tests.sim.chaos.plan import NODES, Fault
from tests.sim.chaos_producer.plan import Extra
from tests.sim.chaos_producer.producer_cluster import ProducerCluster

MOST_PARTITIONS = 5
_BY_SANDBOX = ("NOT_ENOUGH_REPLICAS_AFTER_APPEND", "REQUEST_TIMED_OUT")
"""Codes that say that something is written all the same: the sandbox carries such requests out, where Kafka does."""


class ProducerTrouble(Trouble):
    """The faults of one run of producers."""

    def __init__(self, world: ProducerCluster) -> None:
        super().__init__(world)
        self._producers = world
        self._held: dict[str, int] = {}
        self._away: list[Fault] = []
        """The jumps of clocks of clients that last."""
        self._do |= {
            Extra.EXPIRE_PRODUCERS.value: self._expire_producers,
            Extra.HOLD_MARKERS.value: self._hold_markers,
            Extra.LAG.value: self._lag,
            Extra.HOLD.value: self._hold,
            Extra.SHRINK.value: self._shrink,
            Extra.QUOTA.value: self._quota,
            Extra.TOO_LARGE.value: self._too_large,
        }

    def heal(self) -> None:
        world = self._producers
        for tp in world.partitions():
            for node in range(1, NODES + 1):
                world.sandbox.release_follower(*tp, node)
        super().heal()
        for transactional_id in world.plan.transactional_ids:
            world.sandbox.trouble_transaction_coordinator(transactional_id, None)
            world.sandbox.release_markers(transactional_id)
        world.sandbox.limit(Quota.PRODUCE, None)
        self._allow(None)
        while self._away:
            self._set_right(self._away[0])

    # --- shared kinds, with their meaning for producers ---------------------------------------------------------------

    def _leader(self, fault: Fault) -> None:
        tp = self._chosen(fault)
        if tp is not None:
            self._elect(tp, fault.node)

    def _elect(self, tp: TopicPartition, node: int) -> None:
        """Elect an in-sync replica: only records that the leader alone acknowledged may be lost."""
        world = self._producers
        partition = world.partition(tp)
        candidates = [one for one in partition.in_sync if one != partition.leader_id] or list(partition.in_sync)
        if len(partition.replicas) == 1:
            candidates = [node]  # its one replica moves with all it has
        chosen = node if node in candidates else candidates[0]
        world.elect(tp, chosen)

    def _election(self, fault: Fault) -> None:
        """No leader for a while, then the same one."""
        tp = self._chosen(fault)
        if tp is not None:
            leader = self._producers.partition(tp).leader_id
            if leader > 0:
                self._world.sandbox.elect_late(*tp, leader, ms=max(1, fault.duration_ms))

    def _coordinator(self, fault: Fault) -> None:
        for transactional_id in self._producers.plan.transactional_ids:
            self._world.sandbox.move_transaction_coordinator(transactional_id, fault.node)
        super()._coordinator(fault)

    def _trouble(self, fault: Fault) -> End:
        sandbox = self._world.sandbox
        for transactional_id in self._producers.plan.transactional_ids:
            sandbox.trouble_transaction_coordinator(transactional_id, ErrorCode[fault.word])

        def end() -> None:
            for transactional_id in self._producers.plan.transactional_ids:
                sandbox.trouble_transaction_coordinator(transactional_id, None)

        return end

    def _partitions(self, fault: Fault) -> None:
        self._world.add_partitions("t", fault.number, MOST_PARTITIONS)

    def _errors(self, fault: Fault) -> None:
        api, code = fault.word.split()
        if api == "Produce" or code in _BY_SANDBOX:
            self._world.sandbox.fail_requests(api, ErrorCode[code], times=fault.number)
        else:
            super()._errors(fault)

    def _wall_clock(self, fault: Fault) -> End | None:
        """Change all clocks permanently, or the clock of one client for a while."""
        if not fault.client:
            return super()._wall_clock(fault)
        self._world.hub.jump_wall(fault.number, fault.client)
        self._away.append(fault)
        return lambda: self._set_right(fault)

    def _set_right(self, fault: Fault) -> None:
        self._away.remove(fault)
        self._world.hub.jump_wall(-fault.number, fault.client)

    # --- additional kinds ---------------------------------------------------------------------------------------------

    def _expire_producers(self, fault: Fault) -> None:
        tp = self._chosen(fault)
        if tp is not None:
            self._world.sandbox.expire_producers(*tp)
            self._world.history.event(CLUSTER, "expired", [tp, self._world.end(tp)])

    def _hold_markers(self, fault: Fault) -> End:
        sandbox, names = self._world.sandbox, self._producers.plan.transactional_ids
        for name in names:
            self._held[name] = self._held.get(name, 0) + 1
            sandbox.hold_markers(name)

        def end() -> None:
            for name in names:
                self._held[name] -= 1
                if not self._held[name]:
                    sandbox.release_markers(name)

        return end

    def _lag(self, fault: Fault) -> End | None:
        return self._stand(fault, is_in_sync=True)

    def _hold(self, fault: Fault) -> End | None:
        return self._stand(fault, is_in_sync=False)

    def _stand(self, fault: Fault, *, is_in_sync: bool) -> End | None:
        """Let a follower copy nothing more."""
        tp = self._chosen(fault)
        sandbox = self._world.sandbox
        partition = None if tp is None else self._producers.partition(tp)
        if tp is None or partition is None or partition.leader_id == NO_LEADER:
            return None
        if fault.node == partition.leader_id or fault.node not in partition.replicas:
            return None
        if is_in_sync:
            sandbox.lag_follower(*tp, fault.node)
        else:
            sandbox.hold_follower(*tp, fault.node)
        return lambda: sandbox.release_follower(*tp, fault.node)

    def _shrink(self, fault: Fault) -> End:
        """Stop all followers: with a higher min.insync.replicas, all requests with acks=all fail."""
        del fault
        held = [
            (*tp, node)
            for tp in self._producers.partitions()
            for node in self._producers.partition(tp).replicas
            if self._producers.partition(tp).leader_id not in (NO_LEADER, node)
        ]
        for follower in held:
            self._world.sandbox.hold_follower(*follower)

        def end() -> None:
            for follower in held:
                self._world.sandbox.release_follower(*follower)

        return end

    def _quota(self, fault: Fault) -> End:
        sandbox = self._world.sandbox
        sandbox.limit(Quota.PRODUCE, fault.number, node_id=fault.node)
        return lambda: sandbox.limit(Quota.PRODUCE, None, node_id=fault.node)

    def _too_large(self, fault: Fault) -> End:
        self._allow(fault.number)
        return lambda: self._allow(None)

    def _allow(self, most_bytes: int | None) -> None:
        """Set the maximum batch size of the topic; None restores it."""
        cluster = self._producers.sandbox.cluster
        most_bytes = cluster.settings.message_max_bytes if most_bytes is None else most_bytes
        for partition in cluster.topics["t"].partitions.values():
            partition.log.settings = partition.log.settings._replace(max_message_bytes=most_bytes)
