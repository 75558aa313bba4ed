"""Types for mypyc: `i64`, a machine integer, and `mypyc_attr`, flags of a class.

This module is not compiled: at run time, they are `int` and a decorator without effect.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mypy_extensions import i64 as i64
    from mypy_extensions import mypyc_attr as mypyc_attr
else:
    i64 = int

    def mypyc_attr(**_flags):
        return lambda cls: cls
