"""The redactor: what it takes out, what it leaves alone, and where it cuts."""

from __future__ import annotations

import base64
import hashlib
import json
import random
import sysconfig
import textwrap
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fazm_memory.engines.redaction import (
    KnownSecrets,
    PatternError,
    RedactedText,
    Redactor,
    UserPattern,
    all_rules,
    canonical,
    default_redactor,
)
from fazm_memory.engines.redaction.rules import expand

WORD = "letmein"  # a password that looks like a word
OPAQUE = expand("{alnum:36}")
DIGEST = expand("{hex:64}")
GITHUB = "gh" + "p_" + OPAQUE
CARD = "4" + "111 1111 1111 1111"
KEY_BODY = "\n".join(textwrap.wrap(expand("{alnum:61}") * 6, 64))
PEM = "-----BEGIN RSA PRIVATE " + "KEY-----\n" + KEY_BODY


def redact(text: str) -> str:
    return default_redactor().text(text).text


def redact_value(value: Any) -> Any:
    return default_redactor().value(value)[0]


@pytest.mark.parametrize(
    ("before", "secret", "after"),
    [
        ("postgres://app:", WORD, "@db.example.com/main"),
        ("postgres://u:", "p", "@h"),
        ("https://me:", "pa@ss", "@example.com/x"),
        ("redis://:", WORD, "@cache:6379/0"),
        ("mongodb+srv://app:", "ab/cd#9", "@cluster.example.com/x"),
        ("postgres%3A%2F%2Fu%3A", "hunter2", "%40h%2Fdb"),
        ("mysql -u root -p", WORD, " main"),
        ("mysqldump --password ", WORD, " main > dump.sql"),
        ("mysqldump --password=", WORD, " main > dump.sql"),
        ("sshpass -p ", WORD, " ssh host"),
        ("docker login -u me -p ", WORD, " registry.example.com"),
        ("redis-cli -h db -a ", WORD, " ping"),
        ("curl -u 'me:", "p&ss", "' https://example.com"),
        ("curl -b '", "sid=abc123; other=zzz999", "' https://example.com"),
        ("echo ", WORD, " | sudo -S true"),
        ("security add-generic-password -a me -s app -w ", WORD, ""),
        ("app --api-key ", "abcd1234", " --verbose"),
        ("API_KEY=", "sk-" + OPAQUE, "; pytest"),
        ("DB_PASSWORD=", WORD, "; make"),
        ("DB_PASSWORD=", WORD, "&& make"),
        ("DB_PASSWORD=", "ab;cd;9", "; make"),
        ("--password ", WORD, ""),
        ("Authorization: Bearer ", OPAQUE, ""),
        ("Authorization: Basic ", "dXNlcjpwYXNz", ""),
        ("-H 'authorization: token ", "abcdef123456", "'"),
        ("Cookie: ", "sid=abc123; csrf=def456", ""),
        ("Set-Cookie: ", "sid=abc123", "; Path=/; HttpOnly"),
        ("X-Api-Key: ", "9f8e7d6c5b4a", ""),
        ("machine api.example.com login me password ", WORD, ""),
        ("machine api.example.com\n  login me\n  password ", WORD, "\n"),
        ("db.example.com:5432:main:app:", WORD, ""),
        ("export DB_PASSWORD=", WORD, ""),
        ("PGPASSWORD=", WORD, " psql -h db"),
        ("API_TOKEN=", WORD, ""),
        ("CLIENT_SECRET='", WORD, "'"),
        ("ENV DB_PASSWORD ", WORD, ""),
        ("set -x API_TOKEN ", WORD, ""),
        ("db_password = ", "hunter2", ""),
        ("spring.datasource.password=", WORD, ""),
        ("  password: ", WORD, "\n  user: me"),
        ("password: |\n  ", WORD, "\nuser: me"),
        ("password: ", "correct horse battery staple", ""),
        ("- name: DB_PASSWORD\n  value: ", WORD, ""),
        ('{"db_password": "', WORD, '"}'),
        ('{"name": "API_TOKEN", "value": "', "hunter2", '"}'),
        (r"{\"password\": \"", WORD, r"\"}"),
        (r"{\\\"token\\\": \\\"", OPAQUE, r"\\\"}"),
        ('os.environ["DB_PASSWORD"] = "', WORD, '"'),
        ('setenv("DB_PASSWORD", "', WORD, '")'),
        ("password: str = '", "hunter2", "'"),
        ('let password: &str = "', "hunter2", '";'),
        ('static TOKEN: Option<&\'static str> = Some("x"); let secret: &\'static str = "', OPAQUE, '";'),
        ("data:\n  password: ", base64.b64encode(b"hunter2hunter2x!").decode(), "\n"),
        ("  client_secret: ", "iAQQVxFB.OvXpfJ09.MUscKYeZ", "\n"),
        ("auth_token=", "fsOssBQocBDs", ""),
        ("+  password: ", "sunshine", ""),
        ("export client_secret=", "sunshine", ""),
        ("java -DapiKey=", "93xMSThKZ9", " -jar app.jar"),
        ("- **DB_PASSWORD**: `", WORD, "`"),
        ("**Password:** ", "hunter2", ""),
        ("ParameterKey=DbPassword,ParameterValue=", WORD, " --no-fail"),
        ("gh secret set DEPLOY_KEY --body '", WORD, "'"),
        ("echo ", WORD, " | npx wrangler secret put API"),
        ("_auth=", base64.b64encode(b"dana:hunter2hunter2").decode(), ""),
        ("GET https://a.blob.core.windows.net/c?ss=b", "&sig=" + expand("{alnum:43}") + "%3D", "&x=1"),
        ("Authorization: Digest ", 'username="me", response="' + expand("{hex:32}") + '"', ""),
        ("Server=db;User Id=me;Password=", WORD, ";Encrypt=yes"),
        ("host=db user=me password=", WORD, " dbname=main"),
        ("https://example.com/?api_key=", "Zx81kk2mmA", "&page=2"),
        ("<password>", WORD, "</password>"),
        ('<input type="password" value="', WORD, '">'),
        ("my password is ", "hunter2", "."),
        ("the password for staging is ", "Tr0ub4dor&3", ", use it"),
        ('user name "me" password "', WORD, '" with administrator privileges'),
        ("paid with ", CARD, " today"),
        ("paid with ", CARD.replace(" ", "-"), " today"),
        ("paid with ", CARD.replace(" ", ""), " today"),
        (
            "token ",
            "eyJ" + expand("{alnum:30}") + ".eyJ" + expand("{alnum:50}") + "." + expand("{alnum:43}"),
            " end",
        ),
        ("", PEM, ""),
        ("", PEM + "\n-----END RSA PRIVATE " + "KEY-----", "\nafter"),
        ("", KEY_BODY, "\n-----END RSA PRIVATE " + "KEY-----"),
        ('"', PEM.replace("\n", "\\n") + "\\n-----END RSA PRIVATE " + "KEY-----", '\\n"'),
        ("client-key-data: ", base64.b64encode(PEM.encode()).decode(), ""),
        ("", "\n".join(textwrap.wrap(base64.b64encode(PEM.encode()).decode(), 64)), "\nafter this"),
        ("", GITHUB[:20] + "\n" + GITHUB[20:], "\nafter this"),
        ("export X=", GITHUB[:20] + "\\\n" + GITHUB[20:], ""),
    ],
)
def test_only_the_secret_is_replaced(before: str, secret: str, after: str) -> None:
    redacted = default_redactor().text(before + secret + after)

    assert len(redacted.findings) == 1
    assert redacted.text == f"{before}[REDACTED:{redacted.findings[0]}]{after}"


@pytest.mark.parametrize(
    "text",
    [
        "def login(self, password: str, token=None):",
        "password = input('Password: ')",
        "password = getpass.getpass()",
        "for token in tokens: yield token",
        "if token == '(':",
        "print(f'password={password}')",
        "connect(user=user, password=password, token=self.token)",
        "password: Optional[str] = None",
        "token: settings.github_token",
        "password = self.config.database.password_for",
        "def check(password: str=None, token: Token=None):",
        "* tree-ssa-strlen.cc (strlen_pass::handle_assign,",
        "echo done | vercel deploy",
        '<input type="password" name="pw" value="">',
        "password: string;",
        "const token = await getToken();",
        "headers['Authorization'] = `Bearer ${token}`",
        "password: ${DB_PASSWORD}",
        "token: ${{ secrets.GITHUB_TOKEN }}",
        "PRIVATE_KEY=~/.ssh/id_ed25519",
        "max_tokens: 4096, input_tokens: 1200",
        "tokenizer.pad_token = tokenizer.eos_token",
        "public_key = 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJq'",
        "sha512-Z9b6kK1nQ9bW8fX0aVd7JqzC1cX9nJ7QhY5gk8L2b3M4n5o6p7q8r9s0t1u2v3w4x5y6z7A8B9C0D1E2F3G4HQ==",
        "image@sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        "commit 9fceb02d0ae598e95dc970b74767f19372d61af8",
        "session 550e8400-e29b-41d4-a716-446655440000",
        "id 01ARZ3NDEKTSV4RRFFQ69G5FAV",
        "docker run -p 8080:80 --name mongo mongo -p 27017:27017",
        "ssh -p 2222 host; mkdir -p a/b; git log -p token.py",
        "mysql -u root -p main",
        "Enter password: ",
        "The token is invalid; the password is wrong.",
        "password policy: at least 12 characters",
        "  --password PASSWORD  the password to use",
        "the --token option and the --password flag",
        "git@github.com:me/project.git",
        "https://example.com:8080/path?mail=a@b.example",
        "postgres://${USER}:${PASSWORD}@db/main",
        "https://<user>:<password>@example.com",
        "Authorization: Bearer <token>",
        "the bearer of this letter has a basic understanding",
        "1700000000000000 1234567890123456 0.4111111111111111",
        "pass: 12, fail: 0",
        "secretKeyRef:\n  name: app\n  key: password",
        "-----BEGIN PUBLIC KEY-----\n" + expand("{alnum:64}") + "\n-----END PUBLIC KEY-----",
        '"-----BEGIN PRIVATE KEY-----" in text',
        "permissions:\n  id-token: write",
        "password=hashlib.sha256",
        "password: settings.database_password",
        "password = form.fields.utf_8",
        "login(password=row_1, secret=row_2)",
        "password    varchar64\ntoken       v1.2.3",
        "password    the one you chose",
        "kind: SecretProviderClass\ndata:\n  color: bluegreen\n",
        '{"kind":"ConfigMap","data":{"color":"bluegreen"}}',
        "- kind: Secret\n  name: app\n- kind: ConfigMap\n  name: settings\n",
        '~ ami = "ami-0a1b2c3d" -> "ami-4e5f6a7b"',
        "PASS src/login.test.js\nPASS src/password.test.js",
        "250-AUTH PLAIN LOGIN XOAUTH2",
        "https://example.com/errors?code=not_found_in_this_list",
        "enable password authentication, secret 5 times, password 7 characters",
        'Content-Disposition: form-data; name="title"\n\nmaple-otter77\n--end',
        '{"region": {"sensitive": false, "type": "string", "value": "eu-west-1"}}',
        '{"pass": "Heading order valid", "fail": "Heading order invalid"}',
        "keywords = ['OPTIONAL', 'PASS', 'PAUSE', 'POINTER']",
        '{name: "PASS", value: "passed"}',
        '{"stringData": {"conn": "${CONN}"}}',
        "  login works (331 ms)\nPASS src/components/App.test.tsx",
        "331 user tests\nPASS login2.test.js",
        "10:22:01 LOGIN alice success",
        "12345 LOGIN bob from=10.0.0.1",
        "net use Z: \\\\server\\share /persistent:yes",
        "net use \\\\server\\share /user:me",
        "net use Z: \\\\server\\share /user:me /persistent:yes",
        "libsecret  0.20.5-2ubuntu1\npasswd  4.8.1-2ubuntu2",
        "passwd = row_10",
        "pwd = test_dir_01",
        "password = fields.user_field_12",
        '<input value="Show" name="password">',
        "https://example.com/talks?session=introduction-to-postgres-2024",
        "https://example.com/?ticket=PROJECT-1234-fix-the-login-page",
        "https://example.com/errors?code=missing_required_parameter_1",
        "password 7 chars1, secret 5 times2, enable password auth2",
        'resource "random_password" "db" {\n  length = 16\n}\n\nlog: {"test": "a", "result": "passed-12"}',
        'It has kind: "Secret" here; then data: {color: "blue12", size: "large"} follows.',
        '{kind: "Secret", data: {color: "blue12"}}',
        'const a = {\n  kind: "Secret",\n  data: {\n    color: "blue12",\n  },\n};\n',
        "type A = { kind: Secret, data: { color: string } }",
        '{"items":[{"kind":"ConfigMap","data":{"a":"blue12"}},{"kind":"Secret","type":"Opaque"}]}',
        "items:\n- kind: ConfigMap\n  data:\n    a: blue12\n- kind: Secret\n  type: Opaque\n",
        "kind: ConfigMap\ndata:\n  color: blue12\nkind: Secret\nmetadata:\n  name: b123456\n",
        "kind: Secret\ntype: Opaque\n\nThen we saw this:\n\ndata:\n  color: blue12\n",
        "npm config set registry https://registry.example.com/",
        "password :: Text\ntoken :: ByteString",
        'expect "password:"\nsend "$env(PASSWORD)\\r"',
    ],
)
def test_ordinary_text_does_not_change(text: str) -> None:
    assert default_redactor().text(text) == RedactedText(text)


def test_a_list_of_digests_does_not_change() -> None:
    """Joined across lines, some would contain `pw==sha512-…`."""
    digests = [hashlib.sha512(str(number).encode()).digest() for number in range(400)]
    listed = "\n".join(f"sha512-{base64.b64encode(digest).decode()}" for digest in digests)

    assert redact(listed) == listed


@pytest.mark.parametrize("place", ["id_rsa:", ".ssh/id_rsa:12:", "/home/me/backup/id_rsa-13-"])
def test_a_key_in_grep_output_is_found(place: str) -> None:
    lines = PEM.split("\n")
    text = redact("\n".join(place + line for line in lines))

    assert [line for line in lines[1:] if line and line in text] == []


@pytest.mark.parametrize(
    ("value", "kept"),
    [
        ({"password": WORD}, {"password": "[REDACTED:named-secret]"}),
        ({"api_key": "abc"}, {"api_key": "[REDACTED:named-secret]"}),
        ({"password": 123456, "pin": 3}, {"password": "[REDACTED:named-secret]", "pin": 3}),
        ({"passwords": ["one", "two"]}, {"passwords": ["[REDACTED:named-secret]"] * 2}),
        (
            {"secrets": {"db": WORD, "name": "main"}},
            {"secrets": {"db": "[REDACTED:named-secret]", "name": "main"}},
        ),
        (
            [{"name": "DB_PASSWORD", "value": "y"}],
            [{"name": "DB_PASSWORD", "value": "[REDACTED:named-secret]"}],
        ),
        ({"headers": [["Cookie", "a=b"]]}, {"headers": [["Cookie", "[REDACTED:named-secret]"]]}),
        ({"Authorization": "Bearer abc"}, {"Authorization": "[REDACTED:named-secret]"}),
        (
            {"element": "Password field", "text": WORD},
            {"element": "Password field", "text": "[REDACTED:named-secret]"},
        ),
        (
            {"role": "AXSecureTextField", "value": WORD},
            {"role": "AXSecureTextField", "value": "[REDACTED:named-secret]"},
        ),
        ({"kty": "EC", "d": "abc", "x": "y"}, {"kty": "EC", "d": "[REDACTED:named-secret]", "x": "y"}),
        ({"GITHUB_TOKEN": GITHUB}, {"GITHUB_TOKEN": "[REDACTED:github-token]"}),
        (["mysql", "-u", "root", "-p" + WORD], ["mysql", "-u", "root", "-p[REDACTED:mysql-password]"]),
        (["app", "--password", WORD, "-v"], ["app", "--password", "[REDACTED:named-secret]", "-v"]),
        (
            {GITHUB: 1, GITHUB[:-1] + "x": 2},
            {"[REDACTED:github-token]": 1, "[REDACTED:github-token] (2)": 2},
        ),
        (
            {"lines": ["+" + line for line in PEM.split("\n")]},
            {"lines": ["+[REDACTED:pem-private-key]"] + ["[REDACTED:pem-private-key]"] * 6},
        ),
        ({"card": int(CARD.replace(" ", ""))}, {"card": "[REDACTED:card-number]"}),
        (
            {"conn": {"sensitive": True, "value": WORD}, "zone": {"sensitive": False, "value": "b"}},
            {
                "conn": {"sensitive": True, "value": "[REDACTED:named-secret]"},
                "zone": {"sensitive": False, "value": "b"},
            },
        ),
    ],
)
def test_the_fields_of_a_value_say_what_they_hold(value: Any, kept: Any) -> None:
    assert redact_value(value) == kept


@pytest.mark.parametrize(
    "value",
    [
        {"usage": {"input_tokens": 12, "output_tokens": 3, "max_tokens": 4096}},
        {
            "digest": expand("{hex:64}"),
            "prev": expand("{hex:64}"),
            "input_hash": expand("{hex:64}"),
            "id": str(uuid.UUID(int=7)),
        },
        {"token": {"type": "string", "description": "The token to use"}, "password": {"type": "string"}},
        {"password": None, "token": "", "secret": False, "api_key": "${API_KEY}"},
        {"type": "text", "text": "Enter your password to continue"},
        {"title": "Reset the password", "content": "Adds a form.\nAnd a test."},
        {"path": "/tmp/password.txt", "change": "renamed", "from": "/tmp/❤\ufe0f Cafe\u0301.txt"},
        [1, 2.5, None, True, "word", ["-l", "-a"], {}, []],
        [],
        "text",
    ],
)
def test_an_ordinary_value_is_left_as_it_is(value: Any) -> None:
    assert default_redactor().value(value) == (value, ())


def test_a_value_may_be_nested_deeper_than_any_stack() -> None:
    value: Any = {"password": WORD}
    for level in range(10_000):
        value = {"a": value} if level % 2 else [value]

    kept, findings = default_redactor().value(value)

    while isinstance(kept, list) or "a" in kept:
        kept = kept[0] if isinstance(kept, list) else kept["a"]
    assert (kept, findings) == ({"password": "[REDACTED:named-secret]"}, ("named-secret",))


def test_pairs_in_pairs_are_walked_once() -> None:
    value: Any = ["password", WORD]
    for _ in range(2_000):
        value = ["a", value]

    assert default_redactor().value(value)[1] == ("named-secret",)


def test_a_very_long_key_is_replaced_whole() -> None:
    key = "-----BEGIN PRIVATE " + "KEY-----\n" + "\n".join(textwrap.wrap(expand("{alnum:61}") * 150, 64))

    for short in range(0, 200, 13):
        assert (
            redact(key[: len(key) - short] + "\n\nafter this") == "[REDACTED:pem-private-key]\n\nafter this"
        )


def test_a_value_that_is_not_json_is_refused() -> None:
    with pytest.raises(TypeError, match="bytes"):
        default_redactor().value({"data": GITHUB.encode()})


def test_a_secret_where_text_is_cut_leaves_nothing() -> None:
    text = "x" * 700 + " " + GITHUB + " " + "y" * 700
    for cap in range(96, 1200, 7):
        redacted = default_redactor().text(text, cap)

        assert len(redacted.text) <= cap
        assert OPAQUE[:6] not in redacted.text
        assert "[REDACTED:github-token]" in redacted.text or "REDACTED" not in redacted.text


def test_a_long_text_keeps_its_head_and_a_smaller_tail() -> None:
    text = "begin " + "a" * 5000 + " end"

    redacted = default_redactor().text(text, 400)

    head, tail = redacted.text.split(f"… [{redacted.truncated} characters left out] …")
    assert text.startswith(head)
    assert text.endswith(tail)
    assert len(head) > len(tail) > 50
    assert len(head) + redacted.truncated + len(tail) == len(text)
    assert len(redacted.text) <= 400


def test_the_cap_applies_to_every_text_of_a_value() -> None:
    redactor = Redactor(text_cap=200)

    kept, _ = redactor.value({"long": "a" * 1000, "short": "b", "list": ["c" * 300]})

    assert len(kept["long"]) <= 200
    assert "characters left out" in kept["list"][0]
    assert kept["short"] == "b"


def test_a_cap_of_zero_leaves_nothing() -> None:
    assert default_redactor().text("text", 0).text == ""


def test_user_patterns_are_redacted_under_their_name() -> None:
    redactor = Redactor(
        [UserPattern("ticket", r"ACME-\d{4}"), UserPattern("Kunde", r"Straße (?P<secret>\d+)")]
    )

    redacted = redactor.text("see ACME-1234, ＡＣＭＥ-5678 and Straße 12")

    assert redacted.text == "see [REDACTED:ticket], [REDACTED:ticket] and Straße [REDACTED:Kunde]"
    assert redacted.findings == ("Kunde", "ticket")
    assert redactor.value({"a": ["ACME-1234"]})[0] == {"a": ["[REDACTED:ticket]"]}
    assert redactor.text(redacted.text) == RedactedText(redacted.text)


@pytest.mark.parametrize(
    "pattern", [UserPattern("broken", "("), UserPattern("looks-back", "(?<=a)b"), UserPattern("no name", "a")]
)
def test_the_error_names_an_invalid_pattern(pattern: UserPattern) -> None:
    with pytest.raises(PatternError, match=pattern.name) as raised:
        Redactor([pattern])

    assert isinstance(raised.value, ValueError)


def test_a_marker_in_the_input_hides_nothing() -> None:
    assert WORD not in redact(f"DB_PASSWORD=[REDACTED:{WORD}]")
    assert WORD not in redact(f"DB_PASSWORD=[REDACTED:jwt]{WORD}")


FRAGMENTS = (
    *("[REDACTED:jwt]", "[REDACTED:", "]", "password=", "password: ", "DB_PASSWORD=", "token", "api_", "is "),
    *('"', "'", '\\"', "\\n", "\n", "\\\n", "\r", " ", "; ", "{", "}", "@", "://", "%3D", "%22", "…"),
    *(
        "Bearer ",
        "Authorization: ",
        "Cookie: ",
        "-----BEGIN PRIVATE " + "KEY-----",
        "--password ",
        "mysql -p",
    ),
    *("\u200b", "é", "ｐ", "\x1b[0m"),
)
RULES = all_rules()
EXAMPLES = tuple(text for rule in RULES[::12] + RULES[-30:] for text in (rule.example, rule.counterexample))
PIECES = st.one_of(
    st.sampled_from(EXAMPLES),
    st.sampled_from(FRAGMENTS),
    st.text(max_size=12),
    st.text(alphabet="abcXYZ0189=:/+-_.\"' \n\\", max_size=60),
)
TEXTS = st.lists(PIECES, max_size=8).map("".join)
FIELDS = (
    st.sampled_from(["password", "token", "name", "value", "key", "text", "element", "auth", "secrets", "a"])
    | TEXTS
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(FIELDS, inner, max_size=4),
    max_leaves=8,
)
unhurried = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])


@unhurried
@given(TEXTS, st.sampled_from([None, 40, 100, 300]))
def test_redacting_twice_changes_nothing(text: str, cap: int | None) -> None:
    once = default_redactor().text(text, cap)

    assert default_redactor().text(once.text, cap) == RedactedText(once.text)
    assert cap is None or len(once.text) <= cap


@unhurried
@given(VALUES)
def test_redacting_a_value_twice_changes_nothing(value: Any) -> None:
    once, _ = default_redactor().value(value)

    assert default_redactor().value(once) == (once, ())


@unhurried
@given(st.lists(TEXTS, max_size=5))
def test_texts_searched_together_give_the_same_result_as_alone(texts: list[str]) -> None:
    secrets = KnownSecrets()
    kept, _ = default_redactor().value({f"field{number}": text for number, text in enumerate(texts)}, secrets)

    for text, redacted in zip(texts, kept.values(), strict=True):
        assert redacted == redact(text) or secrets.copies(canonical(text))


@unhurried
@given(st.text(alphabet=st.characters(codec="ascii", categories=("L", "N", "P", "Zs")), max_size=200))
def test_text_without_a_secret_is_only_canonicalised(text: str) -> None:
    redacted = default_redactor().text(text)

    assert redacted.findings or redacted.text == canonical(text)


def test_no_secret_of_any_rule_is_left_in_a_redacted_file(tmp_path: Path) -> None:
    secrets = {
        rule.name: rule.example[slice(*rule.find_all(rule.example.encode("latin-1"))[0])] for rule in RULES
    }
    file = "\n\n".join(f"# {rule.provider}\n{rule.example}" for rule in RULES)
    kept = [
        default_redactor().value({"tool": "Read", "output": file})[0],
        default_redactor().value({"content": [{"type": "text", "text": json.dumps({"file": file})}]})[0],
        default_redactor().value({"lines": file.split("\n")})[0],
        redact(file),
    ]
    stored = tmp_path / "stored.json"
    stored.write_text(json.dumps(kept, ensure_ascii=False))

    found = [name for name, secret in secrets.items() if json.dumps(secret)[1:-1] in stored.read_text()]

    assert found == []
    assert stored.read_text().count("[REDACTED:") > 3 * len(RULES)


def ordinary_lines() -> Iterator[str]:
    """Lines that developers see every day: installed files and generated ones."""
    chance = random.Random(7)
    for folder in (sysconfig.get_path("stdlib"), sysconfig.get_path("purelib")):
        files = sorted(
            path for suffix in ("py", "txt", "md", "toml") for path in Path(folder).rglob(f"*.{suffix}")
        )
        for path in chance.sample(files, min(40, len(files))):
            yield from path.read_text(encoding="utf-8", errors="replace").splitlines()[:400]
    for number in range(400):
        digest = hashlib.sha256(str(number).encode())
        identity = str(uuid.UUID(bytes=digest.digest()[:16]))
        yield f"{digest.hexdigest()[:40]} Fix the reader, part {number} (#{number})"
        yield f"commit {digest.hexdigest()[:40]}"
        yield f'"id": "{identity}", "digest": "{digest.hexdigest()}", "prev": "{digest.hexdigest()[::-1]}",'
        yield f"      integrity: sha512-{base64.b64encode(digest.digest() * 2).decode()}"
        yield f"docker pull registry.example.com/app@sha256:{digest.hexdigest()}"
        yield f"--hash=sha256:{digest.hexdigest()} \\"
        yield f"-rw-r--r--  1 me  staff  {number * 977}  3 Oct 09:1{number % 10} IMG_{number:04}.jpg"
        yield f"git checkout -b fix/{number} && pytest -q tests/test_{number}.py::test_it -p no:cacheprovider"


def test_almost_no_line_of_ordinary_text_changes() -> None:
    lines = list(ordinary_lines())
    altered = [line for line in lines if redact(line) != canonical(line)]
    pages = ["\n".join(lines[start : start + 50]) for start in range(0, len(lines), 50)]
    altered_pages = [page for page in pages if default_redactor().text(page).findings]

    assert len(lines) > 10_000
    assert len(altered) <= 0.005 * len(lines), altered
    assert len(altered_pages) <= 0.05 * len(pages)


def test_the_default_redactor_is_built_once() -> None:
    assert default_redactor() is default_redactor()


@pytest.mark.parametrize(
    "output",
    [{"output": "{}\n"}, {"output_summary": "{}"}, {"tool_response": {"stdout": "{}\n", "stderr": ""}}],
    ids=["output", "summary", "response"],
)
@pytest.mark.parametrize(
    "command", ["pass show work/db", "openssl rand -base64 24", "cd a && op read op://v/d/p"]
)
def test_a_secret_that_a_command_printed_is_removed_from_its_output(
    output: dict[str, Any], command: str
) -> None:
    secret = "q7Xm2LzT" + "9vKc4RwPbN8d"
    filled = json.loads(json.dumps(output).replace("{}", secret))

    redacted = default_redactor().value({"tool": "Bash", "input": {"command": command}, **filled})[0]

    assert secret not in json.dumps(redacted)
    assert redacted["input"] == {"command": command}


def test_what_another_command_printed_stays() -> None:
    action = {"tool": "Bash", "input": {"command": "git rev-parse HEAD"}, "output": "3f9a1c7e" * 5}

    assert default_redactor().value(action)[0] == action
