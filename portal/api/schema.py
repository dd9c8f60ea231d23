"""What the OpenAPI document says of every operation alike."""

from typing import Any

from portal.api.problems import CONTENT_TYPE

PROBLEM = {
    "type": "object",
    "description": "Problem details (RFC 9457). `errors` tells by path what is wrong with the "
    "input, such as `amounts/requests.cpu`; the path of the input as a whole is empty. With 409, "
    "`request` is the request as it is now.",
    "properties": {
        "type": {"type": "string"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string"},
        "errors": {
            "type": "object",
            "additionalProperties": {"type": "array", "items": {"type": "string"}},
        },
        "request": {"$ref": "#/components/schemas/Request"},
    },
    "required": ["type", "title", "status", "detail"],
}


def add_problems(result: dict[str, Any], **kwargs: Any) -> dict[str, Any]:
    """Name problem details as what every operation answers where it does not succeed."""
    result["components"]["schemas"]["Problem"] = PROBLEM
    answer = {
        "description": "It did not succeed; the answer says why.",
        "content": {CONTENT_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}},
    }
    for operations in result["paths"].values():
        for operation in operations.values():
            operation["responses"]["default"] = answer
    return result
