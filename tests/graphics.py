"""Whether pictures can be drawn on this machine; where they cannot, a test is skipped and says why."""

import pytest

from rig.offscreen import why_no_graphics


def needed() -> None:
    """Skip where there are no graphics libraries; everywhere else no picture is a failure."""
    if (why := why_no_graphics()) is not None:
        pytest.skip(f"no graphics libraries: {why}")
