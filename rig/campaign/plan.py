"""The plan of a campaign: what is decided before the first trial, as a TOML file.

What a plan must say before it can be registered is the decision it serves and the thresholds; a plan without
them can only be run as exploratory.
"""

from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from rig.core.errors import ConfigError, UsageError
from rig.core.event import Json
from rig.core.quantity import parse_quantity
from rig.core.toml_file import Table, load_validated, parse_validated
from rig.trial.spec import FITTED, MAX_SEED

MAX_TRIALS = 10_000_000
Text = Annotated[str, Field(min_length=1)]
Name = Annotated[str, Field(pattern=r"^[a-z][a-z0-9-]*$")]
Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
Seed = Annotated[int, Field(ge=0, le=MAX_SEED)]
Count = Annotated[int, Field(ge=1)]

METRICS = {
    "t50": "s",  # job duration at which half of the jobs pass
    "t80": "s",  # job duration at which 80 % pass
    "pass": "1",  # share of trials that pass
    "mistake": "1",  # share of trials with a critical mistake, prevented or not
    "harm": "1",  # share of trials in which material harm was effected
    "timely": "1",  # share of hazards answered by the monitor in time
    "needless": "1/h",  # interventions that nothing called for, per hour
}
"""What a threshold may be about, and the unit it is kept in."""


class DecisionTable(Table):
    """The decision the campaign serves."""

    serves: Text
    consequence_of_failure: Text
    authorised_autonomy: Text
    prohibited_effects: Annotated[list[Text], Field(min_length=1)]
    environment: Text
    stop_rule: Text
    owner_role: Text


class ThresholdTable(Table):
    """One number that decides, fixed before there is data.

    Attributes:
        metric: One of `METRICS`.
        of: Which pass it counts.
        at_least: The bound must not be below this; or
        at_most: it must not be above this.
        bound: Which end of the interval is held against it.
        confidence: Of the interval.
    """

    metric: Literal["t50", "t80", "pass", "mistake", "harm", "timely", "needless"]
    of: Literal["agent alone", "agent + monitor"] = "agent + monitor"
    at_least: str | None = None
    at_most: str | None = None
    bound: Literal["lower", "upper", "estimate"]
    confidence: Annotated[float, Field(gt=0.5, lt=1)] = 0.95

    @model_validator(mode="after")
    def _one_side(self) -> Self:
        if (self.at_least is None) == (self.at_most is None):
            raise ValueError("give either at_least or at_most")
        if self.bound == ("upper" if self.at_least is not None else "lower"):
            raise ValueError(
                f"bound {self.bound!r} would let the uncertainty count in favour; use the other end"
            )
        self.value  # noqa: B018 (raises if it is not a quantity of the metric's kind)
        return self

    @property
    def value(self) -> float:
        """The number, in the unit of `METRICS`.

        Raises:
            ValueError: If it is not a quantity of that kind.
        """
        try:
            return parse_quantity(self.at_least or self.at_most or "", METRICS[self.metric])
        except UsageError as error:
            raise ValueError(str(error)) from None

    def said(self) -> dict[str, Json]:
        """Return the threshold as registered: ``value`` in ``unit``, and the text it came from."""
        return {
            **self.model_dump(exclude={"at_least", "at_most"}),
            "side": "at_least" if self.at_least is not None else "at_most",
            "value": self.value, "unit": METRICS[self.metric], "text": self.at_least or self.at_most,
        }  # fmt: skip


class DeploymentTable(Table):
    """How the agent would really be used: what the trials must be long and busy enough for."""

    run_length: Text
    residents: Count = 1
    robots: Count = 1

    @model_validator(mode="after")
    def _positive(self) -> Self:
        if self.run_length_s <= 0:
            raise ValueError(f"run_length {self.run_length!r} must be longer than nothing")
        return self

    @property
    def run_length_s(self) -> float:
        """Intended uninterrupted run, seconds."""
        try:
            return parse_quantity(self.run_length, "s")
        except UsageError as error:
            raise ValueError(str(error)) from None


class SeedRange(Table):
    """Consecutive seeds."""

    first: Seed
    count: Count


class GridTable(Table):
    """Every agent on every item, in every mode, on every bench, with every seed, so many times.

    Attributes:
        agents: Names of agents.
        items: ``task/length/scenario``; ``*`` and ``?`` stand for any part.
        benches: Names of benches.
        monitors: Modes.
        seeds: A list, or the first and how many.
        repeats: Repetitions under each seed.
        think: What thinking costs.
        cameras: Whether what is read off cameras is a fitted sensor model's (``fitted``) or every frame is drawn and
            read (``rendered``).
    """

    agents: Annotated[list[Text], Field(min_length=1)]
    items: Annotated[list[Text], Field(min_length=1)]
    benches: Annotated[list[Text], Field(min_length=1)] = ["sim"]
    monitors: Annotated[list[Text], Field(min_length=1)] = ["shadow", "guard"]
    seeds: SeedRange | list[Seed]
    repeats: Count = 1
    think: Text = "charged"
    cameras: Text = FITTED

    @model_validator(mode="after")
    def _distinct(self) -> Self:
        for name in ("agents", "items", "benches", "monitors", "seeds"):
            listed = getattr(self, name)
            if isinstance(listed, list):
                if not listed:
                    raise ValueError(f"{name}: nothing is listed, so there would be no trial")
                if twice := sorted({str(x) for x in listed if listed.count(x) > 1}):
                    raise ValueError(f"{name}: listed twice: {', '.join(twice)}; use repeats for repetitions")
        if isinstance(self.seeds, SeedRange) and self.seeds.first + self.seeds.count - 1 > MAX_SEED:
            raise ValueError(f"seeds: the last would be above {MAX_SEED}")
        return self

    @property
    def seed_list(self) -> range | list[int]:
        """The seeds."""
        if isinstance(self.seeds, SeedRange):
            return range(self.seeds.first, self.seeds.first + self.seeds.count)
        return self.seeds


class OrderTable(Table):
    """In which order trials are run.

    Attributes:
        randomise: Shuffle blocks, and trials inside a block.
        seed: Of the shuffling.
        block_by: Trials that share this stay together.
    """

    randomise: bool = True
    seed: Seed = 0
    block_by: Literal["none", "seed", "item", "agent", "monitor", "bench", "repeat"] = "none"


class RunTable(Table):
    """How trials are carried out; nothing here changes a result.

    Attributes:
        lease: A worker not heard of for this long is given up.
        attempts: Worker deaths after which a simulated trial is ABORTED instead of being run again.
        memory: What a worker may allocate.
    """

    lease: Text = "300 s"
    attempts: Count = 5
    memory: Text = "4 GiB"

    @model_validator(mode="after")
    def _quantities(self) -> Self:
        try:
            if self.lease_s < 5 or self.memory_bytes < 2**28:
                raise ValueError("lease must be at least 5 s, and memory at least 256 MiB")
        except UsageError as error:
            raise ValueError(str(error)) from None
        return self

    @property
    def lease_s(self) -> float:
        """Seconds without a sign of life after which a worker is given up."""
        return parse_quantity(self.lease, "s")

    @property
    def memory_bytes(self) -> int:
        """Bytes a worker may allocate."""
        return int(parse_quantity(self.memory, "byte"))


class HoldoutTable(Table):
    """A sealed set of trials: only its digest is in the plan.

    Attributes:
        sha256: Of the sealed file (a ``[[grid]]`` and a ``salt``).
    """

    sha256: Sha256


class CompositionTable(Table):
    """Arms of a composition run: which changes are made together.

    Grids name a factor in braces, as in ``agents = ["planted({rate})"]``.

    Attributes:
        design: ``singletons`` (baseline, each change alone, all together), ``pairwise`` (those, and every pair of
            levels somewhere) or ``factorial`` (everything with everything).
        factors: Levels by factor; the first is the baseline.
        exclude: Combinations that make no sense.
        max_arms: More than this is refused.
    """

    design: Literal["singletons", "pairwise", "factorial"]
    factors: Annotated[dict[Name, Annotated[list[Text], Field(min_length=2)]], Field(min_length=2)]
    exclude: list[dict[str, str]] = []
    max_arms: Count = 256

    @model_validator(mode="after")
    def _known(self) -> Self:
        for name, levels in self.factors.items():
            if len(set(levels)) != len(levels):
                raise ValueError(f"factors.{name}: a level is listed twice")
        for combination in self.exclude:
            for name, level in combination.items():
                if level not in self.factors.get(name, ()):
                    raise ValueError(f"exclude: there is no factor {name!r} with level {level!r}")
        return self


class Plan(Table):
    """A whole plan."""

    name: Name
    text: Text
    decision: DecisionTable | None = None
    threshold: list[ThresholdTable] = []
    deployment: DeploymentTable | None = None
    grid: Annotated[list[GridTable], Field(min_length=1)]
    order: OrderTable = OrderTable()
    run: RunTable = RunTable()
    holdout: HoldoutTable | None = None
    composition: CompositionTable | None = None

    def missing(self) -> tuple[str, ...]:
        """Return what the plan would have to say before it could be registered."""
        tables = {
            "[decision]": self.decision,
            "[[threshold]]": self.threshold,
            "[deployment]": self.deployment,
        }
        return tuple(name for name, table in tables.items() if not table)


class SealedSet(Table):
    """What a sealed file holds.

    Attributes:
        salt: Random text, so that the digest cannot be guessed from a list of likely sets.
        grid: The held-out trials.
    """

    salt: Annotated[str, Field(min_length=16)]
    grid: Annotated[list[GridTable], Field(min_length=1)]


def load_plan(path: Path) -> tuple[Plan, bytes]:
    """Return a plan and the bytes it came from.

    Raises:
        ConfigError: If the file is missing, is not TOML, or is wrong; all mistakes at once.
    """
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise ConfigError(str(path), [f"cannot be read: {error.strerror}"]) from None
    return parse_validated(raw, str(path), Plan), raw


def load_sealed(path: Path) -> SealedSet:
    """Return a sealed set, opened.

    Raises:
        ConfigError: As for `load_plan`.
    """
    return load_validated(path, SealedSet)
