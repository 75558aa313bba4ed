"""A process that is killed while it writes profiles leaves the old file or the new one, and nothing in the way."""

import os
import signal
import subprocess
from pathlib import Path

import pytest

from kctl.cli.profiles.files import read_content
from tests.cli.processes import BOUND_S, PYTHON, environment, kctl

OLD = '# mine\n[profiles.old]\n"bootstrap.servers" = "a:9092"\n'
NEW = OLD + '\n[profiles.new]\n"bootstrap.servers" = "b:9092"\n'

_KILLED = """
import builtins, os, signal, sys

def kill(*arguments, **named):
    os.kill(os.getpid(), signal.SIGKILL)

def killing_after(function):
    def call(*arguments, **named):
        function(*arguments, **named)
        kill()
    return call

def half_written(descriptor, mode="r", *rest, **named):
    file = real_open(descriptor, mode, *rest, **named)
    if isinstance(descriptor, int) and descriptor > 2 and "w" in mode:
        write = file.raw.write
        content = bytearray()
        class Half:
            def __enter__(self): return self
            def __exit__(self, *error): return None
            def write(self, data):
                os.write(file.fileno(), data[: len(data) // 2])
                kill()
        return Half()
    return file

real_open = builtins.open
step = sys.argv.pop(1)
if step == "half of it written": builtins.open = half_written
if step == "before fsync": os.fsync = kill
if step == "after fsync": os.fsync = killing_after(os.fsync)
if step == "before rename": os.replace = kill
if step == "after rename": os.replace = killing_after(os.replace)
from kctl.__main__ import main
sys.exit(main())
"""
STEPS = {
    "half of it written": OLD,
    "before fsync": OLD,
    "after fsync": OLD,
    "before rename": OLD,
    "after rename": NEW,
}
"""What is in the file after a kill at each step."""


@pytest.mark.parametrize("step", STEPS)
def test_killed_while_writing(step: str, tmp_path: Path) -> None:
    file = tmp_path / "kctl" / "config.toml"
    file.parent.mkdir()
    file.write_text(OLD)
    file.chmod(0o600)
    environ = environment({"XDG_CONFIG_HOME": str(tmp_path)})
    create = ("profile", "create", "new", "-b", "b:9092")
    killed = subprocess.run(
        [PYTHON, "-c", _KILLED, step, *create],
        env=environ, capture_output=True, timeout=BOUND_S, check=False,
    )  # fmt: skip
    assert killed.returncode == -signal.SIGKILL, killed
    assert file.read_text() == STEPS[step]
    again = kctl(*create, "--force", environ={"XDG_CONFIG_HOME": str(tmp_path)})
    assert again.code == 0, again
    assert file.read_text() == NEW
    assert os.listdir(file.parent) == ["config.toml"], "what the killed one left is gone"


def test_writers_at_the_same_time_lose_nothing(tmp_path: Path) -> None:
    """Each reads, changes and writes under the lock: without it, a later one would undo an earlier one's profile."""
    environ = environment({"XDG_CONFIG_HOME": str(tmp_path)})
    command = [PYTHON, "-m", "kctl", "profile", "create", "-b", "a:1"]
    writers = [
        subprocess.Popen([*command, f"p{number}"], env=environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        for number in range(6)
    ]
    for writer in writers:
        _, said = writer.communicate(timeout=BOUND_S)
        assert writer.returncode == 0, said
    content = read_content((tmp_path / "kctl" / "config.toml").read_bytes(), "f")
    assert sorted(content.profiles) == [f"p{number}" for number in range(6)]
    assert content.current in content.profiles
