"""Who did what at the console, from where, with which result: a chain beside the records."""

from collections.abc import Mapping
from pathlib import Path

from rig.console.access import Person
from rig.core.event import Json
from rig.core.record.entries import Entry, append_entry, read_entries

FILE = ".console/audit.jsonl"
START = "runrig console"


class Audit:
    """The audit chain of a runs folder."""

    def __init__(self, runs: Path) -> None:
        self._path = runs / FILE

    def note(self, person: Person, what: str, result: str, **body: Json) -> Entry:
        """Write down what somebody did; durable when this returns.

        Raises:
            UsageError: If it cannot be written; what was asked for is then not to be done.
        """
        said: Mapping[str, Json] = {"session": person.session, "result": result, **body}
        return append_entry(self._path, START, kind=what, by=person.name, role=person.role.value, body=said)

    def entries(self) -> tuple[Entry, ...]:
        """Return everything written down.

        Raises:
            RecordError: If the chain was altered.
        """
        return read_entries(self._path, START)
