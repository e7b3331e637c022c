"""Find the files that a source stands for, and open them.

A source is a path, a directory, a glob, a URL of a filesystem that pyarrow supports, an open binary file or standard
input. A `Location` gives its first bytes, a stream of all bytes, or random access. A location that can be read only
once raises when it is read again. Directories below the given one may be keys, as Hive and Spark write them:
year=2024/region=eu.
"""

from __future__ import annotations

import fnmatch
import glob
import io
import os
import stat
import sys
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Protocol
from urllib.parse import unquote

_COMPRESSED = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd", b"BZh": "bz2"}
_FORMATS = {b"PAR1": "parquet", b"ARROW1": "arrow", b"\xff\xff\xff\xff": "stream"}
_SUFFIXES = {
    "parquet": ("parquet", "pq", "parq"),
    "arrow": ("arrow", "arrows", "feather", "ipc"),
    "csv": ("csv", "tsv", "txt", "tab", "psv"),
}
_COMPRESSED_SUFFIXES = ("gz", "zst", "zstd", "bz2")
_NO_VALUE = ("", "__HIVE_DEFAULT_PARTITION__")

Keys = Mapping[str, str | None]
NO_KEYS: Keys = MappingProxyType({})

_ADVICE = (
    "Labels, levels of text columns, robust covariances and iterative models need further passes. Write it to a "
    "file, and fit the file."
)


class Location(Protocol):
    """The bytes of one file."""

    name: str
    one_shot: bool  # whether it can be read only once
    keys: Keys  # columns that its directories declare; None is a missing value

    @property
    def identity(self) -> Any:
        """A value that is equal for two locations of the same file."""
        ...

    def head(self, n: int) -> bytes:
        """Return the first n bytes, or all if they are fewer."""
        ...

    def stream(self) -> Any:
        """Return a file that is read from the start, and closed by the caller."""
        ...

    def random_access(self) -> Any:
        """Return a file that several threads can read at any position."""
        ...


class StoredFile:
    """A file in a filesystem."""

    one_shot = False

    def __init__(self, filesystem: Any, path: str, name: str, keys: Keys = NO_KEYS) -> None:
        self.filesystem, self.path, self.name, self.keys = filesystem, path, name, keys

    @property
    def identity(self) -> Any:
        if self.filesystem.type_name != "local":
            return self.filesystem.type_name, self.path
        status = os.stat(self.path)  # the same for a link and its target
        return status.st_dev, status.st_ino

    def head(self, n: int) -> bytes:
        with self.stream() as stream:
            return read_fully(stream, n)

    def stream(self) -> Any:
        return self.filesystem.open_input_stream(self.path, compression=None)

    def random_access(self) -> Any:
        return self.filesystem.open_input_file(self.path)


class OpenFile:
    """A binary file that the user opened, or standard input. It is never closed here."""

    keys = NO_KEYS

    def __init__(self, file: Any, name: str) -> None:
        self.file, self.name = file, name
        if isinstance(file, io.TextIOBase):
            raise TypeError(f"{name} is open as text. Open it in binary mode: open(path, 'rb').")
        self.one_shot = not (hasattr(file, "seekable") and file.seekable())
        self._from = 0 if self.one_shot else file.tell()
        self._head: bytes | None = b""  # of a one-shot file: bytes read already; None when it was streamed
        self._random_access: Any = None
        self._lock = threading.Lock()

    @property
    def identity(self) -> Any:
        return id(self.file)

    def head(self, n: int) -> bytes:
        if not self.one_shot:
            with self._lock:
                self.file.seek(self._from)
                return read_fully(self.file, n)
        if self._head is None:
            raise read_already(self.name)
        if len(self._head) < n:
            self._head += read_fully(self.file, n - len(self._head))
        return self._head[:n]

    def stream(self) -> Any:
        if not self.one_shot:
            self.file.seek(self._from)
            return io.BufferedReader(_Borrowed(self.file))
        if self._head is None:
            raise read_already(self.name)
        head, self._head = self._head, None
        return io.BufferedReader(_Borrowed(self.file, head))

    def random_access(self) -> Any:
        if self.one_shot:
            raise ValueError(
                f"{self.name} does not support random access, which its format requires. Save it to a file first."
            )
        import pyarrow as pa

        with self._lock:
            if self._random_access is None:
                self.file.seek(self._from)
                data = self.file.getbuffer() if isinstance(self.file, io.BytesIO) else None
                self._random_access = (
                    pa.BufferReader(data[self._from :]) if data is not None else pa.PythonFile(self.file, "r")
                )
            return self._random_access


class _Borrowed(io.RawIOBase):
    """A file that does not close the original when it is closed, with bytes read already put back in front."""

    def __init__(self, file: Any, head: bytes = b"") -> None:
        self._file, self._head = file, head

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._head[: len(buffer)] or self._file.read(len(buffer)) or b""
        self._head = self._head[len(data) :]
        buffer[: len(data)] = data
        return len(data)


def read_already(name: str) -> ValueError:
    """Return the error for a second pass over a one-shot stream."""
    return ValueError(f"{name} can be read only once, and has been read. {_ADVICE}")


def read_fully(stream: Any, n: int) -> bytes:
    """Return n bytes, or fewer at the end of the stream."""
    data: Any = stream.read(n)
    if not isinstance(data, bytes):
        raise TypeError(f"The file returns {type(data).__name__}, not bytes. Open it in binary mode: open(path, 'rb').")
    while data and len(data) < n:
        more = stream.read(n - len(data))
        if not more:
            break
        data += more
    return bytes(data)


def decompressed_stream(location: Location) -> Any:
    """Return a stream of the bytes of a location, decompressed if they are compressed."""
    compression = detect_compression(location)
    stream = location.stream()
    if compression is None:
        return stream
    import pyarrow as pa

    stream = stream if isinstance(stream, pa.NativeFile) else pa.PythonFile(stream)
    return pa.CompressedInputStream(stream, compression)


def detect_compression(location: Location) -> str | None:
    """Return how a location is compressed, by its first bytes; None if it is not."""
    head = location.head(4)
    return next((compression for magic, compression in _COMPRESSED.items() if head.startswith(magic)), None)


def detect_format(location: Location) -> str:
    """Return "parquet", "arrow", "stream" or "csv" by the first bytes; raise if they contradict the suffix."""
    head = location.head(8)
    for magic, kind in _FORMATS.items():
        if head.startswith(magic):
            return kind
    named = _format_of_suffix(location.name)
    if named in ("parquet", "arrow"):
        size = " It is empty." if not head else ""
        raise ValueError(
            f"{location.name} is not {'a Parquet' if named == 'parquet' else 'an Arrow'} file.{size} "
            "Check the file, or rename it."
        )
    if head[:4] == b"PK\x03\x04":
        raise ValueError(f"{location.name} is a zip archive or an Excel workbook. Unpack it, or save the sheet as CSV.")
    if head[:4] == b"FEA1":
        raise ValueError(f"{location.name} is Feather version 1. Write it again as version 2, or as Parquet.")
    if named is None and detect_compression(location) is None and b"\x00" in location.head(4096):
        raise ValueError(f"{location.name} is not Parquet, Arrow or CSV. Convert it to one of these.")
    return "csv"


def _format_of_suffix(name: str) -> str | None:
    parts = os.path.basename(name).lower().split(".")[1:]
    if parts and parts[-1] in _COMPRESSED_SUFFIXES:
        parts = parts[:-1] or ["csv"]
    return next((kind for kind, suffixes in _SUFFIXES.items() if parts and parts[-1] in suffixes), None)


def locations_of(source: Any) -> list[Location]:
    """Return the files of a path, directory, glob, URL, open file or list of them; raise for duplicates."""
    found = _locations(source)
    seen: dict[Any, Location] = {}
    for location in found:
        first = seen.setdefault(location.identity, location)
        if first is not location:
            other = "" if first.name == location.name else f", also as {first.name}"
            raise ValueError(f"{location.name} is given twice{other}, so its rows would count twice. Pass it once.")
    return found


def _locations(source: Any) -> list[Location]:
    if isinstance(source, (list, tuple)):
        if not source:
            raise ValueError("The list of files is empty. Name at least one file.")
        return [location for one in source for location in _locations(one)]
    if hasattr(source, "read"):
        name = getattr(source, "name", None)
        return [OpenFile(source, name if isinstance(name, str) else "the open file")]
    if not isinstance(source, (str, os.PathLike)):
        raise TypeError(f"The file must be a path or an open binary file, not {type(source).__name__}.")
    path = os.fspath(source)
    if path == "-":
        return [OpenFile(sys.stdin.buffer, "standard input")]
    if "://" in path:
        return _remote_files(path)
    return _local_files(os.path.expanduser(path))


def check_not_overwriting(path: str | os.PathLike[str] | None, *sources: Any) -> None:
    """Raise if a file to be written is also read: rows that stream through it would be lost."""
    if path is None or not os.path.isfile(path):
        return
    for source in sources:
        for one in _local_paths(source):
            if os.path.samefile(path, one):
                raise ValueError(f"{os.fspath(path)} is an input file and would be overwritten. Write to another file.")


def _local_paths(source: Any) -> list[str]:
    """Return the paths of the local files that a source stands for; none if there are none."""
    if isinstance(source, (list, tuple)):
        return [path for one in source for path in _local_paths(one)]
    if not isinstance(source, (str, os.PathLike)):
        return []
    path = os.path.expanduser(os.fspath(source))
    if os.path.isfile(path):
        return [path]
    if not os.path.isdir(path) and not (glob.has_magic(path) and glob.glob(path, recursive=True)):
        return []  # standard input, a URL, or nothing, for which reading raises
    return [one.path for one in _local_files(path) if isinstance(one, StoredFile)]


def _local_files(path: str) -> list[Location]:
    from pyarrow.fs import LocalFileSystem

    root = path
    if os.path.isdir(path):
        found = [os.path.join(folder, file) for folder, _, files in os.walk(path) for file in files]
        found = _tables_in(path, found, lambda one: _parts(os.path.relpath(one, path)))
    elif os.path.exists(path):
        if stat.S_ISFIFO(os.stat(path).st_mode):
            raise ValueError(f"{path} is a pipe, which can be read only once. Write its contents to a file first.")
        root, found = os.path.dirname(path), [path]
    else:
        root = _fixed(path, os.sep) if glob.has_magic(path) else path
        found = sorted(one for one in glob.glob(path, recursive=True) if os.path.isfile(one))
        if not found:
            what = f"No file matches {path}" if glob.has_magic(path) else f"The file {path} does not exist"
            raise FileNotFoundError(f"{what}. Check the path.")
    return _keyed_files(LocalFileSystem(), found, "", lambda one: _parts(os.path.relpath(one, root or ".")))


def _remote_files(url: str) -> list[Location]:
    import pyarrow as pa
    from pyarrow.fs import FileSelector, FileSystem, FileType

    wild = glob.has_magic(url)
    fixed = _fixed(url, "/") if wild else url
    try:
        system, path = FileSystem.from_uri(fixed)
    except pa.ArrowInvalid:
        raise ValueError(
            f"{url} has an unsupported scheme (supported: s3://, gs://, hdfs://, file://). Download the file first."
        ) from None
    start = url[: len(url) - len(path)] if not wild and url.endswith(path) else ""
    if not wild and system.get_file_info(path).type == FileType.File:
        return [StoredFile(system, path, url)]
    if system.get_file_info(path).type != FileType.Directory:
        raise FileNotFoundError(f"The file {url} does not exist. Check the path.")
    every = [info.path for info in system.get_file_info(FileSelector(path, recursive=True)) if info.is_file]

    def below(one: str) -> list[str]:
        return _parts(one.removeprefix(path))

    if wild:
        pattern = _parts(url[len(fixed) :])
        found = sorted(one for one in every if _matches(below(one), pattern))
    else:
        found = _tables_in(url, every, below)
    if not found:
        raise FileNotFoundError(f"No file matches {url}. Check the path.")
    return _keyed_files(system, found, start, below)


def _fixed(pattern: str, separator: str) -> str:
    """Return the directories of a glob before its first wildcard."""
    return pattern[: next(i for i, letter in enumerate(pattern) if letter in "*?[")].rpartition(separator)[0]


def _matches(parts: Sequence[str], pattern: Sequence[str]) -> bool:
    """Return whether a path matches a glob, as in `glob`: * stays in its directory, ** does not; neither matches .x."""
    if not pattern:
        return not parts
    first, *rest = pattern
    if first == "**":
        deeper = len(parts) > 1 and not parts[0].startswith(".") and _matches(parts[1:], pattern)
        return deeper or _matches(parts, rest or ["*"])
    if not parts or (parts[0].startswith(".") and not first.startswith(".")):
        return False
    return fnmatch.fnmatchcase(parts[0], first) and _matches(parts[1:], rest)


def _parts(path: str) -> list[str]:
    return path.replace(os.sep, "/").strip("/").split("/")


def _tables_in(folder: str, paths: Iterable[str], below: Callable[[str], list[str]]) -> list[str]:
    """Return the files of a directory that contain tables, sorted; hidden files and other formats are skipped."""

    def hidden(path: str) -> bool:
        return any(part.startswith((".", "_")) and "=" not in part for part in below(path))

    found = sorted(path for path in paths if not hidden(path) and _format_of_suffix(path) is not None)
    if not found:
        raise FileNotFoundError(f"{folder} contains no Parquet, Arrow or CSV file. Name another directory.")
    return found


def _keyed_files(system: Any, paths: Iterable[str], prefix: str, below: Callable[[str], list[str]]) -> list[Location]:
    """Return the files with the keys of their directories, which must be the same keys for all files."""
    files = [StoredFile(system, path, prefix + path, _keys(below(path), prefix + path)) for path in paths]
    first = files[0]
    for other in files:
        if other.keys.keys() != first.keys.keys():
            ours, theirs = (f"the keys {', '.join(one.keys)}" if one.keys else "no key" for one in (first, other))
            raise ValueError(
                f"{first.name} is below {ours}, but {other.name} is below {theirs}. Read files with different keys "
                "separately, or move them."
            )
    return list(files)


def _keys(parts: list[str], file: str) -> Keys:
    """Return the keys in the names of the directories that lead to a file."""
    keys: dict[str, str | None] = {}
    for part in parts[:-1]:
        name, equals, value = part.partition("=")
        if not (name and equals):
            continue
        name, value = unquote(name), unquote(value)
        if name in keys:
            raise ValueError(f"{file} is below two directories {name}=…. Rename the key of one of them.")
        keys[name] = None if value in _NO_VALUE else value
    return keys
