"""kctl.posix: limits of a process."""

import subprocess
import sys

import pytest

MIB = 1 << 20


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not limit the address space")
@pytest.mark.parametrize(
    ("soft_mib", "hard_mib", "expected"),
    [(-1, -1, (1024, 1024)), (512, -1, (512, 1024)), (512, 768, (512, 768)), (2048, 4096, (1024, 1024))],
)
def test_memory_limit_keeps_smaller_limits(soft_mib: int, hard_mib: int, expected: tuple[int, int]) -> None:
    limits = tuple(each if each == -1 else each * MIB for each in (soft_mib, hard_mib))
    program = f"""
import resource
resource.setrlimit(resource.RLIMIT_AS, {limits})
from kctl.posix import limit_memory
limit_memory({1024 * MIB})
print(*resource.getrlimit(resource.RLIMIT_AS))
"""
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert tuple(int(each) // MIB for each in found.split()) == expected
