"""Who may do what: the key of a request, its permissions and its rate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from fastapi import Depends, Request

from evidencerails.service.keys import PERMISSIONS, Permission
from evidencerails.service.problems import Problem
from evidencerails.settings.service import ApiKey

MAX_KEY_CHARACTERS = 512

SCHEMES: dict[str, dict[str, Any]] = {
    "bearer": {"type": "http", "scheme": "bearer", "description": "`Authorization: Bearer KEY`"},
    "header": {"type": "apiKey", "in": "header", "name": "X-API-Key", "description": "`X-API-Key: KEY`"},
}
"""How a key may be sent, as OpenAPI says it. Described here and not by FastAPI's own security classes: these are two
more dependencies to solve at each request, and decide nothing."""


@dataclass(frozen=True)
class Caller:
    """Who sends a request."""

    name: str
    permissions: frozenset[Permission]
    is_local: bool = False
    """True where the service has no keys: whoever reaches the loopback address may do all."""

    @classmethod
    def of(cls, key: ApiKey) -> Caller:
        """The holder of a key."""
        return cls(key.name, PERMISSIONS[key.role])


LOCAL = Caller("local", PERMISSIONS["admin"], is_local=True)


def presented_key(request: Request) -> str | None:
    """The key that a request carries in `Authorization: Bearer` or `X-API-Key`."""
    kind, _, rest = request.headers.get("authorization", "").partition(" ")
    key = rest.strip() if kind.lower() == "bearer" else request.headers.get("x-api-key", "").strip()
    return key[:MAX_KEY_CHARACTERS] or None


def caller_of(request: Request) -> Caller:
    """Who sends this request, by its key. Cookies count for nothing: no other site can make a browser call the API.

    Raises:
        Problem: 401 no key or an unknown one; 429 too many requests.
    """
    state = request.app.state
    address = request.client.host if request.client else "unknown"
    if not state.keys:
        _count(request, f"address {address}")
        return LOCAL
    presented = presented_key(request)
    key = state.keys.find(presented) if presented else None
    if key is None:
        state.rate.take(f"refused {address}")
        raise Problem(
            401,
            "unknown_key" if presented else "no_key",
            "this API key is not known" if presented else "send an API key: Authorization: Bearer KEY, or X-API-Key",
            headers={"WWW-Authenticate": 'Bearer realm="evidencerails"'},
        )
    _count(request, f"key {key.name}")
    return Caller.of(key)


def _count(request: Request, bucket: str) -> None:
    request.state.bucket = bucket
    request.app.state.rate.take(bucket)


def may(*permissions: Permission) -> Any:
    """A dependency: the caller, if it has one of the permissions.

    Raises:
        Problem: 401 or 429 as `caller_of`; 403 the key's role does not allow it.
    """

    # A coroutine, since FastAPI runs a plain function in a thread, which costs more than the function does.
    async def checked(request: Request) -> Caller:
        caller = caller_of(request)
        request.state.caller = caller.name
        if caller.permissions.isdisjoint(permissions):
            raise Problem(
                403, "forbidden", f"this API key may not {' or '.join(permissions)}; it needs a role that may"
            )
        return caller

    return Depends(checked)


def with_keys_described(schema: dict[str, Any]) -> dict[str, Any]:
    """The OpenAPI schema, which then says how keys are sent and which routes want one."""
    schema.setdefault("components", {})["securitySchemes"] = SCHEMES
    for path, operations in schema["paths"].items():
        if path.startswith("/v1/") or path == "/metrics":
            for operation in operations.values():
                operation["security"] = [{name: []} for name in SCHEMES]
    return schema
