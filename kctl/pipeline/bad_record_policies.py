"""Policies for records that the target of an export cannot hold. No imports, for the command line."""

from typing import Final

FAIL: Final = "error"
"""Fail the task."""
NULL: Final = "null"
"""Write the record without the value."""
SKIP: Final = "skip"
"""Leave out the record."""
POLICIES: Final = (FAIL, NULL, SKIP)
