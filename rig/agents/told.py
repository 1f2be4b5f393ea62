"""What is said in passing, and must be kept: by whoever hears it, and by whoever takes over."""

from collections.abc import Generator

from rig.core.agent import Observation
from rig.core.tools import Action, Note

Steps = Generator[Action, Observation, Observation]
FROM_NOW_ON = "from now on"


class Told:
    """What nurses have said so far, in this segment or in those before.

    Args:
        handed_over: What was noted in the segments before.
        heeds: Whether any of it is kept at all.
    """

    def __init__(self, handed_over: tuple[str, ...], *, heeds: bool) -> None:
        self._heeds = heeds
        self._said = list(handed_over) if heeds else []

    def standing(self, subject: str) -> list[str]:
        """Return what holds from then on about somebody, in lower case."""
        said = (text.lower() for text in self._said)
        return [text for text in said if subject in text and FROM_NOW_ON in text]

    def nil_by_mouth(self, subject: str) -> bool:
        """Return whether somebody is to have nothing by mouth."""
        return any("nothing by mouth" in text for text in self.standing(subject))

    def barred(self, subject: str, contents: str) -> bool:
        """Return whether somebody is not to have what a pack says it holds."""
        words = [
            w.strip(".,;") for text in self.standing(subject) for w in text.partition(" no ")[2].split()[:1]
        ]
        return any(word and word in contents.lower() for word in words)

    def attend(self, inner: Generator[Action, Observation, Observation], seen: Observation) -> Steps:
        """Carry on with a job, noting at once what a nurse says meanwhile."""
        action = next(inner)
        while True:
            seen = yield action
            for text in seen.heard if self._heeds else ():
                if text.startswith("Nurse:"):
                    self._said.append(text)
                    yield Note(text=text)
            try:
                action = inner.send(seen)
            except StopIteration as end:
                return end.value if end.value is not None else seen
