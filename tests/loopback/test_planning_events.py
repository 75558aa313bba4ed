"""The plan of every job hands on the events of its first client, so that a command can say what it waits for."""

import socket
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kctl.client.errors import KafkaError
from kctl.client.events import Event, EventSink
from kctl.pipeline.jobs.export import ExportRequest, plan_export
from kctl.pipeline.jobs.mirror import MirrorRequest, plan_mirror
from kctl.pipeline.jobs.replay import ReplayRequest, _tasks
from kctl.pipeline.jobs.stats import StatsRequest, plan_stats
from kctl.pipeline.jobs.sync import SyncRequest, plan_sync
from kctl.pipeline.jobs.verify import VerifyRequest, plan_verify
from kctl.pipeline.ranges import Selection

Properties = dict[str, object]
T = Selection(topics=("t",))
PLANS: dict[str, Callable[[Properties, Path, EventSink], object]] = {
    "stats": lambda given, _, events: plan_stats(StatsRequest("t", given, events=events)),
    "export": lambda given, to, events: plan_export(ExportRequest(T, to, given, events=events)),
    "sync": lambda given, to, events: plan_sync(SyncRequest(ExportRequest(T, to, given, events=events), None)),
    "mirror": lambda given, _, events: plan_mirror(MirrorRequest(("t",), given, given, events=events)),
    "replay": lambda given, _, events: _tasks(ReplayRequest("t", given, given, to_topic="u", name="n", events=events)),
    "verify": lambda given, _, events: plan_verify(
        VerifyRequest("t", given, target_topic="u", target_properties=given, events=events)
    ),
}


@pytest.fixture
def refusing() -> Iterator[Properties]:
    with socket.socket() as taken:  # bound, and not listening
        taken.bind(("127.0.0.1", 0))
        server = f"127.0.0.1:{taken.getsockname()[1]}"
        yield {"bootstrap.servers": server, "default.api.timeout.ms": 300, "request.timeout.ms": 200}


@pytest.mark.parametrize("job", PLANS)
def test_plan_hands_on_the_events_of_its_first_client(job: str, refusing: Properties, tmp_path: Path) -> None:
    seen: list[Event] = []
    with pytest.raises(KafkaError, match=r"connection refused"):
        PLANS[job](refusing, tmp_path / "export", seen.append)
    assert seen
