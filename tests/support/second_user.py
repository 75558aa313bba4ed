"""Another user of the same machine: a user id without an account, which only root can act as."""

import os
import pickle
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from tests.support.kafka.requirements import give_up

T = TypeVar("T")
USER_ID = 54_321


def as_second_user(action: Callable[[], T]) -> T:
    """Return what an action returns that runs in a forked process of the second user. Raises: its OSError."""
    reader, writer = os.pipe()
    process = os.fork()
    if process == 0:
        os.close(reader)
        try:
            os.setgroups([])
            os.setgid(USER_ID)
            os.setuid(USER_ID)
            result: object = action()
        except BaseException as e:  # noqa: BLE001 - raised again in the parent
            result = e
        with open(writer, "wb") as pipe:
            pickle.dump(result, pipe)
        os._exit(0)
    os.close(writer)
    with open(reader, "rb") as pipe:
        found = pickle.load(pipe)
    os.waitpid(process, 0)
    if isinstance(found, BaseException):
        raise found
    result_of_action: T = found
    return result_of_action


@contextmanager
def shared_folder() -> Iterator[Path]:
    """A folder like /tmp, in which each user may make files; gives up if this is not root."""
    if os.geteuid() != 0:
        give_up("only root can act as another user")
    folder = Path(tempfile.mkdtemp(prefix="kctl-shared-"))
    try:
        folder.chmod(0o1777)
        yield folder
    finally:
        shutil.rmtree(folder)


def foreign_folder(path: Path) -> Path:
    """Make a folder of the second user, in which everybody may make files, and return it."""

    def make() -> None:
        path.mkdir()
        path.chmod(0o777)

    as_second_user(make)
    return path
