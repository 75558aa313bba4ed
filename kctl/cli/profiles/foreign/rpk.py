"""rpk's profiles: rpk.yaml with all of them, one as `rpk profile print` shows it, or the `rpk` part of redpanda.yaml.

Source: Redpanda's documentation of rpk profiles.
"""

import os
from collections.abc import Mapping
from typing import Any

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
from kctl.client.errors import ConfigError
from kctl.client.wording import listed

DEFAULT_PORT = 9092
DEFAULT_MECHANISM = "SCRAM-SHA-256"
_NOTHING = ("", "~", "null")
"""How YAML writes that there is nothing."""
DEEPEST = 20
"""Lists and maps in each other; reading more takes quadratic time."""
_SPOKEN = ("bootstrap.servers", "security.protocol", "sasl.mechanism", "ssl.truststore.type", "ssl.keystore.type")


def read_rpk(raw: bytes, name: str, wanted: str | None = None) -> Read:
    """Return the properties of one of rpk's profiles.

    Args: wanted: which one; else the current, or the only one there is.
    Raises: ConfigError: no YAML (with line and column), no such profile, or nothing of Kafka's API in it.
    """
    profile = _choose(_parse(raw, name), name, wanted)
    api = _table(profile, "kafka_api", name)
    notes = [
        f"{part}: left out: kctl speaks to Kafka's API only"
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


def write_rpk(items: Mapping[str, Item], profile: str) -> Written:
    """Return one profile for `rpk profile create --from-profile`, from which `read_rpk` has the same again."""
    import yaml  # 15 ms, wanted only here

    notes: list[str] = []
    protocol = _value(items, "security.protocol") or "PLAINTEXT"
    api: dict[str, Any] = {"brokers": (_value(items, "bootstrap.servers") or "").split(",")}
    if protocol.upper().endswith("SSL"):
        api["tls"] = _written_tls(items, notes)
    if protocol.upper().startswith("SASL"):
        api["sasl"] = _written_login(items, notes)
    known = {*_SPOKEN, JAAS, "ssl.truststore.location", CHAIN, KEY}
    notes += [f"{name}: skipped: rpk has no such setting" for name in items if name not in known]
    text: str = yaml.safe_dump({"name": profile, "kafka_api": api}, sort_keys=False)
    return Written(header(notes) + text, notes)


def _parse(raw: bytes, name: str) -> dict[str, Any]:
    import yaml  # 15 ms, wanted only here

    if len(raw) > LARGEST_FILE_BYTES:
        raise ConfigError(f"{name}: larger than {LARGEST_FILE_BYTES} bytes")
    depth = 0
    try:
        for event in yaml.parse(raw, Loader=yaml.BaseLoader):
            depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
            if depth > DEEPEST:
                raise ConfigError(f"{name}: nested too deeply")
            if isinstance(event, yaml.AliasEvent):  # a few lines of them can stand for gigabytes
                raise ConfigError(f"{name}: aliases (*{str(event.anchor)[:40]}) are not supported")
        document = yaml.load(raw, Loader=yaml.BaseLoader)  # all scalars are texts: a password 0123 is no number
    except yaml.MarkedYAMLError as e:
        mark = e.problem_mark or e.context_mark
        where = "" if mark is None else f" line {mark.line + 1}, column {mark.column + 1}"
        raise ConfigError(f"{name}{where}: {e.problem or 'not YAML'}") from None
    except (yaml.YAMLError, ValueError, RecursionError):
        raise ConfigError(f"{name}: not YAML") from None
    if not isinstance(document, dict):
        raise ConfigError(f"{name}: not a configuration of rpk")
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
        raise ConfigError(f"{name}: no profile {str(chosen)[:80]!r}; there are {there}")
    return profiles[str(chosen)]


def _table(parent: Mapping[str, Any], key: str, name: str) -> Mapping[str, Any]:
    found = parent.get(key)
    if found is None or found in _NOTHING:
        return {}
    if not isinstance(found, dict):
        raise ConfigError(f"{name}: {key} is not a map")
    return found


def _takes_tls(api: Mapping[str, Any]) -> bool:
    """An empty `tls: {}` already turns TLS on; `enabled: false` keeps it off."""
    tls = api.get("tls")
    return isinstance(tls, dict) and str(tls.get("enabled", "true")).lower() == "true"


def _brokers(brokers: Any, name: str) -> str:
    if not isinstance(brokers, list) or not brokers:
        raise ConfigError(f"{name}: kafka_api.brokers lists no servers")
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
        raise ConfigError(
            f"{name}: tls.{'cert_file' if key else 'key_file'} is missing: key and certificate go together"
        )
    if key:
        properties["ssl.keystore.type"] = "PEM"
        properties |= {ours: f"${{file:{os.path.abspath(str(path))}}}" for ours, path in ((CHAIN, chain), (KEY, key))}
    if str(tls.get("insecure_skip_verify")).lower() == "true":
        notes.append("tls.insecure_skip_verify: left out: kctl always checks certificates, against ca_file")
    return properties


def _value(items: Mapping[str, Item], name: str) -> str | None:
    return items[name].value if name in items else None


def _written_tls(items: Mapping[str, Item], notes: list[str]) -> dict[str, str]:
    tls: dict[str, str] = {}
    ca = _value(items, "ssl.truststore.location")
    if ca is not None:
        tls["ca_file"] = ca
    for name, theirs in ((CHAIN, "cert_file"), (KEY, "key_file")):
        if name in items and items[name].file is not None:
            tls[theirs] = str(items[name].file)
        elif name in items:
            notes.append(f"{name}: left out: rpk takes a file only: ${{file:PATH}}")
    return tls


def _written_login(items: Mapping[str, Item], notes: list[str]) -> dict[str, str]:
    login = items.get(JAAS)
    sasl = {"mechanism": _value(items, "sasl.mechanism") or DEFAULT_MECHANISM}
    known = None if login is None or login.value is None else login_of(login.value)
    if known is not None:
        return {"user": known[0], "password": known[1], **sasl}
    if login is not None and login.value is not None:
        notes.append(f"{JAAS}: left out: rpk supports logins by user and password only")
    elif login is not None:
        notes.append(f"sasl.password: left out, {LEFT_OUT}")
        return {"user": login.user, **sasl} if login.user is not None else sasl
    return sasl
