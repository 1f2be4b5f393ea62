"""What a scripted person has done since the rig last asked: collected, then handed over as one value."""

from dataclasses import dataclass, field

from rig.core.person import Behaviour


@dataclass(slots=True)
class Scene:
    """Body inputs, speech and happenings of one update, in the making.

    Attributes:
        now: Every body input ever set, with its present value.
    """

    now: dict[str, float]
    _changed: dict[str, float] = field(default_factory=dict)
    _says: list[str] = field(default_factory=list)
    _did: list[str] = field(default_factory=list)
    _handset: dict[str, float] = field(default_factory=dict)

    def set(self, **values: float) -> None:
        """Set body inputs; a double underscore stands for the dot (``head__yaw``)."""
        for key, value in values.items():
            name = key.replace("__", ".")
            self.now[name] = value
            self._changed[name] = value

    def add(self, name: str, step: float = 1.0) -> None:
        """Add ``step`` to a body input that counts."""
        self.set(**{name: self.now.get(name, 0.0) + step})

    def say(self, text: str) -> None:
        """Speak."""
        self._says.append(text)

    def did(self, text: str) -> None:
        """Note a happening for the record."""
        self._did.append(text)

    def press(self, **values: float) -> None:
        """Set parts of the bed with its handset, one after another; names as in `set`."""
        self._handset |= {key.replace("__", "."): value for key, value in values.items()}

    def take(self, next_ns: int) -> Behaviour:
        """Return what was collected and start afresh."""
        behaviour = Behaviour(
            next_ns=next_ns, body=self._changed, says=tuple(self._says), did=tuple(self._did),
            handset=self._handset,
        )  # fmt: skip
        self._changed, self._says, self._did, self._handset = {}, [], [], {}
        return behaviour
