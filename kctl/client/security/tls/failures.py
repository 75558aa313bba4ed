"""Conversion of OpenSSL errors to TlsError, with reason and certificates."""

import ssl

from kctl.client.errors import (
    CertificateError,
    CertificateExpired,
    CertificateNotYetValid,
    ClientCertificateRefused,
    HostnameMismatch,
    NoCommonTls,
    TlsAlert,
    TlsClosed,
    TlsError,
    UntrustedCertificate,
)
from kctl.client.security.tls.certificates import PeerCertificate

_NOT_YET_VALID, _EXPIRED, _HOSTNAME, _ADDRESS = 9, 10, 62, 64
_UNTRUSTED = (2, 18, 19, 20, 21)
"""OpenSSL's X509_V_ERR codes for an unknown issuer or a self-signed end of the chain."""

_VERSION_REASONS = ("UNSUPPORTED_PROTOCOL", "WRONG_SSL_VERSION", "NO_PROTOCOLS_AVAILABLE", "VERSION_TOO_LOW")
_CIPHER_REASONS = (
    "NO_SHARED_CIPHER",
    "NO_CIPHERS_AVAILABLE",
    "WRONG_CIPHER_RETURNED",
    "NO_SUITABLE_SIGNATURE_ALGORITHM",
)
_ABOUT_OUR_CERTIFICATE = (
    "bad certificate",
    "unsupported certificate",
    "certificate revoked",
    "certificate expired",
    "certificate unknown",
    "certificate required",
    "unknown ca",
    "access denied",
)


def tls_error(error: ssl.SSLError, host: str, chain: tuple[PeerCertificate, ...]) -> TlsError | TlsClosed:
    if isinstance(error, ssl.SSLCertVerificationError):
        return _refused_certificate(error, host, chain)
    if isinstance(error, ssl.SSLEOFError | ssl.SSLZeroReturnError | ssl.SSLSyscallError):
        return TlsClosed("the server closed the connection during the TLS handshake")
    reason = error.reason or ""
    if "_ALERT_" in reason:
        return _alert(reason.rpartition("_ALERT_")[2].replace("_", " ").lower())
    if reason == "PEER_DID_NOT_RETURN_A_CERTIFICATE":
        return ClientCertificateRefused("the client did not send the required certificate")
    if reason in _VERSION_REASONS:
        return NoCommonTls("no TLS version in common", hint="compare ssl.enabled.protocols on both sides")
    if reason in _CIPHER_REASONS:
        return NoCommonTls("no cipher suite in common", hint="compare ssl.cipher.suites on both sides")
    return TlsError(f"TLS failed: {_words(reason) or error}")


def _refused_certificate(
    error: ssl.SSLCertVerificationError, host: str, chain: tuple[PeerCertificate, ...]
) -> CertificateError:
    presented = tuple(map(str, chain))
    code = error.verify_code
    if code == _EXPIRED and chain:
        # OpenSSL does not report which certificate; it can only be the first to expire.
        ended = min(chain, key=lambda certificate: certificate.not_after_ms)
        text = f"certificate expired {ended.not_after} ({ended})"
        return CertificateExpired(text, presented=presented, hint="renew the certificate of the broker")
    if code == _NOT_YET_VALID and chain:
        begins = max(chain, key=lambda certificate: certificate.not_before_ms)
        text = f"certificate is valid only from {begins.not_before} ({begins})"
        return CertificateNotYetValid(text, presented=presented, hint="check the clock of this machine")
    if code in (_HOSTNAME, _ADDRESS) and chain:
        names = ", ".join(chain[0].names) or chain[0].subject
        text = f"certificate is for {names}, not for {host}"
        if host in chain[0].names:  # an IP address as a DNS name, which does not count
            text = f"certificate has {host} as a DNS name but not as an IP address"
        hint = "connect with a name in the certificate, or issue a certificate for this name"
        return HostnameMismatch(text, presented=presented, hint=hint)
    if code in _UNTRUSTED and chain:
        issuer = chain[-1].issuer
        text = f"certificate of {chain[0].subject} is not trusted: issuer {issuer} is unknown here"
        hint = "add the certificate of the issuer to ssl.truststore.location"
        return UntrustedCertificate(text, presented=presented, hint=hint)
    return CertificateError(f"certificate rejected: {error.verify_message}", presented=presented)


def _alert(alert: str) -> TlsError:
    if alert == "certificate required":
        return ClientCertificateRefused(
            "the broker requires a client certificate, but the client sent none",
            alert=alert,
            hint="set ssl.keystore.location",
        )
    if alert in _ABOUT_OUR_CERTIFICATE:
        return ClientCertificateRefused(
            f"the server rejected the client certificate or requires one (TLS alert {alert!r})",
            alert=alert,
            hint="check ssl.keystore.location and that the server trusts the issuer of the certificate",
        )
    if alert == "protocol version":
        text = "no TLS version in common (TLS alert 'protocol version')"
        return NoCommonTls(text, hint="compare ssl.enabled.protocols on both sides")
    if alert == "handshake failure":
        text = "the server rejected the handshake: no common cipher suite, or a client certificate is required"
        return TlsAlert(text, alert=alert, hint="compare ssl.cipher.suites and set ssl.keystore.location")
    return TlsAlert(f"the server sent the alert {alert!r}", alert=alert)


def _words(reason: str) -> str:
    return reason.replace("_", " ").lower()
