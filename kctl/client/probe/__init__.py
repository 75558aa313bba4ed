"""Probe: every address of every bootstrap node and of every broker that they advertise, tried to the end and assessed.

`prober.py` does the rounds with the client's own connections, `report.py` is what is known of each address,
`findings.py` diagnoses it. Nothing here prints.
"""

from kctl.client.metadata_updater import bootstrap_nodes
from kctl.client.probe.findings import DAY_MS, ProbeFinding, Severity, diagnose, unusable_brokers
from kctl.client.probe.prober import NextLimit, ProbeOptions, Prober
from kctl.client.probe.report import AddressReport, CoordinatorReport, TlsReport
from kctl.client.protocol.api import api_name

__all__ = [
    "DAY_MS",
    "AddressReport",
    "CoordinatorReport",
    "NextLimit",
    "ProbeFinding",
    "ProbeOptions",
    "Prober",
    "Severity",
    "TlsReport",
    "api_name",
    "bootstrap_nodes",
    "diagnose",
    "unusable_brokers",
]
