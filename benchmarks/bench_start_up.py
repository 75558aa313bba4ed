"""Time from starting a process to its end, next to `python -c pass` in the same run; medians of interleaved runs.

Bounds that the project holds itself to: `--version` within 2.5 times of `pass`, `--help` under 120 ms, `profile show`
under 150 ms, the first frame of the live view of `kctl probe` within 150 ms, completion of a flag under 80 ms (a bash
is started for it, which a user has running already), and names from a broker that is silent given up after 300 ms.
"""

import os
import pty
import shutil
import socket
import statistics
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.bytecode import with_bytecode

RUNS = 15
FIRST_FRAME, FRAME_END = "probe: first frame", b"\x1b[J"
NOTHING_THERE = "127.0.0.1:1"
KCTL = [sys.executable, "-m", "kctl"]
COMMANDS: dict[str, list[str]] = {
    "python -c pass": [sys.executable, "-c", "pass"],
    "kctl --version": [*KCTL, "--version"],
    "kctl --help": [*KCTL, "--help"],
    **{f"kctl {name} --help": [*KCTL, name, "--help"] for name in ("consume", "produce", "probe", "topics", "groups")},
    "kctl profile show": [*KCTL, "profile", "show"],
    "kctl probe (refused)": [*KCTL, "probe", "-b", NOTHING_THERE],
}
BASH = "source completions/bash/kctl; COMP_LINE='kctl consume --id'; COMP_POINT=17; COMP_CWORD=2; "
BASH += "COMP_WORDS=(kctl consume --id); _kctl; [ ${COMPREPLY[0]} = --idle-timeout ]"


def commands(silent: str) -> dict[str, list[str]]:
    """Return what is measured; `silent` is an address that accepts and says nothing."""
    found = dict(COMMANDS)
    if shutil.which("bash"):
        found["bash -c true"] = ["bash", "-c", "true"]
        found["bash: Tab after --id"] = ["bash", "-c", BASH]
    found["Tab, silent broker"] = [*KCTL, "__complete", "topics", f"kctl consume -b {silent} "]
    return found


def run_ms(arguments: list[str]) -> float:
    root = Path(__file__).parents[1]
    started = time.perf_counter()
    quiet = subprocess.DEVNULL
    subprocess.run(arguments, stdout=quiet, stderr=quiet, check=False, cwd=root, env=with_bytecode())
    return (time.perf_counter() - started) * 1000


def first_frame_ms(address: str) -> float:
    """Return the time from starting `kctl probe` on a terminal until its first frame is complete."""
    ours, theirs = pty.openpty()
    command = [*KCTL, "probe", "-b", address]
    started = time.perf_counter()
    with subprocess.Popen(
        command, stdin=theirs, stdout=theirs, stderr=theirs, env={**with_bytecode(), "TERM": "xterm"}
    ) as one:
        shown = b""
        while FRAME_END not in shown:
            shown += os.read(ours, 65536)
        taken_ms = (time.perf_counter() - started) * 1000
        one.kill()
    os.close(ours)
    os.close(theirs)
    return taken_ms


def main() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        silent = f"127.0.0.1:{listening.getsockname()[1]}"
        wanted = commands(silent)
        times: dict[str, list[float]] = {name: [] for name in (*wanted, FIRST_FRAME)}
        for arguments in wanted.values():
            run_ms(arguments)  # bytecode is written once, not measured
        for _ in range(RUNS):
            for name, arguments in wanted.items():
                times[name].append(run_ms(arguments))
            times[FIRST_FRAME].append(first_frame_ms(silent))
    base = statistics.median(times["python -c pass"])
    print(f"{'':24}{'min':>9}{'median':>9}{'x pass':>9}")
    for name, measured in times.items():
        median = statistics.median(measured)
        print(f"{name:24}{min(measured):6.1f} ms{median:6.1f} ms{median / base:9.2f}")


if __name__ == "__main__":
    main()
