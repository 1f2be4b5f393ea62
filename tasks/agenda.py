"""What is going to happen: a time-ordered list of things a scripted person will do."""

import heapq
from dataclasses import dataclass, field

from rig.core.person import NEVER_NS


@dataclass(slots=True)
class Agenda:
    """Acts by time; acts at the same time come out in the order they were put in."""

    _heap: list[tuple[int, int, str]] = field(default_factory=list)
    _count: int = 0

    def put(self, t_ns: int, act: str) -> None:
        """Plan ``act`` for trial time ``t_ns``."""
        heapq.heappush(self._heap, (t_ns, self._count, act))
        self._count += 1

    def due(self, t_ns: int) -> list[tuple[int, str]]:
        """Take out and return what was planned for ``t_ns`` or earlier, in order."""
        taken = []
        while self._heap and self._heap[0][0] <= t_ns:
            at_ns, _, act = heapq.heappop(self._heap)
            taken.append((at_ns, act))
        return taken

    def drop(self, act: str) -> None:
        """Take out every plan for ``act``."""
        self._heap = [entry for entry in self._heap if entry[2] != act]
        heapq.heapify(self._heap)

    def planned(self, act: str) -> bool:
        """Return whether ``act`` is still to come."""
        return any(entry[2] == act for entry in self._heap)

    @property
    def next_ns(self) -> int:
        """Time of the next act, or never."""
        return self._heap[0][0] if self._heap else NEVER_NS
