"""Broker side of SASL: PLAIN, SCRAM, and OAUTHBEARER. Errors have the texts of Kafka's brokers."""

import binascii
import hashlib
import hmac
import json
import re
from base64 import b64decode, b64encode, urlsafe_b64decode
from collections.abc import Callable, Mapping
from typing import NamedTuple, Protocol

from kctl.client.errors import AuthenticationError
from kctl.client.runtime import Entropy
from kctl.client.security.sasl.oauthbearer import DUMMY_RESPONSE, SEPARATOR
from kctl.client.security.sasl.scram import HASHES, MIN_ITERATIONS, Keys, derive, nonce_from, xor

MAX_MESSAGE_BYTES = 128 * 1024

_CLIENT_FIRST = re.compile(r"n,,(n=((?:[^,=\0]|=2C|=3D)+),r=([\x21-\x2b\x2d-\x7e]+)(?:,.*)?)", re.DOTALL)
_CLIENT_FINAL = re.compile(r"(c=biws,r=([\x21-\x2b\x2d-\x7e]+)),p=([A-Za-z0-9+/=]+)")


class SaslServer(Protocol):
    """One authentication, which gets each message of the client and returns the response until it is `done`."""

    @property
    def done(self) -> bool: ...

    @property
    def user(self) -> str: ...

    def step(self, message: bytes) -> bytes:
        """Process a client message and return the response, or raise AuthenticationError."""
        ...


class PlainServer:
    def __init__(self, passwords: Mapping[str, str]) -> None:
        self.done = False
        self.user = ""
        self._passwords = passwords

    def step(self, message: bytes) -> bytes:
        parts = _text("PLAIN", message).split("\0")
        if len(parts) != 3 or not parts[1] or not parts[2] or self.done:
            raise AuthenticationError("Authentication failed: invalid PLAIN message")
        authorization, user, password = parts
        expected = self._passwords.get(user)
        if expected is None or not hmac.compare_digest(expected.encode(), password.encode()):
            raise AuthenticationError("Authentication failed: Invalid username or password")
        if authorization not in ("", user):
            raise AuthenticationError(
                "Authentication failed: Client requested an authorization id that is different from username"
            )
        self.done, self.user = True, user
        return b""


class ScramCredential(NamedTuple):
    salt: bytes
    iterations: int
    keys: Keys

    @classmethod
    def from_password(
        cls, mechanism: str, password: str, salt: bytes, iterations: int = MIN_ITERATIONS
    ) -> "ScramCredential":
        return cls(salt, iterations, derive(mechanism, password.encode(), salt, iterations)[1])


class ScramServer:
    """Broker side of SCRAM.

    Args:
        find: returns the credential of a user, or None.
    """

    def __init__(self, mechanism: str, find: Callable[[str], ScramCredential | None], entropy: Entropy) -> None:
        self.done = False
        self.user = ""
        self._mechanism = mechanism
        self._find = find
        self._credential: ScramCredential | None = None
        self._own_nonce = nonce_from(entropy)
        self._claimed = ""
        self._transcript = ""

    def step(self, message: bytes) -> bytes:
        text = _text(self._mechanism, message)
        if self.done:
            raise self._refuse()
        return self._challenge(text) if not self._claimed else self._judge(text)

    def _challenge(self, client_first: str) -> bytes:
        match = _CLIENT_FIRST.fullmatch(client_first)
        if match is None:
            raise self._refuse()
        self._claimed = match[2].replace("=2C", ",").replace("=3D", "=")
        credential = self._credential = self._find(self._claimed)
        if credential is None:
            raise self._refuse()
        self._nonce = match[3] + self._own_nonce
        answer = f"r={self._nonce},s={b64encode(credential.salt).decode()},i={credential.iterations}"
        self._transcript = f"{match[1]},{answer}"
        return answer.encode()

    def _judge(self, client_final: str) -> bytes:
        match = _CLIENT_FINAL.fullmatch(client_final)
        if match is None or match[2] != self._nonce or self._credential is None:
            raise self._refuse()
        keys = self._credential.keys
        algorithm = HASHES[self._mechanism]
        auth_message = f"{self._transcript},{match[1]}".encode()
        try:
            proof = b64decode(match[3], validate=True)
            client_key = xor(proof, hmac.digest(keys.stored, auth_message, algorithm))
        except (binascii.Error, ValueError):
            raise self._refuse() from None
        if not hmac.compare_digest(hashlib.new(algorithm, client_key).digest(), keys.stored):
            raise self._refuse()
        self.done, self.user = True, self._claimed
        return b"v=" + b64encode(hmac.digest(keys.server, auth_message, algorithm))

    def _refuse(self) -> AuthenticationError:
        return AuthenticationError(
            "Authentication failed during authentication due to invalid credentials with SASL mechanism "
            + self._mechanism
        )


class OauthBearerServer:
    """Broker side of OAUTHBEARER.

    Args:
        user_of: returns the user of a token, or raises ValueError.
    """

    def __init__(self, user_of: Callable[[str], str]) -> None:
        self.done = False
        self.user = ""
        self._user_of = user_of
        self._refused = False

    def step(self, message: bytes) -> bytes:
        if self._refused:
            is_refusal = message == DUMMY_RESPONSE
            what = "invalid credentials with SASL mechanism OAUTHBEARER" if is_refusal else "a malformed message"
            raise AuthenticationError(f"Authentication failed during authentication due to {what}")
        header, *pairs = _text("OAUTHBEARER", message).split(SEPARATOR)
        tokens = [pair.removeprefix("auth=Bearer ") for pair in pairs if pair.startswith("auth=Bearer ")]
        if not header.startswith("n,") or pairs[-2:] != ["", ""] or len(tokens) != 1 or self.done:
            raise AuthenticationError("Authentication failed: invalid OAUTHBEARER message")
        try:
            self.user = self._user_of(tokens[0])
        except ValueError:
            self._refused = True
            return b'{"status":"invalid_token"}'
        self.done = True
        return b""


def unsecured_user(token: str, wall_ms: int) -> str:
    """Return the subject of an unsigned JWT that is valid at `wall_ms`, or raise ValueError."""
    header, _, rest = token.partition(".")
    payload, _, signature = rest.partition(".")
    claims = _json_part(payload)
    if signature or _json_part(header).get("alg") != "none":
        raise ValueError("the token must be unsecured (alg=none)")
    subject, expires_s = claims.get("sub"), claims.get("exp")
    if not isinstance(subject, str) or not subject or not isinstance(expires_s, int | float):
        raise ValueError("the token needs the claims sub and exp")
    if expires_s * 1000 <= wall_ms:
        raise ValueError("the token has expired")
    return subject


def _json_part(part: str) -> dict[str, object]:
    try:
        decoded = json.loads(urlsafe_b64decode(part + "=" * (-len(part) % 4)))
    except RecursionError:
        raise ValueError("nested too deeply") from None
    if not isinstance(decoded, dict):
        raise ValueError("not an object")
    return decoded


def _text(mechanism: str, message: bytes) -> str:
    if len(message) > MAX_MESSAGE_BYTES:
        raise AuthenticationError(
            f"Authentication failed: the {mechanism} message of {len(message)} bytes is too large"
        )
    try:
        return message.decode()
    except UnicodeDecodeError:
        raise AuthenticationError(f"Authentication failed: the {mechanism} message is not UTF-8") from None
