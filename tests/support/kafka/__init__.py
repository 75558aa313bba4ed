"""Real Kafka brokers for tests: fetched, started, frozen, killed and cleaned up.

Owns everything between "a test wants Kafka 3.9.1 with SASL" and a port that answers. Knows nothing of kctl but its
clock: what is tested must not vouch for itself.
"""
