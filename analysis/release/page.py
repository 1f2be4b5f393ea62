"""The dossier as a page a board member can read: one file, no script, no request."""

from collections.abc import Iterator, Mapping
from typing import Any

from analysis.page import Content, Html, flag, fold, grid, join, page, paragraph, section, tag
from analysis.words import percent

WORDS = {
    "PASS": "passes",
    "FAIL": "fails",
    "UNKNOWN": "not known",
    "EXPIRED": "expired",
}
SIGNS = {"PASS": "✓", "FAIL": "✗", "UNKNOWN": "?", "EXPIRED": "○"}


def render(found: Mapping[str, Any]) -> str:
    """Return the page of a dossier."""
    policy = found["policy"]
    subtitle = f"{policy['name']}. Agent {found['agent']}, read as of {found['as_of'][:19]} UTC."
    return page(
        f"Release dossier: {found['decision']}",
        subtitle,
        _answer(found),
        section("Gates at a glance", _glance(found), paragraph(_CONJUNCTION, "note")),
        section("What is being decided", _decision(policy), _scope(found)),
        section("Gate by gate", *(_gate(gate) for gate in found["gates"])),
        section("Outcomes, every trial counted", _outcomes(found)),
        section("Failures seen", _failures(found)),
        section("How rare it is shown to be", _bounds(found), paragraph(found["caveat"], "note")),
        section("What changed", _changed(found)),
        section("What would make a finding worthless", _triggers(found)),
        section("What to measure again, cheapest first", _rerun(found)),
        section("Deviations from the registered plan", _deviations(found)),
        section("Records", _records(found)),
    )


_CONJUNCTION = (
    "A GO needs every gate to pass. Nothing is weighed against anything: no gain in one gate makes up for "
    "another, and what is not known or has expired blocks as a failure does."
)


def _answer(found: Mapping[str, Any]) -> Html:
    blocked = [paragraph(join([flag("blocks"), words])) for words in found["blocked"]]
    if found["decision"] == "GO":
        sentence = (
            "Every gate passes, within the scope below. It takes effect when both approvers have signed."
        )
    else:
        failing = [g["title"].lower() for g in found["gates"] if g["verdict"] != "PASS"]
        sentence = f"No release. Not shown: {'; '.join(failing) or 'see below'}."
    scope = f"Evidence is {found['policy']['embodiment']}; it says nothing about any other kind of bench."
    return join([paragraph(tag("strong", sentence)), paragraph(scope), *blocked])


def _glance(found: Mapping[str, Any]) -> Html:
    rows: list[list[Content]] = []
    for gate in found["gates"]:
        claim = gate["claim"] or {}
        state = claim.get("state") or "nothing measured"
        age = "" if claim.get("age_days") is None else f"{claim['age_days']:.1f} days"
        why = gate["reasons"][0] if gate["reasons"] else ""
        more = f" (and {len(gate['reasons']) - 1} more)" if len(gate["reasons"]) > 1 else ""
        verdict = tag("strong", f"{SIGNS[gate['verdict']]} {gate['verdict']}")
        rows.append([gate["title"], verdict, f"{state}", age, f"{why}{more}"])
    return grid("One line a gate.", ["gate", "verdict", "evidence", "age", "why not"], rows)


def _decision(policy: Mapping[str, Any]) -> Html:
    rows: list[list[Content]] = [
        ["decision", policy["decision"]],
        ["if it goes wrong", policy["consequence"]],
        ["authorised to do alone", policy["autonomy"]],
        ["never authorised", "; ".join(policy["prohibited"])],
        ["where", policy["environment"]],
        [
            "policy written by",
            f"{policy['author_role']} ({policy['status']}, review by {policy['review_date']})",
        ],
        ["approved by", ", ".join(policy["approvers"])],
        [
            "registered",
            f"{policy['registered_utc'] or 'not registered'}, SHA-256 {(policy['sha256'] or 'none')[:16]}",
        ],
    ]
    return grid("Decided before the data.", ["what", "said"], rows)


def _scope(found: Mapping[str, Any]) -> Html:
    if not found["out_of_scope"]:
        return paragraph("Every gate is in scope.")
    rows: list[list[Content]] = [[gate, why] for gate, why in found["out_of_scope"].items()]
    return grid("Out of scope: nothing is claimed about these.", ["gate", "why"], rows)


def _gate(gate: Mapping[str, Any]) -> Html:
    parts: list[Content] = [tag("h3", f"{SIGNS[gate['verdict']]} {gate['title']}: {WORDS[gate['verdict']]}")]
    if gate["figures"]:
        rows: list[list[Content]] = [[f["name"], f["found"], f["asked"]] for f in gate["figures"]]
        parts.append(grid("", ["what", "found", "asked"], rows))
    parts += [paragraph(join([flag(WORDS[gate["verdict"]]), reason])) for reason in gate["reasons"][:12]]
    if len(gate["reasons"]) > 12:
        parts.append(fold(f"{len(gate['reasons']) - 12} more", *(paragraph(r) for r in gate["reasons"][12:])))
    parts += [paragraph(caveat, "soft") for caveat in gate["caveats"]]
    claim = gate["claim"]
    if claim:
        age = "" if claim["age_days"] is None else f", {claim['age_days']:.1f} days ago"
        rests = f"Rests on {claim['rests_on']} records or files, {claim['embodiment']}, "
        parts.append(paragraph(f"{rests}measured {claim['measured_utc'][:19]}{age}.", "soft"))
    return join(parts)


def _outcomes(found: Mapping[str, Any]) -> Html:
    rows: list[list[Content]] = [
        [o["item"], o["monitor"], str(o["trials"]), str(o["passed"]), str(o["mistakes"]), str(o["harm"])]
        for o in found["outcomes"]
    ]
    heads = ["item", "monitor", "trials", "passed", "critical mistakes", "harm"]
    return grid("Repeats of each item; in shadow the monitor only watches.", heads, rows, range(2, 6))


def _failures(found: Mapping[str, Any]) -> Html:
    if not found["failures"]:
        return paragraph("No critical mistake was seen in these trials.")
    rows: list[list[Content]] = [
        [
            f["item"],
            f["monitor"],
            str(f["seed"]),
            ", ".join(f["criteria"]),
            "yes" if f["harm"] else "prevented or none",
            "yes" if f["regression"] else "no",
        ]
        for f in found["failures"]
    ]
    heads = ["item", "monitor", "seed", "criteria", "harm took effect", "made a regression case"]
    return grid("Every trial with a critical mistake, those with harm first.", heads, rows, range(2, 3))


def _bounds(found: Mapping[str, Any]) -> Html:
    rows: list[list[Content]] = []
    for one in found["bounds"]:
        units = [f"{percent(u['upper'])} ({u['failed']} of {u['units']})" for u in one["units"]]
        worst = one["correlation"][-1]
        rows.append([one["event"], one["monitor"], *units, percent(worst["upper"]), percent(one["anytime"])])
    heads = [
        "event",
        "monitor",
        "trials",
        "task items",
        "sites",
        "if all repeats are one",
        "looking at any time",
    ]
    return grid(
        "At most this often, by what is taken as independent; never one figure alone.",
        heads,
        rows,
        range(2, 7),
    )


def _changed(found: Mapping[str, Any]) -> Html:
    change = found["change"]
    if change is None:
        return paragraph("There is no baseline: this would be the first release, and nothing is compared.")
    if not change["words"]:
        return paragraph("Nothing: the candidate is the baseline, to the byte.")
    parts: list[Content] = [tag("ul", join([tag("li", words) for words in change["words"]]))]
    gap = ", ".join(" with ".join(pair) for pair in change["gap"]) or "none"
    parts.append(
        paragraph(f"{change['pairs']} pairs of changes may act together; never tried together: {gap}.")
    )
    return join(parts)


def _triggers(found: Mapping[str, Any]) -> Html:
    titles = [g["gate"] for g in found["gates"]]
    rows: list[list[Content]] = [
        [trigger, *("●" if gate in gates else "" for gate in titles)]
        for trigger, gates in found["triggers"].items()
    ]
    heads = ["if this changes", *(title.replace("_", " ") for title in titles)]
    return grid("● measured again before it counts.", heads, rows)


def _rerun(found: Mapping[str, Any]) -> Html:
    if not found["rerun"]:
        return paragraph("Nothing.")
    rows: list[list[Content]] = [[r["gate"].replace("_", " "), r["why"]] for r in found["rerun"]]
    return grid("", ["gate", "why"], rows)


def _deviations(found: Mapping[str, Any]) -> Html:
    plan = found["plan"]
    parts: list[Content] = []
    if plan is None:
        parts.append(paragraph("No plan was registered: the trials are exploratory."))
    else:
        parts.append(
            paragraph(
                f"Campaign {plan['campaign']}, {plan['trials']} trials, registered {plan['registered_utc'][:19]}."
            )
        )
    if not found["deviations"]:
        return join([*parts, paragraph("No deviation is on record.")])
    rows: list[list[Content]] = [
        [
            str(d["number"]),
            d["what"],
            d["why"],
            d["bias"],
            "yes" if d["material"] else "no",
            d["owner"],
            d["expires"] or "",
        ]
        for d in found["deviations"]
    ]
    heads = ["no.", "what", "why", "bias", "material", "answers for it", "expires"]
    return join([*parts, grid("", heads, rows)])


def _records(found: Mapping[str, Any]) -> Html:
    def lines() -> Iterator[list[Content]]:
        for r in found["records"]:
            yield [
                r["trial_id"][:16],
                r["item"],
                r["monitor"],
                str(r["seed"]),
                r["outcome"],
                tag("code", r["head"][:16]),
            ]

    heads = ["trial", "item", "monitor", "seed", "outcome", "chain head"]
    return fold(f"All {len(found['records'])} records, by their chain heads", grid("", heads, list(lines())))
