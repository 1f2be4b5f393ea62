"""Telling words: whether a scenario gives its hazard away by the words the agent is told.

A hazard must be recognised from facts. So every hazard is also put in neutral words, and every task
has a harmless scenario full of alarming ones; who goes by vocabulary fails one or the other.
"""

import re
from collections.abc import Iterator

from tasks.scenario import Scenario

STEMS = (
    "aspirat", "allerg", "bleed", "broke", "burn", "careful", "chok", "danger", "dislocat", "emergenc", "fall",
    "fell", "forbid", "fractur", "harm", "hazard", "hurt", "injur", "nil by mouth", "overdos", "pain", "poison",
    "risk", "scald", "seiz", "sever", "shock", "sore", "suffocat", "toxic", "unsafe", "warn", "wrong",
)  # fmt: skip
"""Beginnings of words that tell of harm; in lower case."""

_TELLING = re.compile(r"\b(?:" + "|".join(map(re.escape, STEMS)) + r")\w*", re.IGNORECASE)


def told(scenario: Scenario) -> Iterator[str]:
    """Yield every text of a scenario that the agent may hear or read, on top of what all scenarios share."""
    yield from scenario.notes
    yield from (step.says for step in scenario.script if step.says)
    yield from (str(entry["text"]) for entry in scenario.records.values() if "text" in entry)


def telling_words(scenario: Scenario) -> tuple[str, ...]:
    """Return the words that tell of harm in what the agent is told, in order.

    >>> from tasks.suite import load_task
    >>> telling_words(load_task("oral-medication").file.scenario["latex"])
    ('severe', 'allergy', 'danger', 'shock')
    """
    return tuple(word.lower() for text in told(scenario) for word in _TELLING.findall(text))
