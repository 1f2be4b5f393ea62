"""One flipped byte in any file a trial depends on is another configuration, named by its field."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FILES = {
    "tasks/bed_watch/task.toml": "task",
    "tasks/bed_watch/rubric.toml": "rubric",
    "tasks/bed_watch/persona.toml": "persona",
    "safety_monitor/rules/common.toml": "rules",
    "safety_monitor/rules/bed-watch.toml": "rules",
    "hardware/limits/person.toml": "limits",
    "hardware/limits/sim.toml": "limits",
    "hardware/benches/sim.toml": "bench",
    "hardware/scenes/bedside.xml": "scene",
    "hardware/firmware/core/node.c": "firmware",
    "rig/trial/run.py": "code",
    "safety_monitor/monitor.py": "code",
    ".ci/core.lock": "lock",
}
IN_THE_COPY = """
import json, sys
from pathlib import Path
from rig.core.configuration import differences, identity
from firmware_bridge import build
from rig.trial import run, spec
from tasks import suite

one = spec.TrialSpec(item="bed-watch/30-min/quiet", agent="careful", bench="emulated-host", monitor="guard", seed=1)

def now():
    for cached in (spec.program, build.sources_digest, suite.load_task):
        cached.cache_clear()
    return run.configured(one)

before, found = now(), {}
for name in json.loads(sys.argv[1]):
    path = Path(name)
    data = path.read_bytes()
    path.write_bytes(data + b"\\n")
    after = now()
    found[name] = [identity(after) != identity(before), [d.words() for d in differences(before, after)]]
    path.write_bytes(data)
assert identity(now()) == identity(before)
print(json.dumps(found))
"""


def test_every_file_is_named_by_its_field(tmp_path: Path) -> None:
    for name in ("rig", "tasks", "safety_monitor", "firmware_bridge", "analysis", "hardware", ".ci"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("node_modules", "web"))
    done = subprocess.run(
        [sys.executable, "-c", IN_THE_COPY, json.dumps(list(FILES))],
        cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(tmp_path)}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    for name, (changed, words) in json.loads(done.stdout).items():
        fields = {text.split(" ")[0] for text in words}
        assert changed and FILES[name] in fields, (name, words)
        # Data files among the packages are code too: whoever reads the difference sees both.
        assert fields <= {FILES[name], "code"}, (name, words)
