"""Secrets apart from their names: in columns, rows, SQL, documents and arguments."""

from __future__ import annotations

import itertools
import json
import time
from collections.abc import Callable
from typing import Any

import pytest

from fazm_memory.engines.redaction import default_redactor

MARK = "\N{BULLET}"  # around each secret in the texts below


def split_marks(text: str) -> tuple[list[str], str]:
    """The secrets marked in a text, and the text without the marks."""
    pieces = text.split(MARK)
    return pieces[1::2], "".join(pieces)


SECRETS = [
    "| user | jo |\n| password | •hunter2xyz• |\n",
    "| **DB password** | `•tundra!Swift3•` | staging |",
    (
        "| name | password | role |\n|------|:--------:|------|\n| bob | •sleetXenops4• | admin |\n"
        "| eve | •rime9Zorilla• | dev |\n\nafter 4x4tables | no"
    ),
    "Name | API key\n--- | ---\nprod | •9f8e7d6c5b4a3f2e1d0c•\n",
    " name | password\n------+-----------\n bob  | •S3cr3t!x•\n eve  | •moor8Dhole•\n(2 rows)\n",
    (
        "+------+----------+\n| name | password |\n+------+----------+\n| bob  | •hunter2x• |\n"
        "+------+----------+\n"
    ),
    "-[ RECORD 1 ]\nname     | bob\npassword | •Hunter!Two•\n",
    "name,email,password\nbob,bob@example.com,•marshAgouti•\neve,eve@example.com,•swamp77•\n",
    "     1→name,password\n     2→bob,•sunshine•\n",
    "+name,password\n+bob,•sunshine•\n",
    '"url","username","password"\r\n"https://example.com","jo","•moor, Dhole 8•"\r\n',
    "host\tuser\tapi_key\ndb1\tjo\t•bogCaracal35d•\n",
    "name;passwort\nbob;•kupferDachs71•\n",
    "INSERT INTO users (name, password) VALUES ('bob', '•S3cr3t!•'), ('eve', '•it''s me•'),\n ('al', NULL);",
    "insert or ignore into `app`.`users` (`id`, `api_token`) values (1, '•9f8e7d6c5b4a3f2e•')",
    "REPLACE INTO users(password, name) VALUES (crypt('•hunter2•', gen_salt('bf')), 'bob')",
    "INSERT INTO users (name, password) VALUES (N'bob', N'•hunter•')",
    (
        "COPY public.users (id, name, password) FROM stdin;\n1\tbob\t•hunter•\n2\teve\t\\N\n"
        "3\tal\t•S3cr3t!•\n\\.\n4\tx\ty\n"
    ),
    "CREATE USER 'app'@'%' IDENTIFIED BY '•heathErmine•';",
    'CREATE USER app IDENTIFIED BY "•heathErmine•"',
    "ALTER USER app IDENTIFIED BY •heath41•;",
    "ALTER ROLE app WITH LOGIN PASSWORD '•glenFossa•';",
    "SET PASSWORD = '•daleGenet•'",
    "SET PASSWORD FOR 'app'@'%' = PASSWORD('•daleGenet•');",
    (
        "apiVersion: v1\nkind: Secret\ndata:\n  signing: •bGVtb25hZGU=•\n  other.txt: •c3RhbmQ=•\n"
        "metadata:\n  name: b123456\n"
    ),
    "data:\n  color: blue\n---\ndata:\n  signing: •bGVtb25hZGU=•\nkind: Secret\n---\ndata:\n  size: large\n",
    (
        "apiVersion: v1\nstringData:\n  app.ini: |\n    •host = db•\n\n    •mode = fast•\n"
        "  note: •two words•\nkind: Secret"
    ),
    "items:\n- data:\n    a: •bGVtb25hZGU=•\n  kind: Secret # of the app\n  metadata:\n    name: app\n",
    "{apiVersion: v1, kind: Secret, data: {a: •bGVtb25hZGU=•, b: •c3RhbmQ=•}}",
    "kind: ConfigMap\ndata:\n  a: blue12\nkind: Secret\ndata:\n  a: •c3RhbmQ=•\n",
    "$ kubectl get secret\n  1\tapiVersion: v1\n  2\tdata:\n  3\t  a: •c3RhbmQ=•\n  4\tkind: Secret\n",
    'const a = {\n  apiVersion: "v1",\n  kind: "Secret",\n  data: {\n    conn: "•bGVtb25hZGU=•",\n  },\n};',
    "C: a1 LOGIN me •Maple-otter77•\nS: a1 OK",
    "username admin privilege 15 password 0 •Maple-otter77•",
    "INSERT INTO u (id, doc, password) VALUES (1, '{\"a\": 1}'::jsonb, '•hunterx•'), (2, NULL, '•huntery•');",
    "INSERT INTO u (at, pic, password) VALUES (now() - interval '1 day', _binary 'ab', '•hunterx•');",
    "INSERT INTO u (tags, password) VALUES (ARRAY['a', 'b'], '•hunterx•'), ((SELECT 'x'), '•huntery•');",
    '  ~ password = "${old}" -> "•maple77otter•"',
    "password    •Maple-otter77•\nuser        app",
    "dn: cn=app\nuserPassword:: •bWFwbGUtb3R0ZXI3Nw==•\n",
    "bindpw •Maple-otter77•\nbinddn cn=app",
    "admin_api_key = <<EOT\n•q8Lk2JtYw0v3hN6sX9cB5mZ1•\nEOT\n",
    'password = """•Maple-otter77•"""',
    "password: •Maple_otter77•\nuser: me",
    "spring.datasource.password=•Maple.otter77•",
    "jdbc:mysql://db/app?user=me&password=•Maple_otter77•&ssl=true",
    "<password>•Maple.otter77•</password>",
    "&{Host:db User:me Password:•Maple_otter771• Port:5432}",
    '{"userName":"me","passWord":"•Maple-otter77•"}',
    '{"name":"DB_PASSWORD","value":"•Maple-otter77•"}',
    '<add value="•Maple-otter77•" key="DbPassword"/>',
    "PGPASSWORD='•Maple otter77•' psql -h db",
    "[Peer]\nPresharedKey = •Ox3qz3WsUVI4jDMlqXLZA6QKwx62XHtlX78nCh5IYaa=•\n",
    '{"name": "db", "type": "random_password", "values": {"length": 12, "result": "•Maple-otter77•"}}',
    '{"conn": {\n  "sensitive": true,\n  "type": "string",\n  "value": "•Maple-otter77•"\n}}',
    '"outputs": {"conn": {"value": "•Maple-otter77•", "type": "string", "sensitive": true}}',
    'Content-Disposition: form-data; name="password"\n\n•Maple-otter77•\n--end',
    'kubectl patch secret app -p \'{"stringData":{"conn":"•Maple-otter77•"}}\'',
    "Cookie:[•sid=q8Lk2JtYw0v3hN6sX9cB5mZ1]•",
    'Config { user: "me", token: Some("•q8Lk2JtYw0v3hN6sX9cB5mZ1•") }',
    '["password"]=>\n  string(13) "•Maple-otter77•"',
    '{"Smtp":{"User":"me","Pass":"•Maple-otter77•"}}',
    "'•Maple-otter77•' | ConvertTo-SecureString -AsPlainText",
    "xfreerdp /u:me /p:•Maple-otter77• /v:host",
    "radius-server key 7 •061b71cae867d71597•",
    "wss://live.example.com/?auth=•q8Lk2JtYw0v3hN6sX9cB5mZ1•",
    "net use Z: \\\\files\\share •Maple-otter77• /user:me",
    "nmcli dev wifi connect Office password •Maple-otter77•",
    '["redis-server", "--requirepass", "•Maple-otter77•"]',
    "127.0.0.1:6379> AUTH •Maple-otter77•\nOK",
    'SecretStr("•Maple-otter77•")',
    "child.expect('password: ')\nchild.sendline('•Maple-otter77•')",
    "USER me\n331 Please specify the password.\nPASS •Maple-otter77•\n230 Login successful.",
    '{\n  "data": {\n    "signing": "•bGVtb25hZGU=•"\n  },\n  "kind": "Secret",\n  "type": "Opaque"\n}',
    "kubectl create secret generic db --from-literal=password=•oakRiver_62• --from-literal='user=•jo12•'",
    'variable "master_password" {\n  type    = string\n  default = "•quartzHeron•"\n}\n',
    "define('AUTH_KEY',  '•x|R~4pQ-+ws!kZ9vT}Lm2]hB8•');",
    '"Jwt": {\n  "Issuer": "shop",\n  "Key": "•our-very-own-signing-key-2024!•"\n}',
    "const secret = process.env.JWT_SECRET || '•plumJerboa-super-signing•';",
    "password: <%= ENV['DB_PASSWORD'] || '•summitDove64•' %>",
    "defaults: &db\n  password: &pw •lilacBeaver14•\n",
    "<key>SMTPPassword</key>\n<string>•grayAnole60•</string>",
    'ds.setPassword("•tealViper53•");',
    "$pdo = new PDO('mysql:host=db;dbname=x', 'app', '•inkYabby•');",
    'var login = new NetworkCredential("jo", "•wheatAdder•");',
    "requests.get(url, auth=('jo', '•wheatAdder•'))",
    'sql.Open("mysql", "app:•limeUrchin•@tcp(db:3306)/orders")',
    'getConnection("jdbc:oracle:thin:scott/•jetXerus77•@db:1521:orcl")',
    "sqlplus system/•iceUnau•@//db:1521/XE",
    "lftp -u jo,•galeSkink• sftp://files.example.com",
    "openssl enc -aes-256-cbc -pbkdf2 -k •onionGoat• -in a -out b",
    "net use Z: \\\\nas\\share /user:jo •ecruAlpaca•",
    'test: ["CMD", "mysqladmin", "ping", "-u", "root", "-p•gr4niteFox•"]',
    "[nas]\ntype = sftp\npass = •q8Lk2JtYw0v3hN6sX9cB5mZ1•\n",
    "the pw for the staging box is •flaxGopher!7•",
    "Das Passwort lautet •kupferDachs71•",
    "git clone https://•8c2f1b7d9e3a4056•@git.example.com/team/app.git",
]


@pytest.mark.parametrize("text", SECRETS)
def test_only_the_secret_apart_from_its_name_is_replaced(text: str) -> None:
    secrets, plain = split_marks(text)
    redacted = default_redactor().text(plain)

    expected = plain
    for secret in secrets:
        expected = expected.replace(secret, f"[REDACTED:{redacted.findings[0]}]", 1)
    assert len(redacted.findings) == 1
    assert redacted.text.splitlines() == expected.splitlines()


@pytest.mark.parametrize("text", SECRETS)
def test_it_is_replaced_in_the_output_of_a_tool_too(text: str) -> None:
    secrets, plain = split_marks(text)
    kept = json.dumps(default_redactor().value({"output": plain, "file": json.dumps({"text": plain})})[0])

    assert [secret for secret in secrets if json.dumps(secret)[1:-1] in kept] == []


@pytest.mark.parametrize(
    "text",
    [
        "| password | string | the user's password |",
        (
            "| name | type | required |\n|---|---|---|\n| password | string | yes |\n"
            "| token | string(64) | no |\n| api_key | uuid4 | no |"
        ),
        (
            '| Parameter | Default |\n| --- | --- |\n| `auth.password` | `""` |\n'
            "| `auth.existingSecret` | `nil` |\n| `auth.token` | `changeme` |"
        ),
        (
            "| column | type |\n|---|---|\n| password | char(60) |\n| password | VARCHAR2 |\n"
            "| passwd | bcrypt |\n| secret | sha-256 |"
        ),
        (
            "| user | password |\n|---|---|\n| bob | *** |\n| eve | <password> |\n| al | NULL |\n"
            "| x | $1 |\n| y | ? |\n| z | %s |\n| q | ${DB_PASSWORD} |"
        ),
        (
            "| Field | Rules |\n|---|---|\n| password | required|min:8 |\n| password | min:8 |\n"
            "| password | 8-64 |\n| secret | >=16 |"
        ),
        (
            "| Token | Value |\n|---|---|\n| color-blue-500 | #0000ff |\n| fontSizeH1 | 2rem |\n"
            "| --radius-2xl | 12px |"
        ),
        (
            "| Secret | Description |\n|---|---|\n| AWS_ROLE_V2 | role |\n| `NPM_TOKEN` | t |\n"
            "| db-password-v2 | x |"
        ),
        (
            "| Feature | Password | API key |\n|---|---|---|\n| MFA | v2.1+ | 1.0.0 |\n"
            "| rows | 10,000 | 99.9% |\n| since | 2024-01-01 | #4521 |\n| kind | argon2id | HS256 |\n"
            "| for | 30days | SEC-1234 |"
        ),
        (
            "| Fix token | 3fa9b21 |\n| Reset password | SEC-102 |\n| password | String! |\n"
            "| password | *string |\n| password | Option<String> |"
        ),
        (
            "| password | input#password |\n| password | #pwd1 |\n| password | [data-test=pw1] |\n"
            "| password | user@example.com |"
        ),
        (
            "+------+----------+\n| name | password |\n+------+----------+\n| bob  | NULL     |\n"
            "+------+----------+\n"
        ),
        "password | base64 -d\ncat password | sha256sum\n",
        "token,pos,lemma\nU.S.,PROPN,us\nunbelievable,ADJ,unbelievable\n2023-01-01,NUM,2023\n",
        "field,type,required\npassword,string,true\ntoken,uuid4,false\n",
        "name,password\nbob,\neve,NULL\nal,***\n",
        "user, password = load()\nhost, port22 = other()\n",
        "    user, password,\n    host22, portxy9,\n",
        "connect(user,password,\n        host1234,port5678,\n",
        (
            "INSERT INTO users (name, password) VALUES (?, ?), ($1, $2), "
            "(:name, :password), (%s, %s), ('bob', NULL)"
        ),
        "INSERT INTO params (name, token_count) VALUES ('abc12345', 12)",
        "INSERT INTO t (id, password) SELECT id, pw FROM old",
        "SET PASSWORD FOR 'bob'@'%' = ?",
        'The issue was identified by reviewer2; resources identified by "name2" are.',
        "kind: ConfigMap\ndata:\n  color: blue123\n---\nkind: Secret\nmetadata:\n  name: b123456\n",
        'variable "db_password" {\n  description = "x"\n  sensitive   = true\n}',
        "process.env.NODE_ENV || 'development1'; process.env.API_TOKEN || 'missing'",
        'form.setPassword("Password"); new PDO($dsn, $user, $pass); get(url, auth=(user, password))',
        "bool pass = check2();\npass = ok1 && ok2;\npass = 1\n",
        "the pw is wrong; das Passwort ist falsch",
        "fn f(password: &mut String2, token: &str) {}",
    ],
)
def test_documentation_and_code_do_not_change(text: str) -> None:
    assert default_redactor().text(text).text == text


def test_every_row_of_a_long_file_is_read() -> None:
    rows = "".join(f"user{number},pw{number:05}x\n" for number in range(2_000))
    redacted = default_redactor().text("name,password\n" + rows, cap=10**6).text

    assert redacted.count("[REDACTED:table-secret]") == 2_000


@pytest.mark.parametrize(
    "text",
    [
        "INSERT INTO users (password) VALUES (" + " " * 100_000 + "x y",
        "INSERT INTO users (password) VALUES (x" + " y" * 50_000,
        "INSERT INTO users (password) VALUES (f('x'" + " " * 100_000,
        "INSERT INTO users (password) VALUES ('x" + "'' \\\\" * 50_000,
        "INSERT INTO users (password) VALUES (" * 5_000,
        "INSERT INTO users (password) VALUES ((" + "('x') " * 20_000,
        "kind: Secret\n" + "\n".join(" " * depth + "data:" for depth in range(1_000)),
        '{"kind":"Secret",' + '"data":{' * 20_000,
        "| name | password |\n" + "-" * 100_000 + "x\n",
        "| name | password |\n|---|---|\n" + "| - " * 50_000 + "x\n",
    ],
)
def test_an_endless_statement_or_table_does_not_take_long(text: str) -> None:
    begun = time.process_time()
    assert default_redactor().text(text, cap=10**6).text == text
    assert time.process_time() - begun < 5


@pytest.mark.parametrize(
    ("before", "repeated", "after"),
    [
        ("kind: Secret\ndata:\n  a: x", " ", "y"),
        ("kind: Secret\ndata:\n  a: |\n    x", " ", "y"),
        ("kind: Secret\ndata:", " ", "y"),
        ("kind: Secret\n", "data: {a: ", ""),
        ("", "kind: Secret\ndata:\n  a: x1234\n", ""),
        ('{"kind":"Secret",', '\\"', ""),
        ("", '"kind":"Secret",', ""),
        ("", "INSERT INTO t (password) VALUES (1\\'", ""),
        ("", 'a="b" -> "', ""),
        ("", "nmcli password ", ""),
        ("", "nmcli dev connect ", ""),
    ],
)
def test_time_grows_linearly_with_the_text(before: str, repeated: str, after: str) -> None:
    def spent(size: int) -> float:
        text = before + repeated * (size // len(repeated)) + after
        begun = time.process_time()
        default_redactor().text(text, cap=10**6)
        return time.process_time() - begun

    spent(1 << 10)
    small = min(spent(1 << 15) for _ in range(3))
    large = min(spent(1 << 17) for _ in range(3))
    assert large < 8 * max(small, 0.02)  # less cannot be measured


def test_values_after_a_long_literal_are_found() -> None:
    about = "it''s \\' long " * 1_000
    rows = [f"({number}, '{about}', 'hunter{number}x', NULL)" for number in range(3)]
    text = f"INSERT INTO users (id, about, password, note) VALUES {', '.join(rows)};"
    redacted = default_redactor().text(text, cap=10**6).text

    assert "hunter" not in redacted
    assert redacted.count("[REDACTED:sql-insert]") == 3


MANIFEST: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Secret",
    "data": {"conn": "bGVtb25hZGU=", "url": "c3RhbmQ="},
    "metadata": {"name": "app", "annotations": {"of": "team"}},
}
FORMS: dict[str, Callable[[Any], str]] = {
    "compact": lambda value: json.dumps(value, separators=(",", ":")),
    "on one line": json.dumps,
    "indented": lambda value: json.dumps(value, indent=4),
    "as Python shows it": repr,
    "in JSON": lambda value: json.dumps({"out": json.dumps(value, separators=(",", ":"))}),
    "in a list": lambda value: json.dumps({"items": [value, value], "kind": "List"}, separators=(",", ":")),
    "in an annotation": lambda value: (
        "metadata:\n  annotations:\n    last-applied: |\n      "
        + json.dumps(value, separators=(",", ":"))
        + "\n  name: app\n"
    ),
}


@pytest.mark.parametrize("form", FORMS)
def test_every_value_of_a_manifest_is_replaced_in_every_form(form: str) -> None:
    for order in itertools.permutations(MANIFEST):
        plain = FORMS[form]({key: MANIFEST[key] for key in order})
        expected = plain
        for value in MANIFEST["data"].values():
            expected = expected.replace(value, "[REDACTED:kubernetes-secret]")
        assert default_redactor().text(plain).text == expected


def test_every_value_of_a_manifest_in_json_is_replaced() -> None:
    settings = MANIFEST | {"kind": "ConfigMap", "data": {"theme": "dark", "level": "info"}}
    kept, found = default_redactor().value({"items": [MANIFEST, settings]})

    hidden = dict.fromkeys(MANIFEST["data"], "[REDACTED:kubernetes-secret]")
    assert kept["items"] == [MANIFEST | {"data": hidden}, settings]
    assert found == ("kubernetes-secret",)
    assert default_redactor().value(kept) == (kept, ())


@pytest.mark.parametrize("last", [False, True])
def test_long_values_of_a_manifest_are_replaced_whole(last: bool) -> None:
    held = {f"part{number}": "y7/" * 1000 + f"{number}" for number in range(4)}
    data = ["data:", *(f"  {name}: {value}" for name, value in held.items())]
    kind = ["kind: Secret", "metadata:", "  name: app"]
    text = "\n".join(["apiVersion: v1", *(data + kind if last else kind + data), ""])
    redacted = default_redactor().text(text, cap=10**6).text

    assert "y7/" not in redacted
    assert redacted.count("[REDACTED:kubernetes-secret]") == 4
