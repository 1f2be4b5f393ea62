"""Agents whose true horizon is known by formula: instruments that test the measurement, never agents under test.

Each is the careful agent with a mistake planted in it. Two kinds test different things: where the pass probability
is exactly logistic in log duration the estimator has no excuse; where the hazard is constant the pass curve
``exp(-rate d)`` is not logistic, and what the fit makes of it shows the misfit of the protocol's model.

Written as ``planted(0.5)`` (per hour), or with options: ``planted(hour=0.5,fatigue=1.5)``, ``planted(job=0.2)``,
``planted(decision=0.01)``, ``planted(logistic=1.5,slope=1,item_sd=1)``.
"""

import hashlib
import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import lru_cache

import numpy as np

from rig.agents.care import CAREFUL
from rig.agents.scripted import MISTAKES, ScriptedAgent
from rig.core.agent import Briefing, Decision, Observation
from rig.core.errors import UsageError, unknown
from rig.core.event import Json
from rig.core.tools import Action, WaitUntil

PREFIX = "planted("
KINDS = ("hour", "job", "decision", "logistic")
NEVER = math.inf
SHARES = (0.05, 0.9)
"""Where in a job a mistake falls that was drawn for the job as a whole, as shares of its nominal duration."""
NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(64)


@dataclass(frozen=True, slots=True, kw_only=True)
class Planted:
    """What is planted; exactly one of `hour`, `job`, `decision` and `logistic` is set.

    Attributes:
        hour: Mistakes per hour of the job.
        job: Probability of a mistake in a job, however long.
        decision: Probability of a mistake at each decision.
        logistic: Duration in hours at which half of the jobs pass; the log odds fall by `slope` per unit of
            natural log duration.
        slope: See `logistic`.
        fatigue: Shape of the hazard over the job, with `hour`: 1 constant, more than 1 rising (fatigue), less
            falling (warming up).
        learning: With every repeat of a trial the rate or the log odds fall by this much, as ``exp(-learning)``.
        item_sd: Standard deviation of the difficulty shared by all trials of one item, on the scale of log odds
            (logistic, job, decision) or of the log rate (hour).
        day_sd: The same, shared by all trials of one seed whatever their task: a good day or a bad one.
        universe: Number of the universe the items and days are drawn in; another has other hard ones.
    """

    hour: float | None = None
    job: float | None = None
    decision: float | None = None
    logistic: float | None = None
    slope: float = 1.0
    fatigue: float = 1.0
    learning: float = 0.0
    item_sd: float = 0.0
    day_sd: float = 0.0
    universe: float = 0.0

    def __post_init__(self) -> None:
        kinds = [name for name in KINDS if getattr(self, name) is not None]
        if len(kinds) != 1:
            raise UsageError(
                f"planted: give exactly one of {', '.join(KINDS)}; seen: {', '.join(kinds) or 'none'}"
            )
        positive = [*kinds, "slope", "fatigue"]
        for field in fields(self):
            value = getattr(self, field.name)
            if value is None:
                continue
            if not math.isfinite(value) or value < 0 or (field.name in positive and value == 0):
                need = "positive and" if field.name in positive else "not negative and"
                raise UsageError(f"planted: {field.name} is {value}; it must be {need} finite")
        for name in ("job", "decision"):
            if (getattr(self, name) or 0.0) >= 1:
                raise UsageError(f"planted: {name} is a probability, below 1")
        if self.fatigue != 1 and self.hour is None:
            raise UsageError("planted: fatigue is the shape of a hazard per hour; give it with hour")

    @property
    def name(self) -> str:
        """The agent's name, as it is asked for."""
        given = [(f.name, getattr(self, f.name)) for f in fields(self) if getattr(self, f.name) != f.default]
        if [name for name, _ in given] == ["hour"]:
            return f"{PREFIX}{_exact(self.hour)})"
        return f"{PREFIX}{','.join(f'{name}={_exact(value)}' for name, value in given)})"

    # --- the truth -----------------------------------------------------------------------------

    def passes(self, hours: float, effect: float = 0.0, repeat: int = 0, decisions: int = 1) -> float:
        """Return the probability that a job is passed.

        Args:
            hours: Its nominal duration.
            effect: Difficulty of item and day together.
            repeat: Number of the repeat.
            decisions: How many decisions the job takes, for mistakes per decision.
        """
        effect -= self.learning * repeat
        if self.hour is not None:
            return math.exp(-((self.hour * math.exp(effect) * hours) ** self.fatigue))
        if self.logistic is not None:
            return _logistic(self.slope * math.log(self.logistic / hours) - effect)
        p = _logistic(_logit(self.job if self.job is not None else self.decision or 0.0) + effect)
        return 1.0 - p if self.job is not None else float((1.0 - p) ** decisions)

    def mean_passes(self, hours: float, decisions: int = 1) -> float:
        """Return the same over all items and days, by Gauss-Hermite quadrature."""
        sd = math.hypot(self.item_sd, self.day_sd)
        if sd == 0:
            return self.passes(hours, decisions=decisions)
        values = [self.passes(hours, sd * float(z), decisions=decisions) for z in NODES]
        return float(np.dot(WEIGHTS, values) / WEIGHTS.sum())

    def horizon_h(self, share: float) -> float | None:
        """Return the true duration in hours at which ``share`` of the jobs pass, over items and days.

        In closed form without random effects: ``(-ln share)^(1/fatigue) / rate`` and
        ``t50 (1/share - 1)^(1/slope)``. None where there is none: a mistake per job or per decision does not
        depend on duration alone.
        """
        if self.job is not None or self.decision is not None:
            return None
        if math.hypot(self.item_sd, self.day_sd) == 0:
            if self.hour is not None:
                return float((-math.log(share)) ** (1.0 / self.fatigue) / self.hour)
            return float((self.logistic or 0.0) * (1.0 / share - 1.0) ** (1.0 / self.slope))
        low, high = -20.0, 20.0
        for _ in range(80):
            middle = (low + high) / 2
            low, high = (middle, high) if self.mean_passes(math.exp(middle)) > share else (low, middle)
        return math.exp((low + high) / 2)


@dataclass(frozen=True, slots=True)
class Plan:
    """What one trial's agent will do wrong, drawn before it begins.

    Attributes:
        at_s: Job time of the mistake; infinite for never.
        at_decision: Number of the decision that is a mistake; infinite for never.
    """

    at_s: float = NEVER
    at_decision: float = NEVER

    def fails(self, nominal_s: float) -> bool:
        """Return whether a job of this duration meets the mistake; for plans by time."""
        return self.at_s < nominal_s


def draw(
    planted: Planted, nominal_s: float, item: str, seed: int, repeat: int, rng: np.random.Generator
) -> Plan:
    """Return when a trial's mistake comes.

    Args:
        planted: What is planted.
        nominal_s: The job's nominal duration.
        item: The item; trials of one item share their difficulty.
        seed: The trial's seed; trials of one seed share their day.
        repeat: Number of the repeat.
        rng: The seed's randomness; mixed with the item, so that trials of one seed differ.
    """
    effect = sum(
        sd * _shared(planted.name, what, of)
        for sd, what, of in ((planted.item_sd, "item", item), (planted.day_sd, "day", str(seed)))
        if sd
    )
    own = np.random.default_rng([_number(item), int(rng.integers(2**62)), repeat])
    u, where = own.random(), own.uniform(*SHARES)
    if planted.hour is not None:
        rate = planted.hour * math.exp(effect - planted.learning * repeat)
        return Plan(at_s=3600.0 * float((-math.log1p(-u)) ** (1.0 / planted.fatigue)) / rate)
    if planted.decision is not None:
        p = 1.0 - planted.passes(1.0, effect, repeat)
        return Plan(at_decision=math.floor(math.log1p(-u) / math.log1p(-p)))
    fails = u > planted.passes(nominal_s / 3600.0, effect, repeat)
    return Plan(at_s=where * nominal_s if fails else NEVER)


class PlantedAgent:
    """The careful agent with a mistake planted in it."""

    def __init__(self, planted: Planted, rng: np.random.Generator) -> None:
        self.name = planted.name
        self._planted = planted
        self._draws, thoughts = streams(rng)
        self._inner = ScriptedAgent(self.name, CAREFUL, thoughts)
        self._where: tuple[str, int, int] = ("", 0, 0)
        self._mistakes: list[Action] = []
        self._decisions = 0
        self.plan = Plan()

    @property
    def facts(self) -> Mapping[str, Json]:
        """What is planted, and the horizons it makes true."""
        return {
            "kind": "planted",
            "t50_h": self._planted.horizon_h(0.5),
            "t80_h": self._planted.horizon_h(0.8),
        }

    def place(self, item: str, seed: int, repeat: int) -> None:
        """Tell the instrument which trial it is in; no agent under test is told."""
        self._where = (item, seed, repeat)

    def begin(self, briefing: Briefing) -> None:
        """Take the job, and draw when the mistake comes.

        Raises:
            UsageError: If no mistake is known for the task.
        """
        if briefing.task not in MISTAKES:
            raise unknown("task for planted agents", briefing.task, list(MISTAKES))
        self._inner.begin(briefing)
        self._mistakes = list(MISTAKES[briefing.task])
        self.plan = draw(self._planted, briefing.nominal_s, *self._where, self._draws)

    def act(self, observation: Observation) -> Decision:
        """Do the careful thing until the mistake has come."""
        now_s, number = observation.t_ns / 1e9, self._decisions
        self._decisions += 1
        if self._mistakes and (now_s >= self.plan.at_s or number >= self.plan.at_decision):
            return Decision(self._mistakes.pop(0), self._inner.think_s())
        decision = self._inner.act(observation)
        if isinstance(decision.action, WaitUntil) and now_s < self.plan.at_s:
            left_s = max(0.1, self.plan.at_s - now_s)
            if decision.action.timeout_s > left_s:
                wait = decision.action.model_copy(update={"timeout_s": left_s})
                return Decision(wait, decision.think_s)
        return decision


def streams(rng: np.random.Generator) -> tuple[np.random.Generator, np.random.Generator]:
    """Return the randomness of the mistake, and that of everything else."""
    mistake, rest = rng.spawn(2)
    return mistake, rest


def parse_planted(name: str) -> Planted:
    """Return what ``planted(...)`` stands for.

    Raises:
        UsageError: If it is not understood; the message says what is.

    >>> parse_planted("planted(0.5)").horizon_h(0.5)
    1.3862943611198906
    >>> parse_planted("planted(logistic=2,slope=1)").horizon_h(0.8)
    0.5
    """
    inside = name.removeprefix(PREFIX).removesuffix(")")
    known = [field.name for field in fields(Planted)]
    given: dict[str, float] = {}
    for part in inside.split(","):
        key, equals, value = part.rpartition("=")
        key = key.strip() or ("" if equals else "hour")
        if key not in known or key in given:
            raise UsageError(
                f"{name}: {part.strip()!r} is not understood; give a rate per hour, as in planted(0.5), or some of "
                f"{', '.join(known)}, each once, as in planted(logistic=2,slope=1)"
            )
        try:
            given[key] = float(value)
        except ValueError:
            raise UsageError(f"{name}: {key} must be a number; seen: {value!r}") from None
    return Planted(**given)


@lru_cache(maxsize=4096)
def _shared(name: str, what: str, of: str) -> float:
    """Return a standard normal number that is the same for everything that shares ``of``."""
    return float(np.random.default_rng(_number(f"{name}/{what}/{of}")).standard_normal())


def _number(text: str) -> int:
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")


def _exact(value: float | None) -> str:
    """Return the shortest text that is read back as the same number."""
    return "" if value is None else f"{value:g}" if float(f"{value:g}") == value else repr(value)


def _logistic(x: float) -> float:
    return 1.0 / (1.0 + math.exp(-x)) if x > -700 else 0.0


def _logit(p: float) -> float:
    return math.log(p / (1.0 - p))
