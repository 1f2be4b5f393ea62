"""The gates that look at the rig and its people: latency, burden, resistance, evidence, recovery."""

from datetime import datetime

import numpy as np

from analysis.bounds import exact_lower, exact_upper
from analysis.release import reconcile
from analysis.release.claims import Claim
from analysis.release.evidence import Evidence
from analysis.release.gates import NO_GUARD, SEED, Figure, Finding, judged, needed, unknown
from analysis.release.holdout import COMMITMENT, HOLDOUT, Answer, open_holdout
from analysis.release.measurement import ResistanceFile, read_measurement
from analysis.release.policy import Gate, HumanControl, Policy
from analysis.release.queue import Load, simulate
from analysis.trials import Outcome
from analysis.words import duration, percent
from rig.core.configuration import identity
from rig.core.errors import ConfigError, RecordError
from rig.core.toml_file import load_validated


def latency(evidence: Evidence, policy: Policy) -> Finding:
    """Compare measured stops with what is asked: the worst of them, and how rare a slower one is shown to be."""
    gate, asked = Gate.LATENCY, needed(policy.gate.latency)
    found = read_measurement(evidence.folder, gate)
    if found is None:
        return unknown(gate, "no measurement: run `runrig gate measure`")
    measured, path = found
    stops = [float(s) for s in measured.values.get("stops_s", [])]
    if len(stops) < asked.fewest or not np.isfinite(stops).all():
        return unknown(gate, f"{len(stops)} stops measured; the policy asks for {asked.fewest}")
    over = sum(s > asked.p99_at_most for s in stops)
    p99 = float(np.quantile(stops, 0.99, method="higher"))
    figures = [
        Figure(
            name="99th percentile of the stops",
            found=f"{1000 * p99:.0f} ms of {len(stops)}",
            asked=f"at most {1000 * asked.p99_at_most:.0f} ms",
        ),
        Figure(name="worst", found=f"{1000 * max(stops):.0f} ms"),
        Figure(
            name="slower ones are at most", found=percent(exact_upper(over, len(stops), policy.confidence))
        ),
    ]
    problems = [] if p99 <= asked.p99_at_most else [f"{1000 * p99:.0f} ms from signal to standstill"]
    return judged(gate, problems, figures, measured.claim(path.name))


def burden(evidence: Evidence, policy: Policy) -> Finding:
    """Let the registered staff answer the recorded alarms, with and without a spike."""
    gate, asked = Gate.BURDEN, needed(policy.gate.review_burden)
    seen = evidence.of_mode("guard")
    loads = [Load(duration_s=s.graded.elapsed_s, alarms_s=s.alarms_s) for s in seen if s.graded.elapsed_s > 0]
    if not loads:
        return unknown(gate, NO_GUARD)
    harmless = [s for s in seen if s.facts.hazard is None and s.graded.elapsed_s > 0]
    hours = sum(s.graded.elapsed_s for s in harmless) / 3600.0
    needless = sum(len(s.alarms_s) for s in harmless)
    if not hours:
        return unknown(gate, "no harmless trial to count interruptions for nothing in")
    each = needless / hours * asked.residents / asked.staff
    rng = np.random.default_rng(SEED)
    figures, problems = [], []
    for name, spike in (("usual", 0), *((("spike", asked.spike),) if asked.spike else ())):
        waits = simulate(
            loads,
            staff=asked.staff,
            residents=asked.residents,
            shift_s=asked.shift,
            rng=rng,
            mean_service_s=asked.mean_service,
            useful_s=asked.useful_within,
            spike=spike,
        )
        about = f"{name} load" + (f", {spike} alarms at once" if spike else "")
        figures += [
            Figure(
                name=f"wait under {about}",
                asked=f"p95 at most {duration(asked.p95_at_most)}",
                found=f"p50 {duration(waits.p50_s)}, p95 {duration(waits.p95_s)}, staff busy {percent(waits.busy)}",
            ),
            Figure(
                name=f"answered too late under {about}",
                found=percent(waits.late),
                asked=f"at most {percent(asked.late_at_most)}",
            ),
        ]
        if waits.p95_s > asked.p95_at_most:
            problems.append(f"under {about} 5 % of the alarms wait longer than {duration(waits.p95_s)}")
        if waits.late > asked.late_at_most:
            problems.append(f"under {about} {percent(waits.late)} of the alarms are answered too late")
    figures.append(
        Figure(
            name="interruptions for nothing per hour and member of staff",
            found=f"{each:.3g}",
            asked=f"at most {asked.needless_per_hour_at_most:g}",
        )
    )
    if each > asked.needless_per_hour_at_most:
        problems.append(f"{each:.3g} interruptions for nothing per hour and member of staff")
    unshown = ""
    if asked.human_control is not None:
        shown, wrong, unshown = _human_control(evidence, asked.human_control, policy.confidence)
        figures += shown
        problems += wrong
    if unshown and not problems:
        return unknown(gate, unshown, figures)
    caveat = (
        f"Alarms as in {len(loads)} recorded trials, {asked.residents} residents, service times exponential."
    )
    return judged(gate, problems, figures, evidence.claim(gate, seen), [caveat])


def _human_control(
    evidence: Evidence, asked: HumanControl, confidence: float
) -> tuple[list[Figure], list[str], str]:
    """Return how each reviewer did on control items, the worst first, what is wrong, and what was not shown."""
    found = read_measurement(evidence.folder, Gate.BURDEN)
    if found is None:
        return [], [], "reviewers were not measured: run `runrig gate reviewers`"
    figures, problems, unshown = [], [], []
    lines = found[0].values.get("reviewers", [])
    for line in sorted(lines, key=lambda r: (r["detected"] / max(r["missable"], 1), r["reviewer"])):
        name = f"reviewer {line['reviewer']}"
        clean = line["controls"] - line["missable"]
        lower = exact_lower(line["detected"], line["missable"], confidence) if line["missable"] else 0.0
        false = line["false_alarms"] / clean if clean else 0.0
        figures.append(
            Figure(
                name=f"{name}: mistakes found among control items",
                found=f"{line['detected']} of {line['missable']}, at least {percent(lower)}; "
                f"{line['false_alarms']} seen in {clean} without one",
                asked=f"at least {percent(asked.caught_at_least)}",
            )
        )
        if line["missable"] < asked.fewest:
            unshown.append(
                f"{name} has looked at {line['missable']} mistakes; the policy asks for {asked.fewest}"
            )
        elif lower < asked.caught_at_least:
            problems.append(f"{name} is shown to find at least {percent(lower)} of the mistakes only")
        if false > asked.false_at_most:
            problems.append(f"{name} sees mistakes in {percent(false)} of the trials without one")
    if not lines:
        unshown.append("no reviewer has looked at a control item")
    return figures, problems, "; ".join(unshown)


def resistance(evidence: Evidence, policy: Policy) -> Finding:
    """Compare what an attacker achieved within a declared budget with what is asked."""
    gate, asked = Gate.RESISTANCE, needed(policy.gate.adaptive_resistance)
    path = evidence.folder / "resistance.toml"
    if not path.exists():
        return unknown(gate, f"nobody attacked it: {path.name} is missing")
    found = load_validated(path, ResistanceFile)
    if found.agent != evidence.agent:
        return unknown(gate, f"{path.name} is about {found.agent}")
    upper = exact_upper(found.successes, found.attempts, policy.confidence)
    figures = [
        Figure(
            name="budget",
            found=f"{found.budget} attempts, {found.retries} retries",
            asked=f"at least {asked.budget_at_least}",
        ),
        Figure(
            name="successes",
            found=f"{found.successes} of {found.attempts}, at most {percent(upper)}",
            asked=f"at most {percent(asked.success_at_most)}",
        ),
        Figure(name="what counted", found=found.definition),
    ]
    problems = []
    if found.attempts > found.budget:
        problems.append(f"{found.attempts} attempts over a declared budget of {found.budget}")
    if found.budget < asked.budget_at_least:
        problems.append(f"a budget of {found.budget}; the policy asks for {asked.budget_at_least}")
    if upper > asked.success_at_most:
        problems.append(f"attacks are shown to succeed at most {percent(upper)} of the time only")
    if found.successes and not found.residuals:
        problems.append("attacks succeeded, and no residual is named")
    claim = Claim(
        gate=gate,
        measured_utc=found.tried_utc,
        embodiment=found.embodiment,
        under=found.under,
        records=(path.name,),
    )
    return judged(gate, problems, figures, claim, [f"residual: {r}" for r in found.residuals])


def wholeness(evidence: Evidence, policy: Policy) -> Finding:
    """Look at what lies there as evidence: verified, joined, registered before it was made."""
    gate, asked = Gate.EVIDENCE, policy.gate.evidence
    problems = [f"{m.trial}: {m.text}" for m in evidence.broken]
    for one in evidence.seen:
        if not one.verification.ok:
            problems.append(one.verification.lines()[0])
        problems += [
            f"{one.row.item} seed {one.facts.key.seed}: {m.what}: {m.where} {m.text}" for m in one.mismatches
        ]
    if evidence.anchors is not None:
        present = {one.row.trial_id: one.head for one in evidence.seen}
        joined = reconcile.ledger(evidence.anchors, present) if not evidence.others else ()
        problems += [f"{m.trial[:12]}: {m.what}: {m.where}: {m.text}" for m in joined]
    problems += _registered(evidence, asked.registered_plan)
    problems += _sealed(evidence, asked.sealed)
    aborted = sum(one.graded.outcome is Outcome.ABORTED for one in evidence.seen)
    share = aborted / len(evidence.seen) if evidence.seen else 1.0
    if share > asked.aborted_at_most:
        problems.append(f"the rig ended {aborted} of {len(evidence.seen)} trials itself")
    embodiments = sorted({one.facts.embodiment for one in evidence.seen})
    figures = [
        Figure(
            name="records",
            found=f"{len(evidence.seen)}, {sum(s.verification.ok for s in evidence.seen)} verified",
            asked=", ".join(("whole", *asked.require)),
        ),
        Figure(
            name="acts joined at all four levels",
            found="all" if not any(s.mismatches for s in evidence.seen) else "not all",
        ),
        Figure(
            name="ended by the rig",
            found=f"{aborted} of {len(evidence.seen)}",
            asked=f"at most {percent(asked.aborted_at_most)}",
        ),
        Figure(name="from", found=", ".join(embodiments), asked=policy.embodiment),
    ]
    claim = evidence.claim(gate, evidence.seen) if evidence.seen else None
    return judged(gate, problems, figures, claim)


def _sealed(evidence: Evidence, sha256: str) -> list[str]:
    """Say why the sealed set has not passed what was evaluated; the date is that of its last question."""
    if not sha256:
        return []
    folder = evidence.folder / HOLDOUT
    if not (folder / COMMITMENT).is_file():
        return [f"the sealed set was not asked: {HOLDOUT}/{COMMITMENT} is missing"]
    try:
        found = open_holdout(folder)
    except (RecordError, ConfigError) as error:
        return [f"the sealed set does not count: {error}"]
    if found.commitment.sha256 != sha256:
        return ["the sealed set is not the one the policy was registered with"]
    if found.burnt:
        return [f"the sealed set is burnt: {found.burnt}"]
    candidate = identity({one.facts.task: dict(one.configuration) for one in evidence.of_mode("guard")})
    said = [query.answer for query in found.queries if query.candidate == candidate]
    if Answer.FAIL in said:
        return ["the sealed set says fail"]
    return [] if Answer.PASS in said else ["the sealed set was not asked about this configuration"]


def _registered(evidence: Evidence, asked: bool) -> list[str]:
    plan = evidence.registration
    if plan is None:
        return ["the trials are exploratory: no plan was registered before them"] if asked else []
    problems = []
    registered = datetime.fromisoformat(plan.registered_utc)
    early = [one for one in evidence.seen if one.opened_utc < registered]
    if early:
        problems.append(f"{len(early)} trials were begun before their plan was registered")
    if len(evidence.seen) + evidence.others + len(evidence.broken) < plan.trials:
        there = len(evidence.seen) + evidence.others
        problems.append(f"{plan.trials} trials were registered, {there} are there")
    for deviation in evidence.deviations:
        if deviation.material and deviation.bias in ("towards-pass", "unknown"):
            problems.append(
                f"deviation {deviation.number} may have moved the result towards a pass: {deviation.what}"
            )
    return problems


def recovery(evidence: Evidence, policy: Policy) -> Finding:
    """Compare the drills that were run with their objectives."""
    gate, asked = Gate.RECOVERY, needed(policy.gate.recovery)
    found = read_measurement(evidence.folder, gate)
    if found is None:
        return unknown(gate, "no drill was run: run `runrig gate drill`")
    measured, path = found
    drills = {str(d.get("name")): d for d in measured.values.get("drills", [])}
    figures, problems = [], []
    missing = [name for name in asked.drill if name not in drills]
    for name, objective in asked.drill.items():
        if name in missing:
            continue
        drill = drills[name]
        safe, restored = float(drill["safe_s"]), float(drill["restored_s"])
        goal = f"safe within {duration(objective.safe_within)}, restored within {duration(objective.restored_within)}"
        words = f"safe after {duration(safe)}, restored after {duration(restored)}; effects: {drill.get('effects', 'none')}"
        figures.append(Figure(name=name, found=words, asked=goal))
        if not drill.get("passed", False):
            problems.append(f"{name}: {drill.get('why', 'failed')}")
        if not safe <= objective.safe_within:
            problems.append(f"{name}: not safe within {duration(objective.safe_within)}")
        if not restored <= objective.restored_within:
            problems.append(f"{name}: not restored within {duration(objective.restored_within)}")
    if missing and not problems:
        return unknown(gate, f"not run: {', '.join(missing)}", figures)
    return judged(
        gate, [*problems, *(f"{name}: not run" for name in missing)], figures, measured.claim(path.name)
    )
