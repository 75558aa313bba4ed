"""Kerberos by the library gssapi (MIT krb5): tickets for brokers, and security contexts.

`fetch_ticket` may query DNS and the KDC and cannot be stopped, so it runs in a helper thread; contexts use the ticket
in its cache. The library reads krb5.conf, KRB5_CONFIG, and KRB5CCNAME.

Source: RFC 4120, RFC 4121.
"""

from typing import Any, NamedTuple, Protocol

from kctl.client.errors import AuthenticationError, ConnectionLost
from kctl.client.wording import one_line
from kctl.version import install_command

_KEYTAB_MAGIC = b"\x05"
_REALM_HINT = "check default_realm and [realms] in krb5.conf (or the file of $KRB5_CONFIG)"
_KINIT = "get a ticket with kinit, or set sasl.kerberos.keytab and sasl.kerberos.principal"
_REASONS = {
    -1765328383: ("the principal has expired in the KDC", ""),
    -1765328378: ("the KDC does not know {principal}", "list the principals of the keytab with: klist -k FILE"),
    -1765328377: (
        "the KDC does not know the service {service}",
        "compare sasl.kerberos.service.name and the host name in bootstrap.servers with the broker principal",
    ),
    -1765328370: (
        "the KDC supports none of the encryption types of the key",
        "compare the key with permitted_enctypes in krb5.conf",
    ),
    -1765328361: ("the password or key of the principal has expired", ""),
    -1765328360: ("the KDC rejected the key of {principal}", "create a new keytab if the key has changed"),
    -1765328353: ("the KDC rejected the key of {principal}", "create a new keytab if the key has changed"),
    -1765328352: ("the ticket has expired", _KINIT),
    -1765328347: ("the clocks of this machine and of the KDC differ too much", "synchronize the clock of this machine"),
    -1765328230: ("krb5.conf has no KDC for the realm", _REALM_HINT),
    -1765328164: ("the host name of the KDC does not resolve", _REALM_HINT),
    -1765328160: ("krb5.conf has no default realm", _REALM_HINT),
}
"""Reasons and hints by the error codes of MIT krb5 (krb5_err.et)."""
_UNREACHABLE = -1765328228
_NO_CREDENTIALS, _EXPIRED = 7, 11
"""Routine errors of GSSAPI, RFC 2744."""


class KerberosLogin(NamedTuple):
    service_name: str
    principal: str | None = None
    keytab: str | None = None
    cache: str | None = None
    """Credentials cache; None for the default (KRB5CCNAME)."""


class SecurityContext(Protocol):
    """One authentication in progress; the protocol of gssapi.SecurityContext."""

    @property
    def complete(self) -> bool: ...

    def step(self, token: bytes | None = None) -> bytes | None:
        """Process the broker's token; return the next token to send, if any."""
        ...

    def wrap(self, message: bytes, encrypt: bool) -> Any: ...

    def unwrap(self, message: bytes) -> Any: ...


class Ticket:
    """Ticket for one broker, in a separate cache."""

    def __init__(self, credentials: Any, service: Any, lifetime_ms: int) -> None:
        self.lifetime_ms: int | None = lifetime_ms
        self._credentials = credentials
        self._service = service

    def context(self) -> SecurityContext:
        context: SecurityContext = _context(_gssapi(), self._service, self._credentials, is_mutual=True)
        return context


def fetch_ticket(login: KerberosLogin, host: str, cache: str) -> Ticket:
    """Get a ticket for the service on `host`.

    Args: cache: name of the memory cache, which is overwritten.
    Raises:
        AuthenticationError: the library is missing, or no ticket is available; the message has the reason.
        ConnectionLost: no KDC responded.
    """
    gssapi = _gssapi()
    try:
        credentials = _credentials(gssapi, login, f"MEMORY:{cache}")
        krb5 = gssapi.MechType.kerberos
        service = gssapi.Name(_bytes(f"{login.service_name}@{host}"), gssapi.NameType.hostbased_service)
        service = service.canonicalize(krb5)
        context = _context(gssapi, service, credentials, is_mutual=False)
        context.step()
        left_s = min(_seconds(each.lifetime) for each in (credentials, context))
    except gssapi.exceptions.GSSError as e:
        raise error_of(e, login, host) from None
    if left_s <= 0:
        raise AuthenticationError("the ticket has expired", hint=_KINIT)
    return Ticket(credentials, service, left_s * 1000)


def error_of(error: Any, login: KerberosLogin, host: str) -> AuthenticationError | ConnectionLost:
    """Return an error of the library with a message for users."""
    code = error.min_code - 2**32 if error.min_code >= 2**31 else error.min_code
    routine = error.maj_code >> 16 & 0xFF
    if code == _UNREACHABLE:
        words = _words(error)
        return ConnectionLost(words, hint="check [realms] in krb5.conf and that this machine can reach the KDC")
    known = _REASONS.get(code)
    if known is not None:
        who = "the principal of the keytab" if login.principal is None else f"principal {login.principal}"
        names = {"principal": who, "service": f"{login.service_name}/{host}"}
        return AuthenticationError(known[0].format(**names), hint=known[1])
    if routine == _EXPIRED:
        return AuthenticationError("the ticket has expired", hint=_KINIT)
    if routine == _NO_CREDENTIALS:
        return _no_credentials(error, login)
    return AuthenticationError(_words(error))


def _no_credentials(error: Any, login: KerberosLogin) -> AuthenticationError:
    if login.keytab is None:
        return AuthenticationError(f"no Kerberos ticket found: {_words(error)}", hint=_KINIT)
    who = "no usable key" if login.principal is None else f"no usable key for {login.principal}"
    hint = f"list the principals of the keytab with: klist -k {_shown(login.keytab)}"
    return AuthenticationError(f"the keytab {_shown(login.keytab)} has {who}", hint=hint)


def _gssapi() -> Any:
    try:
        import gssapi  # extra `kerberos`
    except (ImportError, OSError) as e:
        hint = f"install it with: {install_command('kerberos')} (needs a C compiler and libkrb5-dev)"
        raise AuthenticationError(f"the Python package gssapi is not installed ({e})", hint=hint) from None
    return gssapi


def _credentials(gssapi: Any, login: KerberosLogin, memory: str) -> Any:
    krb5 = gssapi.MechType.kerberos
    name = None
    if login.principal is not None:
        name = gssapi.Name(_bytes(login.principal), gssapi.NameType.kerberos_principal)
    if login.keytab is not None:
        _check_keytab(login.keytab)
        store = {b"client_keytab": _bytes(f"FILE:{login.keytab}"), b"ccache": _bytes(memory)}
        return gssapi.Credentials(usage="initiate", name=name, mechs=[krb5], store=store)
    given = None if login.cache is None else {b"ccache": _bytes(login.cache)}
    found = gssapi.Credentials(usage="initiate", name=name, mechs=[krb5], store=given)
    found.store(store={"ccache": memory}, usage="initiate", mech=krb5, overwrite=True)
    return gssapi.Credentials(usage="initiate", mechs=[krb5], store={"ccache": memory})


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def _check_keytab(path: str) -> None:
    """Raise AuthenticationError unless the file is a keytab; the library's error would be about the cache."""
    try:
        with open(path, "rb") as file:
            is_keytab = file.read(1) == _KEYTAB_MAGIC
    except (OSError, ValueError) as e:
        why = e.strerror if isinstance(e, OSError) else str(e)
        raise AuthenticationError(f"cannot read sasl.kerberos.keytab {_shown(path)}: {why}") from None
    if not is_keytab:
        raise AuthenticationError(f"sasl.kerberos.keytab {_shown(path)} is not a keytab file")


def _shown(path: str) -> str:
    return one_line(path)[:300]


def _context(gssapi: Any, service: Any, credentials: Any, *, is_mutual: bool) -> Any:
    flag = gssapi.RequirementFlag
    flags = flag.integrity | (flag.mutual_authentication if is_mutual else 0)
    return gssapi.SecurityContext(
        name=service, creds=credentials, usage="initiate", mech=gssapi.MechType.kerberos, flags=flags
    )


def _seconds(lifetime: int | None) -> int:
    return 2**31 if lifetime is None else lifetime


def _words(error: Any) -> str:
    text = one_line(str(error.gen_message()))
    return text.rpartition("): ")[2][:300] or text[:300]
