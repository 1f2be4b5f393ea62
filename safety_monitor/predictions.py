"""What predictors rest on, as data: how far ahead they look, and how sure they have to be.

A rule names an entry of a file in ``calibration``: ``predict.ID.ahead`` (the time from the world to
standstill: sensing and the bench's measured reaction), ``predict.ID.kappa`` (deviations added to the
mean) and ``predict.ID.walk``. Kappa is the largest that keeps an interruption budget on held-out
harmless trials; the file says on how many and with which guarantee.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Annotated

from pydantic import Field

from rig.core.errors import ConfigError, UsageError, unknown
from rig.core.quantity import parse_quantity
from rig.core.toml_file import StrictTable, load_validated
from safety_monitor.nodes import Constant

Text = Annotated[str, Field(min_length=1)]
Count = Annotated[int, Field(ge=0)]
Share = Annotated[float, Field(ge=0.0, le=1.0)]


class PredictionTable(StrictTable):
    """One entry as written; see `Prediction`."""

    text: Text
    task: Text
    channel: Text
    scope: Text
    limit: Annotated[str, Field(pattern=r"^limit\.[a-z0-9_]+\.(trip|policy|harm)$")]
    sense: Text
    reaction: Text
    walk: Text
    kappa: float
    budget_per_h: Annotated[float, Field(gt=0.0)]
    trials: Count
    hours: Annotated[float, Field(ge=0.0)]
    allowed: Share
    guaranteed: Share
    least: float
    source: Text


class _File(StrictTable):
    status: Text
    author_role: Text
    bench: Text
    predict: dict[Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$")], PredictionTable]


@dataclass(frozen=True, slots=True, kw_only=True)
class Prediction:
    """What one predictor rests on.

    Attributes:
        id: Its name, as rules write it.
        bench: The bench it holds for.
        task: The task it was calibrated on.
        channel: What is predicted.
        scope: Condition under which it counts, as written.
        limit: The limit it looks out for, as rules write it.
        ahead_s: How far ahead it looks: sensing and reaction.
        reaction_s: The bench's part of it, measured.
        walk: How far the slope may walk in a second, channel units per second.
        kappa: Deviations added to the mean.
        budget_per_h: Interruptions per harmless hour that were allowed.
        trials: Harmless trials it rests on; 0 for an entry that is not calibrated.
        hours: Their length.
        allowed: Probability of an interruption per such trial that was asked for.
        guaranteed: Upper bound on it for one more such trial.
        least: The least kappa that would have interrupted any of them.
        source: Which trials, and with which command.
    """

    id: str
    bench: str
    task: str
    channel: str
    scope: str
    limit: str
    ahead_s: float
    reaction_s: float
    walk: Constant
    kappa: float
    budget_per_h: float
    trials: int
    hours: float
    allowed: float
    guaranteed: float
    least: float
    source: str


def prediction_files() -> tuple[Path, ...]:
    """Return the files of calibrations that come with the project."""
    return tuple(sorted(Path(str(files("safety_monitor") / "calibration")).glob("*.toml")))


def load_predictions(paths: Sequence[Path]) -> Mapping[str, Prediction]:
    """Return the entries of these files by id.

    Raises:
        ConfigError: If a file is not valid or an id is used twice; all mistakes of a file at once.
    """
    found: dict[str, Prediction] = {}
    for path in paths:
        file, mistakes = load_validated(path, _File), []
        for name, table in file.predict.items():
            if name in found:
                mistakes.append(f"predict.{name}: is already in another file; use another id")
            try:
                found[name] = _prediction(name, file.bench, table)
            except UsageError as error:
                mistakes.append(f"predict.{name}: {error}")
        if mistakes:
            raise ConfigError(str(path), mistakes)
    return found


def _prediction(name: str, bench: str, table: PredictionTable) -> Prediction:
    value, _, unit = table.walk.partition(" ")
    reaction_s = parse_quantity(table.reaction, "s")
    parse_quantity(table.walk, unit)
    return Prediction(
        id=name, bench=bench, ahead_s=parse_quantity(table.sense, "s") + reaction_s, reaction_s=reaction_s,
        walk=Constant(float(value), unit), **table.model_dump(exclude={"text", "sense", "reaction", "walk"}),
    )  # fmt: skip


def named(predictions: Mapping[str, Prediction], name: str) -> Prediction:
    """Return an entry.

    Raises:
        UsageError: If there is none; the message lists those there are.
    """
    if name not in predictions:
        raise unknown("prediction", name, list(predictions))
    return predictions[name]


def constants_of(predictions: Mapping[str, Prediction]) -> Mapping[str, Constant]:
    """Return what rules may name of every entry."""
    named_: dict[str, Constant] = {}
    for p in predictions.values():
        named_[f"predict.{p.id}.ahead"] = Constant(p.ahead_s, "s")
        named_[f"predict.{p.id}.kappa"] = Constant(p.kappa, "1")
        named_[f"predict.{p.id}.walk"] = p.walk
    return named_
