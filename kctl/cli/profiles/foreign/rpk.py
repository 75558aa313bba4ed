"""Profiles of rpk: rpk.yaml, output of `rpk profile print`, or the `rpk` section of redpanda.yaml.

Source: Redpanda documentation of rpk profiles.
"""

from collections.abc import Mapping
from typing import Any

from kctl.cli.login import make_jaas
from kctl.cli.profiles.foreign.transfer import CHAIN, KEY, LARGEST_FILE_BYTES, Read, file_reference, taken
from kctl.cli.profiles.references import JAAS, escape
from kctl.client.errors import ConfigError
from kctl.client.wording import listed

DEFAULT_PORT = 9092
DEFAULT_MECHANISM = "SCRAM-SHA-256"
_NOTHING = ("", "~", "null")
"""Empty values in YAML."""
DEEPEST = 20
"""Maximum nesting: deeper files take quadratic time."""


def read_rpk(raw: bytes, name: str, wanted: str | None = None) -> Read:
    """Return the properties of an rpk profile.

    Args: wanted: name of the profile; None for the current or only profile.
    Raises: ConfigError: the file is not YAML, or the profile does not exist or has no brokers.
    """
    profile = _choose(_parse(raw, name), name, wanted)
    api = _table(profile, "kafka_api", name)
    notes = [
        f"{part}: omitted: kctl uses only the Kafka API"
        for part in ("admin_api", "schema_registry", "cloud_cluster")
        if profile.get(part)
    ]
    properties = taken({"bootstrap.servers": _brokers(api.get("brokers"), name)}, notes)
    uses_tls, sasl = _takes_tls(api), _table(api, "sasl", name)
    if uses_tls:
        properties |= _tls(_table(api, "tls", name), name, notes)
    if sasl:
        mechanism = str(sasl.get("mechanism") or sasl.get("type") or DEFAULT_MECHANISM).upper()
        jaas = make_jaas(mechanism, str(sasl.get("user") or ""), str(sasl.get("password") or ""))
        properties |= {"sasl.mechanism": mechanism, JAAS: escape(jaas)}
    properties["security.protocol"] = ("SASL_" if sasl else "") + ("SSL" if uses_tls else "PLAINTEXT")
    return Read(properties, notes)


def _parse(raw: bytes, name: str) -> dict[str, Any]:
    import yaml  # deferred import: takes 15ms

    if len(raw) > LARGEST_FILE_BYTES:
        raise ConfigError(f"cannot read {name}: the file is larger than {LARGEST_FILE_BYTES} bytes")
    depth = 0
    try:
        for event in yaml.parse(raw, Loader=yaml.BaseLoader):
            depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
            if depth > DEEPEST:
                raise ConfigError(f"{name}: the file is nested too deeply")
            if isinstance(event, yaml.AliasEvent):  # a few lines of aliases can expand to gigabytes
                raise ConfigError(f"{name}: aliases (*{str(event.anchor)[:40]}) are not supported")
        document = yaml.load(raw, Loader=yaml.BaseLoader)  # all scalars are strings: a password 0123 is not a number
    except yaml.MarkedYAMLError as e:
        mark = e.problem_mark or e.context_mark
        where = "" if mark is None else f" line {mark.line + 1}, column {mark.column + 1}"
        raise ConfigError(f"{name}{where}: {e.problem or 'the file is not YAML'}") from None
    except (yaml.YAMLError, ValueError, RecursionError):
        raise ConfigError(f"{name}: the file is not YAML") from None
    if not isinstance(document, dict):
        raise ConfigError(f"{name}: the file is not an rpk configuration")
    return document


def _choose(document: Mapping[str, Any], name: str, wanted: str | None) -> Mapping[str, Any]:
    written = document.get("profiles")
    if not isinstance(written, list):
        own = document.get("rpk")
        return own if isinstance(own, dict) else document
    profiles = {str(each.get("name", "")): each for each in written if isinstance(each, dict)}
    chosen = wanted if wanted is not None else document.get("current_profile")
    if wanted is None and chosen not in profiles and len(profiles) == 1:
        return next(iter(profiles.values()))
    if chosen not in profiles:
        there = listed(profiles) or "none"
        raise ConfigError(f"{name}: no profile {str(chosen)[:80]!r} found: use {there}")
    return profiles[str(chosen)]


def _table(parent: Mapping[str, Any], key: str, name: str) -> Mapping[str, Any]:
    found = parent.get(key)
    if found is None or found in _NOTHING:
        return {}
    if not isinstance(found, dict):
        raise ConfigError(f"{name}: {key} must be a map")
    return found


def _takes_tls(api: Mapping[str, Any]) -> bool:
    """Return whether TLS is enabled. An empty `tls: {}` enables it."""
    tls = api.get("tls")
    return isinstance(tls, dict) and str(tls.get("enabled", "true")).lower() == "true"


def _brokers(brokers: Any, name: str) -> str:
    if not isinstance(brokers, list) or not brokers:
        raise ConfigError(f"{name}: kafka_api.brokers must list at least one server")
    return ",".join(_with_port(str(broker)) for broker in brokers)


def _with_port(broker: str) -> str:
    has_port = broker.rpartition(":")[2].isdigit() and not (broker.count(":") > 1 and not broker.startswith("["))
    return broker if has_port else f"{broker}:{DEFAULT_PORT}"


def _tls(tls: Mapping[str, Any], name: str, notes: list[str]) -> dict[str, str]:
    properties: dict[str, str] = {}
    ca = tls.get("ca_file") or tls.get("truststore_file")
    if ca:
        properties |= {"ssl.truststore.type": "PEM", "ssl.truststore.location": escape(str(ca))}
    key, chain = tls.get("key_file"), tls.get("cert_file")
    if bool(key) != bool(chain):
        raise ConfigError(f"{name}: tls.{'cert_file' if key else 'key_file'} is missing: set both key and certificate")
    if key:
        properties["ssl.keystore.type"] = "PEM"
        properties |= {
            CHAIN: file_reference("tls.cert_file", str(chain)),
            KEY: file_reference("tls.key_file", str(key)),
        }
    if str(tls.get("insecure_skip_verify")).lower() == "true":
        notes.append("tls.insecure_skip_verify: omitted: kctl always checks certificates against ca_file")
    return properties
