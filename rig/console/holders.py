"""One holder of a bench: trials of this console or a campaign, never both.

Nothing is remembered here: whoever uses benches says when asked which, so that a console started anew, and a campaign
that outlived it, are not wrong about each other.
"""

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager

from rig.console.bench_state import NotNow

Source = Callable[[], Mapping[str, str]]
"""Returns which benches somebody holds now, and how that is said: ``campaign night``."""


class Holders:
    """Everybody who uses benches here."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._sources: list[Source] = []

    def add(self, source: Source) -> None:
        """Ask somebody too, from now on."""
        self._sources.append(source)

    @contextmanager
    def free_of_others(self, benches: Iterable[str], mine: Source) -> Iterator[None]:
        """Keep benches free of everybody else while the block makes them one's own.

        Args:
            benches: Their names.
            mine: The one who asks, who is in nobody's way.

        Raises:
            NotNow: If somebody else holds one of them; says who.
        """
        wanted = sorted(benches)
        with self._lock:
            for source in self._sources:
                held = source() if source != mine else {}
                if bench := next((name for name in wanted if name in held), None):
                    raise NotNow(f"bench {bench} is in use: {held[bench]}; one holder at a time")
            yield
