"""What bench_probe_scale.py probes, in a process of its own: one port that answers on every loopback address, one dead.

Prints both ports and ends when its input does. Every address of 127.0.0.0/8 reaches a listener on 0.0.0.0.
"""

import contextlib
import socket
import sys

from kctl.sandbox import Sandbox


def main() -> None:
    with contextlib.ExitStack() as stack:
        full = stack.enter_context(socket.socket())
        full.bind(("0.0.0.0", 0))
        full.listen(0)
        for _ in range(3):  # the queue of length zero is full: every further SYN is dropped
            plug = stack.enter_context(socket.socket())
            plug.setblocking(False)
            with contextlib.suppress(BlockingIOError):
                plug.connect(("127.0.0.1", full.getsockname()[1]))
        served = stack.enter_context(Sandbox(nodes=1).serve(host="0.0.0.0", advertised_host="127.0.0.1"))
        print(served.bootstrap.rpartition(":")[2], full.getsockname()[1], flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    main()
