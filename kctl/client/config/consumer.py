import re
from types import FunctionType
from typing import Any, ClassVar

from kctl.client.config.common import ClientConfig
from kctl.client.config.property import Choice, Kind, Property, choice, flag, optional_text, text, whole
from kctl.client.errors import ConfigError

_JAVA_ASSIGNORS = "org.apache.kafka.clients.consumer."
ASSIGNORS = {
    "range": "RangeAssignor",
    "roundrobin": "RoundRobinAssignor",
    "sticky": "StickyAssignor",
    "cooperative-sticky": "CooperativeStickyAssignor",
}
"""Java's class name of each assignor; both names are accepted."""

_LONGEST_NAME = 255

_ISO_DURATION = (
    r"(?i:P(?=.)(?:(?P<d>[0-9]{1,9})D)?"
    r"(?:T(?=.)(?:(?P<h>[0-9]{1,9})H)?(?:(?P<m>[0-9]{1,9})M)?(?:(?P<s>[0-9]{1,9})(?:\.(?P<f>[0-9]{1,9}))?S)?)?)"
)
_BY_DURATION = "by_duration:"


class OffsetReset(Kind[str]):
    """latest, earliest, none, or by_duration: with an ISO 8601 duration (KIP-1106)."""

    accepted = "one of latest, earliest, none, by_duration:PnDTnHnMnS"

    def read(self, raw: object) -> str:
        if not isinstance(raw, str):
            raise ValueError
        if raw.lower() in ("latest", "earliest", "none"):
            return raw.lower()
        if not raw.lower().startswith(_BY_DURATION):
            raise ValueError
        duration = raw[len(_BY_DURATION) :].upper()
        iso_duration_ms(duration)
        return _BY_DURATION + duration


def iso_duration_ms(duration: str) -> int:
    """Return the milliseconds of an ISO 8601 duration such as PT1H30M, rounded down. Raises: ValueError."""
    match = re.fullmatch(_ISO_DURATION, duration)
    if match is None:
        raise ValueError(f"{duration!r} is not an ISO 8601 duration such as PT1H30M")
    days, hours, minutes, seconds = (int(match[unit] or 0) for unit in "dhms")
    fraction_ms = int((match["f"] or "0")[:3].ljust(3, "0"))
    return (((days * 24 + hours) * 60 + minutes) * 60 + seconds) * 1000 + fraction_ms


class Strategy(Kind[tuple[Any, ...]]):
    """Assignors by name, by Java's class names, or as functions or objects with the methods of `Assignor`."""

    _METHODS = ("name", "supports_cooperative", "subscription_user_data", "assign")

    def __init__(self) -> None:
        spelled = {prefix + java: name for name, java in ASSIGNORS.items() for prefix in ("", _JAVA_ASSIGNORS)}
        self._named = Choice(tuple(ASSIGNORS), spelled)
        self.accepted = f"a comma-separated list (each item: {self._named.accepted}) or a list of functions"

    def read(self, raw: object) -> tuple[Any, ...]:
        if isinstance(raw, str):
            raw = raw.split(",") if raw else []
        entries = raw if isinstance(raw, list | tuple) else [raw]
        found = {_name_of(each): each for each in map(self._assignor, entries)}
        return tuple(found.values())

    def _assignor(self, given: object) -> object:
        if isinstance(given, str):
            return self._named.read(given.strip())
        if not isinstance(given, FunctionType) and not all(hasattr(given, each) for each in self._METHODS):
            raise ValueError
        name = _name_of(given)
        if not isinstance(name, str) or not name.isidentifier() or len(name) > _LONGEST_NAME:
            raise ValueError("the name of an assignor must be a Python identifier")
        if name in ASSIGNORS:
            raise ValueError(f"Kafka already has an assignor named {name}")
        return given

    def write(self, value: tuple[Any, ...]) -> str:
        return ",".join(map(_name_of, value))


def _name_of(assignor: Any) -> str:
    if isinstance(assignor, str):
        return assignor
    name: str = assignor.__name__ if isinstance(assignor, FunctionType) else assignor.name
    return name


class ConsumerConfig(ClientConfig):
    """Properties of a consumer."""

    __slots__ = ()
    KIND: ClassVar[str] = "consumer"

    # --- group --------------------------------------------------------------------------------------------------------
    group_id = optional_text("group.id", "Id of the consumer group, whose members share the partitions.", filled=True)
    group_instance_id = optional_text(
        "group.instance.id", "Name of the consumer as a static member of the group (KIP-345).", filled=True
    )
    group_protocol = choice(
        "group.protocol", "classic", ("classic", "consumer"), "Protocol of the group: classic or consumer (KIP-848)."
    )
    group_remote_assignor = optional_text(
        "group.remote.assignor", "Server-side assignor of the group, if group.protocol=consumer (KIP-848)."
    )
    session_timeout_ms = whole(
        "session.timeout.ms", 45_000, "Time without heartbeats after which the group removes a member.", low=1
    )
    heartbeat_interval_ms = whole(
        "heartbeat.interval.ms", 3_000, "Interval between heartbeats to the group coordinator.", low=1
    )
    max_poll_interval_ms = whole(
        "max.poll.interval.ms",
        300_000,
        "Maximum time between two polls. A consumer that exceeds it leaves the group.",
        low=1,
    )
    partition_assignment_strategy: Property[tuple[Any, ...]] = Property(
        "partition.assignment.strategy",
        Strategy(),
        ("range", "cooperative-sticky"),
        "Supported assignors in order of preference: names, Java class names, or Python functions.",
    )

    # --- offsets ------------------------------------------------------------------------------------------------------
    auto_offset_reset: Property[str] = Property(
        "auto.offset.reset",
        OffsetReset(),
        "latest",
        "Starting position if the group has no committed offset for a partition.",
    )
    enable_auto_commit = flag(
        "enable.auto.commit", True, "Commit offsets in the background. Disabled without group.id."
    )
    enable_auto_offset_store = flag(
        "enable.auto.offset.store",
        True,
        "Commit the position after each poll. false commits only offsets of store_offsets() (from librdkafka).",
    )
    auto_commit_interval_ms = whole("auto.commit.interval.ms", 5_000, "Interval between automatic commits.")
    isolation_level = choice(
        "isolation.level",
        "read_uncommitted",
        ("read_uncommitted", "read_committed"),
        "Visibility of transactional records. read_committed hides records of open and aborted transactions.",
        {"committed": "read_committed", "uncommitted": "read_uncommitted"},
    )

    # --- fetching -----------------------------------------------------------------------------------------------------
    fetch_min_bytes = whole("fetch.min.bytes", 1, "Minimum bytes that a broker collects before it responds to a fetch.")
    fetch_max_bytes = whole("fetch.max.bytes", 52_428_800, "Maximum bytes in a fetch response.")
    max_partition_fetch_bytes = whole(
        "max.partition.fetch.bytes", 1_048_576, "Maximum bytes per partition in a fetch response."
    )
    fetch_max_wait_ms = whole("fetch.max.wait.ms", 500, "Maximum time that a broker waits for fetch.min.bytes.")
    max_poll_records = whole("max.poll.records", 500, "Maximum number of records that a poll returns.", low=1)
    check_crcs = flag("check.crcs", True, "Check the CRC of each record batch.")
    client_rack = text("client.rack", "", "Rack of the client, used to fetch from the nearest replica (KIP-392).")

    # --- topics -------------------------------------------------------------------------------------------------------
    allow_auto_create_topics = flag(
        "allow.auto.create.topics", True, "Allow brokers to create a topic when the client requests its metadata."
    )
    exclude_internal_topics = flag(
        "exclude.internal.topics", True, "Exclude internal topics from subscriptions by pattern."
    )

    @property
    def auto_offset_reset_duration_ms(self) -> int | None:
        if not self.auto_offset_reset.startswith(_BY_DURATION):
            return None
        return iso_duration_ms(self.auto_offset_reset[len(_BY_DURATION) :])

    def _settle(self) -> None:
        super()._settle()
        kind = type(self)
        if self.group_id is None:
            if self.is_given(kind.enable_auto_commit) and self.enable_auto_commit:
                raise ConfigError("enable.auto.commit=true needs group.id: set group.id", key="enable.auto.commit")
            self._default(kind.enable_auto_commit, False)
            if not self.enable_auto_offset_store:
                text = "enable.auto.offset.store=false needs group.id: set group.id"
                raise ConfigError(text, key="enable.auto.offset.store")
        self._settle_fetch_wait()
        self._settle_group_protocol()

    def _settle_fetch_wait(self) -> None:
        """Keep fetch.max.wait.ms below request.timeout.ms, so that idle fetches do not time out."""
        kind = type(self)
        if self._both_given(kind.fetch_max_wait_ms, kind.request_timeout_ms):
            if self.fetch_max_wait_ms >= self.request_timeout_ms:
                self._refuse(
                    kind.fetch_max_wait_ms,
                    kind.request_timeout_ms,
                    "the fetch wait must be shorter than the request timeout",
                )
        else:
            self._default(kind.fetch_max_wait_ms, min(self.fetch_max_wait_ms, self.request_timeout_ms // 2))
            self._default(kind.request_timeout_ms, max(self.request_timeout_ms, self.fetch_max_wait_ms * 2))

    def _settle_group_protocol(self) -> None:
        kind = type(self)
        classic = (kind.session_timeout_ms, kind.heartbeat_interval_ms, kind.partition_assignment_strategy)
        if self.group_protocol == "consumer":
            for declared in classic:
                if self.is_given(declared):
                    self._refuse(
                        declared, kind.group_protocol, "with group.protocol=consumer, the broker has this setting"
                    )
        elif self.group_remote_assignor is not None:
            self._refuse(
                kind.group_remote_assignor, kind.group_protocol, "server-side assignors need group.protocol=consumer"
            )
        elif not self.partition_assignment_strategy:
            raise ConfigError(
                "partition.assignment.strategy is empty: add at least one assignor", key="partition.assignment.strategy"
            )
        elif self.heartbeat_interval_ms >= self.session_timeout_ms:
            self._refuse(
                kind.heartbeat_interval_ms,
                kind.session_timeout_ms,
                "the heartbeat interval must be shorter than the session timeout",
            )
