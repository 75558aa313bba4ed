"""Logins that Kafka 4.3.1 checks by signatures: tokens by the key set of an OpenID Connect provider, and those of AWS.

The broker runs Kafka's own OAuthBearerValidatorCallbackHandler with issuer, audience and keys on one listener, and on
the other one compiled here, which computes the SigV4 signature of Amazon MSK's IAM again.
"""

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from kctl.cli.exit_codes import ExitCode
from kctl.client.cluster import TopicPartition
from kctl.client.consumer.consumer import Consumer
from kctl.client.events import Event, Lost
from kctl.client.producer import Producer
from tests.cli.processes import Ended, kctl
from tests.support.kafka.cluster import KafkaCluster
from tests.support.kafka.plugin import OwnKafka
from tests.support.kafka.toolchain import compiled_class_path
from tests.support.oidc import AUDIENCE, CLIENT_ID, CLIENT_SECRET, OidcProvider, running_provider

TOKENS = 3
AWS_SECRET = "canary-aws-6630"
_SIGNED, _OF_AWS = "listener.name.sasl_plaintext.", "listener.name.sasl_ssl."
_MODULE = (
    "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required unsecuredLoginStringClaim_sub=broker"
)
_OAUTH = "sasl.oauthbearer."


@pytest.fixture(scope="module")
def provider() -> Iterator[OidcProvider]:
    with running_provider() as started:
        yield started


@pytest.fixture(scope="module")
def cluster(provider: OidcProvider, own_kafka: OwnKafka) -> Iterator[KafkaCluster]:
    validator = "org.apache.kafka.common.security.oauthbearer.OAuthBearerValidatorCallbackHandler"
    properties = {
        "connections.max.reauth.ms": "3600000",  # without it the end of a token's lifetime ends no session
        f"{_SIGNED}sasl.enabled.mechanisms": "OAUTHBEARER",
        f"{_SIGNED}oauthbearer.sasl.jaas.config": f"{_MODULE};",
        f"{_SIGNED}oauthbearer.sasl.server.callback.handler.class": validator,
        f"{_SIGNED}{_OAUTH}jwks.endpoint.url": provider.keys_url,
        f"{_SIGNED}{_OAUTH}expected.issuer": provider.base,
        f"{_SIGNED}{_OAUTH}expected.audience": AUDIENCE,
        f"{_SIGNED}{_OAUTH}clock.skew.seconds": "0",
        f"{_OF_AWS}sasl.enabled.mechanisms": "OAUTHBEARER",
        f"{_OF_AWS}oauthbearer.sasl.jaas.config": f'{_MODULE} secret="{AWS_SECRET}";',
        f"{_OF_AWS}oauthbearer.sasl.server.callback.handler.class": "AwsTokenCheck",
    }
    allowed = f"-Dorg.apache.kafka.sasl.oauthbearer.allowed.urls={provider.keys_url}"
    classes = compiled_class_path(Path(__file__).parent / "java" / "AwsTokenCheck.java")
    with own_kafka(properties, jvm_options=(allowed,), classes=classes) as started:
        yield started


def signed(cluster: KafkaCluster, **more: object) -> dict[str, object]:
    """Return the properties of a client of the listener that checks signed tokens."""
    return {
        "bootstrap.servers": cluster.bootstrap("SASL_PLAINTEXT"),
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "OAUTHBEARER",
        **{_OAUTH + name.replace("_", "."): value for name, value in more.items()},
    }


def by_endpoint(cluster: KafkaCluster, provider: OidcProvider) -> dict[str, object]:
    return signed(
        cluster,
        token_endpoint_url=provider.token_url,
        client_credentials_client_id=CLIENT_ID,
        client_credentials_client_secret=CLIENT_SECRET,
    )


def run(properties: dict[str, object], folder: Path, *options: str, **environ: str) -> Ended:
    file = folder / "client.properties"
    file.write_text("".join(f"{name}={value}\n" for name, value in properties.items()))
    return kctl("topics", "list", "--command-config", str(file), *options, environ=environ)


def test_every_source_of_tokens_logs_in(cluster: KafkaCluster, provider: OidcProvider, tmp_path: Path) -> None:
    topic = cluster.create_topic()
    file = tmp_path / "token"
    file.write_text(provider.token())
    ways = {
        "endpoint": by_endpoint(cluster, provider),
        "file": signed(cluster, token_file=str(file)),
        "file url": signed(cluster, token_endpoint_url=file.as_uri()),
    }
    for way, properties in ways.items():
        ended = run(properties, tmp_path)
        assert (ended.code, topic in ended.stdout.decode()) == (0, True), (way, ended.stderr)
    with Producer(signed(cluster, token_callback=provider.token)) as producer:
        producer.send(topic, b"of a callback").result(timeout=20)


def test_token_of_a_command_in_a_profile_logs_in(cluster: KafkaCluster, provider: OidcProvider, tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text(provider.token())
    profiles = tmp_path / "kctl" / "config.toml"
    profiles.parent.mkdir()
    lines = {**signed(cluster), "sasl.oauthbearer.token": "${cmd:cat " + str(file) + "}"}
    profiles.write_text("[profiles.p]\n" + "".join(f'"{name}" = "{value}"\n' for name, value in lines.items()))
    profiles.chmod(0o600)
    ended = kctl("topics", "list", "--profile", "p", environ={"XDG_CONFIG_HOME": str(tmp_path)})
    assert ended.code == 0, ended.stderr


@pytest.mark.parametrize("mistake", ["audience", "issuer", "expired", "forged"])
def test_token_that_the_broker_does_not_accept_is_an_authentication_error(
    cluster: KafkaCluster, provider: OidcProvider, tmp_path: Path, mistake: str
) -> None:
    tokens = {
        "audience": provider.token(audience="another"),
        "issuer": provider.token(issuer="http://another"),
        "expired": provider.token(lifetime_s=-60),
        "forged": provider.token(is_forged=True),
    }
    file = tmp_path / "token"
    file.write_text(tokens[mistake])
    ended = run(signed(cluster, token_file=str(file)), tmp_path, "-v")
    assert ended.code == ExitCode.AUTHENTICATION, ended.stderr
    assert "OAUTHBEARER: the broker rejected the token: status invalid_token" in ended.stderr
    assert tokens[mistake].rpartition(".")[2] not in ended.stderr
    found = re.search(
        r"hint: compare the token with .*: issuer (\S+) and audience ([^\s,]+)(, expired 1m.* ago)?",
        ended.stderr,
    )
    assert found is not None, ended.stderr
    assert (found[1] == "http://another", found[2] == "another") == (mistake == "issuer", mistake == "audience")
    assert (found[3] is not None) == (mistake == "expired")


def test_signed_tokens_that_expire_under_load_lose_nothing_and_repeat_nothing(
    cluster: KafkaCluster, provider: OidcProvider
) -> None:
    topic, events, sent = cluster.create_topic(), list[Event](), 0
    provider.lifetime_s, before = 4, provider.given
    try:
        with Producer(by_endpoint(cluster, provider), events=events.append) as producer:
            while provider.given < before + TOKENS:
                producer.send(topic, b"%d" % sent).result(timeout=20)
                sent += 1
        properties = {**by_endpoint(cluster, provider), "auto.offset.reset": "earliest"}
        partition = TopicPartition(topic, 0)
        with Consumer(properties, events=events.append) as consumer:
            consumer.assign([partition])
            values: list[bytes | None] = []
            while len(values) < sent:
                values += [record.value for record in consumer.poll(timeout=20)]
    finally:
        provider.lifetime_s = 3600
    assert values == [b"%d" % number for number in range(sent)]
    assert [event for event in events if isinstance(event, Lost)] == []
    with Consumer({"bootstrap.servers": cluster.bootstrap()}) as plain:
        assert plain.end_offsets([partition]) == {partition: sent}


def test_endpoint_that_is_unavailable_is_asked_again_within_the_timeout(
    cluster: KafkaCluster, provider: OidcProvider, tmp_path: Path
) -> None:
    provider.statuses = [503, 429]
    ended = run(by_endpoint(cluster, provider), tmp_path)
    assert (ended.code, provider.statuses) == (0, []), ended.stderr
    provider.statuses = [503] * 1000
    try:
        ended = run(by_endpoint(cluster, provider), tmp_path, "--api-timeout", "2s")
    finally:
        provider.statuses = []
    assert ended.code == ExitCode.REFUSED, ended.stderr
    assert ": temporarily_unavailable (HTTP 503)" in ended.stderr


def of_aws(cluster: KafkaCluster) -> dict[str, object]:
    properties = {**cluster.client_properties("SASL_SSL", "OAUTHBEARER")}
    del properties["sasl.jaas.config"]
    return {**properties, "sasl.oauthbearer.method": "aws_msk_iam", "aws.region": "eu-central-1"}


def test_signature_of_aws_logs_in_and_one_by_another_secret_does_not(cluster: KafkaCluster, tmp_path: Path) -> None:
    environ = {"AWS_ACCESS_KEY_ID": "AKIDEXAMPLE", "AWS_SECRET_ACCESS_KEY": AWS_SECRET}
    ended = run(of_aws(cluster), tmp_path, "-v", **environ)
    assert ended.code == 0, ended.stderr
    with_session = run(of_aws(cluster), tmp_path, **environ, AWS_SESSION_TOKEN="session/canary+=")
    assert with_session.code == 0, with_session.stderr
    wrong = run(of_aws(cluster), tmp_path, "-v", **{**environ, "AWS_SECRET_ACCESS_KEY": "wrong-canary"})
    assert wrong.code == ExitCode.AUTHENTICATION
    assert "the broker rejected the token: status invalid_token" in wrong.stderr
    assert not re.search("canary|X-Amz|Signature", ended.stderr + wrong.stderr)


def test_certificate_in_a_pkcs12_store_logs_in_and_one_that_has_expired_does_not(
    cluster: KafkaCluster, tmp_path: Path
) -> None:
    password = "canary-p12"
    properties: dict[str, object] = {**cluster.client_properties("SSL"), "ssl.keystore.type": "PKCS12"}
    ended = []
    for pem in (cluster.certificates.client, cluster.certificates.expired):
        store = tmp_path / f"{pem.stem}.p12"
        command = ["openssl", "pkcs12", "-export", "-in", str(pem), "-out", str(store), "-passout", f"pass:{password}"]
        subprocess.run(command, check=True, capture_output=True, stdin=subprocess.DEVNULL)
        with_store = {**properties, "ssl.keystore.location": store, "ssl.keystore.password": password}
        ended.append(run(with_store, tmp_path, "-v", "--api-timeout", "10s"))
    assert [each.code for each in ended] == [0, ExitCode.TLS], ended[1].stderr
    assert "canary" not in ended[0].stderr + ended[1].stderr
