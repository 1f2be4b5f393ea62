"""Starting the console: the links to open, then the server until it is told to stop."""

import logging
import ssl
from pathlib import Path

import uvicorn

from rig.console.access import Role
from rig.console.app import create
from rig.console.settings import LOOPBACK, Settings
from rig.core.errors import UsageError

WHAT = {
    Role.TECHNICIAN: "run the bench, see everything",
    Role.REVIEWER: "label trials, blind until the label is locked",
    Role.VIEWER: "look, and stop the bench",
    Role.ADMIN: "everything",
}


def links(settings: Settings, path: str = "") -> dict[Role, str]:
    """Return the link of each role; what follows the # is never sent in a request line."""
    return {role: f"{settings.address}#{path}token={settings.keys.tokens[role]}" for role in WHAT}


def check_exposure(host: str, expose: bool, certificate: Path | None, key: Path | None) -> None:
    """Refuse to listen where others can reach without that being said, and without TLS.

    Raises:
        UsageError: With what to give.
    """
    if (certificate is None) != (key is None):
        raise UsageError("--certificate and --key belong together; give both")
    if host in ("0.0.0.0", "::", ""):
        raise UsageError(f"--host {host!r} is every address there is; give the one name people will open")
    if host not in LOOPBACK and not (expose and certificate and key):
        raise UsageError(
            f"--host {host} can be reached by others: add --expose-to-network, --certificate FILE and --key FILE"
        )
    for path in (certificate, key):
        if path is not None and not path.is_file():
            raise UsageError(f"{path}: no such file")
    if certificate and key:
        try:
            ssl.create_default_context(ssl.Purpose.CLIENT_AUTH).load_cert_chain(certificate, key)
        except (ssl.SSLError, OSError) as error:
            raise UsageError(f"{certificate}, {key}: not a certificate and its key: {error}") from None


def server(settings: Settings, certificate: Path | None = None, key: Path | None = None) -> uvicorn.Server:
    """Return the server for one start; ``run()`` serves until it is told to stop."""
    logging.getLogger("uvicorn.error").setLevel(logging.WARNING)
    config = uvicorn.Config(
        create(settings), host=settings.host, port=settings.port, log_config=None, access_log=False, ws="none",
        server_header=False, proxy_headers=False, timeout_graceful_shutdown=2,
        ssl_certfile=str(certificate) if certificate else None, ssl_keyfile=str(key) if key else None,
    )  # fmt: skip
    return uvicorn.Server(config)
