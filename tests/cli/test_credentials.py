"""Logins go to the servers that they belong to, and the ways to give one that messages name all work."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from kctl.cli.exit_codes import ExitCode
from kctl.sandbox import Sandbox
from kctl.sandbox.identity import SaslUsers
from kctl.sandbox.node import ListenerSecurity
from kctl.sandbox.server import ServedSandbox
from tests.cli.processes import Ended, kctl

NO_TOPICS = re.compile("kctl topics: no topics found: brokers list only topics that .* may describe\n")
CANARY = "canary-1187 \"it's\\"
NOTE = "sets different servers. To use the login, add -C alice"


class User:
    """A user whose current profile has a login."""

    def __init__(self, root: Path, servers: str) -> None:
        self.root = root
        self.environ = {"XDG_CONFIG_HOME": str(root), "HOME": str(root)}
        made = self.kctl(
            "profile", "create", "alice", "-b", servers, "--security-protocol", "SASL_PLAINTEXT", "--sasl-mechanism",
            "PLAIN", "--user", "alice", "--password-from", "env:PW",
        )  # fmt: skip
        assert made.code == 0, made.stderr

    def kctl(self, *arguments: str, **environ: str) -> Ended:
        return kctl(*arguments, environ=self.environ | environ)


@pytest.fixture
def locked() -> Iterator[ServedSandbox]:
    """A cluster that wants a login."""
    with Sandbox(nodes=2, security=ListenerSecurity(users=SaslUsers({"alice": CANARY}))).serve() as served:
        yield served


@pytest.fixture
def user(tmp_path: Path, locked: ServedSandbox) -> User:
    return User(tmp_path, locked.bootstrap)


def flat(text: str) -> str:
    return " ".join(text.split())


# --- the login of a profile -------------------------------------------------------------------------------------------


def test_login_of_the_current_profile_is_used_at_its_own_servers(user: User, locked: ServedSandbox) -> None:
    assert user.kctl("topics", "list", PW=CANARY).code == 0
    one_of_them = locked.bootstrap.split(",")[1]
    ended = user.kctl("topics", "list", "-b", one_of_them, PW=CANARY)
    assert (ended.code, bool(NO_TOPICS.fullmatch(ended.stderr))) == (0, True), ended.stderr


@pytest.mark.parametrize("way", ["flag", "variable", "$KCTL_PROFILE"])
def test_login_of_the_current_profile_does_not_go_to_other_servers(user: User, bootstrap: str, way: str) -> None:
    flags = () if way == "variable" else ("-b", bootstrap)
    environ = {"KCTL_BOOTSTRAP_SERVERS": bootstrap} if way == "variable" else {}
    chosen = {"KCTL_PROFILE": "alice"} if way == "$KCTL_PROFILE" else {}
    ended = user.kctl("topics", "list", *flags, **environ, **chosen)  # without $PW, which nobody asks for
    assert ended.code == 0, ended.stderr
    assert NOTE in flat(ended.stderr)
    assert user.kctl("topics", "list", "-q", *flags, **environ, **chosen).stderr == ""


def test_login_of_the_current_profile_is_not_sent_to_another_server(user: User) -> None:
    """The server takes any PLAIN login, and would show it."""
    with Sandbox(nodes=1, security=ListenerSecurity(users=SaslUsers({"alice": CANARY}))).serve() as other:
        refused = user.kctl("topics", "list", "-b", other.bootstrap, "--api-timeout", "3s", PW=CANARY)
        assert refused.code == ExitCode.AUTHENTICATION, refused.stderr
        assert user.kctl("topics", "list", "-b", other.bootstrap, "-C", "alice", PW=CANARY).code == 0


def test_login_from_elsewhere_keeps_the_protocol_of_the_profile(user: User) -> None:
    with Sandbox(nodes=1, security=ListenerSecurity(users=SaslUsers({"bob": CANARY}))).serve() as other:
        ended = user.kctl("topics", "list", "-b", other.bootstrap, KCTL_SASL_USERNAME="bob", KCTL_SASL_PASSWORD=CANARY)
    assert ended.code == 0, ended.stderr


def test_profile_without_a_login_is_used_anywhere_without_a_note(tmp_path: Path, bootstrap: str) -> None:
    environ = {"XDG_CONFIG_HOME": str(tmp_path)}
    assert kctl("profile", "create", "dev", "-b", "localhost:1", environ=environ).code == 0
    ended = kctl("topics", "list", "-b", bootstrap, environ=environ)
    assert (ended.code, "profile" in ended.stderr) == (0, False), ended.stderr  # topics may exist: it is shared


def test_commands_that_ask_no_server_need_no_secret(user: User, bootstrap: str) -> None:
    probed = user.root / "probe.jsonl"
    probed.write_bytes(kctl("probe", "-b", bootstrap, "--output", "jsonl").stdout)
    ended = user.kctl("probe", "report", str(probed))
    assert "PW" not in ended.stderr
    assert ended.code == 0, ended.stderr


# --- user and password ------------------------------------------------------------------------------------------------

PROTOCOL = ("-X", "security.protocol=SASL_PLAINTEXT")


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256"])
def test_user_name_by_option_and_password_by_variable_log_in(locked: ServedSandbox, mechanism: str) -> None:
    ended = kctl(
        "topics", "list", "-b", locked.bootstrap, *PROTOCOL, "-X", f"sasl.mechanism={mechanism}", "-X",
        "sasl.username=alice", environ={"KCTL_SASL_PASSWORD": CANARY},
    )  # fmt: skip
    assert (ended.code, bool(NO_TOPICS.fullmatch(ended.stderr))) == (0, True), ended.stderr


def test_refusal_of_a_password_on_the_command_line_names_ways_that_work(locked: ServedSandbox) -> None:
    ended = kctl("topics", "list", "-b", locked.bootstrap, "-X", f"sasl.password={CANARY}")
    assert ended.code == ExitCode.USAGE
    assert "$KCTL_SASL_PASSWORD" in ended.stderr
    assert CANARY not in ended.stderr
    no_such_variable = kctl("topics", "list", "-b", "a:1", "-X", "some.secret=a:b")
    assert "$KCTL_" not in no_such_variable.stderr


def test_command_config_may_use_the_names_of_librdkafka(locked: ServedSandbox, tmp_path: Path) -> None:
    file = tmp_path / "kcat.conf"
    password = CANARY.replace("\\", "\\\\")
    file.write_text(
        f"bootstrap.servers={locked.bootstrap}\nsecurity.protocol=sasl_plaintext\nsasl.mechanisms=PLAIN\n"
        f"sasl.username=alice\nsasl.password={password}\n"
    )
    ended = kctl("topics", "list", "--command-config", str(file))
    assert (ended.code, bool(NO_TOPICS.fullmatch(ended.stderr))) == (0, True), ended.stderr


def test_profile_may_have_user_and_password(tmp_path: Path, locked: ServedSandbox) -> None:
    environ = {"XDG_CONFIG_HOME": str(tmp_path), "PW": CANARY}
    made = kctl(
        "profile", "create", "p", "-b", locked.bootstrap, *PROTOCOL, "-X", "sasl.mechanism=PLAIN", "-X",
        "sasl.username=alice", "-X", "sasl.password=${env:PW}", environ=environ,
    )  # fmt: skip
    assert made.code == 0, made.stderr
    ended = kctl("topics", "list", environ=environ)
    assert (ended.code, bool(NO_TOPICS.fullmatch(ended.stderr))) == (0, True), ended.stderr
    exported = kctl("profile", "export", "p", "--with-secrets", environ=environ)
    assert b"sasl.jaas.config=" in exported.stdout
    assert b"sasl.password" not in exported.stdout


def test_password_of_a_variable_replaces_that_of_the_profile(user: User) -> None:
    assert user.kctl("topics", "list", KCTL_SASL_PASSWORD=CANARY).code == 0
    assert user.kctl("topics", "list", PW=CANARY, KCTL_SASL_PASSWORD="wrong").code == ExitCode.AUTHENTICATION


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (("-X", "sasl.username=alice", "-X", "sasl.mechanism=PLAIN"), "sasl.username needs sasl.password"),
        (("-X", "sasl.mechanism=PLAIN"), "needs sasl.jaas.config"),
        (
            ("-X", "sasl.mechanism=PLAIN"),
            "hint: set -X sasl.username=NAME, and put the password into $KCTL_SASL_PASSWORD",
        ),
    ],
)
def test_half_a_login_is_refused_with_what_is_missing(given: tuple[str, ...], words: str) -> None:
    ended = kctl("topics", "list", "-b", "localhost:1", *PROTOCOL, *given)
    assert ended.code == ExitCode.USAGE
    assert words in flat(ended.stderr)


def test_profile_variable_is_no_unknown_property(user: User) -> None:
    ended = user.kctl("topics", "list", PW=CANARY, KCTL_PROFILE="alice")
    assert (ended.code, bool(NO_TOPICS.fullmatch(ended.stderr))) == (0, True), ended.stderr
    assert "$KCTL_PROFILE" not in user.kctl("profile", "show", KCTL_PROFILE="").stderr.replace("-C NAME, $KCTL", "")


# --- passwords in URLs ------------------------------------------------------------------------------------------------

URL = "https://user:canary-7764@registry.example/x"
URL_PASSWORD = "canary-7764"


def test_password_in_a_url_is_shown_and_exported_nowhere(tmp_path: Path) -> None:
    environ = {"XDG_CONFIG_HOME": str(tmp_path)}
    file = tmp_path / "kcat.conf"
    file.write_text(f"bootstrap.servers=localhost:1\nschema.registry.url={URL}\nlog_level=6\n")
    assert kctl("profile", "import", "p", str(file), environ=environ).code == 0
    for command in (
        ("show", "p"),
        ("show", "p", "--origin"),
        ("show", "p", "--output", "json"),
        ("list",),
        ("check",),
        ("export", "p"),
    ):
        ended = kctl("profile", *command, environ=environ)
        assert ended.code == 0, ended.stderr
        assert URL_PASSWORD not in ended.stdout.decode() + ended.stderr, command
    shown = kctl("profile", "show", "p", "--output", "json", environ=environ)
    values = {row["property"]: row["value"] for row in json.loads(shown.stdout)["rows"]}
    assert values["schema.registry.url"] == "https://user:***@registry.example/x"
    with_secrets = kctl("profile", "export", "p", "--with-secrets", environ=environ)
    assert URL_PASSWORD in with_secrets.stdout.decode()


@pytest.mark.parametrize("value", ["${env:URL}", "https://user:${env:PW}@registry.example/x"])
def test_password_that_a_reference_brings_into_a_url_is_exported_only_on_request(tmp_path: Path, value: str) -> None:
    folder = tmp_path / "kctl"
    folder.mkdir(mode=0o700)
    (folder / "config.toml").write_text(
        f'[profiles.p]\n"bootstrap.servers" = "a:1"\n"schema.registry.url" = "{value}"\n'
    )
    environ = {"XDG_CONFIG_HOME": str(tmp_path), "PW": URL_PASSWORD, "URL": f"https://u:{URL_PASSWORD}@r.example/x"}
    ended = kctl("profile", "export", "p", environ=environ)
    assert (ended.code, URL_PASSWORD in ended.stdout.decode() + ended.stderr) == (0, False)
    assert "schema.registry.url" in ended.stdout.decode() + ended.stderr
    with_secrets = kctl("profile", "export", "p", "--with-secrets", environ=environ)
    assert URL_PASSWORD in with_secrets.stdout.decode()


def test_password_in_a_url_is_refused_as_an_override(tmp_path: Path) -> None:
    override = ("-X", f"sasl.oauthbearer.token.endpoint.url={URL}")
    for command in (("profile", "show"), ("topics", "list"), ("profile", "create", "p")):
        ended = kctl(*command, *override, environ={"XDG_CONFIG_HOME": str(tmp_path)})
        assert ended.code == ExitCode.USAGE
        assert "secrets on the command line" in flat(ended.stderr)
        assert URL_PASSWORD not in ended.stdout.decode() + ended.stderr


@pytest.mark.parametrize("servers", ["user:canary-7764@host:9092", URL, "SSL://user:canary-7764@host:1", "a:1," + URL])
def test_password_in_bootstrap_servers_is_masked_in_the_error(servers: str) -> None:
    for command in (("topics", "list"), ("probe",), ("profile", "create", "p", "--project")):
        ended = kctl(*command, "-b", servers)
        assert ended.code == ExitCode.USAGE
        assert "user:***@" in ended.stderr
        assert URL_PASSWORD not in ended.stderr
