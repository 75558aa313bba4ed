"""Why a group, a topic or a cluster is in trouble: what one or two looks at it show, as findings.

`look.py` has the values that were read, `gathering/` reads them by bounded read-only requests, `table.py` names every
finding once, `findings/` decides: pure functions from looks to findings, whose sentences share `wording.py`. Knows no
command line.
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
