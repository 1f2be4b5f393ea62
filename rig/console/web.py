"""What routes share: the parts of the application, who asks, and errors as answers."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Annotated, Any

from fastapi import Depends, HTTPException, Request

from rig.console.access import May, Person, Sessions
from rig.console.audit import Audit
from rig.console.background import Desk, Estimates
from rig.console.campaigns import Campaigns
from rig.console.pictures import Pictures
from rig.console.reviewing import Reviewing
from rig.console.settings import Settings
from rig.console.shelf import Item, Shelf
from rig.console.station import Station
from rig.console.story import evidence_of


@dataclass(slots=True, kw_only=True)
class Parts:
    """What the application is put together from."""

    settings: Settings
    shelf: Shelf
    reviews: Reviewing
    audit: Audit
    campaigns: Campaigns
    station: Station | None = None
    whatifs: Desk = field(default_factory=Desk)
    estimates: Estimates = field(default_factory=Estimates)
    sessions: Sessions = field(default_factory=Sessions)
    _evidence: dict[str, tuple[str, dict[str, Any]]] = field(default_factory=dict)
    _pictures: dict[str, tuple[str, Pictures]] = field(default_factory=dict)

    def evidence(self, item: Item) -> dict[str, Any]:
        """Return what verifying a record found; once per state of the record."""
        known = self._evidence.get(item.key)
        if known is None or known[0] != item.stamp:
            known = self._evidence[item.key] = (item.stamp, evidence_of(item.folder))
        return known[1]

    def pictures(self, item: Item) -> Pictures:
        """Return the camera pictures of a record."""
        known = self._pictures.get(item.key)
        if known is None or known[0] != item.stamp:
            known = self._pictures[item.key] = (item.stamp, Pictures(self.shelf.record(item)))
        return known[1]


def parts_of(request: Request) -> Parts:
    """Return the application's parts."""
    parts: Parts = request.app.state.parts
    return parts


def person_of(request: Request) -> Person:
    """Return who asks: by the session cookie, or a bearer token.

    A change through a cookie must also carry the session's own secret in a header, which no other site's
    page can read.

    Raises:
        HTTPException: 401 if nobody is signed in, 403 if the header is missing.
    """
    parts = parts_of(request)
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer":
        role = parts.settings.keys.role_of(token.strip())
        if role is None:
            raise HTTPException(401, "That token opens nothing here; it may be of an earlier start.")
        return Person("program", role, "", "bearer")
    person = parts.sessions.find(request.cookies.get(parts.settings.cookie, ""))
    if person is None:
        raise HTTPException(401, "Not signed in. Open the link that runrig serve printed.")
    if request.method not in ("GET", "HEAD") and request.headers.get("x-runrig-csrf") != person.csrf:
        raise HTTPException(403, "The page is not this session's; load it again.")
    return person


def needs(what: May) -> Callable[..., Person]:
    """Return a dependency that lets only roles pass that may do ``what``."""

    def check(person: Annotated[Person, Depends(person_of)]) -> Person:
        if not person.may(what):
            raise HTTPException(403, f"As {person.role.value} you may not {what.value}.")
        return person

    return check


Shared = Annotated[Parts, Depends(parts_of)]
Somebody = Annotated[Person, Depends(person_of)]


def item_of(key: str, parts: Shared) -> Item:
    """Return the record a path names.

    Raises:
        UsageError: If there is none; answered with 404.
    """
    return parts.shelf.item(key)


OneItem = Annotated[Item, Depends(item_of)]

REFUSALS: dict[int | str, dict[str, Any]] = {
    400: {"description": "What was asked for cannot be done; the answer says why"},
    401: {"description": "Not signed in"},
    403: {"description": "Not allowed"},
    404: {"description": "No such record"},
    409: {"description": "Not now; the answer says why"},
}
