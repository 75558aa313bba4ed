"""security.protocol, and what goes with it."""

import pytest

from kctl.client.config import ClientConfig
from kctl.client.errors import ConfigError


def parse(**properties: str) -> ClientConfig:
    given = {name.replace("_", "."): value for name, value in properties.items()}
    return ClientConfig.parse({"bootstrap.servers": "a:1", **given})


@pytest.mark.parametrize(
    ("protocol", "tls", "sasl"),
    [("PLAINTEXT", False, False), ("ssl", True, False), ("SASL_PLAINTEXT", False, True), ("sasl_ssl", True, True)],
)
def test_security_protocol_decides_tls_and_sasl(protocol: str, tls: bool, sasl: bool) -> None:
    config = parse(security_protocol=protocol, sasl_mechanism="PLAIN")
    assert (config.security_protocol, config.uses_tls, config.uses_sasl) == (protocol.upper(), tls, sasl)


def test_the_prefix_of_a_server_sets_the_protocol() -> None:
    assert parse(bootstrap_servers="SSL://a:1").security_protocol == "SSL"
    assert parse(bootstrap_servers="SSL://a:1", security_protocol="ssl").security_protocol == "SSL"
    with pytest.raises(ConfigError, match=r"starts with SSL://, but security.protocol is PLAINTEXT"):
        parse(bootstrap_servers="SSL://a:1", security_protocol="PLAINTEXT")


@pytest.mark.parametrize("written", ["AWS_MSK_IAM", "aws_msk_iam"])
def test_mechanism_of_amazons_java_library_leads_to_the_properties_that_do_the_same(written: str) -> None:
    text = r"\(for Amazon MSK with IAM, use OAUTHBEARER with sasl.oauthbearer.method=aws_msk_iam\)"
    with pytest.raises(ConfigError, match=text):
        parse(security_protocol="SASL_SSL", sasl_mechanism=written)


def test_sasl_needs_a_mechanism_that_is_spoken() -> None:
    with pytest.raises(ConfigError, match=r"sasl.mechanism is not set: for SASL_SSL, use one of PLAIN, SCRAM-SHA-256"):
        parse(security_protocol="SASL_SSL")
    assert parse(security_protocol="SASL_SSL", sasl_mechanism="GSSAPI").uses_sasl
    assert parse(security_protocol="SASL_SSL", sasl_kerberos_service_name="kafka").sasl_mechanism == "GSSAPI"
    assert parse(security_protocol="SASL_SSL", sasl_mechanism="scram-sha-512").sasl_mechanism == "SCRAM-SHA-512"
    assert not parse(sasl_mechanism="GSSAPI").uses_sasl
