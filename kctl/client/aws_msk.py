"""Tokens for Amazon MSK with IAM: a presigned URL of kafka-cluster:Connect is the OAUTHBEARER token.

Credentials come from boto3 if installed, otherwise from the environment. Source: AWS Signature Version 4, query
parameters; aws-msk-iam-sasl-signer.
"""

import hashlib
import hmac
import os
from base64 import urlsafe_b64encode
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import NamedTuple
from urllib.parse import quote

from kctl.client.aws_endpoints import bound_credential_services
from kctl.client.clock import Clock
from kctl.client.errors import AuthenticationError
from kctl.client.oauth import AccessToken
from kctl.client.runtime import Resolver
from kctl.client.wording import one_line
from kctl.version import install_command

LIFETIME_S = 900
SERVICE = "kafka-cluster"
ALGORITHM = "AWS4-HMAC-SHA256"
_EMPTY_SHA256 = hashlib.sha256(b"").hexdigest()


class AwsCredentials(NamedTuple):
    access_key: str
    secret_key: str
    session_token: str | None = None

    def __repr__(self) -> str:
        return f"AwsCredentials({self.access_key}, ***)"


def msk_token(credentials: AwsCredentials, region: str, wall_ms: int) -> AccessToken:
    """Return a token that is valid for LIFETIME_S."""
    host = f"kafka.{region}.amazonaws.com"
    query = presigned_query(credentials, host, {"Action": "kafka-cluster:Connect"}, SERVICE, region, wall_ms)
    url = f"https://{host}/?{query}&User-Agent=kctl"
    return AccessToken(urlsafe_b64encode(url.encode()).rstrip(b"=").decode(), LIFETIME_S * 1000)


def presigned_query(
    credentials: AwsCredentials, host: str, parameters: Mapping[str, str], service: str, region: str, wall_ms: int
) -> str:
    """Return the signed query string (SigV4) for a GET of `https://HOST/`."""
    moment = datetime.fromtimestamp(wall_ms / 1000, UTC).strftime("%Y%m%dT%H%M%SZ")
    scope = f"{moment[:8]}/{region}/{service}/aws4_request"
    given = {
        **parameters,
        "X-Amz-Algorithm": ALGORITHM,
        "X-Amz-Credential": f"{credentials.access_key}/{scope}",
        "X-Amz-Date": moment,
        "X-Amz-Expires": str(LIFETIME_S),
        "X-Amz-SignedHeaders": "host",
    }
    if credentials.session_token is not None:
        given["X-Amz-Security-Token"] = credentials.session_token
    query = "&".join(f"{quote(name, safe='-_.~')}={quote(value, safe='-_.~')}" for name, value in sorted(given.items()))
    request = "\n".join(("GET", "/", query, f"host:{host}\n", "host", _EMPTY_SHA256))
    to_sign = "\n".join((ALGORITHM, moment, scope, hashlib.sha256(request.encode()).hexdigest()))
    key = f"AWS4{credentials.secret_key}".encode()
    for part in (moment[:8], region, service, "aws4_request"):
        key = hmac.new(key, part.encode(), hashlib.sha256).digest()
    return f"{query}&X-Amz-Signature={hmac.new(key, to_sign.encode(), hashlib.sha256).hexdigest()}"


def find_credentials(profile: str | None, clock: Clock, resolver: Resolver) -> AwsCredentials:
    """Return credentials of the environment, a profile, or a credential service. Raises: AuthenticationError."""
    try:
        import botocore.session  # extra `aws`
    except ImportError:
        return _of_environment(os.environ, profile)
    try:
        session = botocore.session.Session(profile=profile)
        bound_credential_services(session, clock, resolver)
        found = session.get_credentials()
        frozen = None if found is None else found.get_frozen_credentials()
    except Exception as e:  # noqa: BLE001 - boto3 has dozens of errors, of files and of servers
        raise AuthenticationError(f"cannot get AWS credentials: {type(e).__name__}: {one_line(str(e))}"[:300]) from None
    if frozen is None:
        raise AuthenticationError(
            "no AWS credentials found", hint="check the credentials with: aws sts get-caller-identity"
        )
    return _checked(AwsCredentials(frozen.access_key, frozen.secret_key, frozen.token or None))


def _checked(given: AwsCredentials) -> AwsCredentials:
    """Return the credentials. Raises: AuthenticationError: a service has sent another type than a string."""
    for name, value in given._asdict().items():
        if not (isinstance(value, str) or (value is None and name == "session_token")):
            raise AuthenticationError(f"invalid AWS credentials: the {name.replace('_', ' ')} is not a string")
    return given


def _of_environment(environ: Mapping[str, str], profile: str | None) -> AwsCredentials:
    if profile is not None:
        raise AuthenticationError(
            "aws.profile needs the Python package boto3", hint=f"install it with: {install_command('aws')}"
        )
    access_key, secret_key = environ.get("AWS_ACCESS_KEY_ID"), environ.get("AWS_SECRET_ACCESS_KEY")
    if not access_key or not secret_key:
        raise AuthenticationError(
            "no AWS credentials found in $AWS_ACCESS_KEY_ID and $AWS_SECRET_ACCESS_KEY",
            hint=f"for profiles and roles, install boto3 with: {install_command('aws')}",
        )
    return AwsCredentials(access_key, secret_key, environ.get("AWS_SESSION_TOKEN") or None)
