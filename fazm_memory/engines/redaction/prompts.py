"""Secrets where no name and sign stand directly before them.

Answers to prompts, output of commands, text typed into forms, files of one secret, addresses of webhooks.
"""

from __future__ import annotations

import binascii
import re
from typing import Any

from fazm_memory.engines.redaction.classify import (
    Kind,
    disorder,
    is_address,
    is_odd,
    is_placeholder,
    is_sham,
    is_stand_in,
    is_word,
    kind_of,
)
from fazm_memory.engines.redaction.formats import GAP
from fazm_memory.engines.redaction.rules import Rule, Span, first_group, text_at

_VALUE = r"""(?:"([^"\n]+)"|'([^'\n]+)'|([^\s"'|;&<>]+))"""
# The start of the next line, perhaps with the number that a viewer adds.
_NEXT_LINE = r"\r?\n(?:[ \t]{0,8}\d{1,6}(?:\xff|\t|:|\|))?[ \t]{0,8}"
_BACK = 160
_LEAST_RANDOM = 0.8


def _literal(data: bytes, found: Any) -> Span | None:
    """A value that stands for itself: no placeholder, word, address or stand-in."""
    span = first_group(data, found)
    value = text_at(data, span)
    other = is_placeholder(value) or is_word(value) or is_address(value) or is_stand_in(value)
    return None if other or len(value) < 4 else span


def _odd(data: bytes, found: Any) -> Span | None:
    """A value with a digit or a sign, or of random letters."""
    span = _literal(data, found)
    if span is None:
        return None
    value = text_at(data, span)
    if value[-1:] in ":{[(" or value[:1] in "-<{[(/$" or _FILE.fullmatch(value):
        return None
    return span if is_odd(value) or disorder(value) >= _LEAST_RANDOM else None


# The name of a file, a host or a version.
_FILE = re.compile(
    r"[\w-]{1,40}(?:\.[\w-]{1,40}){0,6}\.[a-z]{2,5}|v?\d+(?:[.,]\d+)+|\d{1,5}|\d{4}-\d\d-\d\d.*"
)


def _random(data: bytes, found: Any) -> Span | None:
    """A value that looks random, or hex digits."""
    span = _odd(data, found)
    if span is None:
        return None
    value = text_at(data, span)
    return span if _DIGITS.fullmatch(value) or _is_random(value) else None


_DIGITS = re.compile(r"[0-9a-f]{24,}|[0-9A-F]{24,}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def _is_random(value: str) -> bool:
    return not is_sham(value) and disorder(value.rstrip("=")) >= _LEAST_RANDOM


# -- output of commands ----------------------------------------------------------------------------------

# Commands that print a secret and nothing else.
_PRINTING = (
    *("openssl rand", "pwgen", "op read ", "find-generic-password", "find-internet-password"),
    *("get-secret-value", "ssm get-parameter", "get secret", "pass show", "vault kv get", "vault read "),
    *("print-access-token", "print-identity-token", "get-access-token", "get-login-password", "auth token"),
    *("bw get ", "lpass show", "secret-tool lookup", "keyring get", "secrets get", "config:get"),
    *("terraform output", "tofu output", "pulumi config get", "wg genkey", "wg genpsk", "rails secret"),
    *(
        "rake secret",
        "phx.gen.secret",
        "key:generate",
        "mkpasswd",
        "keepassxc-cli show",
        "keyvault secret show",
    ),
    *(
        "secrets versions access",
        "chamber read",
        "token_urlsafe(",
        "token_hex(",
        "randombytes(",
        "gen-random",
    ),
    *("/dev/urandom", "apg ", "printenv ", "security dump", "sops -d", "sops decrypt", "ansible-vault view"),
    *("gpg -d", "gpg --decrypt", "age -d", "credential fill", "head -c"),
)
_PRINTS = re.compile("|".join(re.escape(command) for command in _PRINTING), re.IGNORECASE)
_LONGEST_COMMAND = 4096


def prints_secret(command: str) -> bool:
    """Whether this command may print a secret and nothing else."""
    return len(command) <= _LONGEST_COMMAND and _PRINTS.search(command) is not None


def _printed(data: bytes, found: Any) -> Span | None:
    """The line after a command. A name, a path or a word may be printed too."""
    span = _odd(data, found)
    if span is None:
        return None
    value = text_at(data, span)
    if _DIGITS.fullmatch(value):
        return span
    if _NAME.fullmatch(value) and not any(character.isdigit() for character in value):
        return None
    if _is_random(value) or (len(value) >= 10 and _SIGNS.search(value)):
        return span
    return span if is_odd(value) and value != value.lower() else None  # a person's, `Maple_otter4711`


_SIGNS = re.compile(r"[!@#$%^&*?~=+]")
_NAME = re.compile(r"[\w.-]+")


# -- files of one secret ---------------------------------------------------------------------------------

_SECRET_FILE = re.compile(r"(?i)(?:secrets?|tokens?|passw\w*|credentials?|api[_-]?key|\.key|\.pem|\.pass)\b")


def _written(data: bytes, found: Any) -> Span | None:
    """The value that is written into a file whose name means a secret."""
    path = text_at(data, found.span(4))
    name = path.rstrip("/").rsplit("/", 1)[-1]
    if kind_of(name.split(".", 1)[0] or name) is Kind.NONE and not _SECRET_FILE.search(path):
        return None
    return _odd(data, found)


# -- forms that are filled in ----------------------------------------------------------------------------

_FIELD = re.compile(rb"(?i)pass(?:w|code|phrase|\b|_|\"|')|pwd|secret|token|\botp\b|api[_-]?key|\bpin\b")


def _is_near_field(data: bytes, position: int) -> bool:
    """Whether this place is inside or before a field for a secret."""
    return _is_in_field(data, position) or _SELECTOR.match(data, position) is not None


_SELECTOR = re.compile(
    rb"(?i)\.?\w{2,12}\([ \t]{0,4}[\"'][^\n]{0,60}?(?:pass(?:w|code|phrase|\b)|pwd|\botp\b)[^\n]{0,20}[\"'],"
)


def _typed(data: bytes, found: Any) -> Span | None:
    """The text that is typed.

    The name of the field is none: `fill('#password', password)`.
    """
    if not _is_near_field(data, found.start()):
        return None
    span = _literal(data, found)
    if span is None or text_at(data, span)[0] in "#.[" or text_at(data, span).startswith("input"):
        return None
    one_argument = b"," not in data[found.start() : span[0]]
    is_field = one_argument and not _is_in_field(data, found.start())
    return None if is_field else span


def _is_in_field(data: bytes, position: int) -> bool:
    """Whether the field before this place on its line is one for a secret."""
    before = data[max(0, position - _BACK) : position].rsplit(b"\n", 1)[-1]
    return _FIELD.search(before) is not None


def _substituted(data: bytes, found: Any) -> Span | None:
    return _odd(data, found) if _is_in_field(data, found.start()) else None


# -- flags -----------------------------------------------------------------------------------------------

_LOGIN = re.compile(rb"(?i)[ \t](?:-u|-U|--?user(?:name)?|login|signin|auth|notarytool|altool)[ \t=]")
_APP_PASSWORD = re.compile(r"[a-z]{4}(?:-[a-z]{4}){3}")


def _is_after_user(data: bytes, position: int) -> bool:
    """Whether a user stands before this flag.

    Else its value may be a port or a folder.
    """
    before = data[max(0, position - _BACK) : position + 1].rsplit(b"\n", 1)[-1]
    return _LOGIN.search(before) is not None


def _after_user(data: bytes, found: Any) -> Span | None:
    if not _is_after_user(data, found.start()):
        return None
    span = _literal(data, found)
    if span is None:
        return None
    value = text_at(data, span)
    if _PORT.fullmatch(value) or value[:1] in "-/.~$(":
        return None
    return span if is_odd(value) or _APP_PASSWORD.fullmatch(value) else None


_PORT = re.compile(r"[\d.:]+(?:/\w+)?")


def _of_user(data: bytes, found: Any) -> Span | None:
    """The password in `--user me:hunter2`. Numbers are ids, `--user 1000:1000`."""
    span = _literal(data, found)
    value = text_at(data, span) if span else ""
    return span if is_odd(value) and not value.isdigit() and not value.startswith("//") else None


def _app_password(data: bytes, found: Any) -> Span | None:
    span = first_group(data, found)
    return span if disorder(text_at(data, span).replace("-", "")) > 0 else None


# -- addresses -------------------------------------------------------------------------------------------

_ADDRESS = re.compile(rb"https?://[^\s\"'`<>]{0,150}\Z")


def _hook(data: bytes, found: Any) -> Span | None:
    """The last parts of the address of a webhook, if they are random."""
    if not _is_in_address(data, found.start()):
        return None
    start, end = found.span(1)
    for part in re.finditer(rb"[\w~=%-]{16,}", data[start:end]):
        value = part[0].decode("latin-1")
        if _DIGITS.fullmatch(value) or (is_odd(value) and not value.isdigit() and _is_random(value)):
            return start + part.start(), end
    return None


def _is_in_address(data: bytes, position: int) -> bool:
    return _ADDRESS.search(data, max(0, position - _BACK), position + 1) is not None


_HOOKS = (
    *("/hooks/", "/hook/", "/webhook/", "/webhooks/", "/incomingwebhook/", "/build_hooks/", "/deploy_hooks/"),
    *(
        "/heartbeat/",
        "/integration/",
        "/integrations/",
        "/receiver/",
        "/check_in/",
        "/check-in/",
        "/incoming/",
    ),
    *("/inputs/", "/hc-ping.com/", "/ping/", ".make.com/", "/generic/", ".quiknode.pro/"),
)


# -- formats with a name -----------------------------------------------------------------------------------

_KEY_BEFORE = re.compile(rb"(?i)key|secret|seed|priv|token")


def _decoded(data: bytes, found: Any) -> Span | None:
    """The digits that a program decodes, if a word before says that they are a key."""
    before = data[max(0, found.start() - 80) : found.start()].rsplit(b"\n", 1)[-1]
    return _random(data, found) if _KEY_BEFORE.search(before) else None


# The name of a function whose body has only begun.
_GETTER = re.compile(rb"(\w{3,64}+)\([^()\n]{0,60}\)[^;{}()=\n]{0,60}[{:]?\s{0,24}\Z")


def _returned(data: bytes, found: Any) -> Span | None:
    """The value that a function returns, if the name of the function means a secret."""
    getter = _GETTER.search(data, max(0, found.start() - _BACK), found.start())
    if getter is None or kind_of(getter[1].decode("latin-1")) is Kind.NONE:
        return None
    return _random(data, found)


_UUID = re.compile(r"[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}")


def _session_cookie(data: bytes, found: Any) -> Span | None:
    """The value of a cookie. Agents call their own sessions by UUIDs."""
    span = _literal(data, found)
    value = text_at(data, span) if span else ""
    return span if is_odd(value) and not _UUID.fullmatch(value) else None


def _encoded_key(data: bytes, found: Any) -> Span | None:
    """A private key in base64, and no certificate."""
    begin = binascii.a2b_base64(data[found.start() : found.start() + 64])
    return found.span() if b"PRIVATE KEY" in begin else None


RULES: tuple[Rule, ...] = (
    Rule(
        "printed-secret",
        "command line",
        _PRINTING,
        rf"(?i:{'|'.join(re.escape(command) for command in _PRINTING)})[^\n]{{0,400}}{_NEXT_LINE}"
        r"([^\s\"'`]{8,512})[ \t]*(?:\r?\n|\z)",
        must_match="$ openssl rand -base64 24\n{alnum:32}\n",
        must_not_match="$ terraform output region\neu-west-1\n",
        word_start=False,
        requires=b"\n",
        check=_printed,
    ),
    Rule(
        "prompted-password",
        "generic",
        ("password:\n", "passphrase:\n", "password: \n", "passwort:\n", "password:\r\n"),
        rf"(?i:password|passphrase|passwort):[ \t]?{_NEXT_LINE}([^\s\"'`]{{6,64}})[ \t]*(?:\r?\n|\z)",
        must_match="Password:\n{alnum:12}\n",
        must_not_match="password:\n  type: string\n",
        word_start=False,
        check=_odd,
    ),
    Rule(
        "password-for",
        "generic",
        ("password for ", "passphrase for ", "password is generated for ", "pin for "),
        r"(?i:password|passphrase|pin)(?: is generated)? for [^\n]{1,96}?[:=][ \t]{1,4}"
        r"([^\s\"'`]{6,128})(?:\s|\z)",
        must_match="A temporary password is generated for root@localhost: {alnum:12}",
        must_not_match="the password for the database: see below",
        check=_odd,
    ),
    Rule(
        "written-secret",
        "command line",
        ("echo ", "printf "),
        rf"(?:echo|printf)(?:[ \t]+-\w+)*(?:[ \t]+[\"']?%s(?:\\n)?[\"']?)?[ \t]+{_VALUE}"
        r"[ \t]*(?:\|[ \t]*[\w./-]{1,32}(?:[ \t]+-{1,2}[\w-]{1,24}){0,4}[ \t]*){0,2}"
        r">{1,2}[ \t]*[\"']?([\w./~@{}$-]{2,200})",
        must_match="echo -n '{alnum:16}' > /run/secrets/db_password",
        must_not_match="echo build-17 > version.txt",
        requires=b">",
        check=_written,
    ),
    Rule(
        "substituted-secret",
        "command line",
        ("<(echo ", "<(printf "),
        rf"<\((?:echo|printf)(?:[ \t]+-\w+)*(?:[ \t]+[\"']?%s(?:\\n)?[\"']?)?[ \t]+{_VALUE}[ \t]*\)",
        must_match="rsync --password-file=<(echo {alnum:12}) a b",
        must_not_match="diff <(echo one) <(echo two)",
        word_start=False,
        check=_substituted,
    ),
    Rule(
        "typed-secret",
        "generic",
        (
            *(
                ".type(",
                "send_keys(",
                "sendkeys(",
                ".fill(",
                ".setvalue(",
                "set_value(",
                "typetext(",
                ".typein(",
            ),
            *("with: ", "with=", "with => "),
        ),
        # The field may be an argument too: `page.fill('#password', 'hunter2')`.
        r"(?i:\.?\w+)(?:\(|: |=| => )[ \t]{0,4}(?:(?:\"[^\"\n]{1,80}\"|'[^'\n]{1,80}'),[ \t]{0,4})?"
        r"(?:\"([^\"\n]+)\"|'([^'\n]+)'|`([^`\n$]+)`)",
        must_match="cy.get('#password').type('{alnum:12}')",
        must_not_match="cy.get('#name').type('{alnum:12}')",
        word_start=False,
        is_local=True,
        check=_typed,
    ),
    Rule(
        "password-after-user",
        "command line",
        (" -p ", " --pass ", " --pw "),
        rf"[ \t](?:-p|--pass|--pw)[ \t]+{_VALUE}",
        must_match="acme login -u me -p {alnum:12}",
        must_not_match="docker run -u 1000 -p 8080:80 image",
        word_start=False,
        is_local=True,
        check=_after_user,
    ),
    Rule(
        "user-and-password",
        "command line",
        tuple(
            f"--{flag}{joint}"
            for flag in (
                "user",
                "proxy-user",
                "proxy-auth",
                "auth",
                "basic-auth",
                "creds",
                "credentials",
                "login",
            )
            for joint in (" ", "=")
        ),
        r"--(?i:[a-z-]{4,16})[ =][\"']?[\w.@+-]{1,64}:([^\s\"'@/<>]{6,128})",
        must_match="acme --proxy-user me:{alnum:12}",
        must_not_match="docker run --user 1000:1000 image",
        word_start=False,
        check=_of_user,
    ),
    Rule(
        "app-password",
        "Apple",
        ("specific password", "app password"),
        r"(?i:specific|app) (?i:password)(?:: ?|=| is |[ \t])(?:[\w@.-]{1,40} ){0,3}"
        r"([a-z]{4}-[a-z]{4}-[a-z]{4}-[a-z]{4})(?:[^\w-]|\z)",
        must_match="app-specific password " + "qzxv-wkjr-tbpd-hgmx",
        must_not_match="password reset-link-sent-once",
        word_start=False,
        check=_app_password,
    ),
    Rule(
        "one-time-seed",
        "generic",
        ("2fa", "totp", "mfa", "authenticator", "otp "),
        r"(?i:2fa|totp|mfa|otp|authenticator)[^\n:=]{0,30}[:=][ \t]*[\"']?"
        r"((?:[A-Z2-7]{4}[ -]){3,15}[A-Z2-7]{4}|(?:[a-z2-7]{4} ){3,15}[a-z2-7]{4})(?:[^\w-]|\z)",
        must_match="2FA seed: JBSW Y3DP K5XX 2MNO QRST UV24 ABCD 3EFG",
        must_not_match="2FA code: SEND THIS CODE BACK",
        check=_odd,
    ),
    Rule(
        "secret-id",
        "HashiCorp",
        ("secretid", "secret id", "secret_id"),
        r"(?i:secret[ _]?id)[\"']?[ \t]{0,24}[:=][ \t]{0,24}[\"']?({uuid})".replace("{uuid}", _UUID.pattern),
        must_match="SecretID:         {uuid}",
        must_not_match="secret_id: none",
        word_start=False,
        is_local=True,
    ),
    Rule(
        "disk-recovery-key",
        "Microsoft",
        ("bitlocker", "recovery key", "recovery password", "recovery:"),
        r"(?i:bitlocker|recovery)[^\n]{0,80}?\s{1,8}(\d{6}(?:-\d{6}){7})\b",
        must_match="BitLocker recovery key: " + "-".join(["{digits:6}"] * 8),
        must_not_match="recovery key: 123456-123456",
    ),
    Rule(
        "static-vpn-key",
        "OpenVPN",
        ("-----begin openvpn static",),
        rf"-----BEGIN OpenVPN Static key V1-----((?:{GAP}+[0-9a-f]{{32}})+)",
        must_match="-----BEGIN OpenVPN Static key V1-----\n{hex:32}\n{hex:32}\n",
        must_not_match="-----BEGIN OpenVPN Static key V1-----\n...\n",
        word_start=False,
    ),
    Rule(
        "xml-private-key",
        "Microsoft",
        ("<rsakeyvalue>", "<dsakeyvalue>", "<rsaparameters>"),
        r"<(?:RSA|DSA)(?:KeyValue|Parameters)>[^\x00]*?(<(?:P|Q|D|X|DP|DQ|InverseQ)>[^\x00]+?)</(?:RSA|DSA)(?:KeyValue|Parameters)>",
        must_match="<RSAKeyValue><Modulus>{alnum:64}</Modulus><P>{alnum:64}</P></RSAKeyValue>",
        must_not_match="<RSAKeyValue><Modulus>{alnum:64}</Modulus></RSAKeyValue>",
        word_start=False,
    ),
    Rule(
        "returned-secret",
        "generic",
        ('return "', "return '", "return `"),
        r"return (?:\"([^\"\n\\ ]{8,512})\"|'([^'\n\\ ]{8,512})'|`([^`\n$ ]{8,512})`)",
        must_match='String getApiToken() { return "{alnum:32}"; }',
        must_not_match='String getApiToken() { return "api_token"; }',
        is_local=True,
        check=_returned,
    ),
    Rule(
        "decoded-key",
        "generic",
        ("hex2bin(", "unhexlify(", "fromhex(", "hextobytes(", "decodehex(", "decodestring(", "parsehex("),
        r"(?i:\w+)\([ \t]*b?(?:\"([^\"\n]{16,})\"|'([^'\n]{16,})')",
        must_match='$key = hex2bin("{hex:64}");',
        must_not_match='$row = hex2bin("{hex:64}");',
        word_start=False,
        is_local=True,
        check=_decoded,
    ),
    Rule(
        "webhook-address",
        "generic",
        _HOOKS,
        r"[./][\w.-]{2,24}/([\w.~=%/@-]{16,400})",
        must_match="https://api.example.com/webhooks/incoming/{alnum:32}",
        must_not_match="https://api.example.com/webhooks/incoming/overview",
        word_start=False,
        check=_hook,
    ),
    Rule(
        "signed-address",
        "generic",
        ("&signature=", "?signature="),
        r"[?&](?i:signature)=([\w%.~+/=-]{32,})",
        must_match="https://cdn.example.com/a?Expires=1700000000&Signature={alnum:64}",
        must_not_match="https://cdn.example.com/a?signature=none",
        word_start=False,
    ),
    Rule(
        "session-cookie",
        "generic",
        (
            *(
                "phpsessid=",
                "jsessionid=",
                "asp.net_sessionid=",
                "aspxauth=",
                "connect.sid=",
                "laravel_session=",
            ),
            *("csrftoken=", "xsrf-token=", "user_session=", "remember_token=", "auth_token=", "_gh_sess="),
            *("wordpress_logged_in_", "sessionid="),
        ),
        r"(?i:[\w.]{4,64}(?:-token)?)=([\w%.~+/=-]{20,900})",
        must_match="PHPSESSID={lower:26}",
        must_not_match="sessionid={uuid}",
        is_local=True,
        check=_session_cookie,
    ),
    Rule(
        "encoded-private-key",
        "generic",
        ("ls0tls1crudjtib", "ls0tls0tqkvhsu4g"),
        r"LS0tLS[A-Za-z0-9]{8,12}[A-Za-z0-9+/_-]{48,}={0,2}",
        must_match="LS0tLS1CRUdJTiBQUklWQVRFIEtFWS0tLS0t{alnum:120}",
        must_not_match="LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0t{alnum:120}",
        check=_encoded_key,
    ),
    Rule(
        "access-list-password",
        "Redis",
        (" on >",),
        r" on >([^\s~+&*]{4,128})",
        must_match="user default on >{alnum:16} ~* +@all",
        must_not_match="turn it on > ~/log",
        word_start=False,
        is_local=True,
        check=_literal,
    ),
    Rule(
        "wallet-key",
        "Bitcoin",
        ("wif",),
        r"(?i:wif)[\w ]{0,16}[\"']?[ \t]{0,4}[:=]?[ \t]{0,4}[\"']?"
        r"([5KLc9][1-9A-HJ-NP-Za-km-z]{50,51})(?:[^A-Za-z0-9]|\z)",
        must_match="WIF: KwDiBf89QgGbjEhKnhXJuH7LrciVrZi3qYjgd9M7rFU73sVHnoWn",
        must_not_match="wif: keys",
    ),
)
