"""Changes without items: one request, repeated after retriable errors."""

from typing import Any, TypeVar

from kctl.client.admin.call import Build, Call, Route, Unanswered
from kctl.client.admin.topics import item_error
from kctl.client.errors import KafkaError
from kctl.client.protocol.schema import Request, Response
from kctl.client.requests.retry import ADMIN_TOPICS

R = TypeVar("R", bound=Response)


def make_change(
    call: Call,
    route: Route,
    build: Build,
    response_type: type[R],
    *,
    action: str,
    made: int | None = None,
) -> R:
    """Make a change and return its response.

    Args:
        action: imperative for error messages, such as `unregister broker 3`.
        made: error code that means success after a lost response.

    Raises: KafkaError: the change was rejected or got no response. `outcome_unknown` is set if it may have been made.
    """
    unanswered = Unanswered()

    def counted(timeout_ms: int) -> Request:
        unanswered.sent()
        return build(timeout_ms)

    while True:
        answer = call.answer_of(route, counted, response_type)
        response: Any = answer.response
        was_lost = unanswered.answered()
        if not response.error_code or (response.error_code == made and was_lost):
            found: R = response
            return found
        text = getattr(response, "error_message", None)
        error = item_error(call, response.error_code, action, text)
        judged = call.judged(error, response_type.NAME, answer.node_id)
        assert isinstance(judged, KafkaError)
        if not ADMIN_TOPICS.is_retried(judged):
            raise judged
        call.pause(judged)
