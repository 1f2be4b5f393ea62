"""Ray: the same results bit for bit, nothing tried again by itself, records shipped where storage is not shared."""

import subprocess
import sys
from pathlib import Path

from plans import GRID, plan_file

from rig.campaign.ledger import Ledger
from rig.campaign.report import heads_digest
from rig.campaign.running import Options, run_campaign

SHIPPED = """
import sys
from functools import partial
from pathlib import Path
from rig.campaign.on_ray import RayWorkers
from rig.campaign.running import Options, run_campaign
from rig.campaign.work import carry_out

if __name__ == "__main__":
    plan, out, shared = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3] == "shared"
    make = lambda: RayWorkers("local", 2, out, work=carry_out, shared=shared)
    ran = run_campaign(plan, out, Options(), executor=make)
    print(ran.status.executor, ran.stopped)
"""


def test_ray_gives_the_same_bytes_as_this_process(tmp_path: Path) -> None:
    plan = plan_file(tmp_path, GRID.replace("count = 6", "count = 3"))
    run_campaign(plan, tmp_path / "here", Options(workers=0))
    script = tmp_path / "on_ray.py"
    script.write_text(SHIPPED)
    for way in ("shipped",):
        done = subprocess.run(
            [sys.executable, str(script), str(plan), str(tmp_path / way), way],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0 and "ray, 2 at a time None" in done.stdout, done.stdout + done.stderr
        with Ledger.reading(tmp_path / "here") as here, Ledger.reading(tmp_path / way) as there:
            assert heads_digest(here) == heads_digest(there)
        for name in ("trials.parquet", "results.json", "junit.xml"):
            ours, theirs = (tmp_path / home / "report" / name for home in ("here", way))
            assert ours.read_bytes() == theirs.read_bytes()
        assert not (tmp_path / way / ".incoming").exists()
