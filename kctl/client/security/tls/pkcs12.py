"""PKCS12 stores as PEM, by the cryptography package where it is installed.

Shown by tests/unit/security/test_pkcs12.py.
"""

from kctl.client.errors import ConfigError

EXTRA = "pkcs12"


def can_read_pkcs12() -> bool:
    """Return whether the package that reads them is installed."""
    from importlib.util import find_spec

    return find_spec("cryptography") is not None


def pem_of_pkcs12(content: bytes, password: str | None, place: str, key: str, *, has_key: bool) -> str:
    """Return the private key, where the store has one that is wanted, and the certificates of a store.

    Args:
        place: the property and the file, for errors.
        key: the property of the error.
        has_key: it is a key store, so that the key comes first; else only certificates are wanted.
    Raises: ConfigError: the password is wrong, the store is damaged, or what is wanted is not in it.
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
