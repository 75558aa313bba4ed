"""Error responses for entire requests, derived from the message declarations.

The code is set at the top level of the response, or in one item for each item of the request.
"""

import re
from typing import Any

from kctl.client.broker_errors import ErrorCode
from kctl.client.protocol.api.log_dirs import AlterReplicaLogDirsRequest
from kctl.client.protocol.api.scram_credentials import AlterUserScramCredentialsRequest
from kctl.client.protocol.schema import Field, Request, Response, Struct

_CODES = ("error_code", "partition_error_code")
_CODE_PER_ITEM = frozenset({"Metadata"})
"""APIs that report errors in each item, although the response also has an error code."""
_IDENTITY = re.compile(r"(^|_)(name|topic|id|index|partition|type)$")
"""Names of fields that identify an item, and that the response repeats."""
_RENAMED = {"user": "name", "topic_name": "name"}
"""Dict from response field to the name of the field in the request."""
_ABSENT = {"base_offset": -1, "committed_offset": -1, "low_watermark": -1, "node_id": -1, "port": -1}
"""Values of fields without data in error responses."""


def error_answer(request: Request, version: int, code: ErrorCode) -> Response:
    """Return the response that rejects all of `request`.

    Raises: ValueError: the API has no error codes.
    """
    if not has_error_code(type(request)):
        raise ValueError(f"{request.NAME} has no error code")
    response: Any = request.RESPONSE()
    _set_absent(response, version)
    if not _set_code(response, version, code) or request.NAME in _CODE_PER_ITEM:
        _refuse_items(response, request, version, code)
        if request.NAME in _CODE_PER_ITEM:
            response.error_code = ErrorCode.NONE
    refusal: Response = response
    return refusal


def item_errors(request: Request, version: int, code: ErrorCode) -> Response:
    response: Any = request.RESPONSE()
    _refuse_items(response, request, version, code)
    refusal: Response = response
    return refusal


def has_error_code(request: type[Request]) -> bool:
    return _reports(request.RESPONSE)


def _reports(kind: Any) -> bool:
    return any(one.name in _CODES or (_is_structs(one) and _reports(one.kind)) for one in kind.FIELDS)


def _is_structs(one: Field) -> bool:
    return one.is_array and isinstance(one.kind, type)


def _set_code(struct: Any, version: int, code: ErrorCode) -> bool:
    found = [one.name for one in struct.FIELDS if one.name in _CODES and one.is_in(version)]
    for name in found:
        setattr(struct, name, code)
    return bool(found)


def _refuse_items(answer: Struct, asked: Struct, version: int, code: ErrorCode) -> None:
    arrays = (getattr(asked, one.name) for one in asked.FIELDS if one.is_array and one.is_in(version))
    items: list[object] = next((array for array in arrays if array), [])
    if isinstance(asked, AlterUserScramCredentialsRequest):  # a user may be in both arrays, but gets one response
        every = {each.name: each for each in asked.upsertions} | {each.name: each for each in asked.deletions}
        items = list(every.values())
    if isinstance(asked, AlterReplicaLogDirsRequest):  # requests list topics by directory, responses by topic
        items = [topic for each in asked.dirs for topic in each.topics]
    for one in answer.FIELDS:
        if _is_structs(one) and one.is_in(version) and _reports(one.kind):
            setattr(answer, one.name, [_refused(one.kind, item, version, code) for item in items])
            return


def _refused(kind: Any, item: object, version: int, code: ErrorCode) -> Struct:
    refused: Struct = kind()
    _set_absent(refused, version)
    own = [one for one in refused.FIELDS if one.name not in _CODES and not one.is_array and not one.informs]
    if not isinstance(item, Struct):  # names, IDs, and numbers are not structs
        setattr(refused, next(one.name for one in own if isinstance(one.default, type(item))), item)
    for one in own:
        name = one.name if hasattr(item, one.name) else _RENAMED.get(one.name, one.name)
        if _IDENTITY.search(name) and hasattr(item, name):
            setattr(refused, one.name, getattr(item, name))
    for one in kind.FIELDS:
        if _is_structs(one) and not _reports(one.kind) and _is_same_array(one, item):  # such as the parts of an entity
            setattr(refused, one.name, getattr(item, one.name))
    if not _set_code(refused, version, code) and isinstance(item, Struct):
        _refuse_items(refused, item, version, code)
    return refused


def _is_same_array(one: Field, item: object) -> bool:
    return isinstance(item, Struct) and any(each.name == one.name and each.kind == one.kind for each in item.FIELDS)


def _set_absent(struct: Struct, version: int) -> None:
    for one in struct.FIELDS:
        if one.name in _ABSENT and one.is_in(version):
            setattr(struct, one.name, _ABSENT[one.name])
