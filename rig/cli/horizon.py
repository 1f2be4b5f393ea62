"""`runrig horizon` and `report`: from records or a trial table to horizons and the scoreboard."""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from rig.cli.output import print_json
from rig.cli.speech_options import SpeechAsked, load_with_speech
from rig.core.errors import UsageError

if TYPE_CHECKING:
    from analysis import HorizonOptions
    from analysis.bootstrap import Scheme


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What was asked for on the command line."""

    replicates: int
    seed: int
    weighting: str
    by_family: bool
    metr: bool
    penalty: float | None
    pool: bool
    split: bool
    schemes: str
    guess_floor: float
    tier_replicates: int

    def options(self) -> "HorizonOptions":
        """Return the analysis' own options.

        Raises:
            UsageError: If two things asked for exclude each other, or a name is unknown.
        """
        from dataclasses import replace

        from analysis import Configurations, EstimateOptions, HorizonOptions, Weighting

        if self.pool and self.split:
            raise UsageError("--pool and --split exclude each other")
        asked = {True: Configurations.POOL, False: Configurations.REFUSE}[self.pool]
        configurations = Configurations.SPLIT if self.split else asked
        if self.metr:
            if self.weighting != "none":
                raise UsageError("--metr brings its own weights; leave --weighting out")
            penalty = 1e-5 if self.penalty is None else self.penalty
            made = HorizonOptions.metr(penalty, replicates=self.replicates, seed=self.seed)
            return replace(
                made,
                configurations=configurations,
                guess_floor=self.guess_floor,
                tier_replicates=self.tier_replicates,
            )
        if self.penalty is not None:
            raise UsageError("--penalty goes with --metr only: nothing of ours is penalised")
        if self.weighting not in list(Weighting):
            raise UsageError(f"--weighting {self.weighting!r}: give one of {', '.join(Weighting)}")
        return HorizonOptions(
            estimate=EstimateOptions(replicates=self.replicates, seed=self.seed, schemes=self._schemes()),
            by_family=self.by_family,
            configurations=configurations,
            weighting=Weighting(self.weighting),
            guess_floor=self.guess_floor,
            tier_replicates=self.tier_replicates,
        )

    def _schemes(self) -> "tuple[Scheme, ...]":
        from analysis.bootstrap import Scheme

        names = {
            "trials": Scheme.TRIALS,
            "within": Scheme.TRIALS_WITHIN_TASKS,
            "tasks": Scheme.TASKS,
            "nested": Scheme.TASKS_THEN_TRIALS,
            "families": Scheme.FAMILIES,
        }
        asked = [name.strip() for name in self.schemes.split(",") if name.strip()]
        unknown = [name for name in asked if name not in names]
        if unknown or not asked:
            raise UsageError(f"--schemes {self.schemes!r}: give some of {', '.join(names)}")
        return tuple(dict.fromkeys(names[name] for name in asked))


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """Where and how much is shown.

    Attributes:
        html: Also write a self-contained report here.
        compare: A table of published horizons to stand beside ours.
        full: Also print what stands beside the horizons.
    """

    html: Path | None
    compare: Path | None
    full: bool
    as_json: bool


def show_horizons(source: Path, asked: Asked, speech: SpeechAsked, shown: Shown) -> int:
    """Fit and print; exit 1 when no horizon could be given."""
    from analysis import horizons
    from analysis.export import to_json
    from analysis.published import compare, read_published
    from analysis.supplement import beside

    options = asked.options()
    published = read_published(shown.compare) if shown.compare else ()
    table, heard = load_with_speech(source, speech)
    report = horizons(table, options)
    lines = compare(report, published) if published else ()
    if shown.html is not None:
        from analysis.report import write_report

        try:
            write_report(report, table, shown.html, comparisons=lines)
        except OSError as error:
            raise UsageError(f"{shown.html}: cannot be written ({error.strerror})") from None
    if shown.as_json:
        found = to_json(report, beside(report, table), lines)
        print_json({**found, **({"speech": asdict(heard)} if heard is not None else {})})
        return 0 if report.has_horizon else 1
    from rich.console import Console

    from analysis.text import render
    from analysis.text_beside import comparison_table, render_beside

    console = Console()
    console.print(render(report))
    if heard is not None and heard.line:
        console.print(heard.line)
    if shown.full or options.guess_floor or options.tier_replicates:
        console.print(render_beside(beside(report, table)))
    if lines:
        console.print(comparison_table(lines))
    if shown.html is not None:
        console.print(f"Report: {shown.html}")
    return 0 if report.has_horizon else 1


def build_scoreboard(bundle: Path, out: Path) -> int:
    """Build the site; a bundle with anything missing is refused with all that is missing."""
    from analysis.bundle import load_bundle
    from analysis.scoreboard import build_site

    build_site(load_bundle(bundle), out)
    print(f"Scoreboard: {out / 'index.html'}")  # noqa: T201
    return 0
