"""The commands of `kctl profile` in one process: what they write, print and refuse."""

import json
import stat
from pathlib import Path

import pytest

from kctl.client.security import read_jaas
from kctl.grammar.properties import read_properties
from tests.support.in_process import Ended, run_in_process

CANARY = "canary-4418"


class User:
    """Somebody with a configuration and a working folder of their own."""

    def __init__(self, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.environ = {"XDG_CONFIG_HOME": str(root / "config"), "HOME": str(root)}
        self.file = root / "config" / "kctl" / "config.toml"
        self.folder = root / "work"
        self.folder.mkdir()
        self.project = self.folder / ".kctl.toml"
        monkeypatch.chdir(self.folder)

    def kctl(self, *arguments: str, stdin: bytes = b"", **environ: str) -> Ended:
        return run_in_process(*arguments, stdin=stdin, environ=self.environ | environ)

    def profile(self, *arguments: str, stdin: bytes = b"", **environ: str) -> Ended:
        return self.kctl("profile", *arguments, stdin=stdin, **environ)

    def write(self, text: str) -> None:
        self.file.parent.mkdir(parents=True, exist_ok=True)
        self.file.write_text(text)
        self.file.chmod(0o600)


@pytest.fixture
def user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> User:
    return User(tmp_path, monkeypatch)


def test_a_first_profile_is_current_and_the_next_is_not(user: User) -> None:
    ended = user.profile("create", "dev", "-b", "localhost:9092")
    assert ended == (
        0,
        b"",
        f"kctl profile: created profile dev in {user.file}. Commands without -C use the profile\n",
    )
    assert user.file.read_text() == 'current = "dev"\n\n[profiles.dev]\n"bootstrap.servers" = "localhost:9092"\n'
    assert stat.S_IMODE(user.file.stat().st_mode) == 0o600
    assert user.profile("create", "prod", "-b", "a:1", "-X", "client.id=me").code == 0
    listed = user.profile("list", "--output", "jsonl")
    assert [(row["profile"], row["current"]) for row in map(json.loads, listed.stdout.splitlines())] == [
        ("dev", True), ("prod", False),
    ]  # fmt: skip


def test_servers_of_an_unset_variable_make_no_profile(user: User) -> None:
    ended = user.profile("create", "prod", "-b", "")
    assert ended.code == 2
    assert "invalid bootstrap.servers '': use a comma-separated list of host:port" in ended.stderr
    assert not user.file.exists()


def test_use(user: User) -> None:
    user.profile("create", "dev", "-b", "localhost:9092")
    user.profile("create", "prod", "-b", "a:1")
    assert user.profile("use", "prod").code == 0
    assert b"a:1" in user.profile("show").stdout
    assert user.profile("use", "--none").code == 0
    ended = user.profile("show")
    assert (ended.code, ended.stdout) == (0, b"")
    assert "no profile selected" in ended.stderr
    for arguments in (("use",), ("use", "dev", "--none"), ("use", "nobody")):
        assert user.profile(*arguments).code == 2
    assert "$KCTL_PROFILE is set and takes precedence" in user.profile("use", "dev", KCTL_PROFILE="prod").stderr


def test_origin_of_every_value(user: User, tmp_path: Path) -> None:
    user.write('[profiles.p]\n"client.id" = "p"\nacks = "1"\n"linger.ms" = 1\n"batch.size" = 1\n"retries" = 1\n')
    config = tmp_path / "client.properties"
    config.write_text("acks=2\nlinger.ms=2\nbatch.size=2\nclient.id=c\n")
    ended = user.profile(
        "show", "p", "--origin", "--command-config", str(config), "-X", "batch.size=4", "--api-timeout", "5s",
        "--output", "json", KCTL_LINGER_MS="3", KCTL_BATCH_SIZE="3",
    )  # fmt: skip
    shown = {row["property"]: (row["value"], row["origin"]) for row in json.loads(ended.stdout)["rows"]}
    assert {name: shown[name] for name in ("default.api.timeout.ms", "batch.size", "linger.ms", "acks", "retries")} == {
        "default.api.timeout.ms": ("5000", "--api-timeout"),
        "batch.size": ("4", "-X"),
        "linger.ms": ("3", "$KCTL_LINGER_MS"),
        "acks": ("2", str(config)),
        "retries": ("1", f"profile p ({user.file})"),
    }
    assert shown["request.timeout.ms"] == ("30000", "default")


def test_a_profile_is_named_once(user: User) -> None:
    user.write("[profiles.p]\n[profiles.q]\n")
    assert user.profile("show", "p", "-C", "p").code == 0
    assert user.profile("show", "p", "-C", "q").code == 2


def test_logins_are_created_without_their_password(user: User) -> None:
    ended = user.profile(
        "create", "p", "-b", "a:9093", "--security-protocol", "SASL_SSL", "--sasl-mechanism", "PLAIN",
        "--user", 'al"ice${', "--password-from", "cmd:printf '%s' \"$SECRET\"",
    )  # fmt: skip
    assert ended.code == 0, ended.stderr
    exported = user.profile("export", "p", "--with-secrets", SECRET='a"b\\', PATH="/bin:/usr/bin").stdout
    login = read_jaas(dict(read_properties(exported, "f"))["sasl.jaas.config"]).options
    assert login == {"username": 'al"ice${', "password": 'a"b\\'}


def test_profile_with_a_login_has_a_protocol_with_a_login(user: User) -> None:
    login = ("--sasl-mechanism", "PLAIN", "--user", "ann", "--password-from", "env:PW")
    assert user.profile("create", "p", "-b", "a:1", *login).code == 0
    assert b"security.protocol=SASL_SSL\n" in user.profile("export", "p", PW="x").stdout
    assert user.profile("check", "p", PW="x").code == 0


def test_password_of_a_new_profile_may_come_from_the_environment(user: User) -> None:
    login = ("-X", "sasl.username=ann", "-X", "sasl.mechanism=PLAIN", "--security-protocol", "SASL_PLAINTEXT")
    created = user.profile("create", "p", "-b", "127.0.0.1:1", *login)
    assert created.code == 0
    assert created.stderr.endswith(
        "note: property sasl.password is not set: set $KCTL_SASL_PASSWORD for each command\n"
    )
    checked = user.profile("check", "p")
    assert checked.code == 0
    assert [line.split()[:3] for line in checked.stdout.decode().splitlines()[1:]] == [["p", "note", "sasl.password"]]
    line = ("topics", "list", "-C", "p", "--api-timeout", "100ms")
    without = user.kctl(*line)
    assert "sasl.username needs sasl.password: set $KCTL_SASL_PASSWORD" in without.stderr
    assert user.kctl(*line, KCTL_SASL_PASSWORD="x").code not in (0, 2)


@pytest.mark.parametrize(
    "arguments",
    [
        ("--user", "a"),
        ("--user", "a", "--password-from", "env:P"),
        ("--user", "a", "--password-from", CANARY, "--sasl-mechanism", "PLAIN"),
        ("--user", "a", "--password-from", f"{CANARY}:x", "--sasl-mechanism", "PLAIN"),
        ("--user", "a", "--password-from", "env:P", "--sasl-mechanism", "GSSAPI"),
        ("-X", f"ssl.key.password={CANARY}"),
        ("-X", f"ssl.key.pasword={CANARY}"),
        ("-X", f'sasl.jaas.config=a.PlainLoginModule required username="${{env:U}}" password="{CANARY}";'),
        ("-X", f"sasl.jaas.config={CANARY}"),
        ("-X", "client.id"),
        ("-X", "client.id=${env:A"),
        ("-X", "request.timeout.ms=soon"),
        ("--security-protocol", "TLS"),
        ("--user", "a", "--password-from", "env:P", "--sasl-mechanism", "PLAIN", "--security-protocol", "SSL"),
        ("-X", "sasl.username=a"),
        ("-X", "sasl.username=a", "-X", "sasl.mechanism=GSSAPI"),
    ],
)
def test_refused_before_anything_is_written(user: User, arguments: tuple[str, ...]) -> None:
    ended = user.profile("create", "p", "-b", "a:1", *arguments)
    assert (ended.code, ended.stdout) == (2, b"")
    assert CANARY not in ended.stderr
    assert "Traceback" not in ended.stderr
    assert not user.file.exists()


@pytest.mark.parametrize("name", ["", "a b", "-a", "ä", "a/b", "x" * 65])
def test_names(user: User, name: str) -> None:
    ended = user.profile("create", "-b", "a:1", "--", name)
    assert (ended.code, user.file.exists()) == (2, False)


def test_a_profile_is_not_replaced_by_accident(user: User) -> None:
    user.write('# mine\n[profiles.p]\nclient.id = "old" # why\n')
    assert user.profile("create", "p", "-X", "client.id=new").code == 2
    assert user.profile("create", "p", "-X", "client.id=new", "--force").code == 0
    assert user.file.read_text() == '# mine\n[profiles.p]\nclient.id = "new" # why\n'


def test_edit_with_x_and_unset(user: User) -> None:
    user.write('[profiles.p]\nclient.id = "old" # why\nacks = "1"\n')
    assert user.profile("edit", "p", "-X", "client.id=new", "--unset", "acks").code == 0
    assert user.file.read_text() == '[profiles.p]\nclient.id = "new" # why\n'
    before = user.file.read_bytes()
    for arguments in (("p", "--unset", "acks"), ("p", "-X", "no.such=1"), ("q", "-X", "acks=1"), ("-X", "acks=1")):
        assert user.profile("edit", *arguments).code == 2
    assert user.file.read_bytes() == before


def test_delete_of_the_current_profile_says_that_there_is_none_any_more(user: User) -> None:
    for name in ("a", "b", "c"):
        user.profile("create", name, "-b", "a:1")
    assert user.profile("delete", "b").stderr.count("\n") == 1
    assert user.profile("delete", "a").stderr.splitlines()[1:] == [
        "kctl profile: no current profile is set now. Set one with: kctl profile use PROFILE"
    ]
    assert user.profile("delete", "c").stderr.count("\n") == 1, "there was none before"


def test_delete_all_or_none(user: User) -> None:
    user.write('current = "a"\n[profiles.a]\n[profiles.b]\n[profiles.c]\n')
    assert user.profile("delete", "a", "nobody").code == 2
    assert b"a" in user.profile("list").stdout
    assert user.profile("use", "b", "-q") == (0, b"", "")
    assert user.profile("delete", "a", "b", "a", "--yes", "-q") == (0, b"", "")
    assert user.file.read_text() == "[profiles.c]\n"


BROKEN = '[profiles.p]\n"client.id" = "x\n'


@pytest.mark.parametrize(
    "arguments",
    [
        ("profile", "list"), ("profile", "show"), ("profile", "show", "p"), ("profile", "use", "p"),
        ("profile", "use", "--none"), ("profile", "create", "q", "-b", "a:1"), ("profile", "delete", "p"),
        ("profile", "edit", "p", "-X", "acks=1"), ("profile", "export", "p"), ("profile", "check"),
        ("profile", "import", "q", "-"), ("topics", "list", "-b", "a:1"), ("probe", "-C", "p"),
    ],
    ids=" ".join,
)  # fmt: skip
def test_a_broken_file_is_told_with_line_and_column_and_never_overwritten(
    user: User, arguments: tuple[str, ...]
) -> None:
    user.write(BROKEN)
    ended = user.kctl(*arguments, stdin=b"acks=1\n")
    assert (ended.code, ended.stdout) == (2, b"")
    assert f"{user.file} line 2, column 17: " in ended.stderr
    assert user.file.read_text() == BROKEN


def test_a_missing_secret_names_profile_key_and_source(user: User) -> None:
    user.write('current = "p"\n[profiles.p]\nbootstrap.servers = "a:1"\nssl.key.password = "${env:NOT_THERE}"\n')
    ended = user.kctl("topics", "list")
    assert ended.code == 2
    said = "kctl topics: profile p: cannot resolve ${env:NOT_THERE} in ssl.key.password: $NOT_THERE is not set\n"
    assert ended.stderr.startswith(said)
    assert user.profile("show").code == 0


@pytest.mark.parametrize("raw", [BROKEN.encode(), b"# \xff\n", b"current = 1\n"])
def test_nothing_is_written_over_what_cannot_be_read(user: User, raw: bytes) -> None:
    user.write("")
    user.file.write_bytes(raw)
    for arguments in (("create", "q", "-b", "a:1"), ("create", "q", "-b", "a:1", "--force"), ("use", "--none")):
        ended = user.profile(*arguments)
        assert (ended.code, "Traceback" in ended.stderr) == (2, False)
        assert str(user.file) in ended.stderr
        assert user.file.read_bytes() == raw


def test_show_masks_the_secrets_of_a_login(user: User) -> None:
    login = 'a.PlainLoginModule required username="al" password="${cmd:pass "x"}" other="1" '
    login += f'my.token="{CANARY}" a.secret="$${{env:{CANARY}}}";'
    user.write(f"[profiles.p]\nsasl.jaas.config = '{login}'\n")
    shown = json.loads(user.profile("show", "p", "--output", "json").stdout)["rows"][0]["value"]
    assert (
        shown == 'PlainLoginModule username="al" password="${cmd:pass "x"}" other="***" my.token="***" a.secret="***"'
    )


def test_a_login_that_cannot_be_read_is_hidden_whole(user: User) -> None:
    user.write(f"[profiles.p]\nsasl.jaas.config = 'a.PlainLoginModule required password=\"{CANARY}'\n")
    shown = user.profile("show", "p")
    assert (shown.code, CANARY.encode() in shown.stdout, b"***" in shown.stdout) == (0, False, True)


def test_secrets_that_others_may_read_are_noted_by_every_call(user: User) -> None:
    user.write(f'[profiles.p]\nssl.key.password = "{CANARY}"\n[profiles.q]\nssl.key.password = "${{env:X}}"\n')
    assert "other users can read" not in user.profile("show", "p").stderr
    user.file.chmod(0o640)
    assert f"note: other users can read the secrets in {user.file}" in user.profile("show", "p").stderr
    assert "other users can read" not in user.profile("show", "p", "-q").stderr
    assert "other users can read" not in user.profile("show", "q").stderr


def test_a_bad_value_is_told_with_its_profile(user: User) -> None:
    user.write('[profiles.p]\nbootstrap.servers = "a:1"\nrequest.timeout.ms = "soon"\n')
    ended = user.kctl("topics", "list", "-C", "p")
    assert ended.stderr.startswith("kctl topics: profile p: invalid request.timeout.ms")
    user.write('[profiles.p]\nbootstrap.servers = "a:1"\nrequest.timeot.ms = 1\n')
    ended = user.kctl("topics", "list", "-C", "p")
    assert "profile p: unknown property 'request.timeot.ms': did you mean request.timeout.ms?" in ended.stderr


def test_a_trace_of_a_bad_limit_is_no_bug(user: User) -> None:
    ended = user.kctl("topics", "list", "-b", "a:1", "-X", "default.api.timeout.ms=soon", "--trace")
    assert (ended.code, "invalid default.api.timeout.ms" in ended.stderr) == (2, True)


def test_projects(user: User) -> None:
    assert user.profile("trust").code == 2
    assert user.profile("create", "p", "-b", "a:1", "--project").code == 0
    assert user.kctl("profile", "show", "p").code == 0
    assert not user.file.exists()
    user.project.write_text('[profiles.p]\nbootstrap.servers = "evil:1"\nclient.id = "${cmd:touch ran}"\n')
    for arguments in (("show", "p"), ("show", "-C", "p"), ("export", "p", "--with-secrets")):
        ended = user.profile(*arguments)
        assert (ended.code, ended.stdout) == (2, b"")
        assert f"cannot use {user.project}: the content of the file" in ended.stderr
    assert user.kctl("topics", "list", "-C", "p").code == 2
    assert not (user.folder / "ran").exists()
    assert "is not trusted" in user.profile("list").stderr
    assert user.profile("edit", "p", "-X", "acks=1").code == 0
    assert user.profile("show", "p").code == 2, "changing it is not trusting it"
    assert user.profile("trust").code == 0
    assert user.profile("show", "p").code == 0
    assert user.profile("edit", "p", "-X", "acks=0").code == 0
    assert user.profile("show", "p").code == 0, "what was trusted stays so when we change it"
    assert user.profile("trust", "--revoke").code == 0
    assert user.profile("show", "p").code == 2


def test_check(user: User) -> None:
    user.write(
        '[profiles.good]\nbootstrap.servers = "a:9092"\n[profiles.bad]\nno.such = 1\n'
        '[profiles.warn]\nbootstrap.servers="a:2181"\n'
    )
    ended = user.profile("check", "good")
    assert (ended.code, ended.stdout, ended.stderr) == (0, b"", "kctl profile: 1 profile checked: no problems found\n")
    assert user.profile("check").code == 2
    assert user.profile("check", "warn").code == 0
    assert user.profile("check", "warn", "--strict").code == 3
    assert user.profile("check", "nobody").code == 2
    rows = json.loads(user.profile("check", "bad", "--output", "json").stdout)["rows"]
    assert (rows[0]["profile"], rows[0]["level"], rows[0]["property"]) == ("bad", "error", "no.such")


def test_import_guesses_whose_file_it_is(user: User, tmp_path: Path) -> None:
    files = {
        "a.properties": "bootstrap.servers=a:1\n",
        "b.conf": "metadata.broker.list=a:1\n",
        "c.yaml": "kafka_api: {brokers: [a:1]}\n",
        "d": "kafka_api:\n  brokers: [a:1]\n",
    }
    for at, (name, text) in enumerate(files.items()):
        (tmp_path / name).write_text(text)
        ended = user.profile("import", f"p{at}", str(tmp_path / name))
        assert ended.code == 0, ended.stderr
        assert b"a:1" in user.profile("show", f"p{at}").stdout
    assert user.profile("import", "q", "-", stdin=b"bootstrap.servers=b:1\nno.such=1\n").stderr.count("'no.such'") == 1
    assert user.profile("import", "r", str(tmp_path / "none")).code == 2
    assert user.profile("import", "r", "-", "--from", "rpk", stdin=b"a: [").code == 2


@pytest.mark.parametrize(
    ("content", "count"),
    [(b"bootstrap.servers=a:1\n", "1 property"), (b"bootstrap.servers=a:1\nacks=1\n", "2 properties")],
)
def test_import_counts_the_properties_that_it_read(user: User, content: bytes, count: str) -> None:
    assert f"{count} imported from stdin as java\n" in user.profile("import", "p", "-", stdin=content).stderr


def test_import_of_a_file_and_a_name_in_the_wrong_order_has_the_right_one_in_its_hint(
    user: User, tmp_path: Path
) -> None:
    file = tmp_path / "my client.properties"
    file.write_text("bootstrap.servers=a:1\n")
    ended = user.profile("import", str(file), "prod")
    assert ended.code == 2
    error, hint = ended.stderr.splitlines()
    assert error == "kctl profile: cannot read prod: No such file or directory"
    assert hint == f"hint: put NAME first: kctl profile import prod '{file}'"
    for name in (str(tmp_path / "absent"), "q", "q" * 5000):
        assert "hint" not in user.profile("import", name, "prod").stderr
    assert "hint" not in user.profile("import", str(file), str(tmp_path)).stderr, "a folder is no name"


@pytest.mark.parametrize("form", ["java", "librdkafka"])
@pytest.mark.parametrize("raw", [b"# acks=1\n", b"no.such=1\n"], ids=["comment", "foreign"])
def test_file_without_a_property_makes_no_profile_and_replaces_none(user: User, form: str, raw: bytes) -> None:
    assert user.profile("create", "p", "-b", "a:1").code == 0
    ended = user.profile("import", "p", "-", "--from", form, "--force", stdin=raw)
    assert (ended.code, ended.stdout) == (2, b"")
    said, hint = ended.stderr.splitlines()
    assert said == f"kctl profile: cannot import stdin as {form}: no known properties found"
    assert hint == "hint: set the format of the file with --from"
    assert b"a:1" in user.profile("show", "p").stdout


def test_secrets_that_are_imported_are_told_and_shown_nowhere(user: User, tmp_path: Path) -> None:
    login = f'sasl.jaas.config=a.b.PlainLoginModule required username="alice" password="{CANARY}";\n'
    raw = "bootstrap.servers=a:9093\nsecurity.protocol=SASL_SSL\nsasl.mechanism=PLAIN\n"
    raw += f"{login}ssl.key.password={CANARY}\n"
    ended = user.profile("import", "p", "-", "--use", stdin=raw.encode())
    assert "2 secrets saved in" in ended.stderr
    everything = [ended]
    everything += [user.profile("show", *more) for more in ((), ("--origin",), ("--output", "json"))]
    everything.append(user.profile("export", "p"))
    everything += [user.profile("check"), user.profile("list"), user.profile("edit", "p", "--unset", "client.id")]
    everything += [user.profile("create", "p"), user.profile("create", "p", "--force", "-X", "ssl.key.password=x")]
    for each in everything:
        assert CANARY not in each.stderr
        assert CANARY.encode() not in each.stdout
    told = user.profile("export", "p", "--with-secrets")
    assert told.stdout.count(CANARY.encode()) == 2
    target = tmp_path / "out.properties"
    assert user.profile("export", "p", "--with-secrets", "--to", str(target)).stdout == b""
    assert target.read_bytes() == told.stdout
    assert stat.S_IMODE(target.stat().st_mode) == 0o600


def test_a_secret_in_a_variable_is_hidden_even_if_it_looks_like_a_reference(user: User) -> None:
    login = f'a.PlainLoginModule required password="${{env:{CANARY}}}";'
    for variables in ({"KCTL_SSL_KEY_PASSWORD": f"${{env:{CANARY}}}"}, {"KCTL_SASL_JAAS_CONFIG": login}):
        ended = run_in_process("profile", "show", environ=user.environ | variables)
        assert CANARY.encode() not in ended.stdout
        assert b"***" in ended.stdout
