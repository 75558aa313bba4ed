"""Lists without rows: a table says on stderr that there are none; data formats say it themselves."""

import pytest

from tests.cli.access_scene import access
from tests.cli.processes import kctl

__all__ = ["access"]


USER = "User:ANONYMOUS"


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("users", "list"), "kctl users: no users with SCRAM credentials found\n"),
        (("quotas", "list"), "kctl quotas: no quotas found\n"),
        (("quotas", "list", "--user", "ann"), "kctl quotas: no matching quotas found\n"),
        (("acls", "list"), "kctl acls: no ACLs found\n"),
        (("acls", "list", "--topic", "orders"), "kctl acls: no matching ACLs found\n"),
        (("partitions", "list"), "kctl partitions: no partitions are being moved\n"),
        (("topics", "list", "--offline"), "kctl topics: no topic matches\n"),
        (("groups", "list"), f"kctl groups: no groups found: brokers list only groups that {USER} may describe\n"),
        (("groups", "list", "--type", "share"), "kctl groups: no group matches\n"),
    ],
)
def test_list_without_rows_says_so_beside_a_table(access: str, words: tuple[str, ...], says: str) -> None:
    ended = kctl(*words, "-b", access)
    assert (ended.code, ended.stdout, ended.stderr) == (0, b"", says)
    assert kctl(*words, "-b", access, "--quiet").stderr == ""
    ended = kctl(*words, "-b", access, "--output", "csv")
    assert (ended.code, ended.stdout.count(b"\n"), ended.stderr) == (0, 1, "")
