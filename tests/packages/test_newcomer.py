"""A newcomer's path from a fresh clone, in five commands: run, profile, probe, produce, consume."""

import subprocess
from pathlib import Path

from kctl.sandbox import Sandbox
from tests.packages.conftest import MINUTES_S, bare_environ, clone_into


def test_from_a_fresh_clone_to_the_first_records_in_five_commands(tmp_path: Path) -> None:
    clone = clone_into(tmp_path / "kctl")
    environ = {**bare_environ(), "HOME": str(tmp_path), "KCTL_RUN_PORT": "23092"}
    environ["PATH"] = f"{clone / '.venv' / 'bin'}:{environ['PATH']}"

    def run(command: str, stdin: str = "") -> str:
        done = subprocess.run(
            ["bash", "-c", command],
            cwd=clone,
            env=environ,
            input=stdin,
            capture_output=True,
            text=True,
            timeout=MINUTES_S,
            check=False,
        )
        assert done.returncode == 0, f"{command}: {done.returncode}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}"
        return done.stdout

    assert "3 of 3 addresses ready" in run("make run")
    with Sandbox(nodes=3, topics={"greetings": 1}).serve() as served:
        run(f"kctl profile create here -b {served.bootstrap}")
        run("kctl probe -q")
        run("kctl produce greetings", stdin="hello\nkafka\n")
        assert run("kctl consume greetings -o start -e") == "hello\nkafka\n"
