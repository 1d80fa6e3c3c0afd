"""What is never looked at: password managers, the system's own password dialogs, private windows.

An app is judged by its name and bundle identifier, which the system tells without our asking the app
anything: nothing of an excluded app is read. A private window can only be told by its title; once it is,
nothing of it is kept and it is not read again while it stays in front.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import translate
from functools import cache

# Patterns as in file names, without regard to case.
BUNDLES = (
    "com.1password.*", "com.agilebits.*", "com.apple.keychainaccess", "com.apple.passwords*",
    "com.apple.securityagent", "com.apple.localauthentication*", "com.apple.loginwindow",
    "com.apple.screensaver*", "com.authy.*", "com.bitwarden.*", "com.callpod.*", "com.dashlane.*",
    "com.hicknhacksoftware.macpass", "com.keepersecurity.*", "com.lastpass.*", "com.markmcguill.strongbox*",
    "com.nordpass.*", "com.nordsec.nordpass*", "com.outercorner.secrets*", "com.siber.*", "in.sinew.*",
    "me.proton.pass*", "org.keepassx*", "org.torproject.*",
)  # fmt: skip
NAMES = (
    "*password*", "*passwort*", "*keychain*", "*schlüsselbund*", "*trousseau*", "*authenticator*", "*authy*",
    "bitwarden*", "dashlane*", "enpass*", "keepass*", "keeper*", "lastpass*", "loginwindow", "macpass*",
    "nordpass*", "proton pass*", "roboform*", "securityagent", "strongbox*", "tor browser*",
)  # fmt: skip
# How browsers mark their private windows, in the languages we know of; in lower case.
PRIVATE = (
    "incognito", "incógnito", "inkognito", "inprivate", "private browsing", "private window", "(private)",
    "privater modus", "privates fenster", "privates surfen", "navigation privée", "fenêtre privée",
    "navegación privada", "navegação anônima", "navegação anónima", "navegação privada",
    "navigazione anonima", "navigazione privata", "finestra anonima", "privénavigatie", "privévenster",
    "シークレット", "プライベートブラウズ", "プライベートブラウジング", "无痕", "無痕", "隐私浏览",
    "私密瀏覽", "시크릿", "사생활 보호",
)  # fmt: skip


@dataclass(frozen=True)
class Exclusions:
    bundles: tuple[str, ...] = BUNDLES
    names: tuple[str, ...] = NAMES
    private: tuple[str, ...] = PRIVATE

    def also(self, *, bundles: Iterable[str] = (), names: Iterable[str] = ()) -> Exclusions:
        """These and the user's own; what is seeded can be added to, not taken away."""
        return Exclusions((*self.bundles, *bundles), (*self.names, *names), self.private)

    def app(self, name: str | None, bundle: str | None) -> bool:
        """Whether an app is left alone. One that does not say what it is, is."""
        if not name:
            return True
        return _any(self.names, name) or (bundle is not None and _any(self.bundles, bundle))

    def window(self, title: str | None) -> bool:
        """Whether a window is private, as far as its title tells."""
        shown = _plain(title or "")
        return any(marker in shown for marker in self.private)


def _any(patterns: tuple[str, ...], text: str) -> bool:
    return _compiled(patterns).fullmatch(_plain(text)) is not None


@cache
def _compiled(patterns: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile("|".join(translate(_plain(pattern)) for pattern in patterns))


# Left-to-right and other marks that some apps put into their names, for no eye to see.
_MARKS = re.compile("[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]")


def _plain(text: str) -> str:
    return " ".join(_MARKS.sub("", text).casefold().split())
