"""One thread of a process that is held while the others run on, as one that waits forever for a lock.

Owns the attachment to the thread, by ptrace: needs root, or a process that the tests have started. A thread of Java is
held while it waits, where the virtual machine does not need it. Knows nothing of Kafka.
"""

import ctypes
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.support.bounds import bound
from tests.support.kafka.waiting import wait_until

_SEIZE, _INTERRUPT, _DETACH = 0x4206, 0x4207, 17
_ALL_THREADS = 0x40000000
_NAME_LENGTH = 15
"""What the system keeps of the name of a thread."""
_FUTEX = {"x86_64": "202", "aarch64": "98"}
FOUND_MS = bound(10_000)


@contextmanager
def held_thread(pid: int, name: str) -> Iterator[None]:
    """Hold the one thread of a process that has this name, until the end."""
    [thread_id] = [
        int(task.name)
        for task in Path(f"/proc/{pid}/task").iterdir()
        if (task / "comm").read_text().rstrip("\n") == name[:_NAME_LENGTH]
    ]
    call = Path(f"/proc/{pid}/task/{thread_id}/syscall")
    _ptrace(_SEIZE, thread_id)
    try:
        wait_until(lambda: call.read_text().split()[0] == _FUTEX[os.uname().machine], FOUND_MS, f"{name} to wait", 1)
        _ptrace(_INTERRUPT, thread_id)
        os.waitpid(thread_id, _ALL_THREADS)
        yield
    finally:
        _ptrace(_DETACH, thread_id)


def _ptrace(request: int, thread_id: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    arguments = (ctypes.c_long(request), ctypes.c_long(thread_id), ctypes.c_void_p(), ctypes.c_void_p())
    if libc.ptrace(*arguments) == -1:
        number = ctypes.get_errno()
        raise OSError(number, f"ptrace request {request} of thread {thread_id}: {os.strerror(number)}")
