"""The mechanism that a config asks for."""

import re

import pytest

from kctl.client.config import ClientConfig
from kctl.client.errors import ConfigError
from kctl.client.security.sasl import mechanism_from_config


class Zero:
    def token_bytes(self, count: int) -> bytes:
        return bytes(count)


def config(mechanism: str, jaas: str | None) -> ClientConfig:
    return ClientConfig.parse(
        {
            "bootstrap.servers": "a:1",
            "security.protocol": "SASL_SSL",
            "sasl.mechanism": mechanism,
            "sasl.jaas.config": jaas,
        }
    )


@pytest.mark.parametrize(
    ("mechanism", "module", "first"),
    [
        ("PLAIN", "plain.PlainLoginModule", b"\0alice\0hunter2"),
        ("scram-sha-256", "scram.ScramLoginModule", b"n,,n=alice,r=AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"),
        ("SCRAM-SHA-512", "scram.ScramLoginModule", b"n,,n=alice,r=AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"),
    ],
)
def test_name_and_password(mechanism: str, module: str, first: bytes) -> None:
    jaas = f'org.apache.kafka.common.security.{module} required username="alice" password="hunter2";'
    made = mechanism_from_config(config(mechanism, jaas), Zero(), "a")
    assert made.name == mechanism.upper()
    assert made.first() == first
    assert not made.complete


@pytest.mark.parametrize(
    ("mechanism", "jaas", "why"),
    [
        ("PLAIN", None, "needs sasl.jaas.config with a PlainLoginModule"),
        (
            "PLAIN",
            'ScramLoginModule required username="a" password="hunter2";',
            "needs the login module PlainLoginModule",
        ),
        ("PLAIN", 'PlainLoginModule required username="a";', "needs password"),
        (
            "OAUTHBEARER",
            'software.amazon.msk.auth.iam.IAMLoginModule required awsProfileName="hunter2";',
            "OAuthBearerLoginModule (sasl.oauthbearer.method=aws_msk_iam does not need sasl.jaas.config)",
        ),
        ("SCRAM-SHA-256", 'ScramLoginModule required password="hunter2";', "needs username"),
    ],
)
def test_missing_property_is_named_and_the_secret_is_not(mechanism: str, jaas: str | None, why: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(why)) as caught:
        mechanism_from_config(config(mechanism, jaas), Zero(), "a")
    assert "hunter2" not in str(caught.value)


def test_gssapi_needs_the_name_of_the_service() -> None:
    plain = ClientConfig.parse({"bootstrap.servers": "a:1"})
    with pytest.raises(ConfigError, match=r"needs sasl.kerberos.service.name"):
        mechanism_from_config(plain, Zero(), "a")
