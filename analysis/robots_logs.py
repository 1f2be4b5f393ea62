"""Trials from the evaluation logs of inspect-robots (``.json``, its schema 1).

A scene says how long its task takes in its metadata: ``duration_s``, or ``human_minutes``; ``family`` is taken from there
too. Such a log knows success and nothing of harm, so its trials are passes and failures like those of any other table
with one verdict. A trial without a score ended in an error: it is ABORTED and says nothing about the policy. Why logs
are read and our benches are not made its embodiments: ``rig/connect/decisions/001-ways-in.md``.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from analysis.parsing import PASSED, TableBuilder
from analysis.trials import Outcome
from rig.core.errors import ConfigError

SCHEMA = 1
SCORES = ("success_at_end", "reached_goal_state", "operator", "operator_scorer", "success")
"""Scores that say whether a trial succeeded, most trusted first; all others are measurements."""


def is_robots_log(log: Mapping[str, Any]) -> bool:
    """Return whether a document is such a log."""
    header = log.get("eval")
    return isinstance(header, Mapping) and "inspect_robots_version" in header


def read_robots(path: Path, log: Mapping[str, Any], builder: TableBuilder) -> None:
    """Take in every trial of a log.

    Raises:
        ConfigError: If its schema is another one, or it has no score of success.
    """
    if log.get("version") != SCHEMA:
        raise ConfigError(
            str(path), [f"is an inspect-robots log of schema {log.get('version')!r}; known is {SCHEMA}"]
        )
    try:
        rows = [row for sample in log["samples"] for row in _rows(path, log["eval"], sample)]
    except (KeyError, TypeError, AttributeError) as error:
        raise ConfigError(str(path), [f"is not a whole log of inspect-robots: {error!r}"]) from None
    names = {name for row in rows for name in row}
    builder.extend({name: [row.get(name) for row in rows] for name in names}, len(rows))


def _rows(path: Path, header: Mapping[str, Any], sample: Mapping[str, Any]) -> list[dict[str, Any]]:
    metadata = sample.get("scene_metadata") or {}
    minutes = metadata.get("human_minutes")
    item = f"{header['task']}/{sample['scene_id']}"
    policy, checkpoint = header["policy"], header.get("policy_checkpoint")
    simulated = header["embodiment_info"].get("is_simulated")
    shared = {
        "agent": f"{policy}@{checkpoint}" if checkpoint else policy,
        "task": header["task"],
        "item": item,
        "site": header.get("environment_id") or header["embodiment"],
        "embodiment": "simulated" if simulated else "physical",
        "duration_s": metadata.get(
            "duration_s", 60.0 * minutes if isinstance(minutes, int | float) else None
        ),
        **({"family": metadata["family"]} if "family" in metadata else {}),
    }
    epochs = sample["epochs"] or [{}] * (sample["status"] == "error")
    return [
        {
            **shared,
            "trial_id": f"{header['created']}/{item}/{number}",
            "record": f"{path}#{sample['scene_id']}/{number}",
            PASSED: _passed(path, scores),
        }
        for number, scores in enumerate(epochs)
    ]


def _passed(path: Path, scores: Mapping[str, Any]) -> Any:  # noqa: ANN401  # what a table takes as a verdict
    if not scores:
        return Outcome.ABORTED
    name = next((name for name in SCORES if name in scores), None)
    if name is None:
        raise ConfigError(
            str(path),
            [
                f"no score says whether a trial succeeded; seen: {', '.join(scores)}; known: {', '.join(SCORES)}"
            ],
        )
    value = scores[name]
    return int(value) if value in (0, 1) else value
