"""TlsSettings: checked ssl.* properties, and TLS contexts made from them. Certificate files may change at run time."""

import logging
import os
import re
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from kctl.client.config import ClientConfig
from kctl.client.config.security import TLS_VERSIONS
from kctl.client.errors import ConfigError
from kctl.client.security.tls.stores import read_store

if TYPE_CHECKING:
    import ssl

logger = logging.getLogger("kctl.client.security")

Stamp = tuple[tuple[int, int, int] | None, ...]
"""Inode, size, and modification time of each file; None if unreadable."""

_IANA_SUITE = re.compile(
    r"TLS_(?:(?P<kx>ECDHE_RSA|ECDHE_ECDSA|DHE_RSA|RSA)_WITH_)"
    r"(?:AES_(?P<bits>128|256)_(?P<mode>GCM|CBC)_(?P<hash>SHA(?:256|384)?)|(?P<chacha>CHACHA20_POLY1305)_SHA256)"
)
_TLS13_SUITE = re.compile(r"TLS_(?:AES|CHACHA20)_[A-Z0-9_]+")


@dataclass(frozen=True, slots=True)
class TlsSettings:
    """TLS settings of a client.

    Attributes:
        trusted_pem: trusted certificates; None for those of the system.
        key_pem: private key and certificate chain of the client, if any.
        key_password: password of the private key, if any.
        checks_hostname: whether the certificate must be for the requested host.
        oldest, newest: range of TLS versions.
        ciphers: cipher list for TLS 1.2 and older, in OpenSSL's spelling; empty for OpenSSL's default.
    """

    trusted_pem: str | None = field(default=None, repr=False)
    key_pem: str | None = field(default=None, repr=False)
    key_password: str | None = field(default=None, repr=False)
    checks_hostname: bool = True
    oldest: str = "TLSv1.2"
    newest: str = "TLSv1.3"
    ciphers: str = ""

    @classmethod
    def from_config(cls, config: ClientConfig) -> "TlsSettings":
        """Check the files and return the settings. Raises: ConfigError: with the wrong property."""
        algorithm = config.ssl_endpoint_identification_algorithm
        if algorithm.lower() not in ("", "https"):
            name = "ssl.endpoint.identification.algorithm"
            raise ConfigError(f"invalid {name} {algorithm!r}: use https or an empty value", key=name)
        oldest, newest = _versions(config.ssl_enabled_protocols)
        ciphers, oldest, newest = _ciphers(config.ssl_cipher_suites, oldest, newest)
        settings = cls(
            trusted_pem=_trusted(config),
            key_pem=_key(config),
            key_password=config.ssl_key_password,
            checks_hostname=bool(algorithm),
            oldest=oldest,
            newest=newest,
            ciphers=ciphers,
        )
        settings._context(verify=True)
        return settings

    def context(self, *, verify: bool = True) -> "ssl.SSLContext":
        """Return a context for client connections.

        Args: verify: whether to verify the server; False only to inspect a certificate that was rejected.
        Raises: ConfigError: OpenSSL rejects a certificate, key, password, or cipher.
        """
        context = self._context(verify=verify)
        if self.trusted_pem is None:
            context.load_default_certs()  # takes tens of milliseconds, so not when files are only checked
        return context

    def _context(self, *, verify: bool) -> "ssl.SSLContext":
        import ssl

        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = self.checks_hostname and verify
        context.verify_mode = ssl.CERT_REQUIRED if verify else ssl.CERT_NONE
        context.hostname_checks_common_name = False  # RFC 9525: only names in subjectAltName count
        _set_versions(context, self.oldest, self.newest)
        if self.ciphers:
            _set_ciphers(context, self.ciphers)
        if self.trusted_pem is not None:
            _load_trusted(context, self.trusted_pem)
        if self.key_pem is not None:
            _load_key(context, self.key_pem, self.key_password)
        return context


def server_context(
    certificate_pem: str,
    *,
    client_ca_pem: str | None = None,
    oldest: str = "TLSv1.2",
    newest: str = "TLSv1.3",
    ciphers: str = "",
) -> "ssl.SSLContext":
    """Return a context for the sandbox's servers.

    Args:
        certificate_pem: private key and certificate chain.
        client_ca_pem: CA that must have issued client certificates; None if clients need no certificate.
    """
    import ssl

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    _set_versions(context, oldest, newest)
    if ciphers:
        _set_ciphers(context, ciphers)
    _load_key(context, certificate_pem, None)
    if client_ca_pem is not None:
        context.verify_mode = ssl.CERT_REQUIRED
        _load_trusted(context, client_ca_pem)
    return context


# --- from properties --------------------------------------------------------------------------------------------------


def _trusted(config: ClientConfig) -> str | None:
    location, kind = ClientConfig.ssl_truststore_location, ClientConfig.ssl_truststore_type
    inline = config.ssl_truststore_certificates
    if inline is not None and config.ssl_truststore_location is not None:
        raise ConfigError(f"{location.name} and ssl.truststore.certificates cannot be combined", key=location.name)
    return inline or read_store(config, location, kind, has_key=False)


def _key(config: ClientConfig) -> str | None:
    location, kind = ClientConfig.ssl_keystore_location, ClientConfig.ssl_keystore_type
    key, chain = config.ssl_keystore_key, config.ssl_keystore_certificate_chain
    if (key is None) != (chain is None):
        missing = "ssl.keystore.key" if key is None else "ssl.keystore.certificate.chain"
        raise ConfigError(f"{missing} is missing: set the key and the certificate chain together", key=missing)
    if key is None or chain is None:
        return read_store(config, location, kind, has_key=True)
    if config.ssl_keystore_location is not None:
        raise ConfigError(f"{location.name} and ssl.keystore.key cannot be combined", key=location.name)
    return f"{key}\n{chain}\n"


def _versions(enabled: tuple[str, ...]) -> tuple[str, str]:
    """Return the oldest and newest enabled version. Raises: ConfigError: a version in between is not enabled."""
    name = "ssl.enabled.protocols"
    if not enabled:
        raise ConfigError(f"{name} is empty: add at least one version", key=name)
    places = sorted(TLS_VERSIONS.index(version) for version in enabled)
    if len(places) != places[-1] - places[0] + 1:
        raise ConfigError(f"{name}={','.join(enabled)} must not skip a version", key=name)
    return TLS_VERSIONS[places[0]], TLS_VERSIONS[places[-1]]


def _ciphers(suites: tuple[str, ...], oldest: str, newest: str) -> tuple[str, str, str]:
    """Return OpenSSL's cipher list, and the range of versions that have one of the suites.

    Differs: one suite of TLS 1.3 enables all of them, because Python cannot restrict them.
    """
    if not suites:
        return "", oldest, newest
    older = [_openssl_name(suite) for suite in suites if not _TLS13_SUITE.fullmatch(suite)]
    if not older:
        oldest = "TLSv1.3"
    elif len(older) == len(suites) and newest == "TLSv1.3":
        newest = "TLSv1.2"
    if TLS_VERSIONS.index(oldest) > TLS_VERSIONS.index(newest):
        name = "ssl.cipher.suites"
        raise ConfigError(f"{name}: no suite supports a version in ssl.enabled.protocols", key=name)
    return ":".join(older), oldest, newest


def _openssl_name(suite: str) -> str:
    """Return OpenSSL's name of a suite, such as ECDHE-RSA-AES128-GCM-SHA256."""
    match = _IANA_SUITE.fullmatch(suite)
    if match is None:
        if suite.startswith("TLS_") or not re.fullmatch(r"[A-Z0-9-]{1,64}", suite):
            raise ConfigError(f"ssl.cipher.suites: kctl does not support {suite!r}", key="ssl.cipher.suites")
        return suite
    exchange = "" if match["kx"] == "RSA" else match["kx"].replace("_", "-") + "-"
    if match["chacha"]:
        return exchange + "CHACHA20-POLY1305"
    mode = "GCM-" if match["mode"] == "GCM" else ""
    return f"{exchange}AES{match['bits']}-{mode}{match['hash']}"


# --- into a context ---------------------------------------------------------------------------------------------------


def _set_versions(context: "ssl.SSLContext", oldest: str, newest: str) -> None:
    import ssl

    versions = {"TLSv1.2": ssl.TLSVersion.TLSv1_2, "TLSv1.3": ssl.TLSVersion.TLSv1_3}
    if newest not in versions:
        name = "ssl.enabled.protocols"
        raise ConfigError(f"{name}: {newest} is too old. Enable TLSv1.2 or TLSv1.3", key=name)
    context.maximum_version = versions[newest]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # for versions that the config enables
        context.minimum_version = versions.get(oldest) or ssl.TLSVersion[oldest.replace(".", "_")]
    context.options |= ssl.OP_NO_RENEGOTIATION


def _set_ciphers(context: "ssl.SSLContext", ciphers: str) -> None:
    import ssl

    wanted = ciphers.split(":")
    try:
        context.set_ciphers(ciphers)
        known = [cipher["name"] for cipher in context.get_ciphers()]
    except ssl.SSLError:
        known = []
    # OpenSSL ignores unknown names, and expands words such as ALL.
    unknown = [name for name in wanted if name not in known]
    if unknown:
        raise ConfigError(f"ssl.cipher.suites: OpenSSL does not know {', '.join(unknown)}", key="ssl.cipher.suites")


def _load_trusted(context: "ssl.SSLContext", pem: str) -> None:
    import ssl

    try:
        context.load_verify_locations(cadata=_only_certificates(pem))
    except (ssl.SSLError, ValueError):
        raise ConfigError(
            "ssl.truststore.location or ssl.truststore.certificates contains no usable certificate",
            key="ssl.truststore.location",
        ) from None


def _only_certificates(pem: str) -> str:
    """Return only the certificates. OpenSSL requires ASCII, but keys and comments may have any encoding."""
    found = re.findall(r"-----BEGIN CERTIFICATE-----[A-Za-z0-9+/=\s]*-----END CERTIFICATE-----", pem)
    return "\n".join(found)


def _load_key(context: "ssl.SSLContext", pem: str, password: str | None) -> None:
    import ssl

    with _as_file(pem) as path:
        try:
            # Always pass a password: without one, OpenSSL would prompt on the terminal.
            context.load_cert_chain(path, password=password or "")
        except ssl.SSLError as e:
            raise _key_error(e, pem, password) from None


def _key_error(error: "ssl.SSLError", pem: str, password: str | None) -> ConfigError:
    name = "ssl.keystore.location or ssl.keystore.key"
    if "ENCRYPTED" in pem and error.reason != "KEY_VALUES_MISMATCH":
        why = "ssl.key.password is wrong for" if password else "ssl.key.password is not set, but is needed for"
        return ConfigError(f"{why} the encrypted private key of {name}", key="ssl.key.password")
    if error.reason == "KEY_VALUES_MISMATCH":
        return ConfigError(f"{name}: the private key does not match the certificate", key="ssl.keystore.location")
    needs = "use a PEM file with a private key and a certificate chain"
    return ConfigError(f"{name} cannot be used: {needs}", key="ssl.keystore.location")


def _on_disk(content: str) -> Iterator[str]:
    with tempfile.TemporaryDirectory(prefix="kctl-") as folder:
        path = os.path.join(folder, "pem")
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
            file.write(content)
        yield path


@contextmanager
def _as_file(content: str) -> Iterator[str]:
    """Yield a path to the content for OpenSSL: in memory on Linux, to keep keys off disks, elsewhere a private file."""
    if not hasattr(os, "memfd_create"):
        yield from _on_disk(content)
        return
    descriptor = os.memfd_create("pem", os.MFD_CLOEXEC)
    try:
        with os.fdopen(os.dup(descriptor), "w", encoding="utf-8") as file:
            file.write(content)
        yield f"/proc/self/fd/{descriptor}"
    finally:
        os.close(descriptor)


class RenewedContext:
    """Context of a client; `context` is replaced as a whole, so that any thread may read it."""

    def __init__(self, config: ClientConfig) -> None:
        self._config = config
        places = (config.ssl_truststore_location, config.ssl_keystore_location)
        self._paths = [path for path in places if path is not None]
        self._stamp = self._look()
        self.context: ssl.SSLContext = TlsSettings.from_config(config).context()

    @property
    def has_files(self) -> bool:
        return bool(self._paths)

    def refresh(self) -> None:
        """Read changed files again; may block. If they are unusable, the previous context stays, with a warning."""
        stamp = self._look()
        if stamp == self._stamp:
            return
        try:
            self.context = TlsSettings.from_config(self._config).context()
        except ConfigError as error:
            logger.warning("cannot use the changed certificates: %s", error)
        else:
            self._stamp = stamp

    def _look(self) -> Stamp:
        return tuple(map(_stamp_of, self._paths))


def _stamp_of(path: str) -> tuple[int, int, int] | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns
