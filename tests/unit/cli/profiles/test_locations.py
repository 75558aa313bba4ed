"""Where profile files are looked for."""

from pathlib import Path

import pytest

from kctl.cli.profiles.locations import project_file, require_user_file, user_file, working_folder
from kctl.client.errors import ConfigError


@pytest.mark.parametrize(
    ("environ", "path"),
    [
        ({"XDG_CONFIG_HOME": "/x", "HOME": "/h"}, "/x/kctl/config.toml"),
        ({"XDG_CONFIG_HOME": "relative", "HOME": "/h"}, "/h/.config/kctl/config.toml"),
        ({"XDG_CONFIG_HOME": "", "HOME": "/h"}, "/h/.config/kctl/config.toml"),
    ],
)
def test_user_file(environ: dict[str, str], path: str) -> None:
    assert user_file(environ) == require_user_file(environ) == Path(path)


def test_a_user_without_a_home() -> None:
    assert user_file({}) is None
    with pytest.raises(ConfigError, match="no directory for profiles"):
        require_user_file({})


def test_the_nearest_project_file_upwards(tmp_path: Path) -> None:
    deep = tmp_path / "a" / "b"
    deep.mkdir(parents=True)
    assert project_file(deep) is None
    assert project_file(None) is None
    (tmp_path / ".kctl.toml").touch()
    assert project_file(deep) == tmp_path / ".kctl.toml"
    (tmp_path / "a" / ".kctl.toml").touch()
    assert project_file(deep) == tmp_path / "a" / ".kctl.toml"


def test_a_working_folder_that_was_deleted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    assert working_folder() is None
