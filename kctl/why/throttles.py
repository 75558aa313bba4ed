"""Throttle times that brokers returned because of quotas."""

from kctl.client.events import Event, Throttled


class Throttles:
    """Sum of throttle times by broker. `take` is an event sink of the admin client."""

    def __init__(self) -> None:
        self._paused_ms: dict[str, int] = {}

    def take(self, event: Event) -> None:
        if isinstance(event, Throttled):
            where = str(event.target)
            self._paused_ms[where] = self._paused_ms.get(where, 0) + event.throttle_ms

    def paused_ms(self) -> dict[str, int]:
        return dict(self._paused_ms)
