"""SCRAM-SHA-256 and -512 (RFC 5802, RFC 7677): both sides prove that they know the password, without sending it.

Source: Java ScramSaslClient. Differs: RFC 5802 requires SASLprep; brokers and kctl use the bytes unchanged. kctl limits
the number of iterations.
"""

import binascii
import hashlib
import hmac
import re
from base64 import b64decode, b64encode
from typing import NamedTuple

from kctl.client.errors import AuthenticationError, ConfigError
from kctl.client.masking import without_secrets
from kctl.client.runtime import Entropy
from kctl.client.security.sasl.plain import PASSWORD_HINT

HASHES = {"SCRAM-SHA-256": "sha256", "SCRAM-SHA-512": "sha512"}
MIN_ITERATIONS = 4096
MAX_ITERATIONS = 100_000
"""Maximum number of iterations; Kafka allows 16 384. A fake broker could otherwise keep the network thread busy for
hours.
"""
MAX_MESSAGE_BYTES = 4096
NONCE_BYTES = 24

GS2_HEADER = "n,,"
"""No channel binding, no authorization identity."""

_SERVER_FIRST = re.compile(r"r=([\x21-\x2b\x2d-\x7e]+),s=([A-Za-z0-9+/=]+),i=([0-9]{1,9})(?:,.*)?")
_SERVER_FINAL = re.compile(r"(?:v=([A-Za-z0-9+/=]+)|e=([^,]+))(?:,.*)?", re.DOTALL)


class Keys(NamedTuple):
    stored: bytes
    server: bytes


def derive(mechanism: str, password: bytes, salt: bytes, iterations: int) -> tuple[bytes, Keys]:
    return keys_of(mechanism, hashlib.pbkdf2_hmac(HASHES[mechanism], password, salt, iterations))


def keys_of(mechanism: str, salted: bytes) -> tuple[bytes, Keys]:
    algorithm = HASHES[mechanism]
    client_key = hmac.digest(salted, b"Client Key", algorithm)
    stored = hashlib.new(algorithm, client_key).digest()
    return client_key, Keys(stored, hmac.digest(salted, b"Server Key", algorithm))


def xor(left: bytes, right: bytes) -> bytes:
    return bytes(a ^ b for a, b in zip(left, right, strict=True))


def escape_name(username: str) -> str:
    return username.replace("=", "=3D").replace(",", "=2C")


def nonce_from(entropy: Entropy) -> str:
    return b64encode(entropy.token_bytes(NONCE_BYTES)).decode()


class ScramClient:
    def __init__(
        self, mechanism: str, username: str, password: str, entropy: Entropy, *, is_token: bool = False
    ) -> None:
        """Args: is_token: whether the credentials are a delegation token (KIP-48).
        Raises: ConfigError: the user name is empty or contains NUL.
        """
        if not username or "\0" in username:
            raise ConfigError("sasl.jaas.config: SCRAM needs a username without NUL", key="sasl.jaas.config")
        self.name = mechanism
        self.complete = False
        self._password = password
        self._nonce = nonce_from(entropy)
        extension = ",tokenauth=true" if is_token else ""
        self._first_bare = f"n={escape_name(username)},r={self._nonce}{extension}"
        self._server_signature = b""

    def first(self) -> bytes:
        return (GS2_HEADER + self._first_bare).encode()

    def step(self, challenge: bytes) -> bytes | None:
        if self.complete:
            raise self._error("the broker sent more messages than SCRAM allows")
        message = self._text(challenge)
        if not self._server_signature:
            return self._answer(message)
        self._verify(message)
        self.complete = True
        return None

    def masked(self, text: str) -> str:
        return without_secrets(text, (self._password,))

    def refusal(self, words: str) -> tuple[str, str]:
        return self.masked(words), PASSWORD_HINT

    def _answer(self, server_first: str) -> bytes:
        match = _SERVER_FIRST.fullmatch(server_first)
        if match is None:
            refusal = _SERVER_FINAL.fullmatch(server_first)
            raise (
                self._refused(refusal[2]) if refusal and refusal[2] else self._error("the first response is malformed")
            )
        nonce, iterations = match[1], int(match[3])
        if not nonce.startswith(self._nonce) or nonce == self._nonce:
            raise self._error("the nonce of the broker does not start with the nonce of the client")
        if not MIN_ITERATIONS <= iterations <= MAX_ITERATIONS:
            raise self._error(
                f"the broker requires {iterations} iterations, but kctl accepts {MIN_ITERATIONS} to {MAX_ITERATIONS}"
            )
        client_key, keys = derive(self.name, self._password.encode(), self._base64(match[2]), iterations)
        without_proof = f"c={b64encode(GS2_HEADER.encode()).decode()},r={nonce}"
        auth_message = f"{self._first_bare},{server_first},{without_proof}".encode()
        algorithm = HASHES[self.name]
        proof = xor(client_key, hmac.digest(keys.stored, auth_message, algorithm))
        self._server_signature = hmac.digest(keys.server, auth_message, algorithm)
        return f"{without_proof},p={b64encode(proof).decode()}".encode()

    def _verify(self, server_final: str) -> None:
        match = _SERVER_FINAL.fullmatch(server_final)
        if match is None:
            raise self._error("the last response is malformed")
        if match[2]:
            raise self._refused(match[2])
        if not hmac.compare_digest(self._base64(match[1]), self._server_signature):
            raise AuthenticationError(
                f"{self.name}: the broker did not prove that it knows the password",
                hint="check the address: the server may not be the expected broker",
            )

    def _text(self, challenge: bytes) -> str:
        if len(challenge) > MAX_MESSAGE_BYTES:
            raise self._error(f"the response has {len(challenge)} bytes, more than {MAX_MESSAGE_BYTES}")
        try:
            return challenge.decode()
        except UnicodeDecodeError:
            raise self._error("the response is not UTF-8") from None

    def _base64(self, encoded: str) -> bytes:
        try:
            return b64decode(encoded, validate=True)
        except binascii.Error:
            raise self._error("the response contains malformed base64") from None

    def _refused(self, words: str) -> AuthenticationError:
        return AuthenticationError(f"{self.name}: the broker reports {self.masked(words)[:200]!r}")

    def _error(self, why: str) -> AuthenticationError:
        return AuthenticationError(f"{self.name}: {why}", hint="check that the server is a Kafka broker")
