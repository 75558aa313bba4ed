"""Kafka's security properties, for clients that name them otherwise.

Owns the reading of `sasl.jaas.config` and librdkafka's names, which confluent-kafka and kcat share.
"""

import re
from collections.abc import Mapping

_OPTION = re.compile(r'(\w+)="([^"]*)"')


def jaas_options(properties: Mapping[str, str]) -> dict[str, str]:
    """Return the options of `sasl.jaas.config`: username and password, or unsecuredLoginStringClaim_sub."""
    return dict(_OPTION.findall(properties.get("sasl.jaas.config", "")))


_LIBRDKAFKA_NAMES: dict[str, tuple[str, ...]] = {
    "ssl.truststore.location": ("ssl.ca.location",),
    "ssl.keystore.location": ("ssl.certificate.location", "ssl.key.location"),
    "ssl.truststore.type": (),
    "ssl.keystore.type": (),
    "sasl.jaas.config": (),
    "exchange.abort": (),
}


def librdkafka_settings(properties: Mapping[str, str]) -> dict[str, str]:
    """Return librdkafka's settings for Kafka's properties; names it shares with Kafka stay."""
    login = jaas_options(properties)
    found = {name: value for key, value in properties.items() for name in _LIBRDKAFKA_NAMES.get(key, (key,))}
    if properties.get("sasl.mechanism") == "OAUTHBEARER":
        found["enable.sasl.oauthbearer.unsecure.jwt"] = "true"
        found["sasl.oauthbearer.config"] = f"principal={login['unsecuredLoginStringClaim_sub']}"
    elif login:
        found |= {"sasl.username": login["username"], "sasl.password": login["password"]}
    return found
