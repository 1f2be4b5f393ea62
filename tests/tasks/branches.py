"""Which branches of some files were taken: a pytest plugin, by tracing their bytecode.

    python -m pytest -p branches --branches=tasks/handover/person.py ...

A conditional jump has two ways on; one that no test took is a transition of a person nobody has tried.
The run fails if there is one, and names it by its line and the line it would lead to.
"""

import dis
import sys
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import pytest

Way = tuple[int, int]
"""From one instruction to another, by their offsets."""
Key = tuple[str, int, str, bytes]
ALWAYS = "# always"
"""Ends a line whose condition has one outcome only, where the language wants a condition."""


def key_of(code: CodeType) -> Key:
    """Return what two compilations of one piece of code share."""
    return code.co_filename, code.co_firstlineno, code.co_qualname, code.co_code


def codes(code: CodeType) -> Iterator[CodeType]:
    """Yield a code object and all inside it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from codes(constant)


def branches_of(code: CodeType) -> dict[Way, tuple[int, int]]:
    """Return the ways of every conditional jump of a code object, each with the two lines it joins.

    Jumps that only begin or end a comprehension or a loop's cleanup are ways like any other; ways to where
    nothing but an error is raised (no case matches) do not count.
    """
    steps = list(dis.get_instructions(code))
    after = {a.offset: b for a, b in pairwise(steps)}
    at = {step.offset: step for step in steps}
    lines, line = {}, code.co_firstlineno
    for step in steps:
        line = step.starts_line or line
        lines[step.offset] = line
    ways = {}
    for step in steps:
        conditional = step.opcode in dis.hasjrel or step.opcode in dis.hasjabs
        if not conditional or step.opname in (
            "JUMP_FORWARD",
            "JUMP_BACKWARD",
            "JUMP_BACKWARD_NO_INTERRUPT",
            "SEND",
        ):
            continue
        for target in (after[step.offset], at[step.argval]):
            ways[step.offset, target.offset] = (lines[step.offset], lines[target.offset])
    return ways


@dataclass
class Branches:
    """Branches of some files, and those taken."""

    files: frozenset[str]
    taken: dict[Key, set[Way]] = field(default_factory=lambda: defaultdict(set))
    open: dict[int, tuple[set[Way], set[Way]]] = field(default_factory=dict)
    codes: list[CodeType] = field(default_factory=list)

    def trace(self, frame: FrameType, event: str, _: Any) -> Any:
        """Follow the frames of the files, instruction by instruction."""
        code = frame.f_code
        if code.co_filename not in self.files:
            return None
        if id(code) not in self.open:
            self.codes.append(code)  # kept, so that its id stays its own
            self.open[id(code)] = (set(branches_of(code)), self.taken[key_of(code)])
        wanted, taken = self.open[id(code)]
        if wanted <= taken:
            return None  # nothing new to see here
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        last = -1

        def step(frame: FrameType, event: str, _: Any) -> Any:
            nonlocal last
            if event == "opcode":
                taken.add((last, frame.f_lasti))
                last = frame.f_lasti
            return step

        return step

    def missed(self) -> list[str]:
        """Return every branch that was not taken, by file, line and where it would have led."""
        found = set()
        for name in sorted(self.files):
            text = Path(name).read_text(encoding="utf-8")
            lines = text.splitlines()
            for code in codes(compile(text, name, "exec")):
                if code.co_name == "<module>":
                    continue
                taken = self.taken.get(key_of(code), set())
                for way, (line, to) in branches_of(code).items():
                    if way not in taken and not lines[line - 1].endswith(ALWAYS):
                        found.add(
                            (name, line, f"{name}:{line}: {lines[line - 1].strip()}  never led to line {to}")
                        )
        return [text for _, _, text in sorted(found)]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--branches", action="append", default=[], help="File whose branches must all be taken.")


def pytest_configure(config: pytest.Config) -> None:
    files = frozenset(str(Path(name).resolve()) for name in config.getoption("--branches"))
    config.stash[BRANCHES] = Branches(files)
    sys.settrace(config.stash[BRANCHES].trace)


def pytest_sessionfinish(session: pytest.Session) -> None:
    sys.settrace(None)
    for text in session.config.stash[BRANCHES].missed():
        print(text)
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


BRANCHES = pytest.StashKey[Branches]()
