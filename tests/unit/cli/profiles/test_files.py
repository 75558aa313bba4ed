"""What a file of profiles may hold, and what is said of one that is broken."""

from pathlib import Path

import pytest

from kctl.cli.profiles.files import (
    LARGEST_FILE_BYTES,
    MOST_DOTS,
    Content,
    profile_names,
    read_content,
    read_profile_file,
)
from kctl.client.errors import ConfigError


def test_keys_with_and_without_quotes_are_the_same() -> None:
    quoted = read_content(b'[profiles.a]\n"bootstrap.servers" = "h:1"\n"request.timeout.ms" = 5\n', "f")
    dotted = read_content(b'[profiles.a]\nbootstrap.servers = ["h:1"]\n[profiles.a.request]\ntimeout.ms = "5"\n', "f")
    assert quoted == dotted == Content(None, {"a": {"bootstrap.servers": "h:1", "request.timeout.ms": "5"}})


def test_kinds_of_values() -> None:
    content = read_content(b'current = "a"\n[profiles.a]\nx = true\ny = ["p:1", "q:2"]\nz = -1\n', "f")
    assert content == Content("a", {"a": {"x": "true", "y": "p:1,q:2", "z": "-1"}})


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        (b"current = \n", "f line 1, column 11: "),
        (b'[profiles.a]\nx = "1"\ny = "open\n', "f line 3, column 10: "),
        (b'[profiles.a]\nx = """open', "f line 2, column 12: "),
        (b"a\n\n  \xff", "f line 3, column 3: the file is not UTF-8"),
        (b"[profiles.a]\nx = 1\nx = 2\n", "f line 3, column 6: "),
        (b'[profiles.a]\n"x.y" = "1"\nx.y = "2"\n', "f: profile a: x.y appears twice"),
        (b"x = " + b"[" * 100_000, "f: tables are nested too deeply"),
        (b"[profiles.a]\n" + b"a." * 100_000 + b"a = 1", f"f line 2: the line has more than {MOST_DOTS} dots"),
        (b"[profiles.a" + b".a" * 490 + b"]\n" + b"a." * 490 + b"a = 1", "f: profile a: tables are nested too deeply"),
        (b"profile = 1\n", "f: invalid key 'profile'"),
        (b"current = 1\n", "f: current must be the name"),
        (b"profiles = 1\n", "f: profiles must be tables"),
        (b"[profiles]\na = 1\n", "f: profiles must be tables"),
        (b"[profiles.a]\nx = 1.5\n", "f: profile a: x must be a string"),
        (b"[profiles.a]\nx = [1]\n", "f: profile a: x must be a string"),
        (b"[profiles.a]\nx = 2020-01-01\n", "f: profile a: x must be a string"),
    ],
)
def test_broken(raw: bytes, said: str) -> None:
    with pytest.raises(ConfigError) as e:
        read_content(raw, "f")
    assert str(e.value).startswith(said)


def test_no_file_is_no_profile_and_no_error(tmp_path: Path) -> None:
    assert read_profile_file(tmp_path / "none") is None
    (tmp_path / "file").write_bytes(b"")
    assert read_profile_file(tmp_path / "file" / "below") is None


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="Is a directory"):
        read_profile_file(tmp_path)
    with pytest.raises(ConfigError, match=f"larger than {LARGEST_FILE_BYTES}"):
        read_profile_file(Path("/dev/zero"))


def test_names_of_both_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    below = tmp_path / "work" / "deep"
    below.mkdir(parents=True)
    monkeypatch.chdir(below)
    (tmp_path / "kctl").mkdir()
    environ = {"XDG_CONFIG_HOME": str(tmp_path)}
    assert profile_names(environ) == []
    (tmp_path / "kctl" / "config.toml").write_text("[profiles.prod]\n[profiles.dev]\n")
    (tmp_path / "work" / ".kctl.toml").write_text("[profiles.dev]\n[profiles.local]\n")
    assert profile_names(environ) == ["dev", "local", "prod"]
    (tmp_path / "kctl" / "config.toml").write_text("[profiles.")
    assert profile_names(environ) == ["dev", "local"]
