"""Time from starting a process to its end, next to `python -c pass` in the same run; medians of interleaved runs.

Bounds that the project holds itself to: `--version` within 2.5 times of `pass`, `--help` under 120 ms.
"""

import statistics
import subprocess
import sys
import time

RUNS = 15
NOTHING_THERE = "127.0.0.1:1"
COMMANDS: dict[str, list[str]] = {
    "python -c pass": ["-c", "pass"],
    "kctl --version": ["-m", "kctl", "--version"],
    "kctl --help": ["-m", "kctl", "--help"],
    "kctl consume --help": ["-m", "kctl", "consume", "--help"],
    "kctl produce --help": ["-m", "kctl", "produce", "--help"],
    "kctl probe --help": ["-m", "kctl", "probe", "--help"],
    "kctl topics --help": ["-m", "kctl", "topics", "--help"],
    "kctl groups --help": ["-m", "kctl", "groups", "--help"],
    "kctl probe (refused)": ["-m", "kctl", "probe", "-b", NOTHING_THERE],
}


def run_ms(arguments: list[str]) -> float:
    started = time.perf_counter()
    subprocess.run([sys.executable, *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    return (time.perf_counter() - started) * 1000


def main() -> None:
    times: dict[str, list[float]] = {name: [] for name in COMMANDS}
    for arguments in COMMANDS.values():
        run_ms(arguments)  # bytecode is written once, not measured
    for _ in range(RUNS):
        for name, arguments in COMMANDS.items():
            times[name].append(run_ms(arguments))
    base = statistics.median(times["python -c pass"])
    print(f"{'':24}{'min':>9}{'median':>9}{'x pass':>9}")
    for name, measured in times.items():
        median = statistics.median(measured)
        print(f"{name:24}{min(measured):6.1f} ms{median:6.1f} ms{median / base:9.2f}")


if __name__ == "__main__":
    main()
