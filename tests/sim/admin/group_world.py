"""Groups with members, in virtual time, for the tests of group administration."""

from collections.abc import Callable, Mapping
from contextlib import ExitStack

from kctl.client.admin import Admin
from kctl.client.cluster import TopicPartition
from kctl.client.consumer.consumer import Consumer
from tests.sim.producer.world import World
from tests.sim.virtual import Hub, sim_runtime

POLL_S = 0.2
ROUNDS = 60
"""Polls of all members after which a group has settled."""


class GroupWorld(World):
    """A `World` that makes consumers; several live at once on the one application thread, polled in turn."""

    def consumer(self, **properties: object) -> Consumer:
        given = {name.replace("_", "."): value for name, value in properties.items()}
        self._made = getattr(self, "_made", 0) + 1
        config = {"bootstrap.servers": self.bootstrap, "auto.offset.reset": "earliest", **given}
        return Consumer(config, sim_runtime(self.hub, f"consumer{self._made}", self.network))

    def member(self, group_id: str, topic: str = "t", **properties: object) -> Consumer:
        consumer = self.consumer(group_id=group_id, session_timeout_ms=30_000, **properties)
        consumer.subscribe([topic])
        return consumer

    def kip_848_member(self, group_id: str, topic: str = "t", **properties: object) -> Consumer:
        consumer = self.consumer(group_id=group_id, group_protocol="consumer", **properties)
        consumer.subscribe([topic])
        return consumer

    def commit(self, group_id: str, offsets: Mapping[tuple[str, int], int]) -> None:
        """Leave a group behind that has committed these offsets and has no member."""
        with self.consumer(group_id=group_id) as consumer:
            consumer.commit_sync({TopicPartition(*key): offset for key, offset in offsets.items()}, timeout=30)

    def coordinator(self, group_id: str) -> int:
        return self.sandbox.cluster.groups.node_of(group_id).node_id

    def elsewhere(self, group_id: str) -> int:
        """A node that does not coordinate the group."""
        return next(node_id for node_id in (1, 2, 3) if node_id != self.coordinator(group_id))


def settle(*members: Consumer) -> None:
    """Poll until every member has a share, and has had it for a while."""
    for _ in range(ROUNDS):
        for member in members:
            member.poll(POLL_S)
    assert all(member.assignment for member in members)


def with_groups(
    use: Callable[[GroupWorld, Admin, ExitStack], None],
    *,
    topics: Mapping[str, int] | None = None,
    **properties: object,
) -> None:
    """Run a test with an admin client; what it enters into the stack is closed at its end."""
    with Hub(seed=3) as hub:
        world = GroupWorld(hub, topics={"t": 4, "u": 2} if topics is None else topics)
        given = {name.replace("_", "."): value for name, value in properties.items()}

        def app() -> None:
            with ExitStack() as stack:
                admin = stack.enter_context(Admin({"bootstrap.servers": world.bootstrap, **given}, world.runtime))
                use(world, admin, stack)

        hub.spawn("app", app)
        hub.run()
        assert hub.live_actors == ()
        hub.run(until_ms=hub.now_ms + 100)
        assert world.network.open_connections == 0
