"""The cache: made once by one of several processes, never half made."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conformance.foreign.client import PROJECT
from tests.support.bounds import bound
from tests.support.kafka.toolchain import cached

ASKING_PROCESS = """
import os, pathlib, threading
from tests.support.kafka.toolchain import cached
def make(folder):
    (folder / "part-1").write_text("1")
    threading.Event().wait(0.3)
    (folder / f"made-by-{os.getpid()}").write_text("2")
entry = cached("entry", make)
print(*sorted(path.name for path in entry.iterdir()))
"""


def test_of_several_processes_one_makes_the_entry_and_all_see_it_whole(tmp_path: Path) -> None:
    environment = os.environ | {"PYTHONPATH": str(PROJECT), "KCTL_CACHE": str(tmp_path)}
    command = [sys.executable, "-c", ASKING_PROCESS]
    asking = [subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) for _ in range(4)]
    answers = {process.communicate(timeout=bound(60))[0] for process in asking}
    assert len(answers) == 1
    assert answers.pop().startswith("made-by-")


def test_a_failed_attempt_leaves_nothing_and_the_next_one_tries_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KCTL_CACHE", str(tmp_path))

    def fail(folder: Path) -> None:
        (folder / "half").touch()
        raise RuntimeError("no luck")

    with pytest.raises(RuntimeError, match="no luck"):
        cached("entry", fail)
    assert [path.name for path in tmp_path.iterdir()] == ["locks"]
    assert list(cached("entry", lambda folder: (folder / "whole").touch()).iterdir()) == [tmp_path / "entry" / "whole"]
