import pytest


@pytest.fixture(autouse=True)
def own_keys(tmp_path_factory, monkeypatch):
    """Keep the keys of whoever runs the tests out of them."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path_factory.mktemp("config")))
    monkeypatch.delenv("RUNRIG_SIGNING_KEY", raising=False)
