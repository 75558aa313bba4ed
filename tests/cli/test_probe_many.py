"""`kctl probe` of more addresses than a shell allows open files."""

import socket
import subprocess

from tests.cli.processes import BOUND_S, KCTL, environment

ADDRESSES = 100
FEW_FILES = 'ulimit -S -n 64; exec "$@"'


def test_many_addresses_at_once_with_a_small_limit_of_open_files() -> None:
    with socket.create_server(("0.0.0.0", 0), backlog=2 * ADDRESSES) as silent:
        port = silent.getsockname()[1]
        servers = ",".join(f"127.0.1.{i}:{port}" for i in range(1, ADDRESSES + 1))
        command = [*KCTL, "probe", "-b", servers, "--connect-timeout", "1s"]
        ended = subprocess.run(
            ["sh", "-c", FEW_FILES, "sh", *command],
            capture_output=True,
            env=environment(),
            timeout=BOUND_S,
            check=False,
        )
    lines = ended.stdout.decode().splitlines()
    assert ended.stderr.count(b"Too many open files") == 0
    assert not any("Too many open files" in line for line in lines)
    assert sum(" expired in apiversions after " in line for line in lines) == ADDRESSES
