"""`kctl sandbox start` with SASL, TLS and ACLs: users log in, rules decide, mistakes are named."""

from pathlib import Path

import pytest

from kctl.cli.exit_codes import ExitCode
from tests.cli.processes import address_of, kctl, running
from tests.support.kafka.certificates import make_certificates

MODULE = "org.apache.kafka.common.security.scram.ScramLoginModule"


@pytest.fixture
def passwords(tmp_path: Path) -> dict[str, str]:
    found = {}
    for name in ("admin", "ann"):
        path = tmp_path / name
        path.write_text(f"{name}-secret\n")
        found[name] = str(path)
    return found


def login(folder: Path, name: str, servers: str, *more: str) -> tuple[str, str]:
    lines = [
        f"bootstrap.servers={servers}",
        f"security.protocol={'SASL_SSL' if more else 'SASL_PLAINTEXT'}",
        "sasl.mechanism=SCRAM-SHA-512",
        f'sasl.jaas.config={MODULE} required username="{name}" password="{name}-secret";',
        *more,
    ]
    path = folder / f"{name}.properties"
    path.write_text("\n".join(lines) + "\n")
    return "--command-config", str(path)


@pytest.mark.parametrize("has_tls", [False, True])
def test_rules_decide_what_a_new_user_may_do(tmp_path: Path, passwords: dict[str, str], has_tls: bool) -> None:
    options, more = [], []
    if has_tls:
        (tmp_path / "certificates").mkdir()
        certificates = make_certificates(tmp_path / "certificates")
        options = ["--tls-certificate", str(certificates.broker)]
        more = ["ssl.truststore.type=PEM", f"ssl.truststore.location={certificates.ca}"]
    up = ("sandbox", "start", "--nodes", "1", "--port", "0", "-q", "--topic", "orders", "--acls", *options)
    with running(*up, "--sasl-user", f"admin={passwords['admin']}") as process:
        servers = address_of(process)
        admin = login(tmp_path, "admin", servers, *more)
        ann = login(tmp_path, "ann", servers, *more)
        assert kctl("topics", "describe", "orders", *ann).code == ExitCode.AUTHENTICATION
        assert kctl("users", "create", "ann", "--password-file", passwords["ann"], *admin).code == 0
        assert kctl("produce", "orders", *ann, stdin=b"one\n").code == ExitCode.NOT_AUTHORIZED
        assert kctl("acls", "list", *ann).code == ExitCode.NOT_AUTHORIZED
        rule = ("--allow", "ann", "--topic", "orders")
        assert kctl("acls", "create", *rule, "--producer", *admin).code == 0
        assert kctl("produce", "orders", *ann, stdin=b"one\n").code == 0
        assert kctl("consume", "orders", "-e", *ann).code == ExitCode.NOT_AUTHORIZED
        assert kctl("acls", "create", *rule, "--operation", "read", *admin).code == 0
        assert kctl("consume", "orders", "-e", *ann).stdout == b"one\n"
        assert kctl("acls", "create", "--deny", "ann", "--operation", "all", "--topic", "*", *admin).code == 0
        assert kctl("consume", "orders", "-e", *ann).code == ExitCode.NOT_AUTHORIZED


def test_super_user_is_whoever_the_option_names() -> None:
    up = ("sandbox", "start", "--nodes", "1", "--port", "0", "-q", "--acls", "--super-user", "admin")
    with running(*up) as process:
        servers = address_of(process)
        assert kctl("acls", "list", "-b", servers).code == ExitCode.NOT_AUTHORIZED


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--sasl-user", "admin"), "use NAME=FILE, a user and the file with the password, instead of 'admin'"),
        (("--sasl-user", "admin=/nonexistent"), "cannot read /nonexistent: No such file"),
        (("--sasl-user", "admin=/dev/null"), "/dev/null is empty"),
        (("--tls-certificate", "/etc/hostname"), "not a PEM file"),
        (("--tls-certificate", "/nonexistent"), "cannot read /nonexistent"),
    ],
)
def test_mistake_is_named(words: tuple[str, ...], says: str) -> None:
    ended = kctl("sandbox", "start", "--nodes", "1", "--port", "0", *words)
    assert (ended.code, ended.stdout) == (ExitCode.USAGE, b"")
    assert says in ended.stderr
