import pytest

from kctl.version import VERSION
from tools.build_deb import DebError, changelog

TEXT = f"""# Changelog
## {VERSION}, unreleased
First release.

- Records: `consume`,
  and `produce`.
- Setup: `profile`.

## 0.0.1, 2020-01-01
- Old.
"""


def test_changelog_has_the_entries_of_this_version(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEBFULLNAME", "A B")
    monkeypatch.setenv("DEBEMAIL", "a@example.com")
    assert changelog(TEXT, 86400) == (
        f"kctl ({VERSION}) unstable; urgency=medium\n\n"
        "  * Records: `consume`, and `produce`.\n  * Setup: `profile`.\n\n"
        " -- A B <a@example.com>  Fri, 02 Jan 1970 00:00:00 +0000\n"
    )


def test_changelog_without_this_version_is_an_error() -> None:
    with pytest.raises(DebError, match="no entries"):
        changelog("# Changelog\n## 0.0.1\n- Old.\n", 0)
