"""Key and trust stores as PEM, and conversion commands for unsupported formats.

PKCS12 needs the cryptography package. Errors never contain the contents.
"""

import shlex

from kctl.client.config import ClientConfig, Property, read_input
from kctl.client.errors import ConfigError

MAX_STORE_BYTES = 8 * 1024 * 1024
_JAVA_MAGIC = {b"\xfe\xed\xfe\xed": "JKS", b"\xce\xce\xce\xce": "JCEKS"}
_DER_SEQUENCE = 0x30
DER = "DER"
_PEM_BEGIN = b"-----BEGIN "


def read_store(
    config: ClientConfig, location: Property[str | None], store_type: Property[str], *, has_key: bool
) -> str | None:
    """Return the PEM of the store at `location`, or None if the property is not set.

    Args: has_key: whether the store is a key store, for the conversion command.
    Raises: ConfigError: the store is unreadable, or neither PEM nor PKCS12; the hint has the conversion command.
    Source: KIP-651. Differs: JKS is not supported, PKCS12 only with the extra pkcs12; PEM needs no ssl.*store.type.
    """
    path = config.values[location.name]
    if path is None:
        return None
    content = _read(path, location)
    wanted = config.values[store_type.name]
    if _PEM_BEGIN in content:
        if config.is_given(store_type) and wanted != "PEM":
            raise ConfigError(f"{location.name}={path} is PEM: set {store_type.name}=PEM", key=store_type.name)
        try:
            return content.decode()
        except UnicodeDecodeError:
            raise ConfigError(f"{location.name}={path} is not a PEM file: it is not UTF-8", key=location.name) from None
    kind = _java_kind(content)
    if kind is None:
        raise ConfigError(f"{location.name}={path} is neither a PEM file nor a Java keystore", key=location.name)
    if kind is DER:
        command = f"openssl x509 -inform DER -in {shlex.quote(path)} -out {shlex.quote(path + '.pem')}"
        raise ConfigError(
            f"{location.name}={path} is a DER certificate: set {location.name}={path}.pem {store_type.name}=PEM "
            f"after you convert it with: {command}",
            key=location.name,
        )
    if kind == "PKCS12" and can_read_pkcs12():
        password = config.ssl_keystore_password if has_key else config.ssl_truststore_password
        return pem_of_pkcs12(content, password, f"{location.name}={path}", location.name, has_key=has_key)
    raise ConfigError(
        f"{location.name}={path} has the format {kind}, which kctl cannot read: "
        f"set {location.name}={path}.pem {store_type.name}=PEM{' ssl.key.password=...' if has_key else ''} "
        f"after you convert it with: {_conversion(path, kind, has_key=has_key)}",
        key=location.name,
    )


def _read(path: str, location: Property[str | None]) -> bytes:
    try:
        content, _ = read_input(path, MAX_STORE_BYTES + 1)
    except (OSError, ValueError) as e:
        why = e.strerror if isinstance(e, OSError) else "invalid path"
        raise ConfigError(f"{location.name}={path} cannot be read: {why}", key=location.name) from e
    if len(content) > MAX_STORE_BYTES:
        raise ConfigError(f"{location.name}={path} is larger than {MAX_STORE_BYTES} bytes", key=location.name)
    return content


def _java_kind(content: bytes) -> str | None:
    """Return JKS, JCEKS, PKCS12, DER, or None.

    In PKCS12, a version comes first; in a DER certificate, a sequence (RFC 7292, RFC 5280).
    """
    if content[:1] == bytes([_DER_SEQUENCE]):
        start = 2 + (content[1] & 0x7F if content[1:2] > b"\x80" else 0)
        is_whole = int.from_bytes(content[2:start]) == len(content) - start
        return DER if is_whole and content[start : start + 1] == bytes([_DER_SEQUENCE]) else "PKCS12"
    return _JAVA_MAGIC.get(content[:4])


def _conversion(path: str, kind: str, *, has_key: bool) -> str:
    source, pem, p12 = shlex.quote(path), shlex.quote(path + ".pem"), shlex.quote(path + ".p12")
    if not has_key:
        return f"keytool -list -rfc -keystore {source} > {pem}"
    to_pem = "openssl pkcs12 -in {} -out " + pem
    if kind == "PKCS12":
        return to_pem.format(source)
    to_p12 = f"keytool -importkeystore -srckeystore {source} -destkeystore {p12} -deststoretype PKCS12"
    return f"{to_p12} && {to_pem.format(p12)}"


EXTRA = "pkcs12"


def can_read_pkcs12() -> bool:
    from importlib.util import find_spec

    return find_spec("cryptography") is not None


def pem_of_pkcs12(content: bytes, password: str | None, place: str, key: str, *, has_key: bool) -> str:
    """Return the certificates of a store, after the private key if `has_key`.

    Args: place: property and file, for errors.
    Raises: ConfigError: the password is wrong, the store is damaged, or contents are missing.
    """
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
    from cryptography.hazmat.primitives.serialization.pkcs12 import load_pkcs12

    try:
        store = load_pkcs12(content, None if password is None else password.encode())
        entries = [store.cert, *store.additional_certs]
        certificates = [each.certificate.public_bytes(Encoding.PEM).decode() for each in entries if each is not None]
        private_key = None
        if has_key and store.key is not None:
            private_key = store.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
    except Exception:  # noqa: BLE001 - the package says little of why, and an error must not repeat what is inside
        given = "without a password" if password is None else "with the given password"
        raise ConfigError(f"{place} cannot be read as PKCS12 {given}", key=key) from None
    if not certificates or (has_key and private_key is None):
        what = "private key with its certificate" if has_key else "certificates"
        raise ConfigError(f"{place} has no {what}", key=key)
    return (private_key or "") + "".join(certificates)
