"""Two network namespaces joined by a cable that loses packets when told to: a client's and a server's.

Needs root and `ip`; nothing outside of the two namespaces is touched. Packets are lost by giving a neighbour a hardware
address that nobody has, which works without a packet filter and in each direction by itself.
"""

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.support.bounds import bound

CLIENT, SERVER, NOBODY = "10.203.0.1", "10.203.0.2", "10.203.0.9"
SERVER_6 = "fd00:203::2"
UNROUTED = "10.203.9.9"
"""No route leads there. (A router that says so by ICMP says it a few times only, so the client knows by itself.)"""
_NO_ONE = "02:00:00:00:00:ee"
_PREFIX = "kctl-lab"


class NoNamespaces(Exception):
    """This machine cannot make network namespaces; the text says why."""


class Cable:
    """The two namespaces."""

    def __init__(self, name: str) -> None:
        self.client = f"{name}-c"
        self.server = f"{name}-s"
        self._macs: dict[str, str] = {}

    def build(self) -> None:
        """Make the namespaces, the cable between them, and the names that the client's resolver knows."""
        for space in (self.client, self.server):
            _ip("netns", "add", space)
            _ip("-n", space, "link", "set", "lo", "up")
        _ip("link", "add", "c0", "netns", self.client, "type", "veth", "peer", "name", "s0", "netns", self.server)
        for space, device, address in ((self.client, "c0", CLIENT), (self.server, "s0", SERVER)):
            _ip("-n", space, "addr", "add", f"{address}/24", "dev", device)
            _ip("-n", space, "link", "set", device, "up")
            self._macs[address] = _mac(space, device)
        _ip("-n", self.client, "addr", "add", "fd00:203::1/64", "dev", "c0", "nodad")
        _ip("-n", self.server, "addr", "add", f"{SERVER_6}/64", "dev", "s0", "nodad")
        _ip("-n", self.client, "route", "add", "unreachable", f"{UNROUTED}/32")
        _ip("-n", self.client, "neigh", "replace", NOBODY, "lladdr", _NO_ONE, "dev", "c0", "nud", "permanent")
        self.mend()
        files = _files_of(self.client)
        files.mkdir(parents=True)
        several = f"{NOBODY} several.test\n{SERVER} several.test\n"
        (files / "hosts").write_text(f"127.0.0.1 localhost\n{several}{SERVER_6} both.test\n{SERVER} both.test\n")
        (files / "resolv.conf").write_text(f"nameserver {NOBODY}\n")
        (files / "nsswitch.conf").write_text("hosts: files dns\n")

    def lose_requests(self) -> None:
        """Lose what the client sends to the server."""
        self._neighbour(self.client, "c0", SERVER, _NO_ONE)

    def lose_answers(self) -> None:
        """Lose what the server sends to the client."""
        self._neighbour(self.server, "s0", CLIENT, _NO_ONE)

    def mend(self) -> None:
        """Lose nothing any more."""
        self._neighbour(self.client, "c0", SERVER, self._macs[SERVER])
        self._neighbour(self.server, "s0", CLIENT, self._macs[CLIENT])

    def in_client(self) -> tuple[str, ...]:
        """Return what a command line starts with that runs in the client's namespace."""
        return ("ip", "netns", "exec", self.client)

    def in_server(self) -> tuple[str, ...]:
        return ("ip", "netns", "exec", self.server)

    def remove(self) -> None:
        """Undo everything; nothing is left, whatever was built so far."""
        for space in (self.client, self.server):
            subprocess.run(["ip", "netns", "delete", space], capture_output=True, check=False)
            shutil.rmtree(_files_of(space), ignore_errors=True)

    @staticmethod
    def _neighbour(space: str, device: str, address: str, mac: str) -> None:
        _ip("-n", space, "neigh", "replace", address, "lladdr", mac, "dev", device, "nud", "permanent")


@contextmanager
def cable() -> Iterator[Cable]:
    """Yield two namespaces, and remove them in any case.

    Raises:
        NoNamespaces: no root, no `ip`, or the system refuses.
    """
    if os.geteuid() != 0:
        raise NoNamespaces("network namespaces need root")
    if shutil.which("ip") is None:
        raise NoNamespaces("there is no `ip` (package iproute2)")
    _remove_leftovers()
    made = Cable(f"{_PREFIX}-{os.getpid()}")
    try:
        made.build()
        yield made
    finally:
        made.remove()


def _remove_leftovers() -> None:
    """Remove what a run has left that was killed."""
    for name in re.findall(rf"^({_PREFIX}-\d+)-c", _ip("netns", "list"), re.MULTILINE):
        if not Path(f"/proc/{name.rpartition('-')[2]}").exists():
            Cable(name).remove()


def _mac(space: str, device: str) -> str:
    found = re.search(r"link/ether (\S+)", _ip("-n", space, "link", "show", device))
    assert found is not None
    return found[1]


def _files_of(space: str) -> Path:
    return Path("/etc/netns") / space


def _ip(*words: str) -> str:
    done = subprocess.run(["ip", *words], capture_output=True, text=True, check=False, timeout=bound(10))
    if done.returncode != 0:
        raise NoNamespaces(f"ip {' '.join(words)}: {done.stderr.strip()}")
    return done.stdout
