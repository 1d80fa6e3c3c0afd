"""Where a vault's objects are: a folder, or an object store through `obstore`.

A transport puts, gets, deletes and lists whole objects by name. Nothing relies on conditional writes: every
object has one writer. `probe` only finds out, for `sync status`, whether a provider has them.
"""

from __future__ import annotations

import errno
import os
import secrets
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from fazm_memory.errors import FazmMemoryError, InvalidRequest, SyncUnavailable
from fazm_memory.lazy import lazy_regex
from fazm_memory.paths import NotRegularFile, read_regular, sync_folder
from fazm_memory.records import dataclass, field

PART = lazy_regex(r"[0-9a-f]{32}")  # of a name: anything else in the folder is not ours
TIMEOUT = "30s"
LARGEST = 1 << 30  # bytes of an object; a larger one is not read


class Transport(Protocol):
    """Objects by name.

    A name is parts of a path, such as `VAULT/h/DEVICE` or `VAULT/o/DEVICE/OBJECT`.
    """

    def put(self, name: str, data: bytes) -> str:
        """Write an object whole and durably.

        Returns its stamp, which changes when its content does.
        """

    def get(self, name: str) -> bytes | None: ...

    def delete(self, name: str) -> None:
        """Delete an object. One that is not there is no error."""

    def list(self, prefix: str) -> dict[str, str]:
        """The objects directly below a prefix: the last part of each name and its stamp."""

    def vaults(self) -> set[str]:
        """The vaults that are there."""

    def probe(self) -> bool:
        """Whether the second of two conditional creations is refused."""


class FolderTransport:
    """A folder on this disk, on a share, or one that another program syncs.

    Files are written beside their place and renamed. Names of any other form, such as conflict copies and
    partial downloads of a sync program, are ignored.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def put(self, name: str, data: bytes) -> str:
        path = self.folder / name
        part = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with part.open("xb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            part.replace(path)
            sync_folder(path.parent)
            return self._stamp(path.stat())
        except OSError as error:
            part.unlink(missing_ok=True)
            raise self._failed(error) from error

    def get(self, name: str) -> bytes | None:
        try:
            return read_regular(self.folder / name, LARGEST)
        except FileNotFoundError:
            self._check()
            return None
        except OSError as error:
            if isinstance(error, NotRegularFile) or error.errno == errno.EFBIG:
                return b""  # no machine of the vault wrote that: whoever reads it names it
            raise self._failed(error) from error

    def delete(self, name: str) -> None:
        try:
            (self.folder / name).unlink(missing_ok=True)
        except OSError as error:
            raise self._failed(error) from error

    def list(self, prefix: str) -> dict[str, str]:
        self._check()
        try:
            with os.scandir(self.folder / prefix) as entries:
                return {
                    entry.name: self._stamp(entry.stat())
                    for entry in entries
                    if PART.fullmatch(entry.name) and entry.is_file(follow_symlinks=False)
                }
        except FileNotFoundError:
            return {}
        except OSError as error:
            raise self._failed(error) from error

    def vaults(self) -> set[str]:
        self._check()
        return {path.name for path in self.folder.iterdir() if PART.fullmatch(path.name) and path.is_dir()}

    def probe(self) -> bool:
        self._check()
        return True

    def _check(self) -> None:
        if not self.folder.is_dir():  # a disk that is not plugged in is not an empty vault
            raise SyncUnavailable(
                f"The folder {self.folder} is not there.",
                hint="plug in the disk or start the program that syncs it; nothing is lost",
            )

    def _failed(self, error: OSError) -> FazmMemoryError:
        return SyncUnavailable(
            f"The folder {self.folder} cannot be used: {error.strerror or error}.",
            hint="check its permissions and free space; nothing is lost",
        )

    @staticmethod
    def _stamp(found: os.stat_result) -> str:
        return f"{found.st_mtime_ns}.{found.st_size}.{found.st_ino}"


CREDENTIALS = {
    "AWS_ACCESS_KEY_ID": "access_key_id",
    "AWS_SECRET_ACCESS_KEY": "secret_access_key",
    "AWS_SESSION_TOKEN": "session_token",
    "AWS_REGION": "region",
    "AWS_DEFAULT_REGION": "region",
    "AWS_ENDPOINT_URL": "endpoint",
    "AWS_ENDPOINT_URL_S3": "endpoint",
}


SECRET = ("access_key_id", "secret_access_key", "session_token")


class ObjectStoreTransport:
    """An object store.

    URLs are those of `obstore`: `s3://BUCKET/PREFIX?endpoint=URL&region=NAME`.
    """

    def __init__(self, url: str, options: Mapping[str, str]) -> None:
        from obstore.store import from_url  # slow to import, and not needed with a folder

        settings: dict[str, Any] = dict(options)
        parts = urlsplit(url)
        settings |= dict(parse_qsl(parts.query))
        client = {"timeout": TIMEOUT, "connect_timeout": "10s"}
        if settings.get("endpoint", "").startswith("http://"):
            client["allow_http"] = "true"
        self.url = urlunsplit(parts._replace(query="", fragment=""))
        try:
            make: Any = from_url  # its types know only literal options
            self.store: Any = make(
                self.url, client_options=client, retry_config={"max_retries": 2}, **settings
            )
        except Exception as error:  # obstore raises several kinds for a bad URL or option
            raise InvalidRequest(f"{self.url} cannot be used: {_plain(error)}") from error

    def put(self, name: str, data: bytes) -> str:
        import obstore

        result = self._try(lambda: obstore.put(self.store, name, data, use_multipart=False))
        return str(result.get("e_tag") or "").strip('"')  # some providers quote it, some only sometimes

    def get(self, name: str) -> bytes | None:
        import obstore

        try:
            found = self._try(lambda: obstore.get(self.store, name))
            return bytes(self._try(found.bytes)) if found.meta["size"] <= LARGEST else b""
        except FileNotFoundError:
            return None

    def delete(self, name: str) -> None:
        import obstore

        try:
            self._try(lambda: obstore.delete(self.store, name))
        except FileNotFoundError:
            return

    def list(self, prefix: str) -> dict[str, str]:
        import obstore

        def found() -> dict[str, str]:
            return {
                meta["path"].rpartition("/")[2]: str(meta["e_tag"] or meta["last_modified"]).strip('"')
                for page in obstore.list(self.store, prefix=prefix, chunk_size=1000)
                for meta in page
            }

        return {name: stamp for name, stamp in self._try(found).items() if PART.fullmatch(name)}

    def vaults(self) -> set[str]:
        import obstore

        found = self._try(lambda: obstore.list_with_delimiter(self.store))
        names = (prefix.strip("/").rpartition("/")[2] for prefix in found["common_prefixes"])
        return {name for name in names if PART.fullmatch(name)}

    def probe(self) -> bool:
        import obstore
        from obstore.exceptions import AlreadyExistsError, NotSupportedError, PreconditionError

        name = f"probe-{secrets.token_hex(8)}"
        try:
            self._try(lambda: obstore.put(self.store, name, b"1", mode="create", use_multipart=False))
            self._try(lambda: obstore.put(self.store, name, b"2", mode="create", use_multipart=False))
        except (AlreadyExistsError, PreconditionError, NotSupportedError):
            return True
        finally:
            self.delete(name)
        return False

    def _try(self, call: Callable[[], Any]) -> Any:
        from obstore.exceptions import AlreadyExistsError, BaseError, NotSupportedError, PreconditionError

        try:
            return call()
        except (AlreadyExistsError, PreconditionError, NotSupportedError, FileNotFoundError):
            raise
        except (BaseError, OSError) as error:
            why = _plain(error)
            message, hint = next(found for sign, *found in REASONS if sign in str(error))
            raise SyncUnavailable(
                message.format(place=self.url, why=why), hint=hint, details={"detail": why}
            ) from error


# What the text of an error of obstore contains, what it means, and what to do.
CHECK_KEYS = "check AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY; nothing is lost"
REASONS = (
    ("SignatureDoesNotMatch", "{place} refuses the credentials.", CHECK_KEYS),
    ("InvalidAccessKeyId", "{place} refuses the credentials.", CHECK_KEYS),
    ("RequestTimeTooSkewed", "{place} refuses the time of this machine.", "set its clock; nothing is lost"),
    (
        "NoSuchBucket", "{place} has no such bucket.",
        "make the bucket first, or check the URL; nothing is lost",
    ),
    (
        "403 Forbidden", "{place} does not allow this.",
        "check the permissions of the credentials; nothing is lost",
    ),
    ("401 Unauthorized", "{place} refuses the credentials.", "check the credentials; nothing is lost"),
    ("HTTP error", "{place} does not answer.", "check the network and the URL; nothing is lost"),
    (
        "status code: 5", "{place} has a problem of its own.",
        "the provider may be down; it is tried again; nothing is lost",
    ),
    ("", "{place} cannot be used: {why}.", "check the URL; nothing is lost"),  # anything else
)  # fmt: skip


def _plain(error: Exception) -> str:
    """What an error of obstore says, without its internals."""
    return " ".join(str(error).partition("Debug source")[0].split())[:300]


@dataclass
class Meter:
    """A transport that counts requests and bytes."""

    inner: Transport
    puts: int = 0
    gets: int = 0
    lists: int = 0
    deletes: int = 0
    sent: int = 0
    received: int = 0
    _lock: threading.Lock = field(
        default_factory=threading.Lock
    )  # contents are put and fetched at the same time

    def put(self, name: str, data: bytes) -> str:
        with self._lock:
            self.puts += 1
            self.sent += len(data)
        return self.inner.put(name, data)

    def get(self, name: str) -> bytes | None:
        data = self.inner.get(name)
        with self._lock:
            self.gets += 1
            self.received += len(data or b"")
        return data

    def delete(self, name: str) -> None:
        self.deletes += 1
        self.inner.delete(name)

    def list(self, prefix: str) -> dict[str, str]:
        found = self.inner.list(prefix)
        self.lists += 1 + len(found) // 1000
        return found

    def vaults(self) -> set[str]:
        self.lists += 1
        return self.inner.vaults()

    def probe(self) -> bool:
        return self.inner.probe()

    def counts(self) -> dict[str, int]:
        return {name: value for name, value in vars(self).items() if isinstance(value, int)}


def place_of(folder: str | None, url: str | None) -> dict[str, Any]:
    """The place of a vault, with the credentials of the environment."""
    if (folder is None) == (url is None):
        raise InvalidRequest("Say where the vault is.", hint="use --folder DIR or --s3 URL")
    if folder is not None:
        path = Path(folder).expanduser().absolute()
        if not path.is_dir():
            raise InvalidRequest(f"There is no folder {path}.", hint="make it first")
        return {"folder": str(path)}
    if not str(url).startswith(("s3://", "s3a://")):
        return {"url": url, "options": {}}
    options = {option: os.environ[name] for name, option in CREDENTIALS.items() if os.environ.get(name)}
    parts = urlsplit(str(url))
    query = dict(parse_qsl(parts.query))
    options |= {name: query.pop(name) for name in SECRET if name in query}  # the URL is shown in the status
    url = urlunsplit(parts._replace(query=urlencode(query, safe=":/")))
    if not (options.keys() | query.keys()) & {
        "access_key_id",
        "skip_signature",
    }:  # obstore would ask a cloud's own network for them
        raise InvalidRequest(
            f"There are no credentials for {url}.",
            hint="set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY for this command",
        )
    return {"url": url, "options": options}


def open_transport(place: Mapping[str, Any]) -> Transport:
    if "folder" in place:
        return FolderTransport(Path(place["folder"]))
    return ObjectStoreTransport(place["url"], place["options"])
