"""Diagnosis of groups, topics, and clusters. Independent of the command line.

A look (`look.py`) is the state of a cluster at one time. `gathering/` reads one or two looks with bounded read-only
requests, `findings/` has pure functions from looks to findings, and `table.py` has the texts of all findings.
"""

from kctl.why.diagnosis import Diagnosis, diagnose
from kctl.why.finding import Evidence, Finding, FindingKind, Scope, Severity
from kctl.why.gathering import Gatherer, Selection, take_looks
from kctl.why.gathering.asker import share_s
from kctl.why.look import Gap, Look, Looks
from kctl.why.table import FINDINGS
from kctl.why.throttles import Throttles

__all__ = [
    "FINDINGS",
    "Diagnosis",
    "Evidence",
    "Finding",
    "FindingKind",
    "Gap",
    "Gatherer",
    "Look",
    "Looks",
    "Scope",
    "Selection",
    "Severity",
    "Throttles",
    "diagnose",
    "share_s",
    "take_looks",
]
