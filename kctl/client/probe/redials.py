"""Further attempts at failed addresses, after a backoff or with another protocol.

Each has a separate report, which replaces the failed one after a success.
"""

from kctl.client.backoff import ExponentialBackoff
from kctl.client.clock import FOREVER_MS
from kctl.client.errors import ConnectionLost, KafkaError, WrongPeerError
from kctl.client.events import Phase
from kctl.client.probe.report import AddressReport


class Redials:
    def __init__(self, backoff: ExponentialBackoff) -> None:
        self._backoff = backoff
        self._waiting: list[tuple[int, AddressReport]] = []
        self._failed: dict[AddressReport, AddressReport] = {}
        """Report of the failed attempt, by the report of each further attempt in progress."""

    def is_redial(self, report: AddressReport) -> bool:
        return report in self._failed

    def schedule(self, report: AddressReport, error: KafkaError, now_ms: int) -> None:
        failed = self._failed.pop(report, report)
        failed.attempts += failed is not report
        failed.error = error
        if error.retriable:
            self._waiting.append((now_ms + self._backoff.backoff_ms(failed.attempts - 1), failed))

    def next_at_ms(self) -> int:
        return min((at_ms for at_ms, _ in self._waiting), default=FOREVER_MS)

    def due(self, now_ms: int) -> list[AddressReport]:
        waiting, self._waiting = self._waiting, []
        due: list[AddressReport] = []
        for at_ms, failed in waiting:
            if at_ms > now_ms:
                self._waiting.append((at_ms, failed))
                continue
            made = AddressReport(
                failed.target, advertised=failed.advertised, started_at_ms=now_ms, limit_ms=failed.limit_ms
            )
            self._failed[made] = failed
            due.append(made)
        return due

    def succeeded(self, report: AddressReport, reports: list[AddressReport]) -> None:
        failed = self._failed.pop(report, None)
        if failed is not None:
            report.attempts = failed.attempts + 1
            reports[reports.index(failed)] = report


_OTHERS = {"PLAINTEXT": "SSL", "SSL": "PLAINTEXT", "SASL_PLAINTEXT": "SASL_SSL", "SASL_SSL": "SASL_PLAINTEXT"}


def other_protocol(configured: str, error: KafkaError | None = None) -> str:
    """Return the security protocol with TLS added or removed; empty if `error` does not suggest it."""
    if error is None or _hints_at_the_other(configured, error):
        return _OTHERS[configured]
    return ""


def _hints_at_the_other(configured: str, error: KafkaError) -> bool:
    if configured.endswith("SSL"):
        # A plaintext broker reads a ClientHello as an absurd frame and closes the connection.
        return isinstance(error, ConnectionLost) and error.phase == Phase.TLS.value
    # Most TLS listeners respond to plaintext with an alert; some close the connection.
    is_hung_up = isinstance(error, ConnectionLost) and error.phase == Phase.APIVERSIONS.value
    return is_hung_up or (isinstance(error, WrongPeerError) and "TLS" in str(error))
