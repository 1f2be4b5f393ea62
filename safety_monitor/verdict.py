"""What the monitor says of one rule at one time."""

from collections.abc import Mapping
from dataclasses import dataclass

from safety_monitor.rule import Response, Rule


@dataclass(frozen=True, slots=True)
class Verdict:
    """One rule at one tick, with what it was judged on.

    Attributes:
        rule: The rule.
        holds: True, False, or None where too much is unknown to say.
        margin: Distance of the rule's leading comparison from its limit, in ``unit``, positive on
            the safe side; NaN where unknown or where the rule has none.
        unit: Unit of the margin.
        t_ns: Trial time of the tick.
        values: Value of each channel the rule reads, NaN where it is not to be believed.
        ages_s: Age of each of these readings.
    """

    rule: Rule
    holds: bool | None
    margin: float
    unit: str
    t_ns: int
    values: Mapping[str, float]
    ages_s: Mapping[str, float]

    @property
    def response(self) -> Response:
        """What is to be done while the rule does not hold: its own, or the one for the unknown."""
        return self.rule.when_unknown if self.holds is None else self.rule.response

    def text(self) -> str:
        """Return the verdict in words, with rule, values, ages and margin."""
        word = {True: "holds", False: "is violated", None: "cannot be shown to hold"}[self.holds]
        seen = ", ".join(
            f"{name} {value:.4g} ({1e3 * self.ages_s[name]:.0f} ms old)"
            for name, value in self.values.items()
        )
        return f"{self.rule.id} {word}: {seen}"
