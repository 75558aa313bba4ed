"""Admission of requests: the handler gets the allowed items, and denied items get an error."""

from collections.abc import Callable
from copy import copy
from typing import Any, NamedTuple

from kctl.client.broker_errors import ErrorCode
from kctl.client.protocol.schema import Request, Response, Struct
from kctl.sandbox.access.demands import DEMANDS, REFUSALS, UNLISTED, Demand, Of
from kctl.sandbox.call import Call
from kctl.sandbox.error_answers import error_answer, item_errors


class Admission(NamedTuple):
    """Allowed part of a request.

    Attributes:
        request: the request for the handler. None if nothing is allowed.
        refusal: the response if nothing is allowed.
        finish: adds errors for denied items to the handler's response, and hides what the client may not see.
    """

    request: Request | None
    refusal: Response | None
    finish: Callable[[Response], Response]


def admit(call: Call, request: Request) -> Admission:
    """Return the allowed part of a request. Without an authorizer, all of it is allowed."""
    if not call.cluster.authorizer.is_enabled:
        return Admission(request, None, _as_it_is)
    demand = DEMANDS.get(request.NAME, UNLISTED)
    for right in demand.whole(call, request):
        code = _refusal(call, right)
        if code is not None:
            return Admission(None, error_answer(request, call.version, code), _as_it_is)
    allowed, refusals = _divide(call, request, demand)

    def finish(response: Response) -> Response:
        if demand.censor is not None:
            demand.censor(call, request, response)
        for refusal in refusals:
            _add_items(response, refusal)
        return response

    return Admission(allowed, None, finish)


def _divide(call: Call, request: Request, demand: Demand) -> tuple[Request, list[Response]]:
    allowed: Any = request
    refusals: list[Response] = []
    for items in demand.items:
        every = getattr(request, items.array) or ()
        codes = [_refusal(call, items.right(call, request, item)) for item in every]
        refused = [(item, code) for item, code in zip(every, codes, strict=True) if code is not None]
        if not refused:
            continue
        allowed = copy(allowed)
        setattr(allowed, items.array, [item for item, code in zip(every, codes, strict=True) if code is None])
        for code in dict.fromkeys(code for _, code in refused):
            part: Any = copy(request)
            setattr(part, items.array, [item for item, each in refused if each is code])
            refusals.append(item_errors(part, call.version, code))
    return allowed, refusals


def _refusal(call: Call, right: "Of | ErrorCode | None") -> ErrorCode | None:
    if isinstance(right, ErrorCode):
        return right
    return None if right is None or right.is_given(call) else REFUSALS[right.kind]


def _add_items(response: Struct, refusal: Struct) -> None:
    for one in type(refusal).FIELDS:
        found = getattr(refusal, one.name)
        if one.is_array and found:
            setattr(response, one.name, [*(getattr(response, one.name) or ()), *found])


def _as_it_is(response: Response) -> Response:
    return response
