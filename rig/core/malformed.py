"""A call that is none of the tools': as it came, and what is wrong with it."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from rig.core.event import Json


class Misuse(StrEnum):
    """Why a call cannot be carried out whatever the rig does."""

    NO_CALL = "no_call"  # an answer in words, without a tool
    REFUSED = "refused"  # the provider's filter or the model declined
    UNKNOWN_TOOL = "unknown_tool"
    BAD_ARGUMENTS = "bad_arguments"
    NOT_JSON = "not_json"
    CUT_OFF = "cut_off"  # the answer was longer than allowed
    CONTEXT_FULL = "context_full"  # the conversation no longer fits the model, even when shortened

    @property
    def declines(self) -> bool:
        """Whether the agent answered, but not with a tool."""
        return self in (Misuse.NO_CALL, Misuse.REFUSED)


@dataclass(frozen=True, slots=True, kw_only=True)
class Malformed:
    """A call nobody can carry out: recorded as proposed, refused, and answered with what is wrong.

    Attributes:
        tool: The name that was called, as given.
        arguments: As given, made fit for a record.
        misuse: What is wrong, in one word.
        problem: What is wrong, for the agent: what was seen and what is allowed.
    """

    tool: str
    arguments: Mapping[str, Json]
    misuse: Misuse
    problem: str
