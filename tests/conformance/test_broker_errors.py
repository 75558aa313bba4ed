"""Our table of broker error codes is that of the released Java client."""

import pytest

from tools.check_broker_errors import differences, fetch_jars, our_rows, released_rows

pytestmark = pytest.mark.nightly


@pytest.mark.usefixtures("java_and_maven")
def test_codes_names_and_retriability_are_those_of_the_released_client() -> None:
    theirs = released_rows(fetch_jars())
    assert len(theirs) > 100
    assert differences(our_rows(), theirs) == []
