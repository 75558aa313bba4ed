"""Request of `kctl produce`, and the timeouts of its records and of its end."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from kctl.cli.decode.encode_options import NO_ENCODING, EncodeRequest
from kctl.cli.input.form import STDIN, Form
from kctl.cli.limit_names import DerivedLimits
from kctl.cli.setting import Setting
from kctl.cli.settings import Settings
from kctl.client.clock import Clock, Timer
from kctl.client.config import ProducerConfig

if TYPE_CHECKING:
    from kctl.client.records import Header

_API = "--api-timeout"


class ProduceRequest(NamedTuple):
    """Options of the command.

    Attributes:
        topic: topic; None for the topic that each record names.
        headers: headers added to every record, after its own headers.
        partition: partition; None to let the producer choose.
        keeps_partition: use the partition that each record names.
        is_now: ignore timestamps of records.
        empty_is_null: send empty values as null (tombstones).
        per_second: maximum records per second; None for no limit.
        undelivered: file for undelivered records.
        is_transaction: send all records in one transaction, with a generated transactional.id if none is given.
        flags: properties that have an option.
    """

    topic: str | None
    files: Sequence[str]
    form: Form
    headers: "tuple[Header, ...]" = ()
    partition: int | None = None
    keeps_partition: bool = False
    is_now: bool = False
    empty_is_null: bool = False
    per_second: float | None = None
    undelivered: str | None = None
    is_transaction: bool = False
    flags: Mapping[str, Setting | None] = {}
    encoding: EncodeRequest = NO_ENCODING

    @property
    def reads_stdin(self) -> bool:
        return not self.files or STDIN in self.files


def bound_delivery(settings: Settings, limits: DerivedLimits | None = None) -> Settings:
    """Return settings in which --api-timeout also limits delivery, unless a delivery timeout is given.

    linger.ms and request.timeout.ms are cut so that their sum does not exceed delivery.timeout.ms.

    Args: limits: names of limits in messages, in which --api-timeout replaces the limits that it sets.
    """
    given = settings.by_name.get("max.block.ms")
    if given is None or given.origin != _API or "delivery.timeout.ms" in settings.by_name:
        return settings
    api_ms = int(given.value)
    linger_ms = min(_value(settings, "linger.ms", ProducerConfig.linger_ms.default), api_ms // 2)
    wanted_ms = _value(settings, "request.timeout.ms", ProducerConfig.request_timeout_ms.default)
    request_ms = min(wanted_ms, api_ms - linger_ms)
    if limits is not None:
        limits.derive("--delivery-timeout", _API)
        if request_ms < wanted_ms:
            limits.derive("--request-timeout", f"the rest of {_API}")
    values = {"delivery.timeout.ms": api_ms, "linger.ms": linger_ms, "request.timeout.ms": request_ms}
    return settings.with_flags({name: Setting(value_ms, _API) for name, value_ms in values.items()})


def _value(settings: Settings, name: str, default: int) -> int:
    setting = settings.by_name.get(name)
    try:
        return default if setting is None else int(setting.value)
    except ValueError:  # reported where the config is parsed
        return default


def api_timeout_ms(settings: Settings) -> int | None:
    given = settings.by_name.get("max.block.ms")
    return None if given is None or given.origin != _API else int(given.value)


class EndBudget:
    """Time for pending records after the end of the input.

    If --close-timeout is given, it limits flush and close together. Otherwise, the flush has the delivery timeout, and
    the close the default close timeout. `end_by` also limits both together.
    """

    def __init__(self, clock: Clock, *, close_ms: int | None, default_close_ms: int) -> None:
        self._clock = clock
        self._close_ms = close_ms
        self._default_close_ms = default_close_ms
        self._timer: Timer | None = None
        self._is_closing = False

    @property
    def is_one(self) -> bool:
        return self._close_ms is not None

    def end_by(self, end_at_ms: int) -> None:
        """Limit flush and close together, unless --close-timeout is given."""
        if self._close_ms is None:
            self._close_ms = max(0, end_at_ms - self._clock.now_ms())

    def start_flush(self, delivery_ms: int) -> None:
        self._timer = Timer(self._clock, delivery_ms if self._close_ms is None else self._close_ms)

    def start_close(self) -> None:
        """Start the time of the close. No effect if it has started, or if flush and close have a common limit."""
        if self._is_closing or (self._timer is not None and self._close_ms is not None):
            return
        self._is_closing = True
        self._timer = Timer(self._clock, self._default_close_ms if self._close_ms is None else self._close_ms)

    @property
    def remaining_s(self) -> float:
        """Return the remaining time of the flush or close, in seconds."""
        assert self._timer is not None
        self._timer.update()
        return self._timer.remaining_ms / 1000
