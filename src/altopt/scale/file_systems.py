"""The file systems that a storage may be in: folders, and URLs that pyarrow opens."""

from typing import Any

from altopt.errors import InputError


def local_files() -> Any:
    from pyarrow.fs import LocalFileSystem

    return LocalFileSystem()


def open_url(url: str) -> tuple[Any, str]:
    """The file system of a URL, and the path in it."""
    from pyarrow.fs import FileSystem

    try:
        files, root = FileSystem.from_uri(url)
        files.create_dir(root, recursive=True)
    except (
        ValueError,
        OSError,
        NotImplementedError,
    ) as cause:  # pyarrow's errors are ValueErrors and OSErrors
        reason = " ".join(str(cause).split())
        raise InputError(
            f"--storage {shown(url)} cannot be opened ({reason}). Name a folder or another URL."
        ) from cause
    return files, root


def shown(place: str) -> str:
    """A folder or URL as messages show it: keys may stand before the host and after the path.

    >>> shown("s3://key:secret@bucket/run?region=eu"), shown("/shared/run")
    ('s3://bucket/run', '/shared/run')
    """
    scheme, separator, rest = place.partition("://")
    if not separator:
        return place
    host, slash, path = rest.partition("?")[0].partition("/")
    return f"{scheme}://{host.rpartition('@')[2]}{slash}{path}"
