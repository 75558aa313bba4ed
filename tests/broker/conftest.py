"""Where commands run: inside the test's process, or, in tests marked `nightly`, as processes."""

import pytest

from tests.cli import processes


@pytest.fixture(autouse=True)
def commands_in_process(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.node.get_closest_marker("nightly") is None:
        monkeypatch.setattr(processes, "is_in_process", True)
