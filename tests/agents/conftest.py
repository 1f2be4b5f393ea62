"""Every test of agents that are models needs the extra."""

import pytest

pytest.importorskip("inspect_ai", reason="needs the extra [inspect]")
