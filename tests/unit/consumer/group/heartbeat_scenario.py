"""A KIP-848 member against a coordinator that answers as it is told, in virtual time."""

from collections.abc import Sequence
from typing import cast

from kctl.client.broker_errors import ErrorCode, broker_error
from kctl.client.cluster import TopicPartition
from kctl.client.consumer.group.consumer_membership import ConsumerMembership
from kctl.client.consumer.group.events import (
    AssignmentChanged,
    GroupFailed,
    GroupToApplication,
    Subscribe,
)
from kctl.client.errors import KafkaError
from kctl.client.events import Event
from kctl.client.network.in_flight import OnDone, Outgoing
from kctl.client.protocol.api.consumer_groups import (
    Assignment,
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    TopicPartitions,
)
from kctl.client.protocol.schema import Request
from kctl.client.requests.coordinator import PROMPT, Coordinator
from tests.unit.consumer.fakes import TOPIC_ID, FakeClient, Ones, answer, config, rng, topic

INTERVAL_MS = 5000
MEMBER_ID = "AQEBAQEBAQEBAQEBAQEBAQ"
OTHER_ID = TOPIC_ID[::-1]
TOPICS = Subscribe(("t",))
IDS = {"t": TOPIC_ID, "u": OTHER_ID}


def shared(number: int, *given: TopicPartition) -> AssignmentChanged:
    """The change that gives exactly these partitions, of topics with their usual ids."""
    return AssignmentChanged(number, given, topic_ids={tp.topic: IDS[tp.topic] for tp in given})


class ScriptedCoordinator:
    """A coordinator that is there, unless the test says otherwise."""

    key = "g"
    waiting_for = "waiting for the coordinator of group g"

    def __init__(self) -> None:
        self.is_ready = True
        self.version = 1
        self.error: KafkaError | None = None
        self.refusal: KafkaError | None = None
        self.is_recheck_pending = False

    def note(self, event: Event) -> None:
        """Take no note of an event."""

    @property
    def known_error(self) -> KafkaError | None:
        return self.error

    def ready(self, connection: int) -> bool:
        assert connection == PROMPT
        return self.is_ready

    def speaks(self, connection: int, kind: type[Request], at_least: int) -> bool:
        return self.version >= at_least

    def outgoing(self, connection: int, request: Request, timeout_ms: int, on_done: OnDone) -> Outgoing:
        return Outgoing(connection, request, timeout_ms, on_done)

    def check(self, code: int, what: str) -> KafkaError | None:
        return broker_error(code, what) if code else None

    def recheck(self) -> None:
        self.is_recheck_pending = True


class Scenario:
    """One membership and everything around it; time is what the test says."""

    def __init__(self, **properties: object) -> None:
        given = {"group_id": "g", "group_protocol": "consumer", "max_poll_interval_ms": 60_000, **properties}
        self.client = FakeClient(topic("t", [1, 1, 1]))
        self.coordinator = ScriptedCoordinator()
        self.reports: list[GroupToApplication] = []
        self.member = ConsumerMembership(
            config(**given),
            cast(Coordinator, self.coordinator),
            self.client.as_client(),
            rng(),
            Ones(),
            self.reports.append,
        )
        self.now_ms = 0
        self.epoch = 0

    def start(self, subscription: Subscribe = TOPICS) -> None:
        """Subscribe and poll, as the application does."""
        self.member.subscribe(subscription)
        self.member.poll_began()

    def joined(self, *partitions: int) -> None:
        """Be a member in epoch 1 that has applied this assignment and said so."""
        self.start()
        self.hear(self.beat(), partitions)
        self.apply()
        self.hear(self.beat())
        self.reports.clear()

    def polled(self) -> list[Outgoing]:
        return self.member.poll(self.now_ms).requests

    def beat(self) -> Outgoing:
        """The one heartbeat that is due now."""
        [request] = self.polled()
        assert isinstance(request.request, ConsumerGroupHeartbeatRequest)
        assert request.node_id == PROMPT
        return request

    def hear(self, request: Outgoing, partitions: Sequence[int] | None = None, epoch: int | None = None) -> None:
        """Answer a heartbeat, with an assignment in topic t or without one."""
        if partitions is not None:
            self.epoch += 1
        topics = [TopicPartitions(topic_id=TOPIC_ID, partitions=list(partitions))] if partitions else []
        self.answer(
            request,
            member_epoch=self.epoch if epoch is None else epoch,
            assignment=None if partitions is None else Assignment(topic_partitions=topics),
        )

    def answer(self, request: Outgoing, **fields: object) -> None:
        defaults = {"member_id": MEMBER_ID, "heartbeat_interval_ms": INTERVAL_MS}
        response = ConsumerGroupHeartbeatResponse(**{**defaults, **fields})  # type: ignore[arg-type]  # a test's fields
        answer(request, response, self.now_ms)

    def refuse(self, request: Outgoing, code: ErrorCode) -> None:
        self.answer(request, error_code=int(code))

    def apply(self) -> None:
        """The application applies the last change that was reported."""
        self.polled()
        self.member.applied(self.changes()[-1].number)

    def changes(self) -> list[AssignmentChanged]:
        return [each for each in self.reports if isinstance(each, AssignmentChanged)]

    def failures(self) -> list[KafkaError]:
        return [each.error for each in self.reports if isinstance(each, GroupFailed)]

    def has_left(self) -> bool | None:
        return self.member.has_left

    @property
    def deadline_at_ms(self) -> int:
        return self.member.poll(self.now_ms).next_deadline_at_ms


def said(request: Outgoing) -> ConsumerGroupHeartbeatRequest:
    assert isinstance(request.request, ConsumerGroupHeartbeatRequest)
    return request.request


def owned(request: Outgoing) -> list[int] | None:
    """The partitions of topic t that a heartbeat tells; None when it tells nothing of them."""
    topics = said(request).topic_partitions
    return None if topics is None else [number for each in topics for number in each.partitions]
