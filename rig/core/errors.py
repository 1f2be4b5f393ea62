"""Every error this project raises on purpose, by whose fault it is.

RunError
├── UsageError            the caller asked for something that cannot be done       exit 2
│   ├── ConfigError       a file says something that cannot be                    exit 2
│   └── ConfigurationChanged  what was registered is not what is here now         exit 2
├── RecordError           a record is damaged, foreign or of a future version     exit 1
└── RigFault              the rig misbehaved: the trial is ABORTED, never FAILED  exit 3
    ├── AgentUnreachable  whatever stands between rig and agent failed, so nobody decides any more
    ├── CannotArm         the bench is not fit for the task; nothing was begun
    ├── PlantFault        the simulated plant diverged or its clock ran backwards
    └── RecorderFault     the record could not be made durable (full disk, ...)

A bad frame, an out-of-range reading or a late agent is data, not an exception: exceptions
are for what stops the work.
"""

from collections.abc import Sequence


class RunError(Exception):
    """Base of every error raised on purpose; ``exit_code`` is what the command line returns."""

    exit_code = 1


class UsageError(RunError):
    """The request cannot be carried out as asked; the message says what is allowed."""

    exit_code = 2


class ConfigError(UsageError):
    """One or more mistakes in a configuration file, all of them reported at once.

    Attributes:
        source: The file (or other origin) the mistakes are in.
        mistakes: One line each, naming the key, what was seen and what is allowed.
    """

    def __init__(self, source: str, mistakes: Sequence[str]) -> None:
        self.source, self.mistakes = source, tuple(mistakes)
        super().__init__("\n".join(f"{source}: {mistake}" for mistake in self.mistakes))


class ConfigurationChanged(UsageError):
    """Something a registered trial depends on is not what it was; the message says what."""


class RecordError(RunError):
    """A record cannot be read as it stands; the message names the file and the first bad place."""

    exit_code = 1


class RigFault(RunError):
    """The rig, not the agent, misbehaved; the trial it happens in is ABORTED."""

    exit_code = 3


class AgentUnreachable(RigFault):
    """The way to the agent failed (provider down, time-out, key refused, client gone); ABORTED.

    Attributes:
        what: The kind of failure in one word, for counting.
    """

    def __init__(self, what: str, detail: str) -> None:
        self.what = what
        super().__init__(f"the agent cannot be reached ({what}): {detail}")


class CannotArm(RigFault):
    """The bench is not fit for the task now; nothing was begun, and nothing recorded."""


class PlantFault(RigFault):
    """The simulated plant diverged, warned, or its clock ran backwards."""


class RecorderFault(RigFault):
    """The record could not be made durable; nothing already acknowledged is lost."""


def unknown(kind: str, name: str, known: Sequence[str]) -> UsageError:
    """Return the error for a name that is not in a registry, with the names that are."""
    listed = ", ".join(sorted(known)) or "none"
    return UsageError(f"unknown {kind} {name!r}; known: {listed}")
