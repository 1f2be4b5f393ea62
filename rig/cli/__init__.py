"""The command line, and the only place that knows every package."""

import importlib.util
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from rig.core.errors import ConfigError, RunError

# Our matrices are 6 x 6: threads of the linear algebra library would only wait for each other. It reads
# this when numpy is first imported, so it must be said here.
for _name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

PACKAGES = ("rig", "firmware_bridge", "tasks", "safety_monitor", "analysis")


def main() -> None:
    """Run the command line and exit with its code (see `run`)."""
    sys.exit(run(sys.argv[1:]))


def run(arguments: Sequence[str]) -> int:
    """Run one command and return its exit code.

    0 done, 1 a finding, 2 misuse or bad input, 3 a fault of the rig, 130 stopped from the keyboard.
    """
    from typer.exceptions import TyperException

    from rig.cli.app import app

    try:
        check_packages()
        result = app(list(arguments), standalone_mode=False)
        return result if isinstance(result, int) else 0
    except TyperException as error:
        if text := error.format_message():  # empty when the help was shown instead
            print(f"runrig: {text}\nTry: runrig --help", file=sys.stderr)  # noqa: T201
        return 2
    except RunError as error:
        print(f"runrig: {error}", file=sys.stderr)  # noqa: T201
        return error.exit_code
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:  # the reader of our output left, as in `runrig ... | head`
        sys.stderr.close()
        return 0


def check_packages() -> None:
    """Refuse to run when another distribution's package hides one of ours.

    `tasks` and `analysis` are common names; running a stranger's code by mistake must be impossible.

    Raises:
        ConfigError: Naming the package and the file that would have been imported.
    """
    home = Path(__file__).resolve().parents[2]
    mistakes = []
    for name in PACKAGES:
        spec = importlib.util.find_spec(name)
        origin = Path(spec.origin).resolve() if spec is not None and spec.origin else None
        if origin is None or not origin.is_relative_to(home):
            mistakes.append(
                f"{name} resolves to {origin}, outside {home}: another package of that name is installed"
            )
    if mistakes:
        raise ConfigError("installation", mistakes)
