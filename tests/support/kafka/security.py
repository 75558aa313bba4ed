"""The users of the test brokers and the Kafka properties of both ends of each listener.

Owns names, passwords and property texts; opens nothing.
"""

from collections.abc import Mapping, Sequence

from tests.support.kafka.certificates import Certificates, certificate_chain, private_key

LISTENERS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
SCRAM_MECHANISMS = ("SCRAM-SHA-256", "SCRAM-SHA-512")
MECHANISMS = ("PLAIN", *SCRAM_MECHANISMS, "OAUTHBEARER")

PLAIN_USER, PLAIN_PASSWORD = "alice", "alice-secret"
SCRAM_USER, SCRAM_PASSWORD = "bob", "bob-secret"
OAUTH_SUBJECT = "carol"
GUEST, GUEST_PASSWORD = "guest", "guest-secret"
"""A user of PLAIN who may do nothing where brokers have an authorizer."""
SUPER_USERS = tuple(f"User:{name}" for name in ("ANONYMOUS", PLAIN_USER, SCRAM_USER, OAUTH_SUBJECT, "CN=client"))

_MODULES = "org.apache.kafka.common.security"
_OAUTH_LOGIN = (
    f'{_MODULES}.oauthbearer.OAuthBearerLoginModule required unsecuredLoginStringClaim_sub="{OAUTH_SUBJECT}";'
)


def scram_config(mechanism: str) -> str:
    """Return the credentials of the SCRAM user as Kafka's tools take them, without the name."""
    return f"{mechanism}=[password={SCRAM_PASSWORD}]"


def scram_format_option(mechanism: str) -> str:
    """Return the same for `StorageTool format --add-scram`."""
    return f"{mechanism}=[name={SCRAM_USER},password={SCRAM_PASSWORD}]"


def broker_security(certificates: Certificates) -> dict[str, str]:
    """Return the properties that give a broker its TLS identity and all SASL mechanisms on both SASL listeners."""
    properties = {
        "ssl.keystore.type": "PEM",
        # in line, not as a location: 2.8 takes an unencrypted key only so
        "ssl.keystore.key": private_key(certificates.broker),
        "ssl.keystore.certificate.chain": certificate_chain(certificates.broker),
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(certificates.ca),
        "ssl.client.auth": "requested",  # one listener serves both TLS and mutual TLS
        "sasl.enabled.mechanisms": ",".join(MECHANISMS),
    }
    logins = {
        "PLAIN": f'{_MODULES}.plain.PlainLoginModule required user_{PLAIN_USER}="{PLAIN_PASSWORD}"'
        f' user_{GUEST}="{GUEST_PASSWORD}";',
        "SCRAM-SHA-256": f"{_MODULES}.scram.ScramLoginModule required;",
        "SCRAM-SHA-512": f"{_MODULES}.scram.ScramLoginModule required;",
        "OAUTHBEARER": _OAUTH_LOGIN,
    }
    for listener in ("sasl_plaintext", "sasl_ssl"):
        for mechanism, login in logins.items():
            properties[f"listener.name.{listener}.{mechanism.lower()}.sasl.jaas.config"] = login
    return properties


def client_security(
    certificates: Certificates, listener: str, mechanism: str | None = None, mutual_tls: bool = False
) -> dict[str, str]:
    """Return the properties of a client of `listener`, in Kafka's own names.

    Args:
        listener: one of LISTENERS.
        mechanism: one of MECHANISMS on the SASL listeners (None: PLAIN), None on the others.
        mutual_tls: also present the client's certificate; only where there is TLS.
    """
    if listener not in LISTENERS:
        raise ValueError(f"no listener {listener!r}, there are {LISTENERS}")
    properties = {"security.protocol": listener}
    if listener.endswith("SSL"):
        properties |= {"ssl.truststore.type": "PEM", "ssl.truststore.location": str(certificates.ca)}
    if mutual_tls:
        if not listener.endswith("SSL"):
            raise ValueError(f"{listener} has no TLS")
        properties |= {"ssl.keystore.type": "PEM", "ssl.keystore.location": str(certificates.client)}
    if listener.startswith("SASL"):
        mechanism = mechanism or "PLAIN"
        properties |= {"sasl.mechanism": mechanism, "sasl.jaas.config": _client_login(mechanism)}
    elif mechanism is not None:
        raise ValueError(f"{listener} has no SASL")
    return properties


def guest_login() -> dict[str, str]:
    """Return the properties of a client that is the guest, on top of `client_security` of a listener with SASL."""
    login = f'{_MODULES}.plain.PlainLoginModule required username="{GUEST}" password="{GUEST_PASSWORD}";'
    return {"sasl.mechanism": "PLAIN", "sasl.jaas.config": login}


def every_way_in() -> Sequence[tuple[str, str | None]]:
    """Return each listener with each mechanism that it takes."""
    plain = [(listener, None) for listener in LISTENERS if not listener.startswith("SASL")]
    sasl = [(listener, mechanism) for listener in LISTENERS[2:] for mechanism in MECHANISMS]
    return [*plain, *sasl]


def properties_text(properties: Mapping[str, str]) -> str:
    """Return the content of a `.properties` file."""
    escaped = {key: value.replace("\\", "\\\\").replace("\n", "\\n") for key, value in properties.items()}
    return "".join(f"{key}={value}\n" for key, value in escaped.items())


def _client_login(mechanism: str) -> str:
    if mechanism == "PLAIN":
        return f'{_MODULES}.plain.PlainLoginModule required username="{PLAIN_USER}" password="{PLAIN_PASSWORD}";'
    if mechanism in SCRAM_MECHANISMS:
        return f'{_MODULES}.scram.ScramLoginModule required username="{SCRAM_USER}" password="{SCRAM_PASSWORD}";'
    if mechanism == "OAUTHBEARER":
        return _OAUTH_LOGIN
    raise ValueError(f"no mechanism {mechanism!r}, there are {MECHANISMS}")
