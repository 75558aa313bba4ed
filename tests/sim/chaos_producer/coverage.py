"""Required coverage of producer runs: faults active during responses of an API."""

from tests.sim.chaos.coverage import Coverage

NEEDED = tuple(
    (fault, api)
    for fault, apis in {
        "clog-requests": ("Produce", "InitProducerId", "EndTxn", "TxnOffsetCommit", "Metadata"),
        "clog-responses": ("Produce", "InitProducerId", "EndTxn", "TxnOffsetCommit"),
        "clog": ("Produce", "EndTxn"),
        "slow": ("Produce", "InitProducerId", "EndTxn", "AddPartitionsToTxn", "FindCoordinator"),
        "rate": ("Produce",),
        "segments": ("Produce", "EndTxn"),
        "window": ("Produce",),
        "orphan": ("Produce", "EndTxn"),
        "pause": ("Produce", "EndTxn"),
        "silence": ("Produce", "Metadata", "InitProducerId"),
        "drop-answers": ("Produce", "InitProducerId", "EndTxn", "TxnOffsetCommit", "AddPartitionsToTxn"),
        "delay": ("Produce", "EndTxn", "InitProducerId"),
        "crash": ("Produce",),
        "election": ("Produce", "Metadata"),
        "trouble": ("InitProducerId", "EndTxn", "Produce", "FindCoordinator"),
        "throttle": ("Produce", "Metadata"),
        "errors": ("Produce", "InitProducerId", "EndTxn", "AddPartitionsToTxn", "AddOffsetsToTxn", "TxnOffsetCommit"),
        "stall": ("Produce",),
        "expire-producers": ("Produce",),
        "hold-markers": ("EndTxn", "Produce", "InitProducerId"),
        "lag": ("Produce", "Metadata"),
        "hold": ("Produce",),
        "shrink": ("Produce",),
        "quota": ("Produce",),
        "too-large": ("Produce",),
    }.items()
    for api in apis
)
"""Pairs that a long run has to meet."""


class ProducerCoverage(Coverage):
    """Pairs of (fault, API) of one run."""
