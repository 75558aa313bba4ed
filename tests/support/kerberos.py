"""A Kerberos KDC (MIT krb5kdc) on loopback with a realm of its own; the machine's own Kerberos is left alone."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.support.bounds import bound
from tests.support.kafka.lifeline import ServerProcess, make_folder, remove_folder
from tests.support.kafka.waiting import wait_until
from tests.support.ports import HOST, lease_ports

REALM = "KCTL.TEST"
COMMANDS = ("krb5kdc", "kdb5_util", "kadmin.local", "kinit", "klist", "krb5-config")
_PATH = f"{os.environ.get('PATH', '')}:/usr/sbin"
_TIMEOUT_MS = bound(20_000)


def missing_command() -> str | None:
    """Return a command of Kerberos that is not installed here, if any."""
    return next((name for name in COMMANDS if shutil.which(name, path=_PATH) is None), None)


class Kdc:
    """A realm: principals, keytabs, tickets."""

    def __init__(self, folder: Path, port: int) -> None:
        self.folder = folder
        self.config = folder / "krb5.conf"
        self.log = folder / "kdc.log"
        self.process = ServerProcess("the KDC", folder / "kdc.output")
        self.config.write_text(
            f"[libdefaults]\n default_realm = {REALM}\n dns_lookup_kdc = false\n dns_canonicalize_hostname = false\n"
            f" rdns = false\n[realms]\n {REALM} = {{\n  kdc = {HOST}:{port}\n }}\n[logging]\n kdc = FILE:{self.log}\n"
        )
        (folder / "kdc.conf").write_text(
            f"[kdcdefaults]\n kdc_listen = {HOST}:{port}\n kdc_tcp_listen = {HOST}:{port}\n[realms]\n {REALM} = {{\n"
            f"  database_name = {folder}/principals\n  key_stash_file = {folder}/stash\n  max_life = 10h\n }}\n"
        )
        self._run("kdb5_util", "create", "-s", "-P", "of-the-test", "-r", REALM)

    def environ(self, cache: Path | None = None) -> dict[str, str]:
        """Return the variables of a process in this realm, with a credentials cache or without one."""
        cache = cache or self.folder / "no-cache"
        return {"KRB5_CONFIG": str(self.config), "KRB5CCNAME": f"FILE:{cache}"}

    def add(self, principal: str, *options: str) -> Path:
        """Make a principal with a random key; return its keytab."""
        keytab = self.folder / f"{principal.replace('/', '-')}.keytab"
        self._admin(f"addprinc -randkey {' '.join(options)} {principal}")
        self._admin(f"ktadd -k {keytab} {principal}")
        return keytab

    def renew_key(self, principal: str) -> None:
        """Give a principal a new key, so that its keytab is out of date."""
        self._admin(f"cpw -randkey {principal}")

    def kinit(self, principal: str, keytab: Path, cache: Path, lifetime: str = "1h") -> None:
        """Put a ticket into a cache."""
        self._run("kinit", "-k", "-t", str(keytab), "-l", lifetime, principal, cache=cache)

    def has_ticket(self, cache: Path) -> bool:
        """Whether a cache has a ticket that is valid."""
        return self._call("klist", "-s", cache=cache).returncode == 0

    def tickets_of(self, principal: str) -> int:
        """Return how often the KDC has given a principal its first ticket."""
        lines = self.log.read_text().splitlines()
        return sum("AS_REQ" in line and "ISSUE" in line and f" {principal}@{REALM} for" in line for line in lines)

    def start(self) -> None:
        """Start the KDC; returns when it serves."""
        environ = [f"{name}={value}" for name, value in self._environ().items() if name.startswith(("KRB5", "PATH"))]
        self.process.start(["env", *environ, "krb5kdc", "-n", "-r", REALM])
        wait_until(lambda: self.log.exists() and "commencing operation" in self.log.read_text(), _TIMEOUT_MS, "the KDC")

    def _admin(self, query: str) -> None:
        self._run("kadmin.local", "-r", REALM, "-q", query)

    def _environ(self, cache: Path | None = None) -> dict[str, str]:
        profile = {"KRB5_KDC_PROFILE": str(self.folder / "kdc.conf"), "PATH": _PATH}
        return {**os.environ, **self.environ(cache), **profile}

    def _call(self, *command: str, cache: Path | None = None) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command,
            env=self._environ(cache),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=bound(30),
        )

    def _run(self, *command: str, cache: Path | None = None) -> None:
        done = self._call(*command, cache=cache)
        assert done.returncode == 0, (command, done.stdout, done.stderr)


@contextmanager
def running_kdc() -> Iterator[Kdc]:
    """Serve a new realm while the block runs."""
    lease, folder = lease_ports(), make_folder("kdc")
    try:
        kdc = Kdc(folder, lease.take())
        kdc.start()
        try:
            yield kdc
        finally:
            kdc.process.kill()
    finally:
        remove_folder(folder)
        lease.release()
