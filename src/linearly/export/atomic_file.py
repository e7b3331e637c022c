"""Whole files or none: what is written takes the place of the old file in one step, or not at all."""

from __future__ import annotations

import os
import stat

from linearly.dataset.files.atomic_file import replace_file


def write_atomic(path: str | os.PathLike[str], data: bytes) -> None:
    """Write a file so that at every moment there is the old one or the new one, whole."""
    target = os.path.realpath(os.fspath(path))
    directory = os.path.dirname(target)
    if not os.path.isdir(directory):
        raise ValueError(f"{os.fspath(path)}: there is no directory {directory}.")
    if os.path.lexists(target) and not os.path.isfile(target):
        raise ValueError(f"{os.fspath(path)}: something that is not a plain file is there already.")
    with replace_file(os.fspath(path), target) as beside, open(beside, "wb") as file:
        file.write(data)


def read_bounded(path: str | os.PathLike[str], most: int) -> bytes:
    """The bytes of a plain file, refused if it is none or has more than `most`."""
    name = os.fspath(path)
    # Without O_NONBLOCK opening a pipe would wait for its writer.
    fd = os.open(name, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    with open(fd, "rb") as file:
        found = os.fstat(fd)
        if not stat.S_ISREG(found.st_mode):
            raise ValueError("it is not a plain file")
        if found.st_size > most:
            raise ValueError(f"it has more than {most / 2**20:.0f} MB")
        return file.read(found.st_size)
