"""The API's description as a file, from which the page's types are made: ``python -m rig.console.openapi``."""

import json
import sys
import tempfile
from pathlib import Path

from rig.console.access import Keys
from rig.console.app import create
from rig.console.settings import Settings

FILE = Path(__file__).parent / "web" / "openapi.json"


def description() -> str:
    """Return the OpenAPI description of the whole API."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder)
        app = create(Settings(runs=path, bench="sim", keys=Keys({}), cache=path))
        described = app.openapi()
    described["info"]["version"] = "0"  # the types do not change with every release
    return json.dumps(described, indent=1, sort_keys=True) + "\n"


if __name__ == "__main__":
    FILE.write_text(description())
    sys.exit(0)
