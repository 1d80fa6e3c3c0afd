"""Secrets on command lines.

The flags and arguments in which common programs take a password.
"""

from __future__ import annotations

import re
from typing import Any

from fazm_memory.engines.redaction.classify import disorder, is_odd, is_placeholder, is_stand_in
from fazm_memory.engines.redaction.rules import Rule, Span, first_group, text_at

# Between a program and its flag: the rest of one command on one line. Continued lines are joined in another
# view.
_BETWEEN = r"(?:[^\n|;&]{0,400}?[ \t])"
_VALUE = r"""(?:"([^"\n]+)"|'([^'\n]+)'|([^\s"'|;&<>]+))"""
_NO_SWITCH = r"""(?:"([^"\n]+)"|'([^'\n]+)'|([^\s"'|;&<>/][^\s"'|;&<>]*))"""
_TEXT = r"(?:\"[^\"\n]*\"|'[^'\n]*'|\S+)"
_PORTS = re.compile(r"[\d.]*(?::\d+)+(?:/\w+)?")  # `-p 8080:80` publishes a port


def _argument(data: bytes, found: Any) -> Span | None:
    span = first_group(data, found)
    value = text_at(data, span)
    return (
        None
        if is_placeholder(value)
        or is_stand_in(value)
        or value.startswith(("-", "$(", "file://"))
        or _PORTS.fullmatch(value)
        else span
    )


def _device(data: bytes, found: Any) -> Span | None:
    """The argument of a command of network devices, if it is odd.

    In manuals the same commands are followed by words: `snmp-server community string`.
    """
    span = _argument(data, found)
    return span if span and is_odd(text_at(data, span)) else None


def _code(data: bytes, found: Any) -> Span | None:
    """A code of random letters. Words may follow too: `recovery code: none-yet`."""
    span = first_group(data, found)
    value = text_at(data, span)
    return span if is_odd(value) or disorder(value) > 0 else None


def _pair(data: bytes, found: Any) -> Span | None:
    """The password in `login bob / hunter2`. A path or two words may stand there too."""
    span = _argument(data, found)
    value = text_at(data, span) if span else ""
    return (
        span if len(value) >= 6 and is_odd(value) and (disorder(value) > 0 or not value.isalnum()) else None
    )


def _token(data: bytes, found: Any) -> Span | None:
    span = _argument(data, found)
    return span if span and disorder(text_at(data, span)) > 0 else None


_PROGRAM = re.compile(rb"[\w.-]{2,40}+(?:[\"'],)?[ \t]")


_NAMED_AFTER = re.compile(
    rb" as (?:the|my|your|our) (?:[\w.-]{1,24} ){0,3}(?i:token|key|password|secret|passphrase)\b"
)


def _is_named_after(data: bytes, position: int) -> bool:
    return _NAMED_AFTER.match(data, position) is not None


def _is_program(data: bytes, position: int) -> bool:
    """Whether arguments may follow. `http` is also the beginning of addresses."""
    return _PROGRAM.match(data, position) is not None


def _command(
    name: str, programs: str, flags: str, must_match: str, must_not_match: str, value: str = _VALUE
) -> Rule:
    """A rule for a program and the flags before its password.

    Several programs are separated by `|`.
    """
    return Rule(
        name=name,
        provider="command line",
        keywords=tuple(programs.split("|")),
        # The words may be in quotes, as in `CMD ["mysqladmin", "-phunter2"]`.
        pattern=rf"(?i:{programs})[\w.-]*(?:[\"'],)?[ \t]{_BETWEEN}?[\"']?(?:{flags}){value}",
        must_match=must_match,
        must_not_match=must_not_match,
        requires=b"-",
        admits=_is_program,
        check=_argument,
    )


RULES: tuple[Rule, ...] = (
    _command(
        "mysql-password", "mysql|mariadb", "-p", "mysql -u root -p{alnum:10} main", "mysql -u root -p main"
    ),
    _command("sshpass", "sshpass", r"-p[ \t]*", "sshpass -p {alnum:10} ssh host", "sshpass -e ssh host"),
    _command(
        "login-password",
        "docker login|podman login|registry login|buildah login|skopeo login|nerdctl login|az login|oc login",
        r"-p[ \t]*|--password[= \t]",
        "docker login -u me -p {alnum:10} registry.example.com",
        "docker run -p 8080:80 image",
    ),
    _command(
        "database-password",
        "mongo|sqlcmd|bcp|clickhouse-client|cqlsh|isql",
        r"-[pP][ \t]*",
        "mongosh -u root -p {alnum:10}",
        "mongosh --port 27017",
    ),
    _command(
        "remote-password",
        "psexec|paexec|evil-winrm|crackmapexec|netexec|nxc|plink|pscp|psftp",
        r"-p[ \t]+|-pw[ \t]+",
        "psexec host -u bob -p {alnum:10} cmd",
        "psexec host -u bob cmd",
    ),
    _command(
        "snmp-password",
        "snmpwalk|snmpget|snmpset|snmpbulkwalk",
        r"-A[ \t]+",
        "snmpwalk -v3 -u bob -A {alnum:10} host",
        "snmpwalk -v2c -c public host",
    ),
    _command(
        "snmp-privacy",
        "snmpwalk|snmpget|snmpset|snmpbulkwalk",
        r"-X[ \t]+",
        "snmpwalk -v3 -u bob -A one -X {alnum:10} host",
        "snmpwalk -v2c -c public host",
    ),
    _command(
        "broker-password",
        "mosquitto_pub|mosquitto_sub|mosquitto_rr|mqttui",
        r"-P[ \t]+|--pw[ \t]+",
        "mosquitto_pub -u sensor -P {alnum:10} -t a -m b",
        "mosquitto_pub -p 1883 -t a -m b",
    ),
    _command(
        "redis-password",
        "redis-cli|valkey-cli",
        r"-a[ \t]+",
        "redis-cli -h db -a {alnum:10}",
        "redis-cli -h db",
    ),
    _command(
        "ldap-password",
        "ldapsearch|ldapmodify|ldapadd|ldapwhoami|ldappasswd",
        r"-w[ \t]*",
        "ldapsearch -D cn=admin -w {alnum:10}",
        "ldapsearch -D cn=admin -W",
    ),
    _command(
        "samba-password",
        "smbclient|rpcclient",
        r"-U[ \t]*[^\s%]+%",
        "smbclient //h/s -U me%{alnum:10}",
        "smbclient -U me",
    ),
    _command(
        "transfer-password",
        "lftp",
        r"-u[ \t]*[^\s,]+,",
        "lftp -u me,{alnum:10} sftp://files.example.com",
        "lftp -u me sftp://files.example.com",
    ),
    _command(
        "cipher-password",
        "openssl enc|openssl aes|openssl des",
        r"-k[ \t]+|-K[ \t]+",
        "openssl enc -aes-256-cbc -k {alnum:10} -in a -out b",
        "openssl enc -aes-256-cbc -kfile key.txt -in a -out b",
    ),
    _command(
        "archive-password",
        "7z|zip|unzip|unrar|rar",
        r"-h?p|-P[ \t]+",
        "7z a -p{alnum:10} out.7z dir",
        "7z a out.7z dir",
    ),
    _command(
        "user-password-flag",
        "curl|wget|http|xh|etcdctl",
        r"(?:-u[ \t]*|--user[= \t]+|-U[ \t]*|--proxy-user[= \t]+|-a[ \t]+|--auth[= \t]+)[\"']?[^\s:\"']*:",
        "curl -u me:{alnum:10} https://api.example.com",
        "curl -u me https://api.example.com:8443/",
        value=r"([^\s\"']+)",
    ),
    Rule(
        "user-key-flag",
        "command line",
        ("curl ", "wget ", "http ", "xh "),
        rf"(?i:curl|wget|http|xh)[ \t]{_BETWEEN}?(?:-u[ \t]*|--user[= \t]+|-a[ \t]+|--auth[= \t]+)[\"']?"
        r"([^\s:\"']{12,}):[\"']?(?:\s|\z)",
        must_match="curl -u {alnum:32}: https://api.example.com",
        must_not_match="curl -u administrator: https://api.example.com",
        requires=b":",
        admits=_is_program,
        check=_token,
    ),
    _command(
        "curl-cookie",
        "curl|wget",
        r"-b[ \t]*|--cookie[= \t]+",
        "curl -b 'sid={alnum:20}' https://example.com",
        "curl -b cookies.txt https://example.com",
        value=r"(?:\"([^\"\n=]+=[^\"\n]+)\"|'([^'\n=]+=[^'\n]+)'|([\w.-]+=\S+))",
    ),
    _command(
        "key-passphrase",
        "ssh-keygen",
        r"-[NP][ \t]*",
        "ssh-keygen -t ed25519 -N {alnum:10} -f id",
        "ssh-keygen -t ed25519 -N '' -f id",
    ),
    _command(
        "secure-parameter",
        "put-parameter",
        r"--type[= \t]+[\"']?SecureString[\"']?[ \t]+(?:[^\n|;&]{0,400}?[ \t])?--value[= \t]+",
        "aws ssm put-parameter --name /app/db --type SecureString --value {alnum:10}",
        "aws ssm put-parameter --name /app/db --type SecureString --value file://db.txt",
    ),
    _command(
        "secure-parameter-first",
        "put-parameter",
        r"--value[= \t]+",
        "aws ssm put-parameter --name /app/db --value {alnum:10} --type SecureString",
        "aws ssm put-parameter --name /app/region --value eu-west-1 --type String",
        value=_VALUE + r"[ \t](?:[^\n|;&]{0,400}?[ \t])?--type[= \t]+[\"']?SecureString",
    ),
    _command(
        "secret-body",
        "gh secret set|glab variable set",
        r"-b[ \t]*|--body[= \t]+|-v[ \t]+|--value[= \t]+",
        "gh secret set DEPLOY --body {alnum:10}",
        "gh secret set DEPLOY --body-file key.txt",
    ),
    Rule(
        "login-token",
        "command line",
        (
            *("vault login ", "cargo login ", "snyk auth ", "wandb login ", "ngrok authtoken "),
            *("railway login ", "infracost auth ", "npm login ", "pulumi login ", "turso auth "),
            *("operator unseal ", "auth -t ", "login -t "),
        ),
        r"(?:\w+ )?(?:login|auth|authtoken|unseal)[ \t]+(?:token[ \t]+|-t[ \t]+)?[\"']?([\w.~+/=-]{16,})",
        must_match="vault login s.{alnum:24}",
        must_not_match="vault login -method=userpass",
        check=_token,
    ),
    Rule(
        "value-as-key",
        "generic",
        (" as the ", " as my ", " as your ", " as our "),
        r"([\w.~+/=:-]{12,200})[`\"']? as "
        r"(?:the|my|your|our) (?:[\w.-]{1,24} ){0,3}(?i:token|key|password|secret|passphrase)\b",
        must_match="use {alnum:24} as the Acme token",
        must_not_match="use the access-token-from-step-2 as the Acme token",
        before=204,
        word_start=False,
        admits=_is_named_after,
        check=_token,
    ),
    Rule(
        "login-pair",
        "generic",
        ("login ", "login: ", "credentials ", "credentials: ", "creds ", "creds: ", "account: "),
        r"(?i:login|credentials|creds|account):?[ \t]+[\w.@+-]{2,64}[ \t]+/[ \t]+([^\s\"'<>|]{6,64})",
        must_match="login bob / {alnum:8}!{alnum:4}",
        must_not_match="login bob / logout",
        requires=b" / ",
        check=_pair,
    ),
    Rule(
        "pin-code",
        "generic",
        (
            *("pin:", "pin=", "pin =", "pin is", "pin code", "pincode", "cvc", "cvv"),
            *("access_code", "access code", "accesscode", "door code", "unlock_code", "unlock code"),
        ),
        r"(?i:pin(?:[ _-]?code)?)[\"']?(?:[ \t]*[:=][ \t]*| is )[\"']?([0-9]{4,6})\b"
        r"|(?i:(?:access|door|unlock)[ _]?code)[\"']?(?:[ \t]*[:=][ \t]*| is )[\"']?([0-9]{4,12})\b"
        r"|(?i:cvc|cvv)2?(?: code)?[\"']?(?:[ \t]*[:=][ \t]*| is | )[\"']?([0-9]{3,4})\b",
        must_match="PIN: {digits:6}",
        must_not_match="pin: 13",
        is_local=True,
    ),
    Rule(
        "scheduled-task-password",
        "command line",
        ("schtasks",),
        rf"(?i:schtasks)(?:\.exe)?[ \t]{_BETWEEN}?(?i:/rp)[ \t]+{_NO_SWITCH}",
        must_match="schtasks /create /tn a /ru bob /rp {alnum:10} /tr a.exe",
        must_not_match="schtasks /create /tn a /ru bob /tr a.exe",
        check=_argument,
    ),
    Rule(
        "message-broker-password",
        "RabbitMQ",
        ("rabbitmqctl ",),
        rf"rabbitmqctl[ \t]{_BETWEEN}?(?:add_user|change_password|authenticate_user)[ \t]+\S+[ \t]+{_VALUE}",
        must_match="rabbitmqctl add_user bob {alnum:10}",
        must_not_match="rabbitmqctl list_users",
        check=_argument,
    ),
    Rule(
        "domain-login",
        "command line",
        (
            "secretsdump",
            "wmiexec",
            "smbexec",
            "dcomexec",
            "atexec",
            "mssqlclient",
            "getuserspns",
            "psexec.py",
        ),
        r"[\w.-]{6,24}[ \t](?:[^\n|;&]{0,200}?[ \t])?[\w.-]+/[\w.-]+:"
        r"(?:'([^'\n]+)'|\"([^\"\n]+)\"|([^\s'\"@]+))@",
        must_match="secretsdump.py corp/bob:{alnum:10}@10.0.0.1",
        must_not_match="secretsdump.py corp/bob@10.0.0.1",
        requires=b"@",
        check=_argument,
    ),
    Rule(
        "openssl-password",
        "command line",
        ("pass:",),
        r"pass:([^\s\"':][^\s\"']{2,})",
        must_match="openssl rsa -passin pass:{alnum:10}",
        must_not_match="pass: 12 fail: 0",
        is_local=True,
        check=_argument,
    ),
    Rule(
        "keychain-password",
        "command line",
        ("security ",),
        rf"security[ \t]+(?:add|unlock|set|create|import)[\w-]*[ \t]{_BETWEEN}?(?:-w|-p|-P|-k)[ \t]+{_VALUE}",
        must_match="security add-generic-password -a me -s app -w {alnum:10}",
        must_not_match="security find-generic-password -a me -w",
        check=_argument,
    ),
    Rule(
        "account-password",
        "command line",
        (
            *("dscl ", "networksetup ", "htpasswd ", "wpa_passphrase ", "net user ", "net use "),
            *("mc alias set ", "rootpw "),
        ),
        rf"(?:dscl[ \t]{_BETWEEN}?-passwd[ \t]+\S+|networksetup[ \t]+-setairportnetwork[ \t]+\S+[ \t]+{_TEXT}"
        rf"|htpasswd[ \t]{_BETWEEN}?-[a-zA-Z]*b[a-zA-Z]*(?:[ \t]+-\w+)*[ \t]+\S+[ \t]+\S+"
        rf"|mc alias set[ \t]+\S+[ \t]+\S+[ \t]+\S+|rootpw(?:[ \t]+--\w+)+"
        rf"|wpa_passphrase[ \t]+{_TEXT}|net user[ \t]+\S+|net use[ \t]{_BETWEEN}?/user:\S+"
        rf"|net use[ \t]+(?:\S+[ \t]+)?\\\\\S+)[ \t]+{_NO_SWITCH}",
        must_match="networksetup -setairportnetwork en0 Home {alnum:10}",
        must_not_match="networksetup -listallhardwareports",
        check=_argument,
    ),
    Rule(
        "wireless-password",
        "command line",
        ("nmcli ",),
        rf"nmcli[ \t]+(?:[\w-]+[ \t]+){{0,4}}connect[ \t]+{_TEXT}[ \t]+password[ \t]+{_VALUE}",
        must_match="nmcli dev wifi connect Office password {alnum:10}",
        must_not_match="nmcli dev wifi connect Office password <password>",
        requires=b" password ",
        check=_argument,
    ),
    Rule(
        "wireless-code",
        "generic",
        ("wifi:",),
        r"WIFI:(?:[^\n]{0,120}?;)?P:((?:[^;\\\n]|\\.){4,63});",
        must_match="WIFI:T:WPA;S:Home;P:{alnum:12};;",
        must_not_match="wifi: on; P: 4;",
        requires=b"P:",
        check=_argument,
    ),
    Rule(
        "recovery-code",
        "generic",
        ("recovery code", "backup code", "recovery_code", "backup_code"),
        r"(?i:recovery|backup)[ _](?i:codes?)[\"']?[ \t]*(?:is|[:=])\s{0,8}[\"']?"
        r"([A-Za-z0-9]{4,6}(?:-[A-Za-z0-9]{4,6}){1,5}|\d{8,12})\b",
        must_match="Recovery code: {lower:5}-{lower:5}",
        must_not_match="recovery code: none",
        check=_code,
    ),
    Rule(
        "sudo-password",
        "command line",
        ("sudo ",),
        rf"sudo[ \t]+(?:-\w+[ \t]+)*-S[^\n<]{{0,200}}<<<[ \t]*{_VALUE}",
        must_match="sudo -S true <<< {alnum:10}",
        must_not_match="sudo -S true < file",
        check=_argument,
    ),
    Rule(
        "redis-settings",
        "command line",
        ("requirepass", "masterauth", "6379> auth ", "acl setuser ", "sentinel auth-pass "),
        # In a shell, a settings file, a list of arguments, or at the prompt of the client.
        rf"(?:(?i:requirepass|masterauth)(?:[ \t]+|[\"'],[ \t]*)|(?i:sentinel auth-pass)[ \t]+\S+[ \t]+"
        rf"|6379> (?i:auth)[ \t]+(?:\w+[ \t]+)?|(?i:acl setuser)[ \t][^\n]{{1,120}}?[ \t]>){_VALUE}",
        must_match="requirepass {alnum:12}",
        must_not_match="requirepass <password>",
        check=_argument,
    ),
    Rule(
        "secure-string",
        "command line",
        ("convertto-securestring ",),
        rf"(?i:convertto-securestring)[ \t]+(?:-\w+[ \t]+)?{_VALUE}",
        must_match='ConvertTo-SecureString "{alnum:10}" -AsPlainText -Force',
        must_not_match="ConvertTo-SecureString $plain -AsPlainText",
        check=_argument,
    ),
    Rule(
        "piped-secure-string",
        "command line",
        ("| convertto-securestring",),
        r"(?:\"([^\"\n]+)\"|'([^'\n]+)')[ \t]*\| (?i:convertto-securestring)",
        must_match="'{alnum:10}' | ConvertTo-SecureString -AsPlainText -Force",
        must_not_match="'$plain' | ConvertTo-SecureString -AsPlainText -Force",
        before=200,
        word_start=False,
        check=_argument,
    ),
    Rule(
        "remote-desktop",
        "command line",
        ("freerdp ", "freerdp3 ", "rdesktop "),
        rf"(?:freerdp3?[ \t]{_BETWEEN}?/p:|rdesktop[ \t]{_BETWEEN}?-p[ \t]+){_VALUE}",
        must_match="xfreerdp /u:me /p:{alnum:10} /v:host",
        must_not_match="xfreerdp /u:me /port:3389 /v:host",
        word_start=False,
        check=_argument,
    ),
    Rule(
        "network-device",
        "command line",
        (
            *("snmp-server community ", "enable secret ", "enable password ", "radius-server key "),
            *("tacacs-server key ", "password 7 ", "secret 5 ", "secret 9 ", "username "),
            *("radius-server host ", "tacacs-server host ", 'ascii-text "'),
        ),
        r"(?:(?:snmp-server community"
        r"|(?:radius|tacacs)-server (?:host [\w.:-]{1,64} (?:[\w-]+ \d+ ){0,3})?key) (?:[05789] )?"
        r"|ascii-text \"|enable (?:secret|password) [05789] "
        r"|username \S+ (?:privilege \d+ )?(?:password|secret) [05789] )"
        r"([^\s\"'<>]{4,})|password 7 ([0-9A-F]{8,})|secret [59] (\$[\w$./]{8,})",
        must_match="username admin privilege 15 password 0 {alnum:10}",
        must_not_match="snmp-server community <name> RO",
        check=_device,
    ),
    Rule(
        "piped-password",
        "command line",
        ("echo ", "printf "),
        rf"(?:echo|printf)(?:[ \t]+-\w+)*(?:[ \t]+[\"']?%s(?:\\n)?[\"']?)?[ \t]+{_VALUE}[ \t]*\|[ \t]*"
        r"(?:sudo[ \t]+(?:-\w+[ \t]+)*-S|(?:docker|podman|npm)[ \t]+login|gh[ \t]+(?:auth|secret)"
        r"|(?:npx[ \t]+)?(?:wrangler[ \t]+(?:pages[ \t]+)?secret|vercel[ \t]+env)"
        r"|[\w.-]{1,32}[ \t]+(?:[\w-]{1,24}[ \t]+)?login\b|[^\n|]{1,60}--(?:[a-z-]*stdin|with-token)"
        r"|chpasswd|passwd|gpg|cryptsetup)",
        must_match="echo {alnum:10} | sudo -S true",
        must_not_match="echo done | tee log",
        requires=b"|",
        check=_argument,
    ),
)
