"""What lies in a folder of records, read once: trials, their grades, their configurations, their mismatches."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from analysis.facts import TrialFacts, facts_of
from analysis.grade import Grade, grade
from analysis.release.claims import Claim, Fingerprint, fingerprint
from analysis.release.policy import Gate
from analysis.release.reconcile import Mismatch, acts, devices, interventions
from analysis.table import row_of
from analysis.trials import TrialRow
from rig.core.errors import RecordError, UsageError
from rig.core.event import Json, Kind
from rig.core.record import Anchor, Verification, read, records_under, verify
from rig.core.registration import Deviation, Registration, read_deviations, read_registration


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """One record, as far as the gates need it.

    Attributes:
        configuration: The whole configuration it ran under.
        opened_utc: When it was begun, by the wall clock of the machine.
        alarms_s: When the monitor stepped in or called, trial time.
    """

    folder: Path
    row: TrialRow
    facts: TrialFacts
    graded: Grade
    configuration: Mapping[str, Json]
    verification: Verification
    opened_utc: datetime
    head: str
    alarms_s: tuple[float, ...]
    mismatches: tuple[Mismatch, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """Everything in a folder that a gate may use.

    Attributes:
        agent: Whose release it is; records of other agents are left out.
        seen: Its records.
        others: How many records of other agents there were.
        broken: Records that cannot be read, with the reason.
        registration: The campaign's registered plan; None for exploratory trials.
        deviations: From it.
        anchors: Chain head of every finished trial in the campaign's ledger, by trial id; None without one.
    """

    folder: Path
    agent: str
    seen: tuple[Seen, ...]
    others: int
    broken: tuple[Mismatch, ...]
    registration: Registration | None
    deviations: tuple[Deviation, ...]
    anchors: Mapping[str, str] | None

    def of_mode(self, monitor: str) -> tuple[Seen, ...]:
        """Return the records of one monitor mode."""
        return tuple(one for one in self.seen if one.facts.key.monitor == monitor)

    def claim(self, gate: Gate, seen: Sequence[Seen]) -> Claim:
        """Return what these records claim for a gate."""
        return Claim(
            gate=gate,
            measured_utc=min(one.opened_utc for one in seen),
            embodiment=_least({one.facts.embodiment for one in seen}),
            under=self.under(seen),
            records=tuple(sorted(one.row.trial_id for one in seen)),
        )

    @staticmethod
    def under(seen: Sequence[Seen]) -> Fingerprint:
        """Return the configuration of these records."""
        return fingerprint((one.facts.task, one.configuration) for one in seen)


def _least(embodiments: Collection[str]) -> str:
    order = ("simulated", "emulated", "physical")
    return min(embodiments, key=order.index)


def gather(
    folder: Path,
    agent: str,
    *,
    anchors: Sequence[Anchor] | None = None,
    trusted_keys: Collection[str] = (),
    require: Collection[str] = (),
) -> Evidence:
    """Read every record at or below a folder, verify and grade it.

    Args:
        folder: The records, and beside them what was registered and measured.
        agent: Whose release it is.
        anchors: Chain heads from the campaign's ledger; None where there is no ledger.
        trusted_keys: Key ids whose signatures count as trusted.
        require: What every record must have besides being whole.

    Raises:
        UsageError: If there is no record of the agent.
        RecordError: If the registration or a deviation was altered.
    """
    seen, others, broken = [], 0, []
    for path in records_under(folder):
        try:
            one = _seen(path, anchors or (), trusted_keys, require)
        except RecordError as error:
            broken.append(Mismatch(trial=path.name, what="dropped", where="record", text=str(error)))
            continue
        if one.row.agent == agent:
            seen.append(one)
        else:
            others += 1
    if not seen and not broken:
        raise UsageError(f"{folder}: NOT ASSESSED, there is no record of agent {agent!r} below it")
    return Evidence(
        folder=folder,
        agent=agent,
        seen=tuple(seen),
        others=others,
        broken=tuple(broken),
        registration=read_registration(folder),
        deviations=read_deviations(folder),
        anchors=None if anchors is None else {anchor.trial_id: anchor.head for anchor in anchors},
    )


def _seen(path: Path, anchors: Sequence[Anchor], trusted: Collection[str], require: Collection[str]) -> Seen:
    record = read(path)
    facts, graded = facts_of(record), grade(record)
    configuration = record.manifest.get("configuration")
    wall = record.manifest.get("wall")
    if not isinstance(configuration, dict) or not isinstance(wall, dict):
        raise RecordError(f"{path}: states no configuration")
    alarms = record.of_kind(Kind.INTERVENED)
    return Seen(
        folder=path,
        row=row_of(record, graded),
        facts=facts,
        graded=graded,
        configuration=configuration,
        verification=verify(path, anchors, trusted, require),
        opened_utc=_utc(str(wall.get("opened_utc", ""))),
        head=record.head,
        alarms_s=tuple(event.t_ns / 1e9 for event in alarms),
        mismatches=(*acts(record), *interventions(record), *devices(record)),
    )


def _utc(text: str) -> datetime:
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        raise RecordError(f"{text!r} is no time at which a record was opened") from None
    return found if found.tzinfo else found.replace(tzinfo=UTC)
