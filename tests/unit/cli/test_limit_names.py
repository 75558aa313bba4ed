"""Options of the command line for the limits and properties that errors of the client name."""

import pytest

from kctl.cli.failures import explain
from kctl.cli.limit_names import DerivedLimits, with_options
from kctl.client.errors import ApiTimeout, CloseTimeout, KafkaTimeoutError, MaxBlockTimeout, RequestTimeout


@pytest.mark.parametrize(
    ("kind", "option"),
    [
        (ApiTimeout, "--api-timeout"),
        (MaxBlockTimeout, "--api-timeout"),
        (RequestTimeout, "--request-timeout"),
        (CloseTimeout, "--close-timeout"),
    ],
)
def test_error_of_the_client_is_printed_with_the_option(kind: type[KafkaTimeoutError], option: str) -> None:
    error = kind("waiting for x", timeout_ms=300, elapsed_ms=301)
    assert f"({error.limit} 300ms)" in str(error)
    assert explain(error).message == f"timed out after 301ms ({option} 300ms) while waiting for x"


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        (
            "try security.protocol=PLAINTEXT (or SASL_PLAINTEXT)",
            "try --security-protocol PLAINTEXT (or SASL_PLAINTEXT)",
        ),
        ("use a longer default.api.timeout.ms", "use a longer --api-timeout"),
        (
            "bootstrap.refused.timeout.ms=-1 to retry until",
            "bootstrap.refused.timeout.ms=-1 (--no-fail-fast) to retry until",
        ),
        ("request.timeout.ms=300: dns 5 ms", "request.timeout.ms=300: dns 5 ms"),
        ("security.protocol=SSL needs a file", "security.protocol=SSL needs a file"),
    ],
)
def test_properties_are_options_only_in_advice_and_limits(text: str, printed: str) -> None:
    assert with_options(text) == printed


def test_limit_that_is_derived_has_the_name_of_its_source() -> None:
    limits = DerivedLimits()
    assert (
        limits.named("within 995ms (--request-timeout) [phase tcp]") == "within 995ms (--request-timeout) [phase tcp]"
    )
    limits.derive("--request-timeout", "the rest of --api-timeout")
    limits.derive("--delivery-timeout", "--api-timeout")
    text = "timed out after 1s (--delivery-timeout 1s): no response within 9ms (--request-timeout); --delivery-timeout"
    assert limits.named(text) == (
        "timed out after 1s (--api-timeout 1s): no response within 9ms (the rest of --api-timeout); --delivery-timeout"
    )
