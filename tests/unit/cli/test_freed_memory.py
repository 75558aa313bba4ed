"""Memory of a size that glibc would map and unmap each time stays with the process."""

import platform
import subprocess
import sys

import pytest

_FAULTS = """
import resource, sys, threading
from kctl.cli.freed_memory import keep_freed_memory
if sys.argv[1] == "kept":
    assert keep_freed_memory()
def use():
    for _ in range(20):
        blocks = [bytes(4_000_000) for _ in range(4)]
        for block in blocks:
            block.upper()
def measure():
    use()  # a thread has an arena of its own, whose pages are new at first
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    use()
    print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
thread = threading.Thread(target=measure)
thread.start()
thread.join()
"""
BLOCK_PAGES = 4_000_000 // 4096


def _faults(way: str) -> int:
    ended = subprocess.run([sys.executable, "-c", _FAULTS, way], capture_output=True, text=True, check=True)
    return int(ended.stdout)


@pytest.mark.slow
@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="other allocators have no such thresholds")
def test_freed_blocks_are_used_again_without_page_faults() -> None:
    assert _faults("kept") < BLOCK_PAGES
    assert _faults("given back") > 10 * BLOCK_PAGES
