"""Who may do what: roles, the tokens of one start, and the sessions they open."""

import hmac
import re
import secrets
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from rig.core.clock import monotonic_ns, nanoseconds
from rig.core.errors import UsageError

IDLE_NS = nanoseconds(12 * 3600)
MAX_SESSIONS = 200
NAME = re.compile(r"^[^\W_][\w .'-]{0,39}$")


class Role(StrEnum):
    """What a person is here as; the server decides by the token, never the page."""

    VIEWER = "viewer"
    REVIEWER = "reviewer"
    TECHNICIAN = "technician"
    ADMIN = "admin"


class May(StrEnum):
    """What a role may do. To stop the bench every role may."""

    READ = "read"
    SEE_MODEL = "see which agent and what the monitor said before labelling"
    REVIEW = "label trials"
    ADJUDICATE = "settle disagreements"
    JUDGE = "bring in the labels of a model that judges"
    OPERATE = "operate the bench"


_ALWAYS = frozenset({May.READ})
PERMISSIONS: Mapping[Role, frozenset[May]] = {
    Role.VIEWER: _ALWAYS | {May.SEE_MODEL},
    Role.REVIEWER: _ALWAYS | {May.REVIEW, May.ADJUDICATE},
    Role.TECHNICIAN: _ALWAYS | {May.SEE_MODEL, May.OPERATE},
    Role.ADMIN: frozenset(May),
}


@dataclass(frozen=True, slots=True)
class Keys:
    """The secret tokens of one start, one per role."""

    tokens: Mapping[Role, str]

    @classmethod
    def fresh(cls) -> "Keys":
        """Return tokens nobody has seen before."""
        return cls({role: secrets.token_urlsafe(24) for role in Role})

    def role_of(self, token: str) -> Role | None:
        """Return the role a token opens, None if it opens nothing; takes the same time either way."""
        found = None
        for role, known in self.tokens.items():
            if hmac.compare_digest(token.encode(), known.encode()):
                found = role
        return found


@dataclass(frozen=True, slots=True)
class Person:
    """Somebody using the console.

    Attributes:
        name: As typed at sign-in; the console cannot check it, the token only vouches for the role.
        role: What the token opened.
        csrf: What every change must be sent with; empty for programs, which send the token itself.
        session: Id of the session in audit entries; not the secret.
    """

    name: str
    role: Role
    csrf: str
    session: str

    def may(self, what: May) -> bool:
        """Return whether the role allows it."""
        return what in PERMISSIONS[self.role]


def checked_name(text: str) -> str:
    """Return a person's name with single spaces.

    Raises:
        UsageError: If it is empty, too long or holds anything but letters, digits and ``. ' -``.
    """
    name = " ".join(text.split())
    if not NAME.match(name):
        raise UsageError(
            "give your name: 1 to 40 letters, digits, spaces or . ' - beginning with a letter or digit"
        )
    return name


@dataclass(slots=True)
class _Session:
    person: Person
    seen_ns: int


class Sessions:
    """The open sessions of this start, in memory only: a restart signs everybody out."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._open: dict[str, _Session] = {}

    def open(self, name: str, role: Role) -> tuple[str, Person]:
        """Open a session; return its secret and who it is."""
        secret = secrets.token_urlsafe(32)
        person = Person(name, role, secrets.token_urlsafe(24), secrets.token_hex(4))
        with self._lock:
            self._forget_idle()
            if len(self._open) >= MAX_SESSIONS:
                oldest = min(self._open, key=lambda key: self._open[key].seen_ns)
                del self._open[oldest]
            self._open[secret] = _Session(person, monotonic_ns())
        return secret, person

    def find(self, secret: str) -> Person | None:
        """Return who a session's secret belongs to, None if it is not open (any more)."""
        with self._lock:
            self._forget_idle()
            session = self._open.get(secret)
            if session is None:
                return None
            session.seen_ns = monotonic_ns()
            return session.person

    def close(self, secret: str) -> None:
        """Sign out."""
        with self._lock:
            self._open.pop(secret, None)

    def _forget_idle(self) -> None:
        now = monotonic_ns()
        for key in [k for k, s in self._open.items() if now - s.seen_ns > IDLE_NS]:
            del self._open[key]
