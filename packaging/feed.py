"""The signed feed that tells users of a newer version.

`feed.py key FILE` makes a private key and prints the public one, for UPDATE_KEY of packaging/build.
`feed.py sign FILE RELEASES.json` prints the feed of a list of releases: version, notes, page.
"""

from __future__ import annotations

import base64
import json
import os
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

PURPOSE = b"fazm-memory-updates-1\n"


def make_key(path: Path) -> str:
    """Write a new private key that only its owner can read. Returns the public key."""
    key = Ed25519PrivateKey.generate()
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(base64.b64encode(key.private_bytes_raw()))
    return base64.b64encode(key.public_key().public_bytes_raw()).decode()


def signed_feed(path: Path, releases: list[dict[str, Any]], issued: datetime) -> str:
    key = Ed25519PrivateKey.from_private_bytes(base64.b64decode(path.read_bytes()))
    text = json.dumps({"issued": issued.isoformat(), "releases": releases}, ensure_ascii=False)
    signature = base64.b64encode(key.sign(PURPOSE + text.encode())).decode()
    return json.dumps({"signed": text, "signature": signature}, ensure_ascii=False)


def main() -> int:
    match sys.argv[1:]:
        case ["key", path]:
            print(make_key(Path(path)))
        case ["sign", path, releases]:
            listed = json.loads(Path(releases).read_text(encoding="utf-8"))
            print(signed_feed(Path(path), listed, datetime.now(UTC)))
        case _:
            print(__doc__, file=sys.stderr)
            return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
