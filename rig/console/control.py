"""Who acts on the bench: one person at a time, who hands over or has gone silent."""

from dataclasses import dataclass

from rig.console.access import Person
from rig.console.bench_state import NotNow
from rig.core.clock import monotonic_ns, nanoseconds

LOST_NS = nanoseconds(10.0)
"""How long the page of whoever is in control may be silent."""


@dataclass(slots=True)
class Control:
    """The one lease on a bench; whoever uses it holds a lock around every call.

    Attributes:
        holder: Who may act; None where nobody has taken control.
        asking: Who has asked for it since.
    """

    holder: Person | None = None
    asking: Person | None = None
    _seen_ns: int = 0

    def has(self, person: Person) -> bool:
        """Return whether this person, in this session, is in control."""
        return self.holder is not None and self.holder.session == person.session

    def demand(self, person: Person) -> None:
        """Refuse whoever is not in control.

        Raises:
            NotNow: With who is.
        """
        if not self.has(person):
            who = self.holder.name if self.holder else "nobody"
            raise NotNow(f"{who} is in control of the bench; take control first")

    def seen(self, person: Person) -> None:
        """Note that the page of a person is there."""
        if self.has(person):
            self._seen_ns = monotonic_ns()

    @property
    def lost(self) -> bool:
        """Whether whoever is in control has been silent for too long."""
        return self.holder is not None and monotonic_ns() - self._seen_ns > LOST_NS

    def taken_from(self, person: Person) -> Person | None:
        """Return who would have to hand over to this person; None where control is to be had."""
        return None if self.holder is None or self.has(person) or self.lost else self.holder

    def give_to(self, person: Person | None) -> None:
        """Put a person in control, or nobody; what was asked before is settled by it."""
        self.holder, self.asking, self._seen_ns = person, None, monotonic_ns()
