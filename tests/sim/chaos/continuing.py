"""Continuing: after a run, `kctl consume` stops for a while, its topic is recreated, or retention passes its offset.

Records that arrive in the meantime must be printed exactly once.
"""

from collections.abc import Callable
from random import Random

from kctl.client.broker_errors import ErrorCode
from kctl.client.records import RecordBatchBuilder
from tests.sim.chaos.consumer_cluster import BOOTSTRAP, ConsumerCluster
from tests.sim.chaos.history import CLUSTER
from tests.sim.virtual import LinkFault, sim_runtime
from tests.support.in_process import run_in_process

STORIES = ("down", "recreated", "retention")
TOPIC, GROUP = "later", "later"
PARTITIONS = 3
REFUSALS = (
    ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.REQUEST_TIMED_OUT,
)  # fmt: skip
READING_MS = 4000
"""Time after which a command has joined and has read the existing records, in ms."""
IDLE_S = 8


class Story:
    """One story: the records that have to be printed, and those that were."""

    def __init__(self, world: ConsumerCluster, rng: Random) -> None:
        self._world = world
        self._rng = rng
        self._written = 0
        self.wanted: list[str] = []
        self.printed: list[str] = []
        self.codes: list[int] = []
        world.sandbox.create_topic(TOPIC, PARTITIONS)

    def write(self, partition: int, count: int, *, is_wanted: bool) -> None:
        """Append a batch."""
        builder, now_ms = RecordBatchBuilder(), self._world.hub.now_ms + self._world.hub.wall_offset_ms
        for _ in range(count):
            self._written += 1
            assert builder.try_append(None, b"%d" % self._written, [], now_ms) is not None
            if is_wanted:
                self.wanted.append(str(self._written))
        found = self._world.sandbox.cluster.topics[TOPIC].partitions[partition]
        found.log.append(builder.build(), found.leader_epoch, now_ms)

    def consume(self, *words: str) -> None:
        """Run the command to its end."""
        world = self._world
        runtime = sim_runtime(world.hub, "consume", world.network, world.resolver)
        ended = run_in_process(
            "consume", TOPIC, *words, "-b", BOOTSTRAP, "-X", "metadata.max.age.ms=1000", runtime=runtime
        )
        self.printed += ended.stdout.decode().split()
        self.codes.append(int(ended.code))

    def down(self) -> None:
        """A group reads little or nothing, is down, and comes back."""
        rng, world = self._rng, self._world
        for partition in range(PARTITIONS):
            self.write(partition, rng.choice([1, 5]), is_wanted=False)
        start = rng.choice(["end", "-1", "@-1h"])
        given = ["-g", GROUP, "-o", start, "-X", f"group.protocol={rng.choice(['classic', 'consumer'])}"]
        if rng.random() < 0.7:
            self._later(lambda: self.write(0, 1, is_wanted=True))
        if rng.random() < 0.5:
            world.replies.refuse("OffsetCommit", rng.choice(REFUSALS), 1)
        self.consume(*given, "--idle-timeout", f"{IDLE_S}s")
        world.hub.sleep_ms(rng.choice([1, 500]))
        for partition in range(PARTITIONS):
            self.write(partition, 1, is_wanted=True)
        self.consume(*given, "-e")

    def recreated(self) -> None:
        """The topic of a reader, with a group or without, is deleted and created again."""

        rng, sandbox = self._rng, self._world.sandbox

        def delete() -> None:
            sandbox.cluster.delete_topic(TOPIC)
            away_ms = rng.choice([0, 100, 250, 1500])
            if away_ms:
                self._later(create, away_ms)
            else:
                create()

        def create() -> None:
            sandbox.create_topic(TOPIC, PARTITIONS)
            self._later(lambda: self.write(0, 30, is_wanted=True), rng.choice([1, 3000]))

        self.write(0, 20, is_wanted=True)
        self._follow(delete, rng.choice([500, READING_MS]))

    def retention(self) -> None:
        """Retention passes a reader that is cut off."""

        def pass_by() -> None:
            network, sandbox = self._world.network, self._world.sandbox
            number = network.faults.start(LinkFault.REFUSE)
            for connection in network.connections_of():
                connection.cut()
            self.write(0, 20, is_wanted=False)
            self.write(0, 15, is_wanted=True)
            sandbox.delete_records(TOPIC, 0, 40)
            self._later(lambda: network.faults.stop(number), 1000)

        self.write(0, 20, is_wanted=True)
        self._follow(pass_by)

    def _follow(self, trouble: Callable[[], None], after_ms: int = READING_MS) -> None:
        self._later(trouble, after_ms)
        group = ["-g", GROUP] if self._rng.random() < 0.5 else []
        self.consume(*group, "-o", "start", "--idle-timeout", f"{IDLE_S}s")

    def _later(self, action: Callable[[], None], after_ms: int = READING_MS) -> None:
        self._world.hub.call_later_ms(after_ms, "story", action)


def continue_reading(world: ConsumerCluster) -> None:
    """Play one of the stories and record the printed lines."""
    rng = world.hub.rng("continuing")
    name = rng.choice(STORIES)
    story = Story(world, rng)
    {"down": story.down, "recreated": story.recreated, "retention": story.retention}[name]()
    printed = [each for each in story.printed if each in set(story.wanted)]
    world.history.event(
        CLUSTER, "continued", {"story": name, "wanted": story.wanted, "printed": printed, "codes": story.codes}
    )
