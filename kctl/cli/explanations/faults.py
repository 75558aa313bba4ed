"""All faults by number."""

from kctl.cli.explanations.call_faults import CALL_FAULTS
from kctl.cli.explanations.connection_faults import CONNECTION_FAULTS
from kctl.cli.explanations.fault import Fault

FAULTS: dict[int, Fault] = {fault.number: fault for fault in (*CONNECTION_FAULTS, *CALL_FAULTS)}
