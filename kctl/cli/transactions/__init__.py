"""kctl transactions: list, describe, find those that hang, abort."""
