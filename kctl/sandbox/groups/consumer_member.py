"""Member of a consumer group, and checks of heartbeats. Source: KIP-848."""

from collections.abc import Callable, Iterable

from kctl.client.broker_errors import ErrorCode
from kctl.client.protocol.api.consumer_groups import ConsumerGroupHeartbeatRequest
from kctl.sandbox.groups.assignors import ASSIGNORS
from kctl.sandbox.groups.outbox import Refused
from kctl.sandbox.groups.reconciliation import MemberProgress, Slot
from kctl.sandbox.regular_expressions import RegexRefused, full_matcher

JOIN, LEAVE, LEAVE_STATIC = 0, -1, -2
"""Member epochs of requests to join and leave."""
_CLIENT_MAKES_ID_FROM = 1
_SHOWN_CHARS = 200
"""Number of characters shown of an invalid regular expression."""
MayDescribe = Callable[[str], bool]


def _describes_all(_topic: str) -> bool:
    return True


class ConsumerMember:
    __slots__ = (
        "assignor",
        "classic_protocols",
        "client_id",
        "epochs",
        "instance_id",
        "may_describe",
        "member_id",
        "previous_epoch",
        "progress",
        "rack_id",
        "rebalance_timeout_ms",
        "regex",
        "session_timeout_ms",
        "topic_names",
    )

    def __init__(self, member_id: str, instance_id: str | None, client_id: str) -> None:
        self.member_id = member_id
        self.instance_id = instance_id
        self.client_id = client_id
        self.rack_id: str | None = None
        self.rebalance_timeout_ms = -1
        self.topic_names: tuple[str, ...] = ()
        self.regex = ""
        self.may_describe: MayDescribe = _describes_all
        """Returns whether the member may describe a topic; its regular expression matches no others."""
        self.assignor: str | None = None
        self.classic_protocols: dict[str, bytes] | None = None
        """Protocols and metadata of a classic member; None if it uses the consumer protocol."""
        self.session_timeout_ms: int | None = None
        """Session timeout of a classic member; otherwise None."""
        self.progress = MemberProgress()
        self.previous_epoch = JOIN
        self.epochs: dict[Slot, int] = {}
        """Epoch in which each partition was assigned (KIP-1251)."""

    @property
    def subscription(self) -> tuple[object, ...]:
        """Subscription without the assignor, whose change needs no new target assignment."""
        return self.topic_names, self.regex

    def become_classic(self, protocols: dict[str, bytes], session_timeout_ms: int) -> None:
        self.classic_protocols = protocols
        self.session_timeout_ms = session_timeout_ms

    def listen(self, request: ConsumerGroupHeartbeatRequest) -> None:
        """Apply the fields that a heartbeat sets. The member now uses the consumer protocol."""
        self.classic_protocols = self.session_timeout_ms = None
        if request.rack_id is not None:
            self.rack_id = request.rack_id
        if request.rebalance_timeout_ms != -1:
            self.rebalance_timeout_ms = request.rebalance_timeout_ms
        if request.subscribed_topic_names is not None:
            self.topic_names = tuple(sorted(request.subscribed_topic_names))
        if request.subscribed_topic_regex is not None:
            self.regex = request.subscribed_topic_regex
        if request.server_assignor is not None:
            self.assignor = request.server_assignor

    def advance(self, progress: MemberProgress) -> None:
        if progress is not self.progress:
            self.previous_epoch = self.progress.epoch
        held = progress.assigned + progress.revoking
        self.epochs = {slot: self.epochs.get(slot, progress.epoch) for slot in held}
        self.progress = progress

    def stay(self, progress: MemberProgress) -> None:
        """Set the progress of a static member that is away or was replaced. Its partitions count as assigned in epoch
        0.
        """
        self.epochs = dict.fromkeys(progress.assigned, 0)
        self.progress = progress

    def check_epoch(self, epoch: int, owned: "set[Slot] | None") -> None:
        """Raise Refused if the epoch of a heartbeat is invalid.

        The previous epoch is valid because the response with the new one may be lost, and 0 is valid to rejoin.
        """
        now = self.progress.epoch
        if epoch in (now, JOIN):
            return
        is_behind = epoch == self.previous_epoch and owned is not None and owned <= set(self.progress.assigned)
        if not is_behind:
            relation = "greater" if epoch > now else "smaller"
            text = (
                f"The consumer group member has a {relation} member epoch ({epoch}) than the one known by the group "
                f"coordinator ({now}). The member must abandon all its partitions and rejoin."
            )
            raise Refused(ErrorCode.FENCED_MEMBER_EPOCH, text)

    def check_offsets(self, epoch: int, slots: Iterable[Slot] | None) -> None:
        """Raise Refused if the epoch of an offset commit is invalid, or of a fetch if `slots` is None.

        Old epochs are valid for partitions that the member has had since then (KIP-1251).
        """
        now = self.progress.epoch
        had_all = slots is not None and all(slot in self.epochs and self.epochs[slot] <= epoch for slot in slots)
        if epoch > now or (epoch < now and not had_all):
            text = f"The received member epoch {epoch} does not match the expected member epoch {now}."
            raise Refused(ErrorCode.STALE_MEMBER_EPOCH, text)


def slots_of(request: ConsumerGroupHeartbeatRequest) -> set[Slot] | None:
    if request.topic_partitions is None:
        return None
    return {Slot(topic.topic_id, index) for topic in request.topic_partitions for index in topic.partitions}


def check_heartbeat(request: ConsumerGroupHeartbeatRequest, version: int) -> None:
    """Raise Refused if the fields of a heartbeat are invalid, regardless of the group."""
    epoch = request.member_epoch
    needs_id = version >= _CLIENT_MAKES_ID_FROM or epoch != JOIN
    joins_without_topics = request.subscribed_topic_names is None and request.subscribed_topic_regex is None
    for is_wrong, text in (
        (needs_id and not request.member_id, "MemberId can't be empty."),
        (not request.group_id, "GroupId can't be empty."),
        (request.instance_id == "", "InstanceId can't be empty."),
        (request.rack_id == "", "RackId can't be empty."),
        (epoch == JOIN and request.rebalance_timeout_ms == -1, "RebalanceTimeoutMs must be provided in first request."),
        (epoch == JOIN and request.topic_partitions != [], "TopicPartitions must be empty when (re-)joining."),
        (
            epoch == JOIN and joins_without_topics,
            "Either SubscribedTopicNames or SubscribedTopicRegex must be non-null when (re-)joining.",
        ),
        (epoch == LEAVE_STATIC and request.instance_id is None, "InstanceId can't be null."),
        (epoch < LEAVE_STATIC, "MemberEpoch is invalid."),
    ):
        if is_wrong:
            raise Refused(ErrorCode.INVALID_REQUEST, text)
    if request.server_assignor is not None and request.server_assignor not in ASSIGNORS:
        text = (
            f"ServerAssignor {request.server_assignor} is not supported. Supported assignors: {', '.join(ASSIGNORS)}."
        )
        raise Refused(ErrorCode.UNSUPPORTED_ASSIGNOR, text)
    if request.subscribed_topic_regex:
        try:
            full_matcher(request.subscribed_topic_regex)
        except RegexRefused as error:
            shown = request.subscribed_topic_regex[:_SHOWN_CHARS]
            text = f"SubscribedTopicRegex {shown!r} is not a valid regular expression: {error}."
            raise Refused(ErrorCode.INVALID_REGULAR_EXPRESSION, text) from error
