"""Whole files or none: what is written takes the place of the old file in one step, or not at all.

The bytes go to a file beside the target, are forced to the disk, and are then renamed. A process that is killed on the
way leaves such a file behind; the next one to write in that directory removes it. It knows that nobody is writing it
any more because the lock that a writer holds goes with its process.
"""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import stat
import time
from collections.abc import Iterator

from linearly.dataset.writing import naming

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

_STRAY = re.compile(r"\.linearly-[0-9a-f]{16}\.saving")
_ABANDONED = 3600.0  # seconds after which a file without locks counts as left behind


def write_whole(path: str | os.PathLike[str], data: bytes) -> None:
    """Write a file so that at every moment there is the old one or the new one, whole."""
    target = os.path.realpath(os.fspath(path))
    directory = os.path.dirname(target)
    if not os.path.isdir(directory):
        raise ValueError(f"{os.fspath(path)}: there is no directory {directory}.")
    if os.path.lexists(target) and not os.path.isfile(target):
        raise ValueError(f"{os.fspath(path)}: something that is not a plain file is there already.")
    _remove_strays(directory)
    fd, beside = _new_file(directory)
    try:
        with naming(path), open(fd, "wb") as file:
            if os.path.exists(target) and hasattr(os, "fchmod"):
                os.fchmod(fd, stat.S_IMODE(os.stat(target).st_mode))
            file.write(data)
            file.flush()
            os.fsync(fd)
            if fcntl is not None:
                os.replace(beside, target)  # under the lock: until then nobody takes it for a stray
        if fcntl is None:
            os.replace(beside, target)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(beside)
        raise
    _sync_directory(directory)


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


def _new_file(directory: str) -> tuple[int, str]:
    flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)
    while True:
        beside = os.path.join(directory, f".linearly-{secrets.token_hex(8)}.saving")
        fd = os.open(beside, flags, 0o666)
        if fcntl is None:
            return fd, beside
        fcntl.flock(fd, fcntl.LOCK_EX)
        if os.fstat(fd).st_nlink:
            return fd, beside
        os.close(fd)  # taken for a stray between the two lines: once more


def _strays(directory: str) -> Iterator[str]:
    with os.scandir(directory) as entries:
        for entry in entries:
            if _STRAY.fullmatch(entry.name) and entry.is_file(follow_symlinks=False):
                yield entry.path


def _remove_strays(directory: str) -> None:
    for stray in _strays(directory):
        with contextlib.suppress(OSError):
            if fcntl is None:
                if time.time() - os.stat(stray).st_mtime > _ABANDONED:
                    os.unlink(stray)
                continue
            fd = os.open(stray, os.O_WRONLY | os.O_NOFOLLOW)
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                os.unlink(stray)
            finally:
                os.close(fd)


def _sync_directory(directory: str) -> None:
    if os.name == "nt":
        return
    fd = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
