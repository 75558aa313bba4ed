"""Tokens for Amazon MSK: equal to those that botocore signs, and with credentials from where AWS's tools find them."""

from base64 import urlsafe_b64decode
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from botocore.auth import SigV4QueryAuth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from kctl.client.aws_msk import AwsCredentials, find_credentials, msk_token
from kctl.client.clock import ManualClock, SystemClock
from kctl.client.config import ClientConfig
from kctl.client.errors import AuthenticationError, ConfigError
from kctl.client.network.fetched_tokens import fetched_tokens
from kctl.client.network.resolver import ThreadResolver

KEYS = AwsCredentials("AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY")
WALL_MS = 1_440_938_160_000


def found(profile: str | None) -> AwsCredentials:
    return find_credentials(profile, SystemClock(), ThreadResolver())


def url_of(token: str) -> str:
    return urlsafe_b64decode(token + "=" * (-len(token) % 4)).decode()


@pytest.mark.parametrize("session", [None, "a/session+token=="])
def test_token_is_signed_as_botocore_signs(monkeypatch: pytest.MonkeyPatch, session: str | None) -> None:
    ours = parse_qs(urlsplit(url_of(msk_token(KEYS._replace(session_token=session), "eu-west-1", WALL_MS).value)).query)
    moment = ours["X-Amz-Date"][0]
    request = AWSRequest("GET", "https://kafka.eu-west-1.amazonaws.com/", params={"Action": "kafka-cluster:Connect"})
    signer = SigV4QueryAuth(
        Credentials(KEYS.access_key, KEYS.secret_key, session), "kafka-cluster", "eu-west-1", expires=900
    )
    monkeypatch.setattr("botocore.auth.get_current_datetime", lambda: _at(moment))
    signer.add_auth(request)
    theirs = parse_qs(urlsplit(str(request.url)).query)
    assert {name: values for name, values in ours.items() if name != "User-Agent"} == theirs
    assert ours["X-Amz-Credential"] == ["AKIDEXAMPLE/20150830/eu-west-1/kafka-cluster/aws4_request"]


def _at(moment: str) -> object:
    from datetime import UTC, datetime

    return datetime.strptime(moment, "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC)


@pytest.fixture
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "credentials"))
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    return tmp_path


def test_credentials_of_environment_and_profile(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (home / "credentials").write_text("[team]\naws_access_key_id=A\naws_secret_access_key=canary-1\n")
    assert found("team") == AwsCredentials("A", "canary-1", None)
    with pytest.raises(AuthenticationError, match="ProfileNotFound"):
        found("nobody")
    with pytest.raises(AuthenticationError, match="no AWS credentials found"):
        found(None)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "B")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "canary-2")
    monkeypatch.setenv("AWS_SESSION_TOKEN", "t")
    assert found(None) == AwsCredentials("B", "canary-2", "t")
    assert "canary" not in repr(found(None))


def test_environment_is_enough_without_boto3(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "botocore.session", None)
    with pytest.raises(AuthenticationError, match="needs the Python package boto3"):
        found("team")
    with pytest.raises(AuthenticationError, match=r"\$AWS_ACCESS_KEY_ID"):
        found(None)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "B")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "s")
    assert found(None) == AwsCredentials("B", "s", None)


def config(server: str, **properties: str) -> ClientConfig:
    given = {"sasl.oauthbearer.method": "aws_msk_iam", **{name.replace("_", "."): v for name, v in properties.items()}}
    base = {"bootstrap.servers": server, "security.protocol": "SASL_SSL", "sasl.mechanism": "OAUTHBEARER"}
    return ClientConfig.parse({**base, **given})


def test_region_is_that_of_the_server_or_the_one_given(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "B")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "s")
    server = "b-1.demo.abc123.c2.kafka.us-east-2.amazonaws.com:9098"
    for given, region in ((config(server), "us-east-2"), (config("x:1", aws_region="eu-west-1"), "eu-west-1")):
        tokens = fetched_tokens(given, ManualClock(wall_ms=WALL_MS))
        assert tokens is not None
        tokens.get()
        assert url_of(tokens.current().value).startswith(f"https://kafka.{region}.amazonaws.com/?Action=")
    with pytest.raises(ConfigError, match=r"aws\.region"):
        fetched_tokens(config("x:1"), ManualClock())
