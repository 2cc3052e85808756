"""Who may do what: the key of a request, its permissions and its rate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import Depends, Request
from fastapi.security import APIKeyHeader, HTTPAuthorizationCredentials, HTTPBearer

from evidencerails.service.keys import PERMISSIONS, Permission
from evidencerails.service.problems import Problem
from evidencerails.settings.service import ApiKey

MAX_KEY_CHARACTERS = 512

BEARER = HTTPBearer(auto_error=False, scheme_name="bearer", description="`Authorization: Bearer KEY`")
HEADER = APIKeyHeader(auto_error=False, scheme_name="header", name="X-API-Key", description="`X-API-Key: KEY`")


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


def address_of(request: Request) -> str:
    """The address that a request comes from."""
    return request.client.host if request.client else "unknown"


def _caller_of(request: Request, presented: str) -> Caller:
    """Who sends this request, by its key. Cookies count for nothing: no other site can make a browser call the API."""
    state, bucket, caller = request.app.state, f"address {address_of(request)}", LOCAL
    if state.keys:
        key = state.keys.find(presented[:MAX_KEY_CHARACTERS]) if presented else None
        if key is None:
            state.rate.take(f"refused {address_of(request)}")
            code, message = "no_key", "send an API key: Authorization: Bearer KEY, or X-API-Key"
            if presented:
                code, message = "unknown_key", "this API key is not known"
            raise Problem(401, code, message, headers={"WWW-Authenticate": 'Bearer realm="evidencerails"'})
        bucket, caller = f"key {key.name}", Caller.of(key)
    request.state.bucket = bucket
    state.rate.take(bucket)
    return caller


def may(*permissions: Permission) -> Any:
    """A dependency: the caller, if it has one of the permissions."""

    # A coroutine, since FastAPI runs a plain function in a thread, which costs more than the function does.
    async def checked(
        request: Request,
        bearer: Annotated[HTTPAuthorizationCredentials | None, Depends(BEARER)],
        header: Annotated[str | None, Depends(HEADER)],
    ) -> Caller:
        caller = _caller_of(request, (bearer.credentials if bearer else header or "").strip())
        request.state.caller = caller.name
        if caller.permissions.isdisjoint(permissions):
            raise Problem(
                403, "forbidden", f"this API key may not {' or '.join(permissions)}; it needs a role that may"
            )
        return caller

    return Depends(checked)
