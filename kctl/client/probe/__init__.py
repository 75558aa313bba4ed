"""Probe: tests every address of all bootstrap servers and advertised brokers, and diagnoses the results."""

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
