"""Stopped processes: their connections stay open, and they send no response."""

import os
import signal


def freeze(pid: int) -> None:
    """Stop a child process, or its group if it leads one; return when all threads of the child have stopped.

    The signal reaches one thread. The others run until that thread gets a processor, and may respond.
    """
    send = os.killpg if os.getpgid(pid) == pid else os.kill
    send(pid, signal.SIGSTOP)
    os.waitid(os.P_PID, pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
