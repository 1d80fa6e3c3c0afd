"""Secrets on command lines: the flags and places where well-known programs take a password."""

from __future__ import annotations

import re
from typing import Any

from fazm_memory.capture.secrets.naming import is_odd, is_placeholder
from fazm_memory.capture.secrets.rule import Rule, Span, alnum, whole_or_group

# What may stand between a program and its flag: the rest of one command on one line. A continued line is
# joined in another view.
_BETWEEN = r"(?:[^\n|;&]{0,400}?[ \t])"
_VALUE = r"""(?:"([^"\n]+)"|'([^'\n]+)'|([^\s"'|;&<>]+))"""
_NO_SWITCH = r"""(?:"([^"\n]+)"|'([^'\n]+)'|([^\s"'|;&<>/][^\s"'|;&<>]*))"""
_TEXT = r"(?:\"[^\"\n]*\"|'[^'\n]*'|\S+)"
_PORTS = re.compile(r"[\d.]*(?::\d+)+(?:/\w+)?")  # `-p 8080:80` publishes a port


def _given(data: bytes, found: Any) -> Span | None:
    span = whole_or_group(data, found)
    value = data[slice(*span)].decode("latin-1")
    return (
        None
        if is_placeholder(value) or value.startswith(("-", "$(", "file://")) or _PORTS.fullmatch(value)
        else span
    )


def _device(data: bytes, found: Any) -> Span | None:
    """In a manual the same words are followed by words: `snmp-server community string`."""
    span = _given(data, found)
    return span if span and is_odd(data[slice(*span)].decode("latin-1")) else None


def _command(name: str, programs: str, flags: str, match: str, miss: str, value: str = _VALUE) -> Rule:
    """A program (several, with `|`) and the flags after which its password stands."""
    return Rule(
        name=name,
        provider="command line",
        keywords=tuple(programs.split("|")),
        # Its words may stand in quotes, as in `CMD ["mysqladmin", "-phunter2"]`.
        regex=rf"(?i:{programs})[\w.-]*(?:[\"'],)?[ \t]{_BETWEEN}?[\"']?(?:{flags}){value}",
        match=match,
        miss=miss,
        needs=b"-",
        judge=_given,
    )


RULES: tuple[Rule, ...] = (
    _command(
        "mysql-password", "mysql|mariadb", "-p", f"mysql -u root -p{alnum(10)} main", "mysql -u root -p main"
    ),
    _command("sshpass", "sshpass", r"-p[ \t]*", f"sshpass -p {alnum(10)} ssh host", "sshpass -e ssh host"),
    _command(
        "login-password",
        "docker login|podman login|registry login|buildah login|skopeo login|nerdctl login|az login|oc login",
        r"-p[ \t]*|--password[= \t]",
        f"docker login -u me -p {alnum(10)} registry.example.com",
        "docker run -p 8080:80 image",
    ),
    _command(
        "database-password",
        "mongo|sqlcmd|bcp|clickhouse-client|cqlsh|isql",
        r"-[pP][ \t]*",
        f"mongosh -u root -p {alnum(10)}",
        "mongosh --port 27017",
    ),
    _command(
        "redis-password",
        "redis-cli|valkey-cli",
        r"-a[ \t]+",
        f"redis-cli -h db -a {alnum(10)}",
        "redis-cli -h db",
    ),
    _command(
        "ldap-password",
        "ldapsearch|ldapmodify|ldapadd|ldapwhoami|ldappasswd",
        r"-w[ \t]*",
        f"ldapsearch -D cn=admin -w {alnum(10)}",
        "ldapsearch -D cn=admin -W",
    ),
    _command(
        "samba-password",
        "smbclient|rpcclient",
        r"-U[ \t]*[^\s%]+%",
        f"smbclient //h/s -U me%{alnum(10)}",
        "smbclient -U me",
    ),
    _command(
        "transfer-password",
        "lftp",
        r"-u[ \t]*[^\s,]+,",
        f"lftp -u me,{alnum(10)} sftp://files.example.com",
        "lftp -u me sftp://files.example.com",
    ),
    _command(
        "cipher-password",
        "openssl enc|openssl aes|openssl des",
        r"-k[ \t]+|-K[ \t]+",
        f"openssl enc -aes-256-cbc -k {alnum(10)} -in a -out b",
        "openssl enc -aes-256-cbc -kfile key.txt -in a -out b",
    ),
    _command(
        "archive-password",
        "7z|zip|unzip|unrar",
        r"-p|-P[ \t]+",
        f"7z a -p{alnum(10)} out.7z dir",
        "7z a out.7z dir",
    ),
    _command(
        "user-password-flag",
        "curl|wget|http|xh",
        r"(?:-u[ \t]*|--user[= \t]+|-U[ \t]*|--proxy-user[= \t]+|-a[ \t]+|--auth[= \t]+)[\"']?[^\s:\"']*:",
        f"curl -u me:{alnum(10)} https://api.example.com",
        "curl -u me https://api.example.com:8443/",
        value=r"([^\s\"']+)",
    ),
    _command(
        "curl-cookie",
        "curl|wget",
        r"-b[ \t]*|--cookie[= \t]+",
        f"curl -b 'sid={alnum(20)}' https://example.com",
        "curl -b cookies.txt https://example.com",
        value=r"(?:\"([^\"\n=]+=[^\"\n]+)\"|'([^'\n=]+=[^'\n]+)'|([\w.-]+=\S+))",
    ),
    _command(
        "key-passphrase",
        "ssh-keygen",
        r"-[NP][ \t]*",
        f"ssh-keygen -t ed25519 -N {alnum(10)} -f id",
        "ssh-keygen -t ed25519 -N '' -f id",
    ),
    _command(
        "secure-parameter",
        "put-parameter",
        r"--type[= \t]+[\"']?SecureString[\"']?[ \t]+(?:[^\n|;&]{0,400}?[ \t])?--value[= \t]+",
        f"aws ssm put-parameter --name /app/db --type SecureString --value {alnum(10)}",
        "aws ssm put-parameter --name /app/db --type SecureString --value file://db.txt",
    ),
    _command(
        "secure-parameter-first",
        "put-parameter",
        r"--value[= \t]+",
        f"aws ssm put-parameter --name /app/db --value {alnum(10)} --type SecureString",
        "aws ssm put-parameter --name /app/region --value eu-west-1 --type String",
        value=_VALUE + r"[ \t](?:[^\n|;&]{0,400}?[ \t])?--type[= \t]+[\"']?SecureString",
    ),
    _command(
        "secret-body",
        "gh secret set|glab variable set",
        r"-b[ \t]*|--body[= \t]+|-v[ \t]+|--value[= \t]+",
        f"gh secret set DEPLOY --body {alnum(10)}",
        "gh secret set DEPLOY --body-file key.txt",
    ),
    Rule(
        "openssl-password",
        "command line",
        ("pass:",),
        r"pass:([^\s\"':][^\s\"']{2,})",
        match="openssl rsa -passin pass:" + alnum(10),
        miss="pass: 12 fail: 0",
        judge=_given,
    ),
    Rule(
        "keychain-password",
        "command line",
        ("security ",),
        rf"security[ \t]+(?:add|unlock|set|create|import)[\w-]*[ \t]{_BETWEEN}?(?:-w|-p|-P|-k)[ \t]+{_VALUE}",
        match="security add-generic-password -a me -s app -w " + alnum(10),
        miss="security find-generic-password -a me -w",
        judge=_given,
    ),
    Rule(
        "account-password",
        "command line",
        ("dscl ", "networksetup ", "htpasswd ", "wpa_passphrase ", "net user ", "net use "),
        rf"(?:dscl[ \t]{_BETWEEN}?-passwd[ \t]+\S+|networksetup[ \t]+-setairportnetwork[ \t]+\S+[ \t]+{_TEXT}"
        rf"|htpasswd[ \t]{_BETWEEN}?-[a-zA-Z]*b[a-zA-Z]*[ \t]+\S+[ \t]+\S+"
        rf"|wpa_passphrase[ \t]+{_TEXT}|net user[ \t]+\S+|net use[ \t]{_BETWEEN}?/user:\S+"
        rf"|net use[ \t]+(?:\S+[ \t]+)?\\\\\S+)[ \t]+{_NO_SWITCH}",
        match="networksetup -setairportnetwork en0 Home " + alnum(10),
        miss="networksetup -listallhardwareports",
        judge=_given,
    ),
    Rule(
        "wireless-password",
        "command line",
        ("nmcli ",),
        rf"nmcli[ \t]+(?:[\w-]+[ \t]+){{0,4}}connect[ \t]+{_TEXT}[ \t]+password[ \t]+{_VALUE}",
        match="nmcli dev wifi connect Office password " + alnum(10),
        miss="nmcli dev wifi connect Office password <password>",
        needs=b" password ",
        judge=_given,
    ),
    Rule(
        "sudo-password",
        "command line",
        ("sudo ",),
        rf"sudo[ \t]+(?:-\w+[ \t]+)*-S[^\n<]{{0,200}}<<<[ \t]*{_VALUE}",
        match=f"sudo -S true <<< {alnum(10)}",
        miss="sudo -S true < file",
        judge=_given,
    ),
    Rule(
        "redis-settings",
        "command line",
        ("requirepass", "masterauth", "6379> auth "),
        # In a shell, a settings file, a list of arguments, or at the prompt of its own client.
        rf"(?:(?i:requirepass|masterauth)(?:[ \t]+|[\"'],[ \t]*)"
        rf"|6379> (?i:auth)[ \t]+(?:\w+[ \t]+)?){_VALUE}",
        match=f"requirepass {alnum(12)}",
        miss="requirepass <password>",
        judge=_given,
    ),
    Rule(
        "secure-string",
        "command line",
        ("convertto-securestring ",),
        rf"(?i:convertto-securestring)[ \t]+(?:-\w+[ \t]+)?{_VALUE}",
        match=f'ConvertTo-SecureString "{alnum(10)}" -AsPlainText -Force',
        miss="ConvertTo-SecureString $plain -AsPlainText",
        judge=_given,
    ),
    Rule(
        "piped-secure-string",
        "command line",
        ("| convertto-securestring",),
        r"(?:\"([^\"\n]+)\"|'([^'\n]+)')[ \t]*\| (?i:convertto-securestring)",
        match=f"'{alnum(10)}' | ConvertTo-SecureString -AsPlainText -Force",
        miss="'$plain' | ConvertTo-SecureString -AsPlainText -Force",
        back=200,
        alone=False,
        judge=_given,
    ),
    Rule(
        "remote-desktop",
        "command line",
        ("freerdp ", "freerdp3 ", "rdesktop "),
        rf"(?:freerdp3?[ \t]{_BETWEEN}?/p:|rdesktop[ \t]{_BETWEEN}?-p[ \t]+){_VALUE}",
        match=f"xfreerdp /u:me /p:{alnum(10)} /v:host",
        miss="xfreerdp /u:me /port:3389 /v:host",
        alone=False,
        judge=_given,
    ),
    Rule(
        "network-device",
        "command line",
        (
            *("snmp-server community ", "enable secret ", "enable password ", "radius-server key "),
            *("tacacs-server key ", "password 7 ", "secret 5 ", "secret 9 ", "username "),
        ),
        r"(?:(?:snmp-server community|(?:radius|tacacs)-server key) (?:[05789] )?"
        r"|enable (?:secret|password) [05789] |username \S+ (?:privilege \d+ )?(?:password|secret) [05789] )"
        r"([^\s\"'<>]{4,})|password 7 ([0-9A-F]{8,})|secret [59] (\$[\w$./]{8,})",
        match="username admin privilege 15 password 0 " + alnum(10),
        miss="snmp-server community <name> RO",
        judge=_device,
    ),
    Rule(
        "piped-password",
        "command line",
        ("echo ", "printf "),
        rf"(?:echo|printf)(?:[ \t]+-\w+)*[ \t]+{_VALUE}[ \t]*\|[ \t]*"
        r"(?:sudo[ \t]+(?:-\w+[ \t]+)*-S|(?:docker|podman|npm)[ \t]+login|gh[ \t]+(?:auth|secret)"
        r"|(?:npx[ \t]+)?(?:wrangler[ \t]+(?:pages[ \t]+)?secret|vercel[ \t]+env)"
        r"|chpasswd|passwd|gpg|cryptsetup)",
        match="echo " + alnum(10) + " | sudo -S true",
        miss="echo done | tee log",
        needs=b"|",
        judge=_given,
    ),
)
