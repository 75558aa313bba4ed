"""An install without the compiled record module says so after many records, once."""

from typing import cast

import pytest

import kctl.client.records
from kctl.cli.environment import Environment
from kctl.cli.options import Common
from kctl.cli.uncompiled import UNCOMPILED, note_uncompiled, state


class Said:
    """As much of `Common` as a note needs."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.environment = cast(Environment, type("Named", (), {"program": "kctl consume"}))

    def say(self, line: str) -> None:
        self.lines.append(line)


@pytest.mark.parametrize(
    ("is_compiled", "records", "lines"), [(False, 1_000_000, 0), (False, 1_000_001, 2), (True, 1_000_001, 0)]
)
def test_note_after_more_than_a_million_records(
    monkeypatch: pytest.MonkeyPatch, is_compiled: bool, records: int, lines: int
) -> None:
    monkeypatch.setattr(kctl.client.records, "is_compiled", lambda: is_compiled)
    said = Said()
    note_uncompiled(cast(Common, said), records)
    assert len(said.lines) == lines
    if lines:
        assert said.lines[0] == f"kctl consume: note: {UNCOMPILED}"


def test_state(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kctl.client.records, "is_compiled", lambda: True)
    assert state() == "record module: compiled"
    monkeypatch.setattr(kctl.client.records, "is_compiled", lambda: False)
    assert UNCOMPILED in state()
