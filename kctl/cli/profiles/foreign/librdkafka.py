"""Configuration files of librdkafka, as read by kcat -F.

Source: CONFIGURATION.md of librdkafka and the file reader of kcat 1.7. Differs: blanks around equals signs are ignored.
"""

from collections.abc import Mapping

from kctl.cli.login import make_jaas
from kctl.cli.profiles.foreign.transfer import CHAIN, KEY, LARGEST_FILE_BYTES, Read, file_reference, taken
from kctl.cli.profiles.references import JAAS, escape
from kctl.client.config import LIBRDKAFKA_NAMES
from kctl.client.errors import ConfigError

ITS_OWN = frozenset(LIBRDKAFKA_NAMES) - {"ssl.key.pem"} | {
    "sasl.username", "sasl.password", "ssl.certificate.location", "ssl.key.location", "broker.address.family", "debug",
    "enable.ssl.certificate.verification", "statistics.interval.ms", "api.version.request", "log_level",
}  # fmt: skip
"""Names that identify a file of librdkafka."""

_WORDS: dict[str, dict[str, str]] = {
    "auto.offset.reset": {
        "smallest": "earliest", "beginning": "earliest", "largest": "latest", "end": "latest", "error": "none",
    },
    "ssl.endpoint.identification.algorithm": {"none": ""},
    "connections.max.idle.ms": {"0": "-1"},
    "send.buffer.bytes": {"0": "-1"},
    "receive.buffer.bytes": {"0": "-1"},
}  # fmt: skip
"""Values that differ from Kafka, by the property's name in Kafka."""
_REASONS = {
    "request.timeout.ms": "in librdkafka, this timeout limits the wait for replicas, not for a response",
    "enable.ssl.certificate.verification": "kctl always checks certificates against ssl.ca.location",
}


def read_librdkafka(raw: bytes, name: str) -> Read:
    """Return the properties of a file. Raises: ConfigError: a line or property is invalid."""
    found = _read_lines(raw, name)
    notes: list[str] = []
    login: dict[str, str] = {key: found.pop(key) for key in ("sasl.username", "sasl.password") if key in found}
    files: dict[str, str] = {
        key: found.pop(key) for key in ("ssl.certificate.location", "ssl.key.location") if key in found
    }
    kafka: dict[str, str] = {}
    for key, value in found.items():
        key = key.removeprefix("topic.")
        ours = LIBRDKAFKA_NAMES.get(key, key)
        if key in _REASONS and value != "true":
            notes.append(f"{key}: omitted: {_REASONS[key]}")
        elif key not in ITS_OWN or key in LIBRDKAFKA_NAMES:
            kafka[ours] = _WORDS.get(ours, {}).get(value, value)
        elif key not in _REASONS:
            notes.append(f"{key}: omitted: only librdkafka has this property")
    if "ssl.truststore.location" in kafka:
        kafka["ssl.truststore.type"] = "PEM"
    properties = taken(kafka, notes)
    if files:
        properties |= _store(files)
    if login:
        mechanism = kafka.get("sasl.mechanism", "")
        jaas = make_jaas(mechanism, login.get("sasl.username", ""), login.get("sasl.password", ""))
        properties[JAAS] = escape(jaas)
    return Read(properties, notes)


def _store(files: Mapping[str, str]) -> dict[str, str]:
    pairs = ((CHAIN, "ssl.certificate.location"), (KEY, "ssl.key.location"))
    missing = next((theirs for _, theirs in pairs if theirs not in files), None)
    if missing is not None:
        raise ConfigError(f"{missing} is missing: set both key and certificate", key=missing)
    named = {ours: file_reference(theirs, files[theirs]) for ours, theirs in pairs}
    return {"ssl.keystore.type": "PEM", **named}


def _read_lines(raw: bytes, name: str) -> dict[str, str]:
    if len(raw) > LARGEST_FILE_BYTES:
        raise ConfigError(f"cannot read {name}: the file is larger than {LARGEST_FILE_BYTES} bytes")
    try:
        text = raw.decode()
    except UnicodeDecodeError:
        raise ConfigError(f"cannot read {name}: the file is not UTF-8") from None
    found: dict[str, str] = {}
    for number, line in enumerate(text.split("\n"), start=1):
        line = _replaced(line.strip(_BLANK), "\\:", ":")
        line = _replaced(line, "\\=", "=")
        if not line or line.startswith("#"):
            continue
        key, equals, value = line.partition("=")
        if not key.strip(_BLANK) or not equals:
            raise ConfigError(f"{name} line {number}: use the form name=value")
        found[key.strip(_BLANK)] = value.strip(_BLANK)
    return found


_BLANK = " \t\v\f\r"


def _replaced(line: str, escaped: str, letter: str) -> str:
    while escaped in line:
        line = line.replace(escaped, letter)
    return line
