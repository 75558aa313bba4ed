"""Checks of decoded responses: values that have the right type and that no broker returns.

`check_response` runs once for each response, before any part of the client sees it. Ranges of single calls are checked
by the calls themselves.
"""

from kctl.client.errors import RemoteProtocolError
from kctl.client.protocol.api.metadata import MetadataResponse
from kctl.client.protocol.schema import Response
from kctl.client.topic_names import is_topic_name, shown_topic_name


def check_response(response: Response) -> None:
    """Raise RemoteProtocolError for a response that no broker gives."""
    if isinstance(response, MetadataResponse):
        _check_topic_names(response)


def _check_topic_names(response: MetadataResponse) -> None:
    """Refuse illegal names of topics; a response that reports an error may repeat what was asked for."""
    for topic in response.topics:
        if not topic.error_code and topic.name is not None and not is_topic_name(topic.name):
            raise RemoteProtocolError(
                f"Metadata lists topic {shown_topic_name(topic.name)}, which is not a legal topic name",
                api=response.NAME,
            )
