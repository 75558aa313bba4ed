"""Certificates for TLS listeners and clients, made fresh by `openssl` for each test session.

Owns the PEM files; knows nothing of Kafka. A file with a key holds the PKCS#8 key followed by its certificate, which is
what Kafka's PEM stores, OpenSSL and Python all read.
"""

import subprocess
from dataclasses import dataclass
from pathlib import Path

from tests.support.bounds import bound
from tests.support.kafka.toolchain import find_tool

_NEW_KEY = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes")
_CA_EXTENSIONS = ("basicConstraints=critical,CA:TRUE", "keyUsage=critical,keyCertSign,cRLSign")
_LEAF_EXTENSIONS = (
    "basicConstraints=CA:FALSE",
    "subjectKeyIdentifier=hash",
    "authorityKeyIdentifier=keyid",
    "keyUsage=critical,digitalSignature",
    "extendedKeyUsage=serverAuth,clientAuth",
)
THIS_HOST = "DNS:localhost,IP:127.0.0.1"


@dataclass(frozen=True, slots=True)
class Certificates:
    """Paths of PEM files."""

    ca: Path
    """The authority that signed all the others: what a client trusts."""
    broker: Path
    """Key and certificate of a broker on localhost and 127.0.0.1."""
    client: Path
    """Key and certificate of a client, for mutual TLS."""
    expired: Path
    """A broker's, but its last day was yesterday."""
    untrusted: Path
    """A broker's, but signed by `stranger_ca`."""
    wrong_host: Path
    """A broker's, but for the name elsewhere.invalid."""
    stranger_ca: Path
    """Another authority, which no client trusts."""


def make_certificates(folder: Path, hosts: str = THIS_HOST) -> Certificates:
    """Return fresh certificates in `folder`, valid for some days; brokers have certificates for `hosts`.

    Raises:
        ToolMissing: no openssl.
    """
    openssl = find_tool("openssl", "openssl")
    return Certificates(
        ca=_authority(openssl, folder, "ca"),
        stranger_ca=_authority(openssl, folder, "stranger_ca"),
        broker=_leaf(openssl, folder, "broker", hosts),
        client=_leaf(openssl, folder, "client", "DNS:client.invalid"),
        expired=_leaf(openssl, folder, "expired", hosts, days=-1),
        untrusted=_leaf(openssl, folder, "untrusted", hosts, issuer="stranger_ca"),
        wrong_host=_leaf(openssl, folder, "wrong_host", "DNS:elsewhere.invalid"),
    )


def renewed_chain(certificates: Certificates, days: int) -> str:
    """Return a new certificate of the broker for the same key, valid for `days` from now on, as PEM text."""
    folder = certificates.broker.parent
    return _signed(find_tool("openssl", "openssl"), folder, "broker", days, folder / "renewed.crt").read_text()


def private_key(both: Path) -> str:
    """Return the key of a file that has key and certificate, as PEM text."""
    return _section(both, first=True)


def certificate_chain(both: Path) -> str:
    """Return the certificate of a file that has key and certificate, as PEM text."""
    return _section(both, first=False)


def _section(both: Path, first: bool) -> str:
    end = "-----END PRIVATE KEY-----\n"
    key, certificate = both.read_text().split(end)
    return key + end if first else certificate


def _authority(openssl: str, folder: Path, name: str) -> Path:
    certificate = folder / f"{name}.pem"
    extensions = [word for extension in _CA_EXTENSIONS for word in ("-addext", extension)]
    subject = ["-subj", f"/CN=kctl test {name}", "-days", "30", *extensions]
    _run([openssl, "req", "-x509", *_NEW_KEY, "-keyout", f"{folder}/{name}.key", "-out", str(certificate), *subject])
    return certificate


def _leaf(openssl: str, folder: Path, name: str, hosts: str, days: int = 30, issuer: str = "ca") -> Path:
    """Return a file with key and certificate signed by an authority; negative `days`: already over."""
    key, request, extensions = (folder / f"{name}.{suffix}" for suffix in ("key", "csr", "ext"))
    extensions.write_text("\n".join([*_LEAF_EXTENSIONS, f"subjectAltName={hosts}", ""]))
    _run([openssl, "req", "-new", *_NEW_KEY, "-keyout", str(key), "-out", str(request), "-subj", f"/CN={name}"])
    signed = _signed(openssl, folder, name, days, folder / f"{name}.crt", issuer)
    both = folder / f"{name}.pem"
    both.write_text(key.read_text() + signed.read_text())
    return both


def _signed(openssl: str, folder: Path, name: str, days: int, to: Path, authority: str = "ca") -> Path:
    issuer = ["-CA", f"{folder}/{authority}.pem", "-CAkey", f"{folder}/{authority}.key", "-CAcreateserial"]
    issuer += ["-days", str(days)]
    if days < 0 and "-not_before" in _run([openssl, "x509", "-help"]).stderr:  # OpenSSL 3.4 compares the two dates
        issuer += ["-not_before", "20200101000000Z"]
    command = [openssl, "x509", "-req", "-in", f"{folder}/{name}.csr", "-out", str(to), *issuer]
    _run([*command, "-extfile", f"{folder}/{name}.ext"])
    return to


def _run(command: list[str]) -> "subprocess.CompletedProcess[str]":
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=bound(30))
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)} failed:\n{done.stderr}")
    return done
