"""Which security protocol to try instead, when a peer looks as if it spoke the other one. Pure."""

from kctl.client.errors import ConnectionLost, KafkaError, WrongPeerError
from kctl.client.events import Phase

_OTHERS = {"PLAINTEXT": "SSL", "SSL": "PLAINTEXT", "SASL_PLAINTEXT": "SASL_SSL", "SASL_SSL": "SASL_PLAINTEXT"}


def other_protocol(configured: str, error: KafkaError | None = None) -> str:
    """Return the same protocol with TLS and without exchanged; empty when `error` gives no reason to try it."""
    if error is None or _hints_at_the_other(configured, error):
        return _OTHERS[configured]
    return ""


def _hints_at_the_other(configured: str, error: KafkaError) -> bool:
    if configured.endswith("SSL"):
        # A plaintext broker takes a ClientHello for an absurd frame and hangs up without a word.
        return isinstance(error, ConnectionLost) and error.phase == Phase.TLS.value
    # Most TLS listeners answer plaintext with an alert; some hang up without a word.
    is_hung_up = isinstance(error, ConnectionLost) and error.phase == Phase.APIVERSIONS.value
    return is_hung_up or (isinstance(error, WrongPeerError) and "TLS" in str(error))
