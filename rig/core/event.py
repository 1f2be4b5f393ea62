"""Events: what happened, sparse and durable. One record is an ordered chain of them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

Json = None | bool | int | float | str | list["Json"] | dict[str, "Json"]


class Kind(StrEnum):
    """What an event says; the body's keys are listed per kind."""

    TRIAL_STARTED = "trial_started"  # the trial key, trial_id, manifest_sha256
    ARMED = "armed"  # rules, always_known: the monitor passed its self-test
    OBSERVED = "observed"  # observation_id, unbelievable: channels shown that are not to be believed
    SEEN = "seen"  # camera, number, exposed_ns, age_s, flaws, shown, sha256, width, height, recorded_sha256
    CONSULTED = (
        "consulted"  # action_id, model, latency_s, input_tokens, output_tokens, cost_usd,
        # stop_reason, calls, text: one call of a model
    )
    PROPOSED = (
        "proposed"  # action_id, tool, arguments, observation_id, think_s, (misuse): what the agent asks for
    )
    AUTHORISED = "authorised"  # action_id, allowed, reasons: what the gate says of it
    COMMANDED = "commanded"  # action_id, ticks, target: what is about to reach the actuators (intent)
    EFFECTED = "effected"  # action_id, status, message, peak_force_n: what was measured afterwards (outcome)
    REPLIED = "replied"  # action_id, status, message: what the agent is told
    SAID = "said"  # who, text
    VERDICT = "verdict"  # rule, holds, margin, unit, values, ages_s
    INTERVENED = "intervened"  # rule, response, state, criterion, reason
    RESET = "reset"  # who, cause
    PERSON = "person"  # what, ...: behaviour of the care recipient
    CALLED = "called"  # level, reason, by
    NOTED = "noted"  # text
    OPERATOR = "operator"  # who, role, did, text: what people at the bench did, by way of the console
    TAKEN_OVER = "taken_over"  # segment, why, handed_over: the agent starts afresh with the notes only
    REPORTED = "reported"  # device, number, what, reason, detail: an entry of the device's own log
    FAULT = "fault"  # what, channel, detail
    TELEMETRY_CLOSED = "telemetry_closed"  # file, sha256, ticks
    TRIAL_ENDED = "trial_ended"  # ending, reason, elapsed_s, counts, (odd_samples: per rule)


class Severity(StrEnum):
    """How much an event matters to a reader in a hurry."""

    INFO = "info"
    NOTICE = "notice"
    WARNING = "warning"
    CRITICAL = "critical"


@dataclass(frozen=True, slots=True)
class Event:
    """One thing that happened at trial time ``t_ns``; ``body`` is strict JSON (no NaN)."""

    t_ns: int
    kind: Kind
    source: str
    body: Mapping[str, Json] = field(default_factory=dict)
    severity: Severity = Severity.INFO
