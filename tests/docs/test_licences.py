"""docs/licences.md lists what is installed along with kctl; a licence nobody has looked at is found."""

from importlib.metadata import Distribution

import pytest

from tools import write_licences


def test_the_page_lists_all_that_is_needed() -> None:
    listed = {line.split(" | ")[0].removeprefix("| ") for line in write_licences.PAGE.read_text().splitlines()[6:]}
    assert listed == set(write_licences.closure())
    assert {"typer", "rich", "cramjam"} <= listed


def test_each_licence_is_permissive() -> None:
    assert write_licences.page().startswith("# Licences\n")


def test_another_licence_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    def strict(_: Distribution) -> str:
        return "GPL-3.0-only"

    monkeypatch.setattr(write_licences, "licence_of", strict)
    with pytest.raises(ValueError, match="GPL"):
        write_licences.page()
