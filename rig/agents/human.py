"""A person at a terminal does the job with the same tools, timed: that is where nominal durations come from."""

import json
import re
import shlex
import sys
from collections.abc import Mapping
from typing import Any, TextIO

from rig.agents.calls import action_of
from rig.agents.schema import offered, tool_schema
from rig.agents.view import view_of
from rig.core.agent import Briefing, Decision, Observation
from rig.core.clock import Clock, MonotonicClock, clock_text, seconds
from rig.core.errors import AgentUnreachable, UsageError
from rig.core.malformed import Malformed
from rig.core.tools import Action

NAME = "human"
HELP = """A call is a tool's name and its arguments, as in: say Good evening.  or: move_to rest speed=slow
help lists the tools, look shows everything again, Ctrl-D leaves (the trial is then aborted)."""


class HumanAgent:
    """Whoever sits at the terminal.

    Args:
        source: Where lines are read from.
        out: Where the person is told what is seen.
        clock: Times the decisions.
    """

    name = NAME

    def __init__(
        self, source: TextIO | None = None, out: TextIO | None = None, clock: Clock | None = None
    ) -> None:
        self._source, self._out = source or sys.stdin, out or sys.stderr
        self._clock = clock or MonotonicClock()
        self._briefing: Briefing | None = None

    def begin(self, briefing: Briefing) -> None:
        """Tell the person the job."""
        self._briefing = briefing
        places = (f"Places to move to: {', '.join(briefing.places)}.",) if briefing.places else ()
        notes = "\n".join(f"  - {note}" for note in (*briefing.care_notes, *places, *briefing.handed_over))
        self._say(f"{briefing.task}: {briefing.goal}\n{notes}\n{HELP}")

    def act(self, observation: Observation) -> Decision:
        """Ask for the next call until there is one that can be understood.

        Raises:
            AgentUnreachable: If the person leaves.
        """
        briefing = self._briefing
        if briefing is None:
            raise UsageError("nobody was given a job")
        before_ns = self._clock.now_ns()
        self._say(shown(observation, briefing))
        while True:
            self._out.write("> ")
            self._out.flush()
            line = self._source.readline()
            if not line:
                raise AgentUnreachable("left", "the person at the terminal left")
            match line.strip():
                case "":
                    continue
                case "help":
                    self._say("\n".join(_usage(name) for name in offered(briefing.tools)))
                case "look":
                    self._say(shown(observation, briefing))
                case text:
                    action = call_of(text, offered(briefing.tools))
                    if not isinstance(action, Malformed):
                        return Decision(action, seconds(self._clock.now_ns() - before_ns))
                    self._say(action.problem)

    def _say(self, text: str) -> None:
        self._out.write(text + "\n")


def call_of(line: str, tools: tuple[str, ...]) -> Action | Malformed:
    """Return the call in a line as a person types it.

    What stands before the first ``name=`` is for the arguments that must be given, in their order; the last of them
    takes all that is left, so that words need no quotes.
    """
    tool, _, rest = line.strip().partition(" ")
    if tool not in tools:
        return action_of(tool, {}, tools)
    schema = tool_schema(tool).parameters
    known, required = list(schema["properties"]), list(schema["required"])
    named = re.search(rf"(?:^|\s)(?:{'|'.join(known)})=", rest) if known else None
    plain, pairs = (rest[: named.start()], rest[named.start() :]) if named else (rest, "")
    try:
        given = {key: _value(value) for key, _, value in (word.partition("=") for word in shlex.split(pairs))}
    except ValueError as error:
        return action_of(tool, f"{{{error}", tools)
    left = [name for name in required if name not in given] or known[:1]
    words = plain.split(None, max(0, len(left) - 1))
    given |= {
        name: _typed(word.strip(), schema["properties"][name])
        for name, word in zip(left, words, strict=False)
    }
    return action_of(tool, given if left or not words else {plain: None}, tools)


def shown(observation: Observation, briefing: Briefing) -> str:
    """Return an observation as a person reads it."""
    view = view_of(observation, briefing)
    lines = [f"--- {clock_text(observation.t_ns)} of {briefing.limit_s / 60:.3g} min"]
    if last := view.get("last_action"):
        lines.append(f"{last['status']}: {last['message']}")
        lines += [f"  {entry['document']}: {entry['text']}" for entry in last.get("entries", ())]
    lines += [f'she or he said: "{text}"' for text in view.get("heard", ())]
    lines += [f"noticed: {text}" for text in view.get("noticed", ())]
    cells = [
        f"{name} {'?' if r['value'] is None else r['value']}" + (f" {r['unit']}" if r["unit"] != "1" else "")
        + (f" ({r['quality']})" if "quality" in r else "")
        for name, r in view["readings"].items()
    ]  # fmt: skip
    lines += [
        "  " + "   ".join(f"{cell:32s}" for cell in cells[i : i + 3]).rstrip()
        for i in range(0, len(cells), 3)
    ]
    return "\n".join(lines)


def _usage(tool: str) -> str:
    schema = tool_schema(tool)
    required, properties = schema.parameters["required"], schema.parameters["properties"]
    slots = " ".join(_slot(name, of, name in required) for name, of in properties.items())
    return f"  {tool} {slots}".rstrip() + f"\n      {schema.description}"


def _slot(name: str, schema: Mapping[str, Any], required: bool) -> str:
    """Return an argument as help shows it: its choices, or its default; in brackets where it may be left out."""
    if required:
        return f"{name}=" + ("|".join(schema["enum"]) if "enum" in schema else "...")
    choices = "|".join(schema["enum"]) if "enum" in schema else json.dumps(schema.get("default"))
    return f"[{name}={choices}]"


def _typed(text: str, schema: Mapping[str, Any]) -> object:
    """Return a plain word as what the argument wants: words stay words, even where they look like numbers."""
    return text if schema.get("type") == "string" else _value(text)


def _value(text: str) -> object:
    try:
        return json.loads(text)
    except ValueError:
        return text
