"""Optional packages: how an error says which extra installs them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

#: Where pip finds this package: the folder of a clone, until a package index has it as "sapwood".
SOURCE = "."
_WHERE = " in a clone of the repository"


def install_command(extra: str) -> str:
    """Return the command that installs the package with an extra, or several with commas.

    Parameters
    ----------
    extra
        Name in ``project.optional-dependencies`` of ``pyproject.toml``.

    Returns
    -------
    str
        What an error or a message tells the user.
    """
    return f"pip install '{SOURCE}[{extra}]'{_WHERE}"


@contextmanager
def imported_for(user: str, extra: str) -> Iterator[None]:
    """Import optional packages within; where one is missing, the error says who needs it and how.

    Parameters
    ----------
    user
        The module or function that needs the packages.
    extra
        See `install_command`.

    Raises
    ------
    ModuleNotFoundError
        A package is missing.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        error.msg = f"{user} needs {error.name}: {install_command(extra)}"
        raise
