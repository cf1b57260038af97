"""Servers of viser: started without their banner, stopped when done."""

from __future__ import annotations

import contextlib
import io
import logging
import socket
from collections.abc import Iterator

import viser

from sapwood._core import __version__


def start_server(host: str, port: int) -> viser.ViserServer:
    """Start a server in silence.

    Parameters
    ----------
    host : str
        Address to listen at.
    port : int
        Port to begin with; the next free one is taken.

    Returns
    -------
    viser.ViserServer
        Running in a thread of its own.

    Raises
    ------
    OSError
        If it cannot listen there.
    """
    # viser serves from a thread, which would keep to itself that it cannot
    socket.create_server((host, 0)).close()
    # the banner goes to rich's console, which writes to the standard output of now
    label = f"sapwood {__version__}"
    with contextlib.redirect_stdout(io.StringIO()):
        server = viser.ViserServer(host=host, port=port, label=label, verbose=False)
    # pages that are closed in the middle of a message are no news
    logging.getLogger("websockets.server").setLevel(logging.CRITICAL)
    return server


def stop_server(server: viser.ViserServer) -> None:
    """Stop a server in silence.

    Parameters
    ----------
    server : viser.ViserServer
        Which one.
    """
    with contextlib.redirect_stdout(io.StringIO()):
        server.stop()


@contextlib.contextmanager
def quiet_server() -> Iterator[viser.ViserServer]:
    """A server that nobody is told of, for as long as a scene is written to a file.

    Yields
    ------
    viser.ViserServer
        Stopped at the end.
    """
    server = start_server("127.0.0.1", 0)
    try:
        yield server
    finally:
        stop_server(server)
