"""Replace a file in one step or not at all, and read a file of limited size."""

from __future__ import annotations

import os
import stat

from linearly.dataset.files.atomic_file import replace_file


def write_atomic(path: str | os.PathLike[str], data: bytes) -> None:
    """Write a file so that at every moment either the old one or the new one is there, complete."""
    target = os.path.realpath(os.fspath(path))
    directory = os.path.dirname(target)
    if not os.path.isdir(directory):
        raise ValueError(f"{os.fspath(path)}: there is no directory {directory}.")
    if os.path.lexists(target) and not os.path.isfile(target):
        raise ValueError(f"{os.fspath(path)}: something that is not a plain file is there already.")
    with replace_file(os.fspath(path), target) as beside, open(beside, "wb") as file:
        file.write(data)


def read_bounded(path: str | os.PathLike[str], max_bytes: int) -> bytes:
    """Return the bytes of a regular file; refuse anything else, and more than `max_bytes`."""
    name = os.fspath(path)
    # Without O_NONBLOCK opening a pipe would wait for its writer.
    fd = os.open(name, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    with open(fd, "rb") as file:
        status = os.fstat(fd)
        if not stat.S_ISREG(status.st_mode):
            raise ValueError("it is not a plain file")
        if status.st_size > max_bytes:
            raise ValueError(f"it has more than {max_bytes / 2**20:.0f} MB")
        return file.read(status.st_size)
