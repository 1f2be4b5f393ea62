"""What one start of the console serves, to whom, and where it keeps what it can always make again."""

import hashlib
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path

from rig.console.access import Keys
from rig.core.errors import UsageError

LOOPBACK = ("127.0.0.1", "localhost", "::1")
DEFAULT_PORT = 8765


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """One start of the console.

    Attributes:
        runs: Folder of records.
        bench: Bench that may be run from the page; None for a console that only reads.
        keys: The token of each role.
        host: Address to listen on.
        port: Port to listen on.
        secure: Whether it is served over TLS.
        cache: Where derived data is kept; it may be deleted at any time.
        plans: Folder of campaign plans that may be started; None for the runs folder itself.
    """

    runs: Path
    bench: str | None
    keys: Keys
    host: str = "127.0.0.1"
    port: int = DEFAULT_PORT
    secure: bool = False
    cache: Path
    plans: Path | None = None

    @property
    def scheme(self) -> str:
        """The scheme of its addresses."""
        return "https" if self.secure else "http"

    @property
    def hosts(self) -> frozenset[str]:
        """Every value of the Host header that means this console; any other is refused."""
        names = LOOPBACK if self.host in LOOPBACK else (self.host,)
        return frozenset(f"{_bracketed(name)}:{self.port}" for name in names)

    @property
    def origins(self) -> frozenset[str]:
        """Every value of the Origin header that means this console's own pages."""
        return frozenset(f"{self.scheme}://{host}" for host in self.hosts)

    @property
    def address(self) -> str:
        """Where the page is."""
        return f"{self.scheme}://{_bracketed(self.host)}:{self.port}/"

    @property
    def cookie(self) -> str:
        """Name of the session cookie; cookies do not tell ports apart, so the name does."""
        return f"runrig_{self.port}"


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def check_runs(runs: Path) -> Path:
    """Return the folder of records, absolute.

    Raises:
        UsageError: If it is not a folder that can be read.
    """
    if not runs.is_dir():
        raise UsageError(f"{runs}: no such folder; give a folder of records with --runs")
    if not os.access(runs, os.R_OK | os.X_OK):
        raise UsageError(f"{runs}: may not be read by this user")
    return runs.resolve()


def cache_of(runs: Path) -> Path:
    """Return where data derived from a runs folder is kept, created."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    folder = Path(base) / "runrig" / "console" / hashlib.sha256(str(runs).encode()).hexdigest()[:16]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return folder
    except OSError:
        return Path(tempfile.mkdtemp(prefix="runrig-console-"))
