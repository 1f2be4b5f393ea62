"""What was evaluated: a Merkle manifest of everything a result depends on, and what differs between two.

A manifest is a tree of JSON objects; whatever is not an object is a leaf. A leaf's digest is over its
canonical JSON, a branch's over the names and digests of its children, so the identity of the whole
changes with any byte of any leaf, and a branch may be *elided*, replaced by its digest, without changing
the identity: a record carries the elided form, a campaign the whole one.
"""

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from rig.core.event import Json
from rig.core.record import strict

ELIDED: Final = "merkle"
"""Sole key of an elided branch; its value is the branch's digest."""

FIELDS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "agent": "the agent's name",
        "model": "the model behind the agent",
        "sampling": "how the model is sampled",
        "prompts": "the agent's own prompts",
        "memory": "what the agent keeps from step to step and how",
        "retrieval": "the data the agent may look things up in",
        "topology": "how many agents, residents and robots, and who talks to whom",
        "tool_schema": "the tools the agent is given, as it reads them",
        "permissions": "what the agent may use and see",
        "instructions": "the goal and care notes the agent is told",
        "task": "the task's file",
        "rubric": "what counts as done and as harm",
        "persona": "who is cared for",
        "staffing": "the human help that can be called",
        "monitor": "whether the monitor's verdicts are enforced",
        "rules": "the safety rules",
        "limits": "the limits the rules and the gate act on",
        "policy": "how the rig runs a trial",
        "fallback": "what the rig does when the agent does nothing or the monitor steps in",
        "bench": "the bench",
        "layout": "the channels and what they mean",
        "scene": "the simulated plant",
        "firmware": "the firmware, as the board says itself",
        "calibration": "the calibration of sensors and actuators",
        "wear": "the hours the hardware has run",
        "code": "the program's code",
        "lock": "the lock file of the program's dependencies",
        "engines": "the installed libraries that compute a trial",
        "python": "the Python interpreter",
        "machine": "the processor architecture",
    }
)
"""Every field of a manifest, in words; a field that does not apply holds a sentence saying why."""

PER_TRIAL: Final = (
    "instructions", "monitor", "permissions", "persona", "rubric", "rules", "staffing", "task", "tool_schema",
)  # fmt: skip
"""Fields that differ between trials of one agent that may be fitted together: those of the task and the mode."""


def identity(manifest: Mapping[str, Json]) -> str:
    """Return the SHA-256 at the root of the tree, as hex."""
    return _digest(dict(manifest)).hex()


def section(manifest: Mapping[str, Json], field: str) -> str:
    """Return the digest of one field, as hex."""
    return _digest(manifest[field]).hex()


def elided(manifest: Mapping[str, Json], *fields: str) -> dict[str, Json]:
    """Return the manifest with the branches of these fields replaced by their digests; same identity."""
    return {
        name: {ELIDED: _digest(value).hex()} if name in fields and isinstance(value, dict) else value
        for name, value in manifest.items()
    }


def comparable(manifest: Mapping[str, Json]) -> str:
    """Return the identity of what must agree between trials that are fitted together."""
    return identity({name: value for name, value in manifest.items() if name not in PER_TRIAL})


def _digest(value: Json) -> bytes:
    if not isinstance(value, dict):
        return hashlib.sha256(b"leaf\0" + strict.canonical(value, "configuration")).digest()
    if set(value) == {ELIDED}:
        return bytes.fromhex(str(value[ELIDED]))
    total = hashlib.sha256(b"branch\0")
    for name in sorted(value):
        total.update(strict.canonical(name, "configuration") + _digest(value[name]))
    return total.digest()


class _Missing:
    """Stands for what one of two manifests does not have."""


MISSING: Final = _Missing()


@dataclass(frozen=True, slots=True)
class Difference:
    """One place where two configurations differ.

    Attributes:
        path: Where, the field first.
        before: What the first says there, `MISSING` if nothing.
        after: What the second says there, `MISSING` if nothing.
    """

    path: tuple[str, ...]
    before: "Json | _Missing"
    after: "Json | _Missing"

    @property
    def field(self) -> str:
        """The field of the manifest it lies in."""
        return self.path[0]

    def words(self) -> str:
        """Return the difference as a sentence for people."""
        about = FIELDS.get(self.field, "a field this version does not know")
        place = f"{self.field} ({about})" + (f", {' / '.join(self.path[1:])}" if self.path[1:] else "")
        if isinstance(self.before, _Missing):
            return f"{place}: new, {_shown(self.after)}"
        if isinstance(self.after, _Missing):
            return f"{place}: gone, was {_shown(self.before)}"
        return f"{place}: {_changed(self.before, self.after)}"


def differences(before: Mapping[str, Json], after: Mapping[str, Json]) -> tuple[Difference, ...]:
    """Return every leaf in which two manifests differ, in the order of `FIELDS`; none if they are the same."""
    known = list(FIELDS)
    found = _walk((), dict(before), dict(after))
    rank = {name: place for place, name in enumerate(known)}
    return tuple(sorted(found, key=lambda d: (rank.get(d.field, len(known)), d.path)))


def _walk(path: tuple[str, ...], a: "Json | _Missing", b: "Json | _Missing") -> Iterator[Difference]:
    if not isinstance(a, _Missing) and not isinstance(b, _Missing) and _digest(a) == _digest(b):
        return
    if isinstance(a, dict) and isinstance(b, dict) and {ELIDED} not in (set(a), set(b)):
        for name in sorted({*a, *b}):
            yield from _walk((*path, name), a.get(name, MISSING), b.get(name, MISSING))
    else:
        yield Difference(path, a, b)


def _changed(before: Json, after: Json) -> str:
    """Return what became of a value; of long ones only the part that is not the same."""
    if isinstance(before, list) and isinstance(after, list):
        new, gone = [x for x in after if x not in before], [x for x in before if x not in after]
        parts = [f"new {_shown(x)}" for x in new] + [f"gone {_shown(x)}" for x in gone]
        return "; ".join(parts) or f"same entries in another order or number: {_shown(after)}"
    if isinstance(before, str) and isinstance(after, str) and len(before) > _LONG:
        at = next((i for i, (x, y) in enumerate(zip(before, after, strict=False)) if x != y), len(before))
        start = max(0, at - 20)
        was, now = (f"{text[start : at + 40]!r}" for text in (before, after))
        return f"from character {at + 1} was …{was}, is …{now}"
    return f"was {_shown(before)}, is {_shown(after)}"


_LONG = 80  # characters; a digest is shorter


def _shown(value: "Json | _Missing") -> str:
    if isinstance(value, dict):
        if set(value) == {ELIDED}:
            return f"SHA-256 {str(value[ELIDED])[:12]}…"
        return f"{len(value)} entries, SHA-256 {_digest(value).hex()[:12]}…"
    if isinstance(value, str) and len(value) == 64 and not set(value) - set("0123456789abcdef"):
        return f"SHA-256 {value[:12]}…"
    text = strict.dumps(value, "configuration").decode()
    return text if len(text) <= 200 else f"{text[:90]} … {text[-90:]}"
