"""`kctl sandbox`: its bounds are those of the sandbox, which its --help does without."""

from kctl.cli.sandbox import MOST_NODES
from kctl.sandbox.sandbox import MAX_NODES


def test_the_most_nodes() -> None:
    assert MOST_NODES == MAX_NODES
