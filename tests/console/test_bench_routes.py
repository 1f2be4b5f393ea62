"""What the console refuses to start, whoever asks."""

import pytest

from rig.console.bench_routes import start
from rig.console.bench_shapes import Start
from rig.core.errors import UsageError


def test_a_person_who_wants_to_do_the_job_is_sent_to_a_terminal() -> None:
    wanted = Start(version=0, item="bed-watch/30-min/quiet", agent="human")
    with pytest.raises(UsageError, match="runrig trial --agent human"):
        start(wanted, None, None, None)  # type: ignore[arg-type]
