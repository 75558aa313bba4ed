"""kctl on a system without the parts of POSIX that Windows lacks: removes them, then runs the command line."""

import os
import select
import signal
import socket
import sys

for module in ("fcntl", "resource", "termios"):
    sys.modules[module] = None  # type: ignore[assignment]  # its import fails
unix, pair = socket.AF_UNIX, socket.socketpair
socket.socketpair = lambda: pair(unix)  # type: ignore[misc,assignment]  # Windows uses a TCP connection
REMOVED = (
    (signal, ("setitimer", "SIGALRM", "SIGHUP", "SIGTSTP")),
    (select, ("poll", "epoll")),
    (socket, ("AF_UNIX",)),
    (
        os,
        (
            "getuid",
            "geteuid",
            "writev",
            "fchmod",
            "fork",
            "tcgetpgrp",
            "getpgrp",
            "O_NONBLOCK",
            "O_NOFOLLOW",
            "O_CLOEXEC",
            "O_NOCTTY",
        ),
    ),
)
for owner, names in REMOVED:
    for name in names:
        delattr(owner, name)

from kctl.__main__ import main  # noqa: E402 - the parts are gone before kctl is imported

sys.exit(main())
