"""The limit of open files: raised when needed, never lowered, never beyond the hard limit."""

import pytest

from kctl.cli.probe.descriptors import allow_descriptors

resource = pytest.importorskip("resource", reason="this system has no limit of open files")


@pytest.mark.parametrize(
    ("limits", "sockets", "result", "after"),
    [
        ((256, 4096), 1000, True, (1064, 4096)),
        ((256, 512), 1000, False, (512, 512)),
        ((2048, 4096), 1000, True, (2048, 4096)),
        ((256, -1), 1000, True, (1064, -1)),
        ((-1, -1), 1000, True, (-1, -1)),
    ],
)
def test_the_soft_limit_is_raised_as_far_as_needed_and_allowed(
    monkeypatch: pytest.MonkeyPatch, limits: tuple[int, int], sockets: int, result: bool, after: tuple[int, int]
) -> None:
    now = [limits]
    monkeypatch.setattr(resource, "RLIM_INFINITY", -1)
    monkeypatch.setattr(resource, "getrlimit", lambda _: now[0])
    monkeypatch.setattr(resource, "setrlimit", lambda _, wanted: now.__setitem__(0, wanted))
    assert allow_descriptors(sockets) is result
    assert now[0] == after


def test_a_system_that_refuses_is_no_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_what: int, _wanted: tuple[int, int]) -> None:
        raise ValueError("current limit exceeds maximum limit")

    monkeypatch.setattr(resource, "getrlimit", lambda _: (256, 4096))
    monkeypatch.setattr(resource, "setrlimit", refuse)
    assert allow_descriptors(1000) is False
