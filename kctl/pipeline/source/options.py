"""Options of `.option(...)`, parsed once at planning. Each error has the option and its value.

Spark passes names in lowercase; see `option_table`.
"""

import json
import logging
import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

from kctl.client.admin import EARLIEST, LATEST
from kctl.client.cluster import TopicPartition
from kctl.client.config import ConsumerConfig, ProducerConfig, nearest_name, shown, why_ignored
from kctl.client.errors import ConfigError
from kctl.grammar.durations import parse_duration_ms
from kctl.pipeline.ranges import MAX_OFFSET, Cut, RangeBound, Selection
from kctl.pipeline.references import refuse_plain_secrets, resolve
from kctl.pipeline.source.decode_options import REGISTRY, decode_request
from kctl.pipeline.source.java_pattern import python_pattern
from kctl.pipeline.source.option_table import READ, WRITE, OptionRow, Verdict

if TYPE_CHECKING:
    from kctl.pipeline.decoding.plan import DecodeRequest

_log = logging.getLogger("kctl.pipeline")
T = TypeVar("T")
KAFKA: Final = "kafka."

LONGEST_JSON: Final = 16 << 20
MAX_TRIGGER_DELAY_MS: Final = 15 * 60_000
"""Default of maxTriggerDelay in Spark's connector, in ms."""
_LIMITS: Final = {
    "apiTimeout": ("default.api.timeout.ms", "max.block.ms"),
    "requestTimeout": ("request.timeout.ms",),
    "connectTimeout": ("socket.connection.setup.timeout.ms",),
}
_SPARKS_OWN: Final = ("checkpointlocation", "queryname")
"""Options of a streaming write that Spark also passes to the source."""


class ReadOptions(NamedTuple):
    """Options of a read. Secrets are references, so the options may be pickled and logged."""

    properties: tuple[tuple[str, str], ...]
    selection: Selection
    start: RangeBound
    end: RangeBound
    cut: Cut
    max_offsets_per_trigger: int
    min_offsets_per_trigger: int
    max_trigger_delay_ms: int
    fail_on_data_loss: bool
    decode: "DecodeRequest | None" = None
    commit_to_group: str | None = None

    def client_properties(self) -> dict[str, object]:
        return resolve(dict(self.properties))


class WriteOptions(NamedTuple):
    """Options of a write. Secrets are references, so the options may be pickled and logged."""

    properties: tuple[tuple[str, str], ...]
    topic: str | None
    keep_timestamps: bool

    def client_properties(self) -> dict[str, object]:
        return resolve(dict(self.properties))


def read_options(given: Mapping[str, str], *, is_stream: bool) -> ReadOptions:
    options = _Options(given, READ, "reads")
    for row in READ.values():
        if row.use == ("batch" if is_stream else "stream") and options.has(row.name):
            kind = "batch" if is_stream else "streaming"
            raise ConfigError(f"option {row.name} is only for {kind} reads", key=row.name)
    properties = options.properties()
    ConsumerConfig.parse(properties)
    has_headers(given)  # not checked yet if the user gave a schema
    return ReadOptions(
        tuple(properties.items()),
        _selection(options),
        _start(options, is_stream=is_stream),
        _place(options, "endingTimestamp", "endingOffsetsByTimestamp", "endingOffsets", {"latest": LATEST}, "latest"),
        Cut(options.number("minPartitions", 0), options.number("maxRecordsPerPartition", 0)),
        options.number("maxOffsetsPerTrigger", 0),
        options.number("minOffsetsPerTrigger", 0),
        options.spark_time_ms("maxTriggerDelay", MAX_TRIGGER_DELAY_MS),
        options.flag("failOnDataLoss", True),
        decode_request(options.given),
        _group(options),
    )


def has_headers(given: Mapping[str, str]) -> bool:
    """Return whether a read has the column headers, before the other options are checked.

    Raises: ConfigError: the option is neither true nor false.
    """
    named = {name.lower(): value for name, value in given.items()}
    return _flag("includeHeaders", named.get("includeheaders"), False)


def _group(options: "_Options") -> str | None:
    name = options.text("commitToGroup")
    if name is not None and not name.strip():
        raise ConfigError("option commitToGroup is empty: set the name of a consumer group", key="commitToGroup")
    return name


def write_options(given: Mapping[str, str]) -> WriteOptions:
    from kctl.pipeline.record_writer import writing_properties  # imports the producer, which reads do not need

    options = _Options(given, WRITE, "writes")
    properties = options.properties()
    ProducerConfig.parse(writing_properties(properties))
    topic = options.text("topic")
    if topic is not None and not topic:
        raise ConfigError("option topic is empty: set the name of a topic", key="topic")
    return WriteOptions(tuple(properties.items()), topic, options.flag("keepTimestamps", False))


class _Options:
    def __init__(self, given: Mapping[str, str], known: Mapping[str, OptionRow], what: str) -> None:
        self._given = {name.lower(): value for name, value in given.items()}
        for name in self._given:
            row = known.get(name)
            if row is not None:
                _heed(row)
            elif name.startswith(KAFKA):
                if why := why_ignored(name[len(KAFKA) :]):
                    _heed(OptionRow(name, "", Verdict.NO_EFFECT, why))
            elif name.startswith(REGISTRY) and "decode" in known:
                continue  # checked by decode_request
            elif name not in _SPARKS_OWN:
                near = nearest_name(name, known, likeness=0.7)
                hint = f": did you mean {known[near].name}?" if near is not None else f" for {what}"
                raise ConfigError(f"unknown option {shown(name)}{hint}", key=name)

    @property
    def given(self) -> Mapping[str, str]:
        return self._given

    def has(self, name: str) -> bool:
        return name.lower() in self._given

    def text(self, name: str) -> str | None:
        return self._given.get(name.lower())

    def flag(self, name: str, default: bool) -> bool:
        return _flag(name, self.text(name), default)

    def number(self, name: str, default: int) -> int:
        return self._read(name, default, "an integer of 1 or more", _positive)

    def spark_time_ms(self, name: str, default_ms: int) -> int:
        """Return a duration in Spark's format, in which a number without a unit is ms."""
        return self._read(name, default_ms, "a duration such as 15m or 500ms", _spark_time_ms)

    def json(self, name: str, what: str) -> Any:
        return self._read(name, None, f"JSON such as {what}", _small_json)

    def instant(self, name: str) -> int | None:
        return self._read(name, None, "milliseconds since the epoch", _not_negative)

    def _read(self, name: str, default: T, wanted: str, read: Callable[[str], T]) -> T:
        return _value(name, self.text(name), default, wanted, read)

    def properties(self) -> dict[str, str]:
        found = {name[len(KAFKA) :]: value for name, value in self._given.items() if name.startswith(KAFKA)}
        if not found.get("bootstrap.servers"):
            raise ConfigError(
                "option kafka.bootstrap.servers is not set: use HOST:PORT of one or more brokers", key="kafka"
            )
        for option, names in _LIMITS.items():
            limit_ms = self._read(option, None, "a duration such as 5s or 300ms", parse_duration_ms)
            for name in names if limit_ms is not None else ():
                if name in found and found[name] != str(limit_ms):
                    raise ConfigError(
                        f"options {option} and kafka.{name} set the same timeout to different values: remove one of "
                        f"them",
                        key=option,
                    )
                found[name] = str(limit_ms)
        poll_ms = self._read("kafkaConsumer.pollTimeoutMs", None, "milliseconds", _positive)
        if poll_ms is not None:
            found.setdefault("default.api.timeout.ms", str(poll_ms))
        refuse_plain_secrets(found)
        return found


def _value(name: str, text: str | None, default: T, wanted: str, read: Callable[[str], T]) -> T:
    if text is None:
        return default
    try:
        return read(text.strip())
    except (KeyError, ValueError, RecursionError) as error:
        why = f" ({error})" if str(error) and not isinstance(error, KeyError) else ""
        raise ConfigError(f"invalid option {name} {shown(text)}: use {wanted}{why}", key=name) from None


def _flag(name: str, text: str | None, default: bool) -> bool:
    return _value(name, text, default, "true or false", lambda flag: {"true": True, "false": False}[flag.lower()])


def _heed(row: OptionRow) -> None:
    if row.verdict is Verdict.REFUSED:
        raise ConfigError(f"option {row.name} is not supported: {row.why}", key=row.name)
    if row.verdict is Verdict.NO_EFFECT:
        _log.warning("kctl: option %s has no effect: %s", row.name, row.why)


def _spark_time_ms(text: str) -> int:
    return int(text) if re.fullmatch(r"[0-9]{1,15}", text) else parse_duration_ms(text)


def _positive(text: str) -> int:
    number = _not_negative(text)
    if number < 1:
        raise ValueError
    return number


def _not_negative(text: str) -> int:
    if not re.fullmatch(r"[0-9]{1,19}", text) or int(text) > MAX_OFFSET:
        raise ValueError
    return int(text)


def _small_json(text: str) -> Any:
    if len(text) > LONGEST_JSON:
        raise ValueError(f"{len(text)} characters")
    return json.loads(text)


# --- which partitions -------------------------------------------------------------------------------------------------


def _selection(options: _Options) -> Selection:
    given = [name for name in ("subscribe", "subscribePattern", "assign") if options.has(name)]
    if len(given) != 1:
        said = " and ".join(given) if given else "none"
        raise ConfigError(
            f"set exactly one of the options subscribe, subscribePattern, and assign. Options found: {said}"
        )
    text = options.text(given[0]) or ""
    if given[0] == "assign":
        named = options.json("assign", '{"topic":[0,1]}')
        return Selection(partitions=tuple(_assigned(named, text)))
    if given[0] == "subscribePattern":
        try:
            pattern = python_pattern(text)
        except ValueError as error:
            raise ConfigError(
                f"invalid option subscribePattern {shown(text)}: {error}", key="subscribePattern"
            ) from None
        return Selection(pattern=pattern.pattern)
    topics = tuple(dict.fromkeys(name for name in (part.strip() for part in text.split(",")) if name))
    if not topics:
        raise ConfigError(f"invalid option subscribe {shown(text)}: use one or more topics", key="subscribe")
    return Selection(topics=topics)


def _assigned(named: Any, text: str) -> list[TopicPartition]:
    is_right = (
        isinstance(named, dict)
        and named
        and all(
            isinstance(numbers, list) and numbers and all(type(n) is int and n >= 0 for n in numbers)
            for numbers in named.values()
        )
    )
    if not is_right:
        raise ConfigError(f'invalid option assign {shown(text)}: use JSON such as {{"topic":[0,1]}}', key="assign")
    return sorted({TopicPartition(topic, number) for topic, numbers in named.items() for number in numbers})


# --- from where to where ----------------------------------------------------------------------------------------------


def _start(options: _Options, *, is_stream: bool) -> RangeBound:
    words = {"earliest": EARLIEST, "latest": LATEST} if is_stream else {"earliest": EARLIEST}
    default = "latest" if is_stream else "earliest"
    place = _place(options, "startingTimestamp", "startingOffsetsByTimestamp", "startingOffsets", words, default)
    strategy = (options.text("startingOffsetsByTimestampStrategy") or "error").lower()
    if strategy not in ("error", "latest"):
        name = "startingOffsetsByTimestampStrategy"
        raise ConfigError(f"invalid option {name} {shown(strategy)}: use error or latest", key=name)
    return place._replace(latest_if_none=strategy == "latest")


def _place(
    options: _Options, instant: str, instants: str, offsets: str, words: Mapping[str, int], default: str
) -> RangeBound:
    """Return the position in the first of these options that is set, as in Spark's connector."""
    at_ms = options.instant(instant)
    if at_ms is not None:
        return RangeBound(at_ms, is_time=True, option=instant)
    if options.has(instants):
        named = options.json(instants, '{"topic":{"0":1700000000000}}')
        return RangeBound(None, _positions(named, instants, options, special=()), is_time=True, option=instants)
    text = (options.text(offsets) or default).strip()
    if text.lower() in words:
        return RangeBound(words[text.lower()], option=offsets)
    if not text.startswith("{"):
        accepted = " or ".join([*words, 'JSON such as {"topic":{"0":23}}'])
        raise ConfigError(f"invalid option {offsets} {shown(text)}: use {accepted}", key=offsets)
    named = options.json(offsets, '{"topic":{"0":23}}')
    return RangeBound(None, _positions(named, offsets, options, special=tuple(words.values())), option=offsets)


def _positions(
    named: Any, option: str, options: _Options, special: tuple[int, ...]
) -> tuple[tuple[TopicPartition, int], ...]:
    def refuse() -> ConfigError:
        meanings = {LATEST: "-1 for latest", EARLIEST: "-2 for earliest"}
        numbers = ", ".join(["with offsets of 0 or more", *(meanings[position] for position in special)])
        text = options.text(option) or ""
        return ConfigError(f'invalid option {option} {shown(text)}: use JSON such as {{"topic":{{"0":23}}}}, {numbers}')

    if not isinstance(named, dict):
        raise refuse()
    positions: dict[TopicPartition, int] = {}
    for topic, partitions in named.items():
        if not isinstance(partitions, dict):
            raise refuse()
        for number, position in partitions.items():
            is_right = re.fullmatch(r"[0-9]{1,9}", number) and type(position) is int
            if not is_right or not (position in special or 0 <= position <= MAX_OFFSET):
                raise refuse()
            positions[TopicPartition(topic, int(number))] = position
    return tuple(sorted(positions.items()))
