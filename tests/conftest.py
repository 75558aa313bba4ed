"""What all tests share: the fixtures of the real brokers."""

pytest_plugins = ["tests.brokers.plugin"]
