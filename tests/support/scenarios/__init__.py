"""What must hold on any cluster: the same scenarios run on the sandbox and on every Kafka, so the fake stays honest.

Each function takes the client properties of one cluster and raises AssertionError where the cluster, or kctl on it,
does not do what it should. Run by tests/loopback/test_scenarios_on_sandbox.py and tests/broker/test_scenarios.py.
"""
