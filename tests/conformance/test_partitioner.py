"""The choice of partitions against the Java client's own classes: 100,000 keys, and draws by the sizes of queues."""

import subprocess
from pathlib import Path
from random import Random

from kctl.client.clock import ManualClock
from kctl.client.cluster import NO_TOPIC_ID, PartitionInfo, TopicInfo
from kctl.client.producer.partitioner import Load, Partitioner, QueueState
from kctl.client.records._hot.murmur2 import murmur2, partition_of_key
from tests.support.bounds import bound
from tests.support.kafka.requirements import have
from tests.support.kafka.toolchain import compiled_class_path, java_command
from tests.unit.producer.records import Maker, config

PROGRAM = Path(__file__).parent / "java" / "PartitionChoice.java"
MAIN = "org.apache.kafka.clients.producer.internals.PartitionChoice"
SEED = 20_794
KEYS = 100_000
DRAWS = 20_000
BUSY_NODE, IDLE_NODE = 1, 2
AVAILABILITY_TIMEOUT_MS = 100


class Given(Random):
    """A chance that gives one number, as Java uses its own: the rest of a division."""

    def __init__(self, number: int) -> None:
        super().__init__(0)
        self.number = number

    def randrange(self, start: int, stop: int | None = None, step: int = 1) -> int:
        assert stop is None
        return self.number % start


def java(lines: list[str]) -> list[str]:
    """One answer of the Java program for each line."""
    command = have(lambda: java_command(compiled_class_path(PROGRAM), MAIN))
    done = subprocess.run(
        command, input="\n".join(lines) + "\n", capture_output=True, encoding="utf-8", timeout=bound(120)
    )
    assert done.returncode == 0, done.stderr[-2000:]
    answers = done.stdout.splitlines()
    assert len(answers) == len(lines)
    return answers


def keys(rng: Random) -> list[bytes]:
    """Random bytes of 0 to 40, most of them no UTF-8, and text of several scripts."""
    found = [b""]
    while len(found) < KEYS:
        if rng.random() < 0.7:
            found.append(rng.randbytes(rng.randrange(0, 41)))
        else:
            found.append("".join(rng.choice("abcXYZ019-äßéλж字🦉") for _ in range(rng.randrange(1, 20))).encode())
    return found


def test_keys_go_where_java_sends_them() -> None:
    rng = Random(SEED)
    asked = [(key, rng.choice([1, 2, 3, 7, 12, 100, 1000, 65_535])) for key in keys(rng)]
    assert sum(not is_text(key) for key, _ in asked) > KEYS // 2
    answers = java([f"key {count} {key.hex()}" for key, count in asked])
    for (key, count), answer in zip(asked, answers, strict=True):
        assert f"{murmur2(key)} {partition_of_key(key, count)}" == answer, f"key {key.hex()} of {count} partitions"


def is_text(key: bytes) -> bool:
    try:
        key.decode()
    except UnicodeDecodeError:
        return False
    return True


def test_records_without_a_key_are_drawn_as_java_draws_them() -> None:
    """Queues of any sizes, some partitions left out because their node takes no data: the same number, the same one."""
    rng = Random(SEED)
    lines, ours = [], []
    for _ in range(DRAWS):
        count = rng.choice([1, 2, 3, 5, 20])
        sizes = [rng.choice([0, 1, rng.randrange(50)]) for _ in range(count)]
        if rng.random() < 0.2:
            sizes = [sizes[0]] * count
        left_out = [size > 0 and rng.random() < 0.2 for size in sizes]
        number = rng.randrange(2**31)
        named = [f"{at}:{size}" for at, size in enumerate(sizes) if not left_out[at]]
        lines.append(" ".join(["draw", str(number), str(count), *named]))
        ours.append(drawn(number, sizes, left_out))
    assert java(lines) == [str(partition) for partition in ours]


def drawn(number: int, sizes: list[int], left_out: list[bool]) -> int:
    nodes = [BUSY_NODE if is_out else IDLE_NODE for is_out in left_out]
    info = TopicInfo("t", NO_TOPIC_ID, False, None, {at: PartitionInfo("t", at, node) for at, node in enumerate(nodes)})
    load = Load(
        lambda _, partition: QueueState(sizes[partition], 0),
        lambda node_id: AVAILABILITY_TIMEOUT_MS + 1 if node_id == BUSY_NODE else 0,
    )
    settings = config(partitioner_availability_timeout_ms=AVAILABILITY_TIMEOUT_MS)
    (run,) = Partitioner(settings, Given(number), load).assign(Maker(ManualClock()).sent(), info)
    return run.partition
