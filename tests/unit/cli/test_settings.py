"""Where a setting comes from, who wins, and what is refused."""

from collections.abc import Callable
from pathlib import Path

import pytest

from kctl.cli.login import is_of_login
from kctl.cli.profile.change import read_overrides
from kctl.cli.profiles.references import Fetched
from kctl.cli.setting import Setting
from kctl.cli.settings import KNOWN, Settings, has_password, is_secret, key_and_value, merge_settings, unknown_variables
from kctl.client.config import AdminConfig, ConsumerConfig
from kctl.client.errors import ConfigError

BELOW = ("linger.ms", "batch.size")
SERVERS = {"bootstrap.servers": Setting("a:9092", "--bootstrap")}


def test_precedence(tmp_path: Path) -> None:
    file = tmp_path / "client.properties"
    file.write_text("client.id=file\ngroup.id=file\nrequest.timeout.ms=1\nacks=1\n")
    settings = merge_settings(
        {"request.timeout.ms": Setting("4", "--request-timeout")},
        ["group.id=X", "request.timeout.ms=3"],
        {"KCTL_CLIENT_ID": "env", "KCTL_GROUP_ID": "env", "KCTL_REQUEST_TIMEOUT_MS": "2"},
        file,
        {name: Setting("profile", "profile p", of_profile=True) for name in (*BELOW, "client.id", "acks")},
    )
    assert settings.by_name == {
        **{name: Setting("profile", "profile p", of_profile=True) for name in BELOW},
        "client.id": Setting("env", "$KCTL_CLIENT_ID"),
        "group.id": Setting("X", "-X"),
        "request.timeout.ms": Setting("4", "--request-timeout"),
        "acks": Setting("1", str(file)),
    }


def test_references_of_a_profile_are_fetched_where_nothing_beats_them() -> None:
    asked: list[str] = []

    def fetch(name: str, setting: Setting) -> Fetched:
        asked.append(name)
        return Fetched(f"fetched for {name}", (f"part of {name}",))

    profile = {name: Setting("${env:X}", "profile p", of_profile=True) for name in ("client.id", "ssl.key.password")}
    settings = merge_settings({}, ["client.id=me"], {}, None, profile).with_references(fetch)
    assert asked == ["ssl.key.password"]
    assert settings.by_name == {
        "client.id": Setting("me", "-X"),
        "ssl.key.password": Setting("fetched for ssl.key.password", "profile p"),
    }
    assert settings.secrets == ("fetched for ssl.key.password", "part of ssl.key.password")


def test_the_password_of_a_login_is_a_secret_by_itself() -> None:
    login = 'a.b.PlainLoginModule required username="alice" password="hunter2" debug="true";'
    assert merge_settings({}, [], {"KCTL_SASL_JAAS_CONFIG": login}, None).secrets == (login, "hunter2")
    broken = login.removesuffix(";")
    assert merge_settings({}, [], {"KCTL_SASL_JAAS_CONFIG": broken}, None).secrets == (broken,)


@pytest.mark.parametrize(
    ("name", "secret"),
    [
        ("sasl.jaas.config", True),
        ("sasl.oauthbearer.token", True),
        ("sasl.oauthbearer.token.file", False),
        ("sasl.oauthbearer.token.endpoint.url", False),
        ("ssl.key.pasword", True),
        ("sasl.oauthbearer.client.credentials.client.secret", True),
        ("basic.auth.user.info", True),
        ("partitioner.ignore.keys", False),
        ("key.serializer", False),
        ("no.such.property", False),
    ],
)
def test_is_secret_covers_known_misspelled_and_unknown_names(name: str, secret: bool) -> None:
    assert is_secret(name) is secret


def test_the_last_override_wins_and_may_hold_an_equals_sign() -> None:
    settings = merge_settings({}, ["client.id=a", "client.id=b=c"], {}, None)
    assert settings.by_name["client.id"].value == "b=c"


def test_a_flag_beats_the_alias_of_its_property() -> None:
    flags = SERVERS | {"socket.connection.setup.timeout.ms": Setting("2000", "--connect-timeout")}
    config = merge_settings(flags, ["connections.timeout.ms=1000"], {}, None).parse(AdminConfig)
    assert config.socket_connection_setup_timeout_ms == 2000


@pytest.mark.parametrize("text", ["", "client.id", "=x", "  =x"])
def test_malformed_override(text: str) -> None:
    with pytest.raises(ConfigError, match="use key=value"):
        merge_settings({}, [text], {}, None)


@pytest.mark.parametrize(
    "text", ["sasl.password:hunter2", "sasl.password hunter2", "sasl.password: hunter2", "{hunter2}"]
)
@pytest.mark.parametrize(
    "read", [key_and_value, lambda text: read_overrides([text]), lambda text: merge_settings({}, [text], {}, None)]
)
def test_malformed_override_is_named_by_its_key_alone(text: str, read: Callable[[str], object]) -> None:
    with pytest.raises(ConfigError, match=r"^invalid -X '[\w.]*\.\.\.': use") as caught:
        read(text)
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize("name", ["sasl.jaas.config", "ssl.key.password", "ssl.keystore.key"])
def test_a_secret_on_the_command_line_is_refused_and_not_repeated(name: str) -> None:
    with pytest.raises(ConfigError) as e:
        merge_settings({}, [f"{name}=hunter2"], {}, None)
    assert "hunter2" not in str(e.value)
    assert f"$KCTL_{name.upper().replace('.', '_')}" in str(e.value)


def test_secrets_are_known_as_such() -> None:
    settings = merge_settings(SERVERS, [], {"KCTL_SSL_KEY_PASSWORD": "hunter2"}, None)
    assert settings.secrets == ("hunter2",)


def test_errors_name_where_the_value_was_written(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"^-X: invalid request.timeout.ms 'soon': use an integer"):
        merge_settings(SERVERS, ["request.timeout.ms=soon"], {}, None).parse(ConsumerConfig)
    with pytest.raises(
        ConfigError, match=r"^\$KCTL_REQUEST_TIMEOUT_MS: invalid request.timeout.ms 'soon': use an integer"
    ):
        merge_settings(SERVERS, [], {"KCTL_REQUEST_TIMEOUT_MS": "soon"}, None).parse(ConsumerConfig)


def test_an_unknown_property_is_refused_with_the_nearest() -> None:
    with pytest.raises(
        ConfigError, match=r"^-X: unknown property 'request.timeot.ms': did you mean request.timeout.ms"
    ):
        merge_settings(SERVERS, ["request.timeot.ms=1"], {}, None).parse(ConsumerConfig)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="No such file"):
        merge_settings({}, [], {}, tmp_path / "none")
    with pytest.raises(ConfigError, match="Is a directory"):
        merge_settings({}, [], {}, tmp_path)
    endless = Path("/dev/zero")
    with pytest.raises(ConfigError, match="more than"):
        merge_settings({}, [], {}, endless)


def test_variables_that_mean_nothing_are_found() -> None:
    environ = {"KCTL_PURE": "1", "KCTL_ACKS": "1", "KCTL_SERVICE_HOST": "10.0.0.1", "HOME": "/"}
    assert unknown_variables(environ) == ["KCTL_SERVICE_HOST"]


@pytest.mark.parametrize("url", ["http://token@h:8081", "http://h:1,http://token@h:8081", "https://token:@h"])
def test_user_in_the_url_of_a_registry_is_refused_on_the_command_line(url: str) -> None:
    with pytest.raises(ConfigError, match="secrets on the command line") as caught:
        merge_settings({}, [f"schema.registry.url={url}"], {}, None)
    assert "token" not in str(caught.value)
    assert merge_settings({}, [], {"KCTL_SCHEMA_REGISTRY_URL": url}, None).by_name["schema.registry.url"].value == url


@pytest.mark.parametrize("url", ["http://u:p@h", "http://u:p w@h", "http://u:p@w@h", "https://a@b,http://:p@h/x"])
def test_url_with_a_password_has_one_however_it_is_written(url: str) -> None:
    assert has_password(url)
    assert not has_password(url.replace(":p", ""))


# --- logins and their addresses ---------------------------------------------------------------------------------------

ADDRESSES = {
    "bootstrap.servers": ("a:9092", "b:9092"),
    "sasl.oauthbearer.token.endpoint.url": ("https://idp/token", "http://idp/token"),
    "schema.registry.url": ("https://registry", "https://other"),
    "schema.registry.bearer.auth.issuer.endpoint.url": ("https://idp/token", "https://idp/other"),
}
"""Each address that has a login, and another one."""
SECRETS = {
    "bootstrap.servers": (
        "sasl.jaas.config",
        "ssl.key.password",
        "sasl.oauthbearer.client.credentials.client.secret",
        "sasl.oauthbearer.client.secret",
        "ssl.keystore.key",
    ),
    "sasl.oauthbearer.token.endpoint.url": (
        "sasl.jaas.config",
        "sasl.oauthbearer.client.credentials.client.secret",
        "sasl.oauthbearer.client.secret",
    ),
    "schema.registry.url": (
        "schema.registry.basic.auth.user.info",
        "basic.auth.user.info",
        "schema.registry.bearer.auth.token",
        "schema.registry.bearer.auth.client.secret",
    ),
    "schema.registry.bearer.auth.issuer.endpoint.url": ("schema.registry.bearer.auth.client.secret",),
}
PAIRS = [(address, name) for address, names in SECRETS.items() for name in names]
NOT_SENT = {"ssl.truststore.password", "ssl.truststore.certificates"}
"""Secrets that stay on this machine."""


def test_every_secret_belongs_to_an_address() -> None:
    secrets = {declared.name for declared in KNOWN.values() if declared.secret}
    bound = {KNOWN[name].name for _, name in PAIRS} | {each for each in secrets if is_of_login(each)}
    assert secrets - NOT_SENT == bound


def merged(
    address: str, name: str, layer: str, tmp_path: Path, *, own: bool = True, other: bool = True, keeps: bool = False
) -> Settings:
    """Return settings in which a profile or the environment has a secret, and `layer` names another address."""
    file = tmp_path / "client.properties"
    file.write_text(f"{address}={ADDRESSES[address][other]}\n" if layer == "file" else "")
    variable = "KCTL_" + address.upper().replace(".", "_")
    environ = {variable: ADDRESSES[address][other]} if layer == "variable" else {}
    overrides = [f"{address}={ADDRESSES[address][other]}"] if layer == "-X" else []
    flags = {address: Setting(ADDRESSES[address][other], "--flag")} if layer == "flag" else {}
    profile = {name: Setting("secret", "profile p", of_profile=True)}
    if own:
        profile[address] = Setting(ADDRESSES[address][0], "profile p", of_profile=True)
    return merge_settings(flags, overrides, environ, file, profile, keeps_login=keeps)


@pytest.mark.parametrize("layer", ["file", "variable", "-X", "flag"])
@pytest.mark.parametrize(("address", "name"), PAIRS)
def test_secret_of_a_profile_is_left_out_at_another_address(
    address: str, name: str, layer: str, tmp_path: Path
) -> None:
    kept = KNOWN[name].name
    for own in (True, False):
        settings = merged(address, name, layer, tmp_path, own=own)
        assert kept not in settings.by_name
        assert [(each.address, each.owner) for each in settings.withheld] == [(address, "profile p")]
    assert kept in merged(address, name, layer, tmp_path, other=False).by_name
    taken = merged(address, name, layer, tmp_path, keeps=True)
    assert kept in taken.by_name
    assert taken.withheld == ()


@pytest.mark.parametrize(("address", "name"), PAIRS)
def test_secret_of_the_environment_is_left_out_at_the_address_of_an_option(address: str, name: str) -> None:
    kept = KNOWN[name].name
    secret = {"KCTL_" + name.upper().replace(".", "_"): "secret"}
    own = {"KCTL_" + address.upper().replace(".", "_"): ADDRESSES[address][0]}
    other = [f"{address}={ADDRESSES[address][1]}"]
    settings = merge_settings({}, other, secret | own, None)
    assert kept not in settings.by_name
    assert [str(each) for each in settings.withheld] == [
        f"kctl does not use the login of {next(iter(own))}, because -X sets "
        f"{'different servers' if address == 'bootstrap.servers' else f'a different {address}'}".replace(
            "of KCTL", "of $KCTL"
        )
    ]
    assert kept in merge_settings({}, other, secret, None).by_name, "it is for any address"


def of_file(address: str, name: str, tmp_path: Path, *, own: bool = True) -> Path:
    file = tmp_path / "client.properties"
    file.write_text(f"{name}=secret\n" + (f"{address}={ADDRESSES[address][0]}\n" if own else ""))
    return file


@pytest.mark.parametrize(("address", "name"), PAIRS)
def test_secret_of_a_file_is_left_out_at_the_address_of_a_variable(address: str, name: str, tmp_path: Path) -> None:
    kept, variable = KNOWN[name].name, "KCTL_" + address.upper().replace(".", "_")
    file = of_file(address, name, tmp_path)
    settings = merge_settings({}, [], {variable: ADDRESSES[address][1]}, file)
    assert kept not in settings.by_name
    assert [str(each) for each in settings.withheld] == [
        f"kctl does not use the login of {file}, because "
        f"${variable} sets {'different servers' if address == 'bootstrap.servers' else f'a different {address}'}"
    ]
    same = merge_settings({}, [], {variable: ADDRESSES[address][0]}, file)
    assert kept in same.by_name
    assert same.withheld == ()


@pytest.mark.parametrize("value", [None, "https://c"])
@pytest.mark.parametrize(("address", "name"), PAIRS)
def test_secret_of_a_file_is_kept_at_the_address_of_an_option(
    address: str, name: str, value: str | None, tmp_path: Path
) -> None:
    file, other = of_file(address, name, tmp_path), ADDRESSES[address][1]
    variables = {} if value is None else {"KCTL_" + address.upper().replace(".", "_"): value}
    for flags, overrides in (({address: Setting(other, "--flag")}, []), ({}, [f"{address}={other}"])):
        settings = merge_settings(flags, overrides, variables, file)
        assert KNOWN[name].name in settings.by_name
        assert settings.withheld == ()


@pytest.mark.parametrize(("address", "name"), PAIRS)
def test_secret_of_a_file_without_an_address_is_for_any(address: str, name: str, tmp_path: Path) -> None:
    file = of_file(address, name, tmp_path, own=False)
    settings = merge_settings({}, [], {"KCTL_" + address.upper().replace(".", "_"): ADDRESSES[address][1]}, file)
    assert KNOWN[name].name in settings.by_name
    assert settings.withheld == ()


def test_missing_password_that_is_left_out_is_named() -> None:
    variables = {"KCTL_BOOTSTRAP_SERVERS": "a:1", "KCTL_SASL_PASSWORD": "secret"}
    given = ["sasl.username=u", "sasl.mechanism=PLAIN"]
    left_out = "; kctl does not use the login of \\$KCTL_BOOTSTRAP_SERVERS, because -X sets different servers$"
    with pytest.raises(ConfigError, match=f"^sasl.username needs sasl.password: .*{left_out}"):
        merge_settings({}, [*given, "bootstrap.servers=b:1"], variables, None)
    with pytest.raises(ConfigError, match=r"^sasl.username needs sasl.password: [^;]*$"):
        merge_settings({}, [*given, "bootstrap.servers=b:1"], {}, None)


def test_password_login_does_not_belong_to_a_token_endpoint() -> None:
    login = 'a.ScramLoginModule required username="a" password="b";'
    profile = {"sasl.jaas.config": Setting(login, "profile p", of_profile=True)}
    settings = merge_settings({}, ["sasl.oauthbearer.token.endpoint.url=https://idp"], {}, None, profile)
    assert "sasl.jaas.config" in settings.by_name
