"""Replace a file in one step: it is written under another name, which takes the place of the old file at the end.

A process that is killed leaves its unfinished file behind; the next one that writes to the directory removes it. A
writer keeps a lock on its file that ends with the process, so an unlocked file is known to be abandoned.
"""

from __future__ import annotations

import os
import re
import secrets
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

_STRAY = re.compile(r"\.linearly-[0-9a-f]{16}\.saving")
_ABANDONED = 3600.0  # seconds after which a file counts as abandoned where there are no locks


@contextmanager
def replace_file(path: str, target: str) -> Iterator[str]:
    """Give the name of a new file in the same directory, which replaces the target when the block ends without error.

    Errors name `path`, as the user gave it. Files that killed processes left in the directory are removed first.
    """
    directory = os.path.dirname(target)
    kept = stat.S_IMODE(os.stat(target).st_mode) if os.path.exists(target) else None
    _remove_strays(directory)
    # The name is chosen first, so that the file is removed whenever an interrupt comes.
    temporary = os.path.join(directory, f".linearly-{secrets.token_hex(8)}.saving")
    fd = -1
    try:
        with raise_with_path(path):
            while fd < 0:
                # Never readable by more people than the old file; a new file follows the umask.
                flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)
                fd = os.open(temporary, flags, 0o666 if kept is None else kept | 0o600)
                if fcntl is not None:
                    fcntl.flock(fd, fcntl.LOCK_EX)
                    if not os.fstat(fd).st_nlink:  # removed as a stray between the two lines: try again
                        os.close(fd)
                        fd = -1
            yield temporary
            os.fsync(fd)
            if kept is not None:
                os.chmod(temporary, kept)
            if fcntl is None:
                os.close(fd)
                fd = -1
            os.replace(temporary, target)  # while the lock is held, so that nobody removes it as a stray
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary)
        raise
    finally:
        if fd >= 0:
            os.close(fd)
    if os.name != "nt":
        fd = os.open(directory, os.O_RDONLY)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)


def _remove_strays(directory: str) -> None:
    with os.scandir(directory) as entries:
        strays = [one.path for one in entries if _STRAY.fullmatch(one.name) and one.is_file(follow_symlinks=False)]
    for stray in strays:
        with suppress(OSError):
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


@contextmanager
def raise_with_path(path: str | os.PathLike[str]) -> Iterator[None]:
    """Raise errors of the disk, such as a full one, with the name of the file that was to be written."""
    try:
        yield
    except OSError as error:
        if error.errno is None or error.filename is not None:
            raise
        problem = f"{os.strerror(error.errno)}, so nothing was written"
        raise OSError(error.errno, problem, os.fspath(path)) from error


def write_atomic(path: str | os.PathLike[str], data: bytes) -> None:
    """Write a file so that at every moment either the old one or the new one is there, complete."""
    target = os.path.realpath(os.fspath(path))
    directory = os.path.dirname(target)
    if not os.path.isdir(directory):
        raise ValueError(
            f"{os.fspath(path)} cannot be written, because the directory {directory} does not exist. Create it first."
        )
    if os.path.lexists(target) and not os.path.isfile(target):
        raise ValueError(f"{os.fspath(path)} exists and is not a regular file. Write to another path.")
    with replace_file(os.fspath(path), target) as temporary, open(temporary, "wb") as file:
        file.write(data)


def read_bounded(path: str | os.PathLike[str], max_bytes: int) -> bytes:
    """Return the bytes of a regular file; refuse anything else, and more than `max_bytes`."""
    name = os.fspath(path)
    # Without O_NONBLOCK opening a pipe would wait for its writer.
    fd = os.open(name, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    with open(fd, "rb") as file:
        status = os.fstat(fd)
        if not stat.S_ISREG(status.st_mode):
            raise ValueError("it is not a regular file")
        if status.st_size > max_bytes:
            raise ValueError(f"it is larger than {max_bytes / 2**20:.0f} MB")
        return file.read(status.st_size)
