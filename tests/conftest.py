"""What all tests share: the fixtures of the real brokers, and that no property test is judged by the clock."""

from hypothesis import HealthCheck, settings

settings.register_profile("kctl", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("kctl")

pytest_plugins = ["tests.brokers.plugin"]
