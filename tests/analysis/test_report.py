import json
import math
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

from analysis.bootstrap import Scheme
from analysis.counting import counted
from analysis.estimate import EstimateOptions
from analysis.export import to_json
from analysis.exposure import End, exposures
from analysis.horizon import HorizonOptions, horizons
from analysis.live import RunningEstimate
from analysis.report import render, write_report
from analysis.sensitivity import BASE, sensitivities
from analysis.supplement import supplement
from analysis.trials import Definition, Outcome, TrialRow, TrialTable
from rig.core.errors import ConfigError, UsageError

from .conftest import campaign, failed, row

QUICK = HorizonOptions(estimate=EstimateOptions(replicates=100))
PASSES = {60.0: [5, 5, 5], 240.0: [5, 4, 5], 960.0: [4, 3, 3], 3840.0: [1, 2, 1], 7680.0: [0, 0, 1]}


def timed() -> list[TrialRow]:
    """Trials with times: mistakes at a third of the nominal duration, passes at its end."""
    rows = []
    for tier, embodiment in ((1, None), (3, "simulated")):
        for family in ("feeding", "watch"):
            for r in campaign(PASSES, family=family, tier=tier, embodiment=embodiment):
                name = f"{tier}/{family}/{r.trial_id}"
                changes = {"trial_id": name, "item": f"{family}/{r.item}", "elapsed_s": r.duration_s}
                changes |= {"record": f"runs/{name}"}
                if r.mistake:
                    changes |= {"mistake_at_s": r.duration_s / 3.0}
                rows.append(TrialRow(**({n: getattr(r, n) for n in r.__slots__} | changes)))
    return rows


class Checker(HTMLParser):
    """Notes anything that would be asked for from elsewhere, and elements left open."""

    def __init__(self) -> None:
        super().__init__()
        self.outside: list[str] = []
        self.open: list[str] = []
        self.headings: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name in ("src", "href", "xlink:href") and not (value or "").startswith("#"):
                self.outside.append(f"{tag} {name}={value}")
        if tag not in ("meta", "br", "path", "use", "rect"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag in self.open:
            while self.open.pop() != tag:
                pass

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] in ("h2", "h3"):
            self.headings.append(data)


def test_the_page_stands_alone_and_shows_every_part(tmp_path: Path) -> None:
    rows = [
        *timed(),
        row(trial_id="<x>", outcome=Outcome.ABORTED, done=False, item="feeding/60/0", duration_s=60.0),
    ]
    table = TrialTable.from_rows(rows, "runs & <more>")
    path = tmp_path / "report.html"
    write_report(horizons(table, QUICK), table, path)
    page = path.read_text()
    checker = Checker()
    checker.feed(page)
    assert checker.outside == []
    assert checker.open == []
    assert "runs & <more>" not in page.split("<script")[0]
    assert "&lt;x&gt;" in page
    for heading in (
        "Horizons", "Curves", "Done and harm", "How long until a mistake", "Do the tiers agree?",
        "What if it had been counted differently?", "Excluded trials", "Method", "Records behind the numbers",
    ):  # fmt: skip
        assert heading in checker.headings
    assert "runs/1/feeding/careful/60/0/0" in page


def test_the_page_carries_the_same_numbers_for_machines() -> None:
    table = TrialTable.from_rows(timed())
    report = horizons(table, QUICK)
    page = render(report, table)
    (data,) = re.findall(r'<script type="application/json" id="report">(.*?)</script>', page, re.DOTALL)
    assert json.loads(data) == json.loads(json.dumps(to_json(report, supplement(table)), allow_nan=False))
    assert render(report, table) == page


@pytest.mark.parametrize(
    "rows",
    [
        [row()],
        [failed()],
        [row(outcome=Outcome.ABORTED, done=False)],
        campaign({60.0: [5, 5], 600.0: [5, 5]}),
        campaign({60.0: [5, 5], 600.0: [0, 0]}, monitor="shadow"),
    ],
)
def test_a_page_can_be_made_of_any_trials(rows: list[TrialRow]) -> None:
    table = TrialTable.from_rows(rows)
    page = render(horizons(table, QUICK), table)
    checker = Checker()
    checker.feed(page)
    assert checker.open == []
    assert "nan" not in re.sub(r"<script.*?</script>", "", page, flags=re.DOTALL).lower().split()


def test_time_under_way_counts_to_the_mistake_or_the_end() -> None:
    rows = [
        row(trial_id="a", elapsed_s=100.0),
        failed(trial_id="b", elapsed_s=90.0, mistake_at_s=40.0),
        failed(trial_id="c", elapsed_s=70.0),
        row(trial_id="d", outcome=Outcome.INCOMPLETE, done=False, elapsed_s=50.0),
        row(trial_id="e", outcome=Outcome.ABORTED, done=False, elapsed_s=10.0),
        row(trial_id="f"),
        row(trial_id="g", outcome=Outcome.CRITICAL, mistake=True, mistake_at_s=20.0, elapsed_s=80.0),
    ]
    alone, guarded = exposures(TrialTable.from_rows(rows))
    assert (alone.trials, alone.untimed) == (6, 1)
    assert alone.rate.exposure_s == 100 + 40 + 70 + 50 + 10 + 20
    assert alone.rate.events == 3
    assert guarded.definition is Definition.AGENT_WITH_MONITOR
    assert guarded.rate.exposure_s == 100 + 40 + 70 + 50 + 10 + 80
    assert guarded.rate.events == 2
    assert alone.incidence is not None
    assert alone.incidence.probability[End.RIG_STOPPED - 1, 0] == pytest.approx(1 / 6)


def test_a_guarded_twin_counts_once_everywhere() -> None:
    shadow = [replace(r, monitor="shadow", seed=i) for i, r in enumerate(r for r in timed() if r.tier == 3)]
    guarded = [replace(r, trial_id=f"g/{r.trial_id}", monitor="guard") for r in shadow]
    alone, both = TrialTable.from_rows(shadow), TrialTable.from_rows([*shadow, *guarded])
    assert sensitivities(both) == sensitivities(alone)
    assert exposures(both)[0].rate == exposures(alone)[0].rate
    assert exposures(both)[1].trials == len(guarded)
    aborted = [replace(r, outcome=Outcome.ABORTED, done=False, harm=False, mistake=False, mistake_at_s=None)
               for r in shadow]  # fmt: skip
    saved = TrialTable.from_rows([*aborted, *guarded])
    assert counted(saved, Definition.AGENT_ALONE).sum() == len(guarded)


def test_without_times_there_is_nothing_to_say() -> None:
    assert exposures(TrialTable.from_rows(campaign(PASSES))) == ()


def test_choices_are_listed_with_what_they_do() -> None:
    found = {one.tier: one for one in sensitivities(TrialTable.from_rows(timed()))}
    variants = {variant.choice: variant for variant in found[3].variants}
    assert variants[BASE].ratio == 1.0
    assert {"without family feeding", "without family watch"} <= set(variants)
    assert variants["without family feeding"].trials == variants[BASE].trials / 2
    assert variants["job done, mistakes or not"].passes == variants["prevented mistakes forgiven"].passes
    forgiven = variants["no critical mistake, job done or not"]
    assert forgiven.t50_s == pytest.approx(variants[BASE].t50_s)


def test_tiers_are_reconciled_where_there_are_two_and_the_reason_given_elsewhere() -> None:
    both = supplement(TrialTable.from_rows(timed()))
    assert len(both.tiers) == 2
    one = supplement(TrialTable.from_rows([r for r in timed() if r.tier == 3]))
    assert one.tiers == ()
    assert all("two stages" in reason for reason in one.no_tiers)


def test_a_running_estimate_ends_with_the_numbers_of_the_batch() -> None:
    rows = timed()
    running = RunningEstimate("campaign", QUICK)
    order = np.random.default_rng(0).permutation(len(rows))
    for count, index in enumerate(order, start=1):
        running.add(rows[index])
        if count % 60 == 0:
            assert running.report().trials == count
    batch = horizons(TrialTable.from_rows(rows, "campaign"), QUICK)
    assert to_json(running.report()) == to_json(batch)


def test_a_running_estimate_refuses_repeats_and_wrong_rows_and_stays_as_it_was() -> None:
    running = RunningEstimate("campaign", QUICK)
    running.add(row())
    with pytest.raises(ConfigError, match="already taken in"):
        running.add(row())
    with pytest.raises(ConfigError, match="duration_s"):
        running.add(row(trial_id="t2", duration_s=math.nan))
    assert len(running) == 1
    running.correct(failed())
    assert running.report().done_harm[0].mistakes == 1
    with pytest.raises(ConfigError, match="not known"):
        running.correct(row(trial_id="t9"))


def test_an_option_unknown_to_a_report_is_a_misuse() -> None:
    with pytest.raises(UsageError):
        horizons(TrialTable.from_rows(timed()), QUICK).entries[0].estimate.horizons[0].band(Scheme.FAMILIES)
