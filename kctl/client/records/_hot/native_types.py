"""What the hot modules say to the compiler: `i64`, a machine integer, and `mypyc_attr`, flags of a class.

Not compiled itself, so that at run time these are `int` and a decorator that does nothing: mypy_extensions is needed
only to build.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mypy_extensions import i64 as i64
    from mypy_extensions import mypyc_attr as mypyc_attr
else:
    i64 = int

    def mypyc_attr(**_flags):
        """The class as it is."""
        return lambda cls: cls
