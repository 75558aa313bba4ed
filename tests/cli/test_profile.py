"""Profiles as people use them: a first one, one for a cluster with logins, and their secrets nowhere to be seen."""

import os
import pty
import select
import subprocess
from base64 import b64encode
from collections.abc import Iterator
from pathlib import Path

import pytest

from kctl.cli.exit_codes import ExitCode
from kctl.sandbox import Sandbox
from kctl.sandbox.identity import SaslUsers
from kctl.sandbox.node import ListenerSecurity
from kctl.sandbox.server import ServedSandbox
from tests.cli.processes import BOUND_S, INSTALLED, KCTL, PYTHON, Ended, environment, kctl

CANARY = "canary-3305 \"it's\\"


class User:
    """Somebody with a configuration and a working folder of their own."""

    def __init__(self, root: Path) -> None:
        self.file = root / "kctl" / "config.toml"
        self.environ = {"XDG_CONFIG_HOME": str(root), "HOME": str(root)}

    def kctl(self, *arguments: str, stdin: bytes = b"", **environ: str) -> Ended:
        return kctl(*arguments, stdin=stdin, environ=self.environ | environ)


@pytest.fixture
def user(tmp_path: Path) -> User:
    return User(tmp_path)


@pytest.fixture(scope="module")
def locked() -> Iterator[ServedSandbox]:
    """A cluster that wants a login."""
    security = ListenerSecurity(users=SaslUsers({"alice": CANARY}))
    with Sandbox(nodes=1, topics={"t": 1}, security=security).serve() as served:
        yield served


def test_a_newcomers_first_profile(user: User, bootstrap: str, topic: str) -> None:
    assert user.kctl("profile", "create", "mine", "-b", bootstrap).code == 0
    assert user.kctl("probe", "-q").code == 0
    assert user.kctl("produce", topic, stdin=b"hello\n").code == 0
    assert user.kctl("consume", topic, "-e").stdout == b"hello\n"


SOURCES: dict[str, dict[str, str]] = {
    "env:SECRET": {"SECRET": CANARY},
    "file:secret": {},
    'cmd:cat - secret | sed "s/x/x/"': {},
    "keyring:kafka/alice": {"PYTHON_KEYRING_BACKEND": "tests.cli.key_ring.VariableRing", "RING": CANARY},
}
"""Where the password is, and the variables that go with it."""
if INSTALLED:
    del SOURCES["keyring:kafka/alice"]  # a package is installed without its extras, and without the tests


@pytest.mark.parametrize(
    "source",  # keyring reads the variables of its process
    [pytest.param(each, marks=[pytest.mark.process] if "RING" in SOURCES[each] else ()) for each in SOURCES],
)
def test_a_login_works_and_its_password_is_nowhere(source: str, user: User, locked: ServedSandbox) -> None:
    created = user.kctl(
        "profile", "create", "p", "-b", locked.bootstrap, "--security-protocol", "SASL_PLAINTEXT",
        "--sasl-mechanism", "PLAIN", "--user", "alice", "--password-from", source,
    )  # fmt: skip
    assert created.code == 0, created
    (user.file.parent / "secret").write_text(f"{CANARY}\n")
    told = [
        user.kctl(*command, "--trace", "-v", "--api-timeout", "10s", stdin=b"x\n", **SOURCES[source])
        for command in (("produce", "t"), ("topics", "list"), ("profile", "show", "--origin"))
    ]
    assert [each.code for each in told] == [0, 0, 0], told
    _nowhere([created, *told])
    assert CANARY not in user.file.read_text()


def test_a_login_that_fails_tells_no_password(user: User, locked: ServedSandbox) -> None:
    login = 'a.PlainLoginModule required username="bob" password="${env:SECRET}";'
    user.file.parent.mkdir()
    user.file.write_text(
        f'current = "p"\n[profiles.p]\nbootstrap.servers = "{locked.bootstrap}"\n'
        f'security.protocol = "SASL_PLAINTEXT"\nsasl.mechanism = "PLAIN"\nsasl.jaas.config = \'{login}\'\n'
    )
    wrong = user.kctl("topics", "list", "--trace", "-v", SECRET=CANARY)
    assert wrong.code == 14
    missing = user.kctl("topics", "list", "--trace", "-v")
    assert missing.code == 2
    assert (
        "kctl topics: profile p: cannot resolve ${env:SECRET} in sasl.jaas.config: $SECRET is not set" in missing.stderr
    )
    broken = user.kctl("topics", "list", "--trace", "-v", "-X", "request.timeout.ms=x", SECRET=CANARY)
    assert broken.code == 2
    _nowhere([wrong, missing, broken])


def test_a_prompt_without_a_terminal(user: User, locked: ServedSandbox) -> None:
    user.file.parent.mkdir()
    user.file.write_text('[profiles.p]\nbootstrap.servers = "a:1"\nssl.key.password = "${prompt:Key password}"\n')
    ended = subprocess.run(
        ["setsid", "-w", *KCTL, "topics", "list", "-C", "p"],
        env=environment(user.environ), stdin=subprocess.DEVNULL, capture_output=True, timeout=BOUND_S, check=False,
    )  # fmt: skip
    said = (
        b"kctl topics: profile p: cannot resolve ${prompt:Key password} in ssl.key.password: there is no terminal to "
        b"prompt on"
    )
    assert (ended.returncode, ended.stderr.strip()) == (2, said)


def test_a_prompt_asks_on_the_terminal_and_shows_nothing(user: User, locked: ServedSandbox) -> None:
    made = user.kctl(
        "profile", "create", "p", "-b", locked.bootstrap, "--security-protocol", "SASL_PLAINTEXT",
        "--sasl-mechanism", "PLAIN", "--user", "alice", "--password-from", "prompt:Password of alice",
    )  # fmt: skip
    assert made.code == 0
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        ["setsid", "-c", "-w", *KCTL, "topics", "list"],  # -c: the terminal is what /dev/tty is
        env=environment(user.environ), stdin=theirs, stdout=subprocess.PIPE, stderr=theirs,
    )  # fmt: skip
    os.close(theirs)
    shown = _read_until(ours, b"Password of alice: ")
    os.write(ours, CANARY.encode() + b"\n")
    stdout, _ = process.communicate(timeout=BOUND_S)
    shown += _read_until(ours, b"")
    os.close(ours)
    assert (process.returncode, b"canary" in shown) == (0, False), shown
    assert b"\nt " in stdout


def _read_until(terminal: int, wanted: bytes) -> bytes:
    """Return what a terminal shows up to something, or with b"" to its end."""
    shown = b""
    while not wanted or wanted not in shown:
        assert select.select([terminal], [], [], BOUND_S)[0], shown
        try:
            piece = os.read(terminal, 4096)
        except OSError:  # how Linux says that the other end is closed
            piece = b""
        if not piece:
            assert not wanted, shown
            break
        shown += piece
    return shown


def test_showing_imports_no_client_and_nothing_that_writes(user: User) -> None:
    user.kctl("profile", "create", "p", "-b", "a:1")
    code = "import sys; from kctl.__main__ import main; main(); print(*sys.modules, file=sys.stderr)"
    for command in (("show", "--origin"), ("list",)):
        ended = subprocess.run(
            [PYTHON, "-c", code, "profile", *command],
            env=environment(user.environ), capture_output=True, timeout=BOUND_S, check=False,
        )  # fmt: skip
        modules = set(ended.stderr.decode().splitlines()[-1].split())
        assert "tomllib" in modules
        assert not modules & {"tomli_w", "yaml", "keyring", "ssl", "socket", "rich", "kctl.cli.profiles.writing"}
        assert not {name for name in modules if name.startswith(("kctl.client.network", "kctl.client.admin"))}


def _nowhere(ended: list[Ended]) -> None:
    secrets = (CANARY, CANARY.replace("\\", "\\\\"), b64encode(CANARY.encode()).decode(), CANARY.encode().hex())
    for each in ended:
        for secret in (*secrets, CANARY.partition(" ")[0]):
            assert secret not in each.stderr
            assert secret.encode() not in each.stdout


@pytest.mark.parametrize("words", ["use x", "export x", "delete x", "check x", "edit x", "edit x --unset acks"])
def test_a_profile_that_is_not_there_is_told_once(user: User, words: str) -> None:
    ended = user.kctl("profile", *words.split(), EDITOR="false")
    assert ended.code == ExitCode.USAGE
    assert ended.stderr.startswith("kctl profile: no profile 'x' found")


def test_a_current_profile_that_is_not_there_is_found(user: User) -> None:
    user.kctl("profile", "create", "x", "-b", "h:1")
    user.file.write_text(user.file.read_text().replace('current = "x"', 'current = "nope"'))
    ended = user.kctl("profile", "check")
    assert ended.code == ExitCode.USAGE
    assert ended.stdout.splitlines()[1].startswith(b"nope     error  -         ")
    assert b"sets this current profile, but the profile does not exist" in ended.stdout
    assert "1 profile checked: 1 error" in ended.stderr
