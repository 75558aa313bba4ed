from kctl.client.errors import RemoteProtocolError
from kctl.client.requests.items import each_once


def test_items_that_were_requested_are_returned_in_their_order_and_others_ignored() -> None:
    assert each_once([("b", 2), ("c", 3), ("a", 1)], ["a", "b"], "Fetch", "n1") == {"a": 1, "b": 2}
    assert each_once([("b", 2)], None, "Fetch", "n1") == {"b": 2}


def test_item_left_out_or_twice_is_an_error_that_names_api_and_broker() -> None:
    found = each_once([("a", 1), ("a", 1), ("c", 3)], ["a", "b", "c"], "Fetch", "n1:9092 (id 1)")
    assert {key: str(item) for key, item in found.items()} == {
        "a": "the Fetch response from n1:9092 (id 1) contains a twice",
        "b": "the Fetch response from n1:9092 (id 1) does not contain b",
        "c": "3",
    }
    assert isinstance(found["a"], RemoteProtocolError)
    assert found["a"].api == "Fetch"
