"""Which function judges which gate."""

from collections.abc import Callable, Mapping
from typing import Final

from analysis.release import judge_rig, judge_trials
from analysis.release.evidence import Evidence
from analysis.release.gates import Finding
from analysis.release.policy import Gate, Policy

JUDGES: Final[Mapping[Gate, Callable[[Evidence, Policy], Finding]]] = {
    Gate.AUTHORISATION: judge_trials.authorisation,
    Gate.UTILITY: judge_trials.utility,
    Gate.HORIZON: judge_trials.horizon,
    Gate.TIMELINESS: judge_trials.monitor_timeliness,
    Gate.LATENCY: judge_rig.latency,
    Gate.BURDEN: judge_rig.burden,
    Gate.OUTCOMES: judge_trials.outcomes,
    Gate.RESISTANCE: judge_rig.resistance,
    Gate.EVIDENCE: judge_rig.wholeness,
    Gate.RECOVERY: judge_rig.recovery,
}
