"""Last names: whose files count, for which options, and for how long."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from kctl.cli.completion.last_names import LONGEST_MS, LastNames

GIVEN = {"--bootstrap": ["h:1"]}
WALL_MS = 1_800_000_000_000


def written(folder: Path, given: Mapping[str, Sequence[str]] = GIVEN, **variables: str) -> LastNames:
    names = LastNames("topics", given, {"XDG_CACHE_HOME": str(folder), **variables})
    names.write("t\nu\n")
    return names


def path_of(folder: Path) -> Path:
    [path] = (folder / "kctl" / "names").iterdir()
    return path


def read(names: LastNames, folder: Path, age_ms: int = 5000) -> bytes:
    at_s = (WALL_MS - age_ms) / 1000
    os.utime(path_of(folder), (at_s, at_s))
    return names.read(WALL_MS)[0]


def test_names_are_read_with_their_age(tmp_path: Path) -> None:
    names = written(tmp_path)
    assert read(names, tmp_path) == b"t\nu\n"
    assert names.read(WALL_MS)[1] == 5000
    assert read(names, tmp_path, LONGEST_MS) == b""
    assert read(names, tmp_path, -1000) == b"", "from the future"


def test_files_that_others_could_have_written_do_not_count(tmp_path: Path) -> None:
    names = written(tmp_path)
    path_of(tmp_path).chmod(0o622)
    assert read(names, tmp_path) == b""
    path = path_of(tmp_path)
    path.rename(tmp_path / "elsewhere")
    path.symlink_to(tmp_path / "elsewhere")
    assert names.read(WALL_MS)[0] == b""


@pytest.mark.parametrize(
    ("given", "variables"),
    [
        ({"--bootstrap": ["h:2"]}, {}),
        ({**GIVEN, "--profile": ["prod"]}, {}),
        ({**GIVEN, "-X": ["client.id=c"]}, {}),
        (GIVEN, {"KCTL_SECURITY_PROTOCOL": "SSL"}),
    ],
)
def test_other_options_have_other_names(
    tmp_path: Path, given: Mapping[str, Sequence[str]], variables: Mapping[str, str]
) -> None:
    read(written(tmp_path), tmp_path)
    other = LastNames("topics", given, {"XDG_CACHE_HOME": str(tmp_path), **variables})
    assert other.read(WALL_MS)[0] == b""


@pytest.mark.parametrize("option", ["--bootstrap", "--profile", "--command-config"])
@pytest.mark.parametrize("word", ["key", "token", "registry", "secret"])
def test_cluster_with_a_word_for_secrets_in_its_name_has_its_own_names(tmp_path: Path, option: str, word: str) -> None:
    given = {**GIVEN, option: [f"{word}-1.example"]}
    assert read(written(tmp_path, given), tmp_path) != b""
    other = LastNames("topics", {**GIVEN, option: [f"{word}-2.example"]}, {"XDG_CACHE_HOME": str(tmp_path)})
    assert other.read(WALL_MS)[0] == b""


def test_passwords_are_no_part_of_the_digest(tmp_path: Path) -> None:
    written(tmp_path, {**GIVEN, "-X": ["ssl.key.password=one"]}, KCTL_SASL_JAAS_CONFIG="one")
    written(tmp_path, {**GIVEN, "-X": ["ssl.key.password=two"]}, KCTL_SASL_JAAS_CONFIG="two")
    path_of(tmp_path)


def test_users_of_a_registry_are_no_part_of_the_digest(tmp_path: Path) -> None:
    for password in ("one", "two"):
        given = {**GIVEN, "-X": [f"schema.registry.basic.auth.user.info=u:{password}"]}
        written(tmp_path, given, KCTL_SCHEMA_REGISTRY_URL=f"https://u:{password}@h")
    path_of(tmp_path)


def test_profile_that_was_changed_has_other_names(tmp_path: Path) -> None:
    config = tmp_path / "config"
    (config / "kctl").mkdir(parents=True)
    file = config / "kctl" / "config.toml"
    file.write_text("")
    variables = {"XDG_CONFIG_HOME": str(config)}
    read(written(tmp_path, GIVEN, **variables), tmp_path)
    os.utime(file, (1, 1))
    assert LastNames("topics", GIVEN, {"XDG_CACHE_HOME": str(tmp_path), **variables}).read(WALL_MS)[0] == b""


def test_without_a_home_nothing_is_kept() -> None:
    names = LastNames("topics", GIVEN, {})
    names.write("t\n")
    assert names.read(WALL_MS) == (b"", LONGEST_MS)


def test_files_that_are_too_old_are_deleted_and_others_stay(tmp_path: Path) -> None:
    written(tmp_path)
    old = path_of(tmp_path)
    part, other, fresh = old.with_suffix(".12"), old.with_name("notes"), old.with_name("f" * 32)
    for path in (part, other, fresh):
        path.write_text("")
    for path in (old, part, other):
        os.utime(path, (1, 1))
    written(tmp_path, {"--bootstrap": ["h:2"]})
    left = set(old.parent.iterdir())
    assert left >= {other, fresh}
    assert left.isdisjoint({old, part})
    assert len(left) == 3
