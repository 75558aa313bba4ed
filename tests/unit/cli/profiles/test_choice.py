"""Which profile a call uses, and what a project's file may do before it is trusted: nothing."""

from pathlib import Path

import pytest

from kctl.cli.profiles.choice import choose_profile
from kctl.cli.profiles.files import read_profile_file
from kctl.cli.profiles.trust import distrust, is_trusted, trust
from kctl.client.errors import ConfigError


class Place:
    """A user's configuration and a project below one folder."""

    def __init__(self, root: Path) -> None:
        self.environ = {"XDG_CONFIG_HOME": str(root / "config")}
        self.user = root / "config" / "kctl" / "config.toml"
        self.user.parent.mkdir(parents=True)
        self.folder = root / "project" / "deep"
        self.folder.mkdir(parents=True)
        self.project = root / "project" / ".kctl.toml"

    def write(self, path: Path, text: str) -> None:
        path.write_text(text)
        path.chmod(0o600)

    def trust(self) -> None:
        trust(self.project, self.project.read_bytes(), self.environ)

    def choose(self, wanted: str | None = None, **environ: str) -> tuple[str, Path, str] | None:
        chosen = choose_profile(wanted, self.environ | environ, self.folder)
        return None if chosen is None else (chosen.name, chosen.file.path, chosen.by)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def test_without_files_there_is_none(place: Place) -> None:
    assert place.choose() is None
    assert place.choose("") is None
    with pytest.raises(ConfigError, match=r"-C: no profile 'dev' found\. Create one with"):
        place.choose("dev")


def test_who_chooses(place: Place) -> None:
    place.write(place.user, 'current = "a"\n[profiles.a]\n[profiles.b]\n[profiles.c]\n')
    assert place.choose() == ("a", place.user, f"current of {place.user}")
    assert place.choose(KCTL_PROFILE="b") == ("b", place.user, "$KCTL_PROFILE")
    assert place.choose("c", KCTL_PROFILE="b") == ("c", place.user, "-C")
    assert place.choose("", KCTL_PROFILE="b") is None
    assert place.choose(KCTL_PROFILE="") is None


def test_a_trusted_project_comes_first(place: Place) -> None:
    place.write(place.user, 'current = "a"\n[profiles.a]\n[profiles.b]\n')
    place.write(place.project, 'current = "b"\n[profiles.a]\n')
    place.trust()
    assert place.choose() == ("b", place.user, f"current of {place.project}")
    assert place.choose("a") == ("a", place.project, "-C")


@pytest.mark.parametrize("wanted", [None, "shared", "of-project"])
def test_an_untrusted_project_decides_nothing_and_is_not_overlooked(place: Place, wanted: str | None) -> None:
    place.write(place.user, 'current = "mine"\n[profiles.mine]\n[profiles.shared]\n')
    place.write(place.project, 'current = "shared"\n[profiles.shared]\n[profiles.of-project]\n')
    with pytest.raises(ConfigError, match=r"\.kctl\.toml: the content .* is not trusted.*kctl profile trust"):
        place.choose(wanted)
    assert place.choose("mine") == ("mine", place.user, "-C")
    assert place.choose("") is None


def test_trust_is_for_one_content_of_one_file(place: Place, tmp_path: Path) -> None:
    place.write(place.project, "[profiles.a]\n")
    place.trust()
    assert place.choose("a") is not None
    place.write(place.project, '[profiles.a]\n"bootstrap.servers" = "elsewhere:1"\n')
    with pytest.raises(ConfigError, match="not trusted"):
        place.choose("a")
    place.trust()
    copy = tmp_path / ".kctl.toml"
    copy.write_bytes(place.project.read_bytes())
    found = read_profile_file(copy, is_project=True)
    assert found is not None
    assert not is_trusted(found, place.environ)
    distrust(place.project, place.environ)
    with pytest.raises(ConfigError, match="not trusted"):
        place.choose("a")


def test_a_broken_list_of_trusted_files_is_not_overwritten(place: Place) -> None:
    place.write(place.project, "[profiles.a]\n")
    store = place.user.with_name("trusted.toml")
    store.write_text("[files")
    with pytest.raises(ConfigError, match=r"trusted\.toml"):
        place.choose("a")
    with pytest.raises(ConfigError, match=r"trusted\.toml"):
        place.trust()
    assert store.read_text() == "[files"


def test_the_nearest_name_is_offered(place: Place) -> None:
    place.write(place.user, "[profiles.staging]\n[profiles.prod]\n")
    with pytest.raises(ConfigError, match="did you mean staging"):
        place.choose("stagin")
    with pytest.raises(ConfigError, match="use staging, prod"):
        place.choose("x")


def test_a_file_that_everybody_may_write_is_refused(place: Place) -> None:
    place.write(place.user, "[profiles.a]\n")
    place.user.chmod(0o666)
    with pytest.raises(ConfigError, match="all users can change the file"):
        place.choose("a")
    assert place.choose() is None
