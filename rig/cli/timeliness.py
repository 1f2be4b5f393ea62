"""`runrig timeliness`: was the monitor in time, and how often did it step in for nothing?"""

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from analysis.facts import TrialFacts
from analysis.hazards import PairKind
from analysis.timeliness import Met, Timeliness, timeliness
from analysis.words import percent
from rig.cli.output import print_json
from safety_monitor.rates import PerHour, Rate
from safety_monitor.timeliness import LEADS_S, Interruption, Report, Spread, Timing

CLASSES = (
    (Timing.TIMELY, "Timely"), (Timing.LATE_MITIGATED, "Late"), (Timing.POST_HOC, "Post hoc"),
    (Timing.MISSED, "Missed"), (Timing.PREMATURE, "Premature"), (Timing.INEFFECTIVE, "Ineffective"),
    (Timing.UNPREVENTABLE, "No window"),
)  # fmt: skip


def show_timeliness(folder: Path, *, seed: int, pool: bool, list_all: bool, as_json: bool) -> int:
    """Score the twins below a folder and print what was found."""
    found = timeliness(folder, seed=seed, pool=pool)
    if as_json:
        print_json(_json(found))
    else:
        _print(Console(), found, list_all)
    return 0


# --- for people ----------------------------------------------------------------------------------


def _print(console: Console, found: Timeliness, list_all: bool) -> None:
    kinds = ", ".join(f"{found.pairs[kind]} {kind}" for kind in PairKind)
    console.print(f"{found.twins.records} records: {len(found.twins.pairs)} pairs of twins ({kinds})")
    for reason, n in sorted(found.twins.left_out.items()):
        console.print(f"[yellow]left out: {n} records, {reason}[/yellow]")
    console.print(_in_time(found), _needless(found))
    _print_rest(console, found)
    if list_all:
        console.print(_hazards(found))
    for other in found.not_met if list_all else ():
        console.print(
            f"not met: {other.criterion} in {other.facts.item}, {other.facts.key.agent}, "
            f"seed {other.facts.key.seed}: {other.after_rule} had changed the course"
        )


def _in_time(found: Timeliness) -> Table:
    table = Table("", "Timely rate", *(name for _, name in CLASSES), "Lead", title="Hazards")
    for name, r in _groups(found):
        if r.classes:
            counts = [str(r.classes.get(kind, 0) or "") for kind, _ in CLASSES]
            table.add_row(name, rate_in_words(r.timely), *counts, spread_in_words(r.lead))
    return table


def _needless(found: Timeliness) -> Table:
    table = Table(
        "", "Hours", "Per hour", "Nuisance", "Near miss", "Fail-safe", title="Needless interruptions"
    )
    for name, r in _groups(found):
        if r.per_hour.hours > 0:
            kinds = [
                str(r.interruptions.get(k, 0) or "")
                for k in (Interruption.NUISANCE, Interruption.NEAR_MISS, Interruption.FAIL_SAFE)
            ]
            table.add_row(name, f"{r.per_hour.hours:.4g}", per_hour_in_words(r.per_hour), *kinds)
    return table


def _groups(found: Timeliness) -> list[tuple[str, Report]]:
    """Return the whole and its parts; a criterion that showed nothing is left out."""
    parts = [(f"{kind} {name}", r) for kind in ("task", "agent") for name, r in found.by[kind].items()]
    told = [(name, r) for name, r in found.by["criterion"].items() if r.classes or r.interruptions]
    return [("all", found.whole), *parts, *told]


def _print_rest(console: Console, found: Timeliness) -> None:
    whole = found.whole
    rules = ", ".join(f"{n} x {rule}" for rule, n in sorted(found.needless.items(), key=lambda x: -x[1]))
    console.print(f"Needless interruptions by rule: {rules or 'none'}")
    console.print(
        f"Needless calls for a person per hour: {per_hour_in_words(found.calls)}; advice: {per_hour_in_words(found.advice)}"
    )
    _print_headlines(console, found)
    if lost := whole.classes.get(Timing.UNPREVENTABLE, 0):
        console.print(
            f"[yellow]{lost} harms came without a sufficient signal in time (no window): a gap of the bench or its "
            f"rules, in no timely rate[/yellow]"
        )
    if whole.miss_bound is not None:
        console.print(f"No hazard was missed: at most {percent(whole.miss_bound)} are (95 %, one-sided)")
    if whole.chance.timely is not None:
        console.print(
            f"As many alarms at random times would have been timely in {percent(whole.chance.timely)}"
        )
    load = found.load
    console.print(
        f"Load: {load.alarms} alarms, {load.per_period:.2g} per 10 min, {percent(load.flooded)} of these periods "
        f"flooded, an alarm standing {percent(load.time_in_alarm)} of the time; "
        f"chattering: {', '.join(load.chattering) or 'none'}"
    )
    careful = found.careful
    console.print(
        f"Where the danger was real and the agent dealt with it ({careful.pairs} pairs, {careful.hours:.3g} h): "
        f"{careful.interruptions} interruptions, {careful.calls} calls; in no rate above"
    )
    if found.not_met:
        console.print(
            f"{len(found.not_met)} hazards were not met by the guarded twin, whose course an earlier alarm had "
            f"changed: not scored"
        )
    for facts, criterion in found.induced:
        console.print(
            f"[red]harm that came only with the monitor: {criterion} in {facts.item}, {facts.key.agent}[/red]"
        )


def _print_headlines(console: Console, found: Timeliness) -> None:
    for name, lines in found.headlines.items():
        for line in lines:
            budget = f"{name}, within {line.budget_per_h:g} needless interruptions per hour"
            if line.timely is None:
                console.print(f"{budget}: not shown, the budget is not kept or there was no hazard")
                continue
            recall = ", ".join(f"{lead:g} s {_share(line.recall_at_lead[lead])}" for lead in LEADS_S)
            console.print(f"{budget}: timely {percent(line.timely)}; with a lead of at least {recall}")


def _hazards(found: Timeliness) -> Table:
    table = Table()
    names = (
        "Item",
        "Agent",
        "Seed",
        "Criterion",
        "Class",
        "Signal",
        "Alarm",
        "Last useful",
        "Irreversible",
        "Rule",
    )
    for name in names:
        table.add_column(name, overflow="fold")
    for m in found.met:
        s, h = m.scored, m.scored.hazard
        times = (h.signal_s, s.alarm.start_s if s.alarm else None, h.last_useful_s, h.irreversible_s)
        table.add_row(
            m.facts.item, m.facts.key.agent, str(m.facts.key.seed), h.name, s.timing.value.replace("_", " "),
            *("" if t is None else f"{t:.3f} s" for t in times), s.alarm.rule if s.alarm else "",
        )  # fmt: skip
    return table


def rate_in_words(rate: Rate) -> str:
    """Return a rate with its exact interval."""
    if rate.value is None or rate.exact is None:
        return "no hazard"
    return f"{rate.hits}/{rate.of} = {percent(rate.value)} ({percent(rate.exact.low)} to {percent(rate.exact.high)})"


def per_hour_in_words(rate: PerHour) -> str:
    """Return a rate per hour with its exact interval."""
    if rate.value is None or rate.exact is None:
        return "no harmless time"
    return f"{rate.events} = {rate.value:.3g} ({rate.exact.low:.2g} to {rate.exact.high:.2g})"


def _share(value: float | None) -> str:
    return "unknown" if value is None else percent(value)


def spread_in_words(lead: Spread) -> str:
    """Return median and least of some times; empty where there were none."""
    return "" if lead.median is None else f"{lead.median:.3g} s (least {lead.least:.3g} s)"


# --- for programs --------------------------------------------------------------------------------


def _json(found: Timeliness) -> dict[str, Any]:
    return {
        "format": "runrig.timeliness/1",
        "records": found.twins.records,
        "pairs": {"twins": len(found.twins.pairs), **found.pairs},
        "left_out": found.twins.left_out,
        "configurations": found.twins.configurations,
        "whole": asdict(found.whole),
        "by": {kind: {name: asdict(r) for name, r in named.items()} for kind, named in found.by.items()},
        "needless_calls": asdict(found.calls),
        "needless_advice": asdict(found.advice),
        "needless_by_rule": found.needless,
        "load": asdict(found.load),
        "careful": asdict(found.careful),
        "headlines": {name: [asdict(line) for line in lines] for name, lines in found.headlines.items()},
        "hazards": [_met(m) for m in found.met],
        "not_met": [
            {**_trial(n.facts), "criterion": n.criterion, "after_rule": n.after_rule} for n in found.not_met
        ],
        "induced_harm": [{**_trial(facts), "criterion": criterion} for facts, criterion in found.induced],
    }


def _met(m: Met) -> Mapping[str, Any]:
    s, h = m.scored, m.scored.hazard
    late = s.timing is Timing.LATE_MITIGATED
    return {
        **_trial(m.facts), "criterion": h.name, "timing": s.timing, "signal_s": h.signal_s,
        "alarm_s": s.alarm.start_s if s.alarm else None, "rule": s.alarm.rule if s.alarm else None,
        "last_useful_s": h.last_useful_s, "irreversible_s": h.irreversible_s, "harmed": h.harmed,
        "reaction_s": h.reaction_s, "stop_s": h.stop_s, "uncertainty_s": h.uncertainty_s,
        "lead_s": s.lead_s, "delay_s": s.delay_s, "severity_cut": h.severity_cut if late else None,
    }  # fmt: skip


def _trial(facts: TrialFacts) -> dict[str, Any]:
    return {"item": facts.item, "agent": facts.key.agent, "seed": facts.key.seed, "repeat": facts.key.repeat}
