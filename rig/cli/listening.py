"""Where a command listens: a socket of its own, found to be free before anything is begun."""

import socket

from rig.core.errors import UsageError


def bound(host: str, port: int) -> socket.socket:
    """Return a socket bound to an address; port 0 becomes one that is free.

    Raises:
        UsageError: If something else listens there.
    """
    found = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        found.bind((host, port))
    except OSError as error:
        found.close()
        raise UsageError(
            f"cannot listen on {host} port {port}: {error.strerror}; give another --port"
        ) from None
    return found
