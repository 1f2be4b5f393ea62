"""Signing in and out."""

from importlib.metadata import version

from fastapi import APIRouter, HTTPException, Request, Response

from rig.console.access import PERMISSIONS, Person, checked_name
from rig.console.shapes import Done, Me, SignIn
from rig.console.web import REFUSALS, Parts, Shared, Somebody
from rig.core.bench import load_bench

router = APIRouter(prefix="/api/session", tags=["session"], responses=REFUSALS)


@router.get("")
def who(person: Somebody, parts: Shared) -> Me:
    """Say who is signed in."""
    return _me(person, parts)


@router.post("")
def sign_in(wanted: SignIn, response: Response, parts: Shared) -> Me:
    """Exchange a token of this start for a session."""
    role = parts.settings.keys.role_of(wanted.token)
    if role is None:
        raise HTTPException(401, "That link is of an earlier start. Open the one runrig serve printed last.")
    secret, person = parts.sessions.open(checked_name(wanted.name), role)
    response.set_cookie(
        parts.settings.cookie,
        secret,
        httponly=True,
        samesite="strict",
        secure=parts.settings.secure,
        path="/",
    )
    return _me(person, parts)


@router.delete("")
def sign_out(request: Request, response: Response, person: Somebody, parts: Shared) -> Done:
    """Sign out; the session cannot be used again."""
    parts.sessions.close(request.cookies.get(parts.settings.cookie, ""))
    response.delete_cookie(parts.settings.cookie, path="/")
    return Done()


def _me(person: Person, parts: Parts) -> Me:
    bench = parts.settings.bench
    return Me(
        name=person.name, role=person.role, csrf=person.csrf,
        may=sorted(m.name.lower() for m in PERMISSIONS[person.role]), bench=bench,
        embodiment=load_bench(bench).embodiment if bench else None, runs=parts.settings.runs.name,
        version=version("runrig"),
    )  # fmt: skip
