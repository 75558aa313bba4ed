"""The exit codes are a promise to scripts: no code changes its meaning."""

from kctl.cli.exit_codes import ExitCode

PROMISED = {
    "OK": 0,
    "UNEXPECTED": 1,
    "USAGE": 2,
    "PARTIAL_FAILURE": 3,
    "DNS": 10,
    "REFUSED": 11,
    "CONNECT_TIMEOUT": 12,
    "TLS": 13,
    "AUTHENTICATION": 14,
    "WRONG_PROTOCOL": 15,
    "REQUEST_TIMEOUT": 16,
    "API_TIMEOUT": 17,
    "ADVERTISED_ADDRESS": 18,
    "UNAVAILABLE": 19,
    "UNDELIVERED": 20,
    "CLOSE_TIMEOUT": 21,
    "NOT_AUTHORIZED": 22,
    "UNKNOWN_RESOURCE": 23,
    "DATA": 24,
    "DISK": 25,
    "SIGHUP": 129,
    "SIGINT": 130,
    "SIGTERM": 143,
}


def test_promised_numbers_are_unchanged() -> None:
    assert PROMISED.items() <= {code.name: int(code) for code in ExitCode}.items()


def test_each_has_a_text_of_its_own() -> None:
    assert len({code.text for code in ExitCode}) == len(ExitCode)
    assert all(code.text for code in ExitCode)
