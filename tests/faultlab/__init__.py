"""The fault lab: whole kctl processes against each fault of `kctl.cli.explanations`, held to its code and words.

Faults are made with scripted peers, the sandbox, network namespaces and real Kafka. Bounds on time are wide: that
limits are exact is shown in virtual time (tests/sim).
"""
