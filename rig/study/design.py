"""Campaigns of planted agents, run for real or drawn: the same trials, the same outcomes.

What a planted agent will do wrong is drawn before its trial begins, so the outcome of a trial on a quiet watch is
known without running it. `compare` runs a sample for real and says, trial by trial, whether that is so.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from analysis.grade import grade
from analysis.table import row_of
from analysis.trials import Outcome, TrialRow, TrialTable
from rig.agents.planted import Planted, draw, streams
from rig.core.record import read
from rig.trial.run import agent_randomness, run_trial
from rig.trial.spec import TrialSpec, trial_folder
from tasks.suite import load_item

TASK = "bed-watch"
LENGTHS = ("30-min", "1-h", "2-h", "4-h", "8-h", "16-h")
SCENARIOS = ("quiet", "sits-to-drink", "blanket-in-frame", "out-with-carer", "early-supper")
TRIALS = 5
SEEDS_PER_CAMPAIGN = 1_000


@dataclass(frozen=True, slots=True)
class Design:
    """Which trials one campaign consists of: every item as often as said.

    Attributes:
        items: Item keys; benign ones, where the careful agent makes no mistake of its own.
        trials: Trials of each item.
    """

    items: tuple[str, ...] = tuple(f"{TASK}/{length}/{name}" for length in LENGTHS for name in SCENARIOS)
    trials: int = TRIALS

    @property
    def hours(self) -> tuple[float, ...]:
        """Nominal duration of each item."""
        return tuple(load_item(key).length.nominal_s / 3600.0 for key in self.items)

    def specs(self, planted: Planted, campaign: int) -> list[TrialSpec]:
        """Return the trials of one campaign; items are as hard or easy as that campaign's universe has them."""
        agent = replace(planted, universe=campaign).name
        return [
            TrialSpec(
                item=item, agent=agent, bench="sim", monitor="shadow",
                seed=SEEDS_PER_CAMPAIGN * campaign + trial,  # one seed, one day: shared by all items
            )
            for item in self.items
            for trial in range(self.trials)
        ]  # fmt: skip


def drawn_row(planted: Planted, spec: TrialSpec, campaign: int) -> TrialRow:
    """Return what a trial of the study comes to, without running it."""
    item = load_item(spec.item)
    nominal_s = item.length.nominal_s
    rng = streams(agent_randomness(spec))[0]
    plan = draw(replace(planted, universe=campaign), nominal_s, spec.item, spec.seed, spec.repeat, rng)
    fails = plan.fails(nominal_s)
    return TrialRow(
        trial_id=f"{spec.agent}/{spec.item}/{spec.seed}", agent=planted.name, family=item.task.file.family,
        task=item.task.name, item=spec.item, duration_s=nominal_s,
        outcome=Outcome.CRITICAL if fails else Outcome.PASS, done=True, harm=fails, mistake=fails,
        embodiment="simulated", monitor=spec.monitor, elapsed_s=nominal_s,
        mistake_at_s=plan.at_s if fails else None, seed=spec.seed,
    )  # fmt: skip


def drawn_table(planted: Planted, design: Design, campaign: int) -> TrialTable:
    """Return one campaign's trials without running them."""
    specs = design.specs(planted, campaign)
    return TrialTable.from_rows([drawn_row(planted, spec, campaign) for spec in specs])


@dataclass(frozen=True, slots=True)
class Compared:
    """One trial run for real beside what was drawn for it."""

    spec: TrialSpec
    drawn: TrialRow
    real: TrialRow

    @property
    def same(self) -> bool:
        """Whether both say the same of outcome, harm and mistake."""
        return (self.drawn.outcome, self.drawn.harm, self.drawn.mistake) == (
            self.real.outcome, self.real.harm, self.real.mistake,
        )  # fmt: skip


def compare(planted: Planted, specs: Sequence[TrialSpec], campaign: int, out: Path) -> Iterator[Compared]:
    """Run trials through the whole pipeline and yield each beside its drawn outcome."""
    for spec in specs:
        folder = trial_folder(out, spec)
        run_trial(spec, folder)
        record = read(folder)
        yield Compared(spec, drawn_row(planted, spec, campaign), row_of(record, grade(record)))


def sample(design: Design, planted: Planted, size: int, longest_h: float, seed: int) -> list[TrialSpec]:
    """Return some trials of campaign 0 to run for real, none longer than ``longest_h``."""
    specs = [
        spec
        for spec in design.specs(planted, 0)
        if load_item(spec.item).length.nominal_s <= 3600.0 * longest_h
    ]
    picked = np.random.default_rng(seed).choice(len(specs), min(size, len(specs)), replace=False)
    return [specs[i] for i in sorted(picked)]
