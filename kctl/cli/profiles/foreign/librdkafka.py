"""librdkafka's properties, as kcat -F reads them: a `name=value` a line, with names and words of its own.

Source: librdkafka's CONFIGURATION.md and the file reader of kcat 1.7. Differs: blanks around the equals sign are not a
part of name or value.
"""

import os
from collections.abc import Mapping

from kctl.cli.login import make_jaas
from kctl.cli.profiles.foreign.transfer import (
    CHAIN,
    KEY,
    LARGEST_FILE_BYTES,
    LEFT_OUT,
    Item,
    Read,
    Written,
    header,
    login_of,
    taken,
)
from kctl.cli.profiles.references import JAAS, escape
from kctl.client.config import LIBRDKAFKA_NAMES
from kctl.client.errors import ConfigError

LONGEST_LINE = 510
"""Bytes of a line that kcat reads whole."""

NAMES = LIBRDKAFKA_NAMES
"""Its names that differ from Kafka's."""
WRITTEN = {ours: theirs for theirs, ours in reversed(NAMES.items()) if ours not in ("bootstrap.servers", "retries")} | {
    name: name
    for name in (
        "bootstrap.servers", "client.id", "security.protocol", "sasl.mechanism", "client.dns.lookup",
        "sasl.kerberos.service.name", "sasl.kerberos.principal", "sasl.kerberos.keytab",
        "ssl.key.password", "ssl.endpoint.identification.algorithm", "ssl.cipher.suites",
        "socket.connection.setup.timeout.ms", "connections.max.idle.ms", "reconnect.backoff.ms",
        "reconnect.backoff.max.ms", "retry.backoff.ms", "retry.backoff.max.ms", "metadata.max.age.ms",
        "metadata.recovery.strategy", "metadata.recovery.rebootstrap.trigger.ms", "enable.metrics.push", "group.id",
        "group.instance.id", "group.protocol", "group.remote.assignor", "session.timeout.ms", "heartbeat.interval.ms",
        "max.poll.interval.ms", "partition.assignment.strategy", "auto.offset.reset", "enable.auto.commit",
        "auto.commit.interval.ms", "isolation.level", "fetch.min.bytes", "fetch.max.bytes",
        "max.partition.fetch.bytes", "check.crcs", "client.rack", "allow.auto.create.topics", "acks", "retries",
        "enable.idempotence", "delivery.timeout.ms", "transactional.id", "transaction.timeout.ms", "batch.size",
        "linger.ms", "compression.type", "max.in.flight.requests.per.connection",
    )
}  # fmt: skip
"""Its names for Kafka's, of all that both have."""
ITS_OWN = frozenset(NAMES) - {"ssl.key.pem"} | {
    "sasl.username", "sasl.password", "ssl.certificate.location", "ssl.key.location", "broker.address.family", "debug",
    "enable.ssl.certificate.verification", "statistics.interval.ms", "api.version.request", "log_level",
}  # fmt: skip
"""Names by which a file is known as one of librdkafka's."""

_WORDS: dict[str, dict[str, str]] = {
    "auto.offset.reset": {
        "smallest": "earliest", "beginning": "earliest", "largest": "latest", "end": "latest", "error": "none",
    },
    "ssl.endpoint.identification.algorithm": {"none": ""},
    "connections.max.idle.ms": {"0": "-1"},
    "send.buffer.bytes": {"0": "-1"},
    "receive.buffer.bytes": {"0": "-1"},
}  # fmt: skip
"""Its words that differ from Kafka's, by Kafka's name."""
_WORDS_WRITTEN = {
    "auto.offset.reset": {"none": "error"},
    **{name: {ours: theirs for theirs, ours in _WORDS[name].items()} for name in list(_WORDS)[1:]},
}
_REASONS = {
    "request.timeout.ms": "there it limits how long a broker waits for replicas, not a request",
    "enable.ssl.certificate.verification": "kctl always checks certificates, against ssl.ca.location",
}


def read_librdkafka(raw: bytes, name: str) -> Read:
    """Return the properties of a file; ConfigError names the line or the property that cannot be taken."""
    found = _read_lines(raw, name)
    notes: list[str] = []
    login: dict[str, str] = {key: found.pop(key) for key in ("sasl.username", "sasl.password") if key in found}
    files: dict[str, str] = {
        key: found.pop(key) for key in ("ssl.certificate.location", "ssl.key.location") if key in found
    }
    kafka: dict[str, str] = {}
    for key, value in found.items():
        key = key.removeprefix("topic.")
        ours = NAMES.get(key, key)
        if key in _REASONS and value != "true":
            notes.append(f"{key}: left out: {_REASONS[key]}")
        elif key not in ITS_OWN or key in NAMES:
            kafka[ours] = _WORDS.get(ours, {}).get(value, value)
        elif key not in _REASONS:
            notes.append(f"{key}: left out: it is librdkafka's own")
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


def write_librdkafka(items: Mapping[str, Item]) -> Written:
    """Return a file for kcat -F, from which `read_librdkafka` has the same properties again."""
    lines: dict[str, str] = {}
    notes: list[str] = []
    for name, each in items.items():
        if name == JAAS:
            _write_login(each, lines, notes)
        elif name in (CHAIN, KEY) and each.file is not None:
            lines["ssl.certificate.location" if name == CHAIN else "ssl.key.location"] = str(each.file)
        elif name in ("ssl.truststore.type", "ssl.keystore.type") and each.value == "PEM":
            continue
        elif name == "partition.assignment.strategy" and not _are_alike(each.value or ""):
            notes.append(f"{name}: left out: librdkafka supports range and roundrobin, or cooperative-sticky alone")
        elif name not in WRITTEN:
            notes.append(f"{name}: skipped: librdkafka has no such property")
        elif each.value is None:
            notes.append(f"{WRITTEN[name]}: left out, {LEFT_OUT}")
        else:
            lines[WRITTEN[name]] = _WORDS_WRITTEN.get(name, {}).get(each.value, each.value)
    for key in [key for key, value in lines.items() if not _fits(value)]:
        del lines[key]
        notes.append(f"{key}: left out: a file of kcat cannot hold its value, which needs a separate file")
    long = [key for key, value in lines.items() if len(f"{key}={value}".encode()) > LONGEST_LINE]
    notes += [f"{key}: kcat reads {LONGEST_LINE} bytes of a line, and this one is longer" for key in long]
    return Written(header(notes) + "".join(f"{key}={value}\n" for key, value in lines.items()), notes)


def _write_login(login: Item, lines: dict[str, str], notes: list[str]) -> None:
    known = None if login.value is None else login_of(login.value)
    if known is not None:
        lines["sasl.username"], lines["sasl.password"] = known
    elif login.value is not None:
        notes.append(f"{JAAS}: left out: librdkafka supports logins by user and password only")
    else:
        if login.user is not None:
            lines["sasl.username"] = login.user
        notes.append(f"sasl.password: left out, {LEFT_OUT}")


def _are_alike(assignors: str) -> bool:
    words = {word.strip() for word in assignors.split(",")}
    return words <= {"range", "roundrobin"} or words == {"cooperative-sticky"}


def _store(files: Mapping[str, str]) -> dict[str, str]:
    pairs = ((CHAIN, "ssl.certificate.location"), (KEY, "ssl.key.location"))
    missing = next((theirs for _, theirs in pairs if theirs not in files), None)
    if missing is not None:
        raise ConfigError(f"{missing} is missing: key and certificate go together", key=missing)
    named = {ours: f"${{file:{os.path.abspath(files[theirs])}}}" for ours, theirs in pairs}
    return {"ssl.keystore.type": "PEM", **named}


def _read_lines(raw: bytes, name: str) -> dict[str, str]:
    if len(raw) > LARGEST_FILE_BYTES:
        raise ConfigError(f"{name}: larger than {LARGEST_FILE_BYTES} bytes")
    try:
        text = raw.decode()
    except UnicodeDecodeError:
        raise ConfigError(f"{name}: not UTF-8") from None
    found: dict[str, str] = {}
    for number, line in enumerate(text.split("\n"), start=1):
        line = _replaced(line.strip(_BLANK), "\\:", ":")
        line = _replaced(line, "\\=", "=")
        if not line or line.startswith("#"):
            continue
        key, equals, value = line.partition("=")
        if not key.strip(_BLANK) or not equals:
            raise ConfigError(f"{name} line {number}: not of the form name=value")
        found[key.strip(_BLANK)] = value.strip(_BLANK)
    return found


_BLANK = " \t\v\f\r"


def _replaced(line: str, escaped: str, letter: str) -> str:
    """Take escapes of Java's away as kcat does: also those that only this makes."""
    while escaped in line:
        line = line.replace(escaped, letter)
    return line


def _fits(value: str) -> bool:
    """Whether a line can hold a value so that the same is read again."""
    return "\n" not in value and value == value.strip(_BLANK) and "\\:" not in value and "\\=" not in value
