"""A campaign's folder: begun once from a plan, found again by every later coordinator."""

import hashlib
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from rig.campaign.entries import Entry
from rig.campaign.grid import Trials, lay_out
from rig.campaign.ledger import Ledger
from rig.campaign.plan import GridTable, Plan, load_plan, load_sealed
from rig.campaign.storage import FILE
from rig.core.clock import wall_utc
from rig.core.configuration import differences, identity
from rig.core.errors import ConfigError, ConfigurationChanged, UsageError
from rig.core.event import Json
from rig.core.record import records_under, strict
from rig.core.record.disk import Disk, publish
from rig.core.registration import PLAN, Registration, read_registration, register
from rig.trial.run import configured

RECORDS: Final = "records"
CONFIGURATIONS: Final = "configurations"
REPORT: Final = "report"
INTERRUPTED: Final = "interrupted"
"""Torn records of simulated trials that were run again."""


def record_place(entry: Entry) -> str:
    """Return where in the folder a trial's record is: readable, unique, some thousands in one of 256 at most."""
    s = entry.spec
    words = [s.item.replace("/", "_"), s.agent, s.monitor, f"seed{s.seed}"] + (
        [f"repeat{s.repeat}"] if s.repeat else []
    )
    name = re.sub(r"[^a-z0-9._]+", "-", "-".join(words).lower()).strip("-")
    return f"{RECORDS}/{entry.trial_id[:2]}/{name}-{entry.trial_id[:8]}"


def record_folder(folder: Path, entry: Entry) -> Path:
    """Return the folder of a trial's record."""
    return folder / record_place(entry)


def begin_or_resume(
    plan_path: Path, folder: Path, *, exploratory: bool = False, supersedes: Path | None = None,
    holdout: Path | None = None,
) -> Plan:  # fmt: skip
    """Make a campaign's folder from a plan, or find that it already is that plan's; the caller holds its lock.

    Everything that can be wrong with the plan is found before anything is written. The registration comes
    before the ledger, and so before any trial.

    Args:
        plan_path: The plan.
        folder: The campaign's folder, there already.
        exploratory: Do not register.
        supersedes: Folder of the campaign whose plan this one replaces.
        holdout: The sealed file, to open it.

    Raises:
        ConfigError: If the plan is wrong or cannot be registered; all mistakes at once.
        UsageError: If the folder holds something else, or another plan was registered there.
        ConfigurationChanged: If what the trials depend on is not what was registered; in words.
        RecordError: If the registration was altered.
    """
    plan, raw = load_plan(plan_path)
    if (folder / FILE).exists():
        return _resumed(plan_path, plan, raw, folder, exploratory)
    _must_be_fresh(folder)
    sealed: tuple[GridTable, ...] = ()
    if holdout is not None:
        sealed = tuple(load_sealed(_checked_holdout(plan, holdout)).grid)
    trials = lay_out(plan, str(plan_path), sealed)
    found = read_registration(folder)  # left by a coordinator that died between registering and the ledger
    if found is not None and found.plan_sha256 != hashlib.sha256(raw).hexdigest():
        raise UsageError(f"{folder}: another plan is registered there; give a new folder")
    if not exploratory and found is None:
        _must_be_registrable(plan, plan_path, trials)
        before = None if supersedes is None else _superseded(supersedes, plan, trials)
        found = register(folder, raw, _said(plan, trials, before))
    elif exploratory:
        publish(Disk(), folder / PLAN, raw)
    _keep_manifests(folder, trials.manifests)
    meta = {
        "name": plan.name,
        "registration": found.id if found else "",
        "plan_sha256": hashlib.sha256(raw).hexdigest(),
        "grid_sha256": grid_digest(trials),
        "begun_utc": wall_utc().isoformat(),
    }
    Ledger.create(folder, meta, trials)
    return plan


def grid_digest(trials: Trials) -> str:
    """Return the SHA-256 over the trial ids in the order of execution."""
    total = hashlib.sha256()
    for name, *_ in trials:
        total.update(bytes.fromhex(name))
    return total.hexdigest()


def configurations_of(folder: Path) -> dict[str, Mapping[str, Json]]:
    """Return the whole configurations a campaign was begun with, by identity.

    Raises:
        UsageError: If there are none, or one is not what its name says.
    """
    found: dict[str, Mapping[str, Json]] = {}
    for path in sorted((folder / CONFIGURATIONS).glob("*.json")):
        try:
            facts: Any = strict.loads(path.read_bytes())
        except (OSError, ValueError) as error:
            raise UsageError(f"{path}: cannot be read as a configuration: {error}") from None
        if not isinstance(facts, dict) or identity(facts) != path.stem:
            raise UsageError(f"{path}: was altered: its identity is not its name")
        found[path.stem] = facts
    return found


def _keep_manifests(folder: Path, manifests: Mapping[str, Mapping[str, Json]]) -> None:
    (folder / CONFIGURATIONS).mkdir(exist_ok=True)
    for name, facts in manifests.items():
        publish(Disk(), folder / CONFIGURATIONS / f"{name}.json", strict.canonical(strict.plain(facts), name))


def _must_be_fresh(folder: Path) -> None:
    """Refuse a folder with trials in it: thresholds are fixed before there is data."""
    for path in folder.iterdir():
        if path.is_dir() and path.name not in (CONFIGURATIONS,) and any(records_under(path)):
            raise UsageError(
                f"{folder}: there are trials in it already; a plan is registered before its first trial, "
                f"so give an empty folder"
            )
    known = {"coordinator.lock", PLAN, "registration.dsse.json", CONFIGURATIONS}
    known |= {
        "policy.toml",
        "policy.dsse.json",
        "rights.toml",
        "holdout.toml",
    }  # what a release was to be decided by
    odd = sorted(p.name for p in folder.iterdir() if p.name not in known and not p.name.startswith("."))
    if odd:
        raise UsageError(f"{folder}: holds {', '.join(odd[:5])}; give an empty folder")


def _must_be_registrable(plan: Plan, source: Path, trials: Trials) -> None:
    mistakes = [
        f"{table}: is missing; a plan is registered with it, or run with --exploratory and accepted by no gate"
        for table in plan.missing()
    ]
    if plan.deployment is not None:
        longest_s = max(c.nominal_s for c in trials.cells)
        if longest_s < plan.deployment.run_length_s:
            mistakes.append(
                f"deployment.run_length: {plan.deployment.run_length!r} is intended, and the longest item lasts "
                f"{longest_s:g} s; add an item as long as that"
            )
        for name in ("residents", "robots"):
            if (wanted := getattr(plan.deployment, name)) > 1:
                mistakes.append(f"deployment.{name}: {wanted} is intended; this rig tries one at a time")
    if mistakes:
        raise ConfigError(str(source), mistakes)


def _checked_holdout(plan: Plan, path: Path) -> Path:
    if plan.holdout is None:
        raise UsageError(
            f"{path}: the plan commits to no sealed set ([holdout] sha256), so none can be opened"
        )
    try:
        seen = hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {error.strerror}") from None
    if seen != plan.holdout.sha256:
        raise UsageError(
            f"{path}: is not the sealed set the plan commits to (SHA-256 {seen[:12]}…, plan "
            f"{plan.holdout.sha256[:12]}…)"
        )
    return path


def _superseded(before: Path, plan: Plan, trials: Trials) -> Registration:
    """Return the registration that is replaced; thresholds may not follow data they are then held against.

    Raises:
        UsageError: If nothing is registered there, or trials already seen would count under new thresholds.
    """
    found = read_registration(before)
    if found is None:
        raise UsageError(f"--supersedes {before}: nothing is registered there")
    if [t.said() for t in plan.threshold] != [dict(t) for t in found.thresholds]:
        with Ledger.reading(before) as ledger:
            seen = 0
            for name, *_ in trials:
                entry = ledger.entry(name)
                seen += entry is not None and entry.ended is not None
        if seen:
            raise UsageError(
                f"thresholds differ from those of {before}, and {seen} of these trials have been run and seen there; "
                f"a threshold comes before its data: give new seeds, or keep the thresholds"
            )
    return found


def _said(plan: Plan, trials: Trials, before: Registration | None) -> dict[str, Any]:
    """Return what is registered of a plan."""
    decision, deployment = plan.decision, plan.deployment
    return {
        "campaign": plan.name,
        "decision": decision.model_dump(mode="json") if decision else {},
        "thresholds": [threshold.said() for threshold in plan.threshold],
        "deployment": (
            {
                "run_length_s": deployment.run_length_s,
                "residents": deployment.residents,
                "robots": deployment.robots,
            }
            if deployment
            else {}
        ),
        "holdout": plan.holdout.sha256 if plan.holdout else None,
        "trials": sum(not trials.cells[cell].sealed for cell in trials.cell.tolist()),
        "grid_sha256": grid_digest(trials),
        "configurations": sorted(trials.manifests),
        "supersedes": before.id if before else None,
    }


def _resumed(plan_path: Path, plan: Plan, raw: bytes, folder: Path, exploratory: bool) -> Plan:
    """Check that the folder is this plan's, and that everything is as it was."""
    registration = read_registration(folder)
    with Ledger.reading(folder) as ledger:
        meta = ledger.meta()
        complete = ledger.status().complete
        cells = {} if complete else {c.configuration: c.spec for c in ledger.cells()}
    if meta["registration"] != (registration.id if registration else ""):
        raise UsageError(f"{folder}: the ledger was begun under another registration than the one beside it")
    if registration is not None and exploratory:
        raise UsageError(f"{folder}: is a registered campaign; leave --exploratory out")
    if registration is None and not exploratory:
        raise UsageError(
            f"{folder}: was begun as exploratory and stays so; a registered one needs a new folder"
        )
    if hashlib.sha256(raw).hexdigest() != meta["plan_sha256"]:
        raise UsageError(
            f"{plan_path}: is not the plan {folder} was begun with (SHA-256 {meta['plan_sha256'][:12]}…, kept there as "
            f"{PLAN}); a changed plan is a new registration: run it in a new folder with --supersedes {folder}"
        )
    before = configurations_of(folder)
    for name, spec in cells.items():
        now = configured(spec)
        if identity(now) != name:
            said = "\n".join(f"  {d.words()}" for d in differences(before.get(name, {}), now)[:20])
            raise ConfigurationChanged(
                f"{folder}: what its trials depend on is not what it was when the campaign began:\n{said}\n"
                f"put it back and run the same command again, or begin a new campaign in a new folder"
            )
    return plan
