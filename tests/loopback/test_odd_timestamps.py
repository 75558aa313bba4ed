"""Timestamps that brokers store and that few programs expect: none, before 1970, after year 9999, in nanoseconds."""

from collections.abc import Iterator

import pytest

from kctl.client.admin import Admin, ConfigResource, NewTopic, ResourceType
from kctl.client.clock import SystemClock
from kctl.client.errors import BrokerError
from kctl.client.producer import Producer
from kctl.pipeline import isolation
from kctl.pipeline.fingerprints import COLUMNS, Compared, fingerprints
from kctl.pipeline.jobs.mirror import MirrorRequest, _prepare, mirror, plan_mirror
from kctl.pipeline.jobs.mirror_positions import create_positions_topic
from kctl.pipeline.jobs.mirror_task import MirrorTask, mirror_ranges
from kctl.pipeline.jobs.replay import ReplayRequest, _tasks
from kctl.pipeline.jobs.replay_task import replay_ranges
from kctl.pipeline.range_reader import read_range
from kctl.pipeline.ranges import Selection, plan_ranges
from kctl.pipeline.task_rounds import Attempt
from kctl.sandbox.sandbox import Sandbox
from tests.support.spark_in_process import session_in_process

Properties = dict[str, object]
GO_ZERO_MS, YEAR_1_MS = -6_795_364_578_871, -62_135_596_800_000
MICROSECONDS, NANOSECONDS = 1_700_000_000_000_000, 1_700_000_000_000_000_000
TIMES_MS = [1_700_000_000_000, -1, 0, GO_ZERO_MS, YEAR_1_MS, 253_402_300_800_000, MICROSECONDS, NANOSECONDS, 5]


@pytest.fixture
def properties() -> Iterator[Properties]:
    """A cluster with the topic `odd`, and its targets `copy` and `again`."""
    with Sandbox(nodes=1, topics={"odd": 1, "copy": 1, "again": 1}).serve() as served:
        given: Properties = {"bootstrap.servers": served.bootstrap}
        with Admin(given) as admin:
            unlimited = {"message.timestamp.after.max.ms": str(2**63 - 1), "retention.ms": "-1"}
            admin.alter_configs({topic_resource(name): unlimited for name in ("odd", "copy", "again")}).raise_first()
        with Producer(given) as producer:
            for number, at_ms in enumerate(TIMES_MS):
                producer.send("odd", b"%d" % number, timestamp_ms=at_ms, partition=0)
            producer.send_columns("odd", [b"column"] * len(TIMES_MS), partition=0, timestamps_ms=TIMES_MS)
        yield given


def topic_resource(name: str) -> ConfigResource:
    return ConfigResource(ResourceType.TOPIC, name)


def records(properties: Properties, topic: str) -> tuple[list[int], list[int]]:
    """Return the timestamps of a topic, and the fingerprints that a comparison has of its records."""
    reading = isolation.of_source(properties)
    (whole,) = plan_ranges(reading, Selection(topics=(topic,)))
    times_ms, found = [], []
    for batch in read_range(reading, whole, COLUMNS, is_exact=True):
        times_ms += batch.column("timestamp").cast("int64").to_pylist()
        found += [fingerprint for _, fingerprint in fingerprints(batch, Compared(offsets=False))]
    return times_ms, found


def test_odd_timestamps_are_mirrored_and_found_to_be_the_same(properties: Properties) -> None:
    request = MirrorRequest(("odd",), properties, properties, "copy")
    plan = plan_mirror(request)
    _prepare(request, plan)
    (each,) = plan.ranges
    task = MirrorTask("run", each, plan.targets["odd"], False, 4, properties, properties)
    (done,) = mirror_ranges([task], Attempt(0, 0))
    assert done.records == 2 * len(TIMES_MS)
    assert records(properties, "copy") == records(properties, "odd")
    assert records(properties, "copy")[0] == TIMES_MS * 2


def test_odd_timestamps_are_replayed(properties: Properties) -> None:
    request = ReplayRequest("odd", properties, properties, to_topic="again", keep_timestamps=True)
    with Admin(properties) as admin:
        create_positions_topic(admin)
    (done,) = replay_ranges(_tasks(request), Attempt(0, 0))
    assert done.records == 2 * len(TIMES_MS)
    assert records(properties, "again")[0] == TIMES_MS * 2


def test_timestamp_that_the_target_rejects_is_named_by_its_offset_in_the_source() -> None:
    with Sandbox(nodes=1).serve() as served, session_in_process() as session:
        given: Properties = {"bootstrap.servers": served.bootstrap}
        with Admin(given) as admin:
            unlimited = {"message.timestamp.after.max.ms": str(2**63 - 1)}
            admin.create_topics([NewTopic("odd", 1, configs=unlimited), NewTopic("copy", 1)]).raise_first()
        now_ms = SystemClock().wall_ms()
        with Producer(given) as producer:
            for at_ms in (0, 0, 7_200_000, 0):
                producer.send("odd", b"v", timestamp_ms=now_ms + at_ms, partition=0)
        request = MirrorRequest(("odd",), given, given, "copy", allow_loss=True)
        with pytest.raises(
            BrokerError,
            match=r"^cannot mirror odd-0: the target rejected records whose latest .* "
            r"\(offset 2 of the source\): ",
        ):
            mirror(request, session=session)
