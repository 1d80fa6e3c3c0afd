"""Forms in which people write secrets, and what only looks like them.

The class: words for a password in other languages, codes, pairs of a name and a password, arguments of login
commands, values with signs that also separate parameters. Looked for on the other side: references, forms of
keys, rules of validation, patterns that find passwords, default passwords of images, and programs about
passwords, which are dense with such words.
"""

from __future__ import annotations

import pytest

from fazm_memory.engines.redaction import Redactor, default_redactor

VALUE = "Kx9#mQ2v" + "T7pL"


@pytest.mark.parametrize(
    "form",
    [
        *("пароль: {}", "Пароль: {}", "ПАРОЛЬ={}", "密码：{}", "密码是{}", '密碼 = "{}"', "パスワード: {}"),
        *("パスワードは{}", "비밀번호: {}", "hasło: {}", "Şifre: {}", "mật khẩu: {}", "รหัสผ่าน: {}"),
        *("كلمة المرور: {}", "סיסמה: {}", "κωδικός πρόσβασης: {}", "पासवर्ड: {}"),
        *("wachtwoord: {}", "lösenord: {}", "salasana: {}", "adgangskode: {}", "senha: {}", "passord: {}"),
        *("mot de passe : {}", "Mot de passe: {}", "contraseña: {}", "jelszó: {}"),
        *("login bob / {}", "Login: bob@example.com / {}", "creds bob / {}"),
        *("CREATE LOGIN app WITH PASSWORD = N'{}';", "password = u'{}'", 'password = L"{}"'),
    ],
)
def test_a_password_is_removed_in_the_words_of_many_languages(form: str) -> None:
    assert VALUE not in default_redactor().text(form.format(VALUE)).text


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("mail.smtp.password = Canyon&60" + "76orbi", "orbi"),
        ("spring.datasource.password=Canyon&60" + "76orbi", "orbi"),
        ("SMTP_PASS=zbfn uvhw " + "dkmk kvkr", "kvkr"),
        ("app password: zbfn uvhw " + "dkmk kvkr", "dkmk"),
        ("recovery code: ttskb-" + "wjsyg", "wjsyg"),
        ("PIN: 25" + "2150", "252150"),
        ("my pin is 48" + "21", "4821"),
        ("card 4000123456789017 cvc 74" + "1", "741"),
        ("vault login s.xxWv2F4QPsEv9d" + "eghPSUraPX", "Sv9d"),
        ("snyk auth 7Kq2ZmX9bR4tVw8E" + "c3nYd6Ls", "X9bR"),
        ("jdbc:sqlserver://db;user=sa;password={Kz_8mQ" + "vT!4};", "Kz_8"),
        ("hibernate.connection.password T_qz72m" + "Xkv", "T_qz"),
        ("if token != 'kzqvmwxtrjpl" + "hgbn':", "kzqv"),
        ('$dbPassword[] = "Tr0ub4' + 'dor&3";', "Tr0u"),
        ('std::string db_pass{"z9#kL!m' + '2@Qp"};', "z9#k"),
        ("secret: 'k}|3Xm~qT9z(Lp&v" + "W2@R5t#Yb8^'", "3Xm~"),
        ("app.secret_key = b'_5#y2L\"F4Q8z\\n\\xec]/'", "y2L"),
        ("[smtp]\nuser = dana\npass = zq_mT" + "93Xkv", "zq_m"),
        ("snmpwalk -u a -A one_Tz71mX -X q_Xm82z" + "Tkvw host", "q_Xm"),
        ("tacacs-server host 10.0.0.1 key m_qz84" + "TXkv", "m_qz"),
        ("createCipheriv('aes-256-cbc', 'a3773f94fe7e" + "f51caecd0a2dc2c1005f', iv)", "f51c"),
        ("SAMLResponse=PHNhbWxwOlJlc3BvbnNl" + "bFkkh6X" * 20, "bFkk"),
        ("<db_password>w_Tq8{zk" + "9(Lm</db_password>", "zk9"),
    ],
)
def test_codes_and_values_with_signs_are_removed(text: str, secret: str) -> None:
    assert secret not in default_redactor().text(text).text


@pytest.mark.parametrize("password", ["admin", "root", "postgres", "minioadmin", "admin123"])
@pytest.mark.parametrize(
    "form",
    [
        "password: {}",
        "DB_PASSWORD={}",
        "mysql -u me -p{} shop",
        "postgres://me:{}@db/main",
        'password = "{}"',
    ],
)
def test_a_weak_password_is_removed_beside_its_name_but_its_word_stays_elsewhere(
    form: str, password: str
) -> None:
    text = form.format(password) + "\nthe admin of postgres is not root of minioadmin"

    redacted = default_redactor().text(text).text

    assert redacted.endswith("\nthe admin of postgres is not root of minioadmin")
    assert password not in redacted.split("\n")[0].removeprefix("postgres:")


@pytest.mark.parametrize(
    "text",
    [
        *("OPENAI_API_KEY=sk-...", "token: ghp_***", "cookie: SameSite=Lax", "Set-Cookie: Path=/; HttpOnly"),
        *("secrets: inherit", "password: required|string|min:8", "password: nullable|confirmed"),
        *('password: "secret://prod/db#password"', 'sed -i "s/password=.*/password=/" app.conf'),
        *(
            r'grep -E "password: \S+" app.log',
            '"password": "string?",\n"username": "string?"',
            ":param refresh_token: REQUIRED.  The token of the client.",
            "QWEN_SERVER_TOKEN=secret serve --token secret",
            "VLLM_API_KEY=not-needed",
            'NAMES = {"api-key", "authorization", "x-amz-security-token"}',
            "Re-pass `--json-schema` every time; a two-pass `lookup`",
            'X_PAT + "$")\nIPV6_ADDRZ_RE = re.compile(X)',
            "  AWSCredential,  # noqa: TC004\n  S3Config,  # noqa: TC004\n  S3Provider,  # noqa: TC004\n",
            "https://github.com/acme/tool?rev=8ec53a9202aa36fc799094f39bc2982aa795b3ff",
            "digest = hmac.new(key, b'\\x01', sha256).digest()",
        ),
        *(
            'this.f(),{text:"",token:null,line:this.yylineno});return this}',
            "tokens.filter((token) => !token.redirect).map((token) => token.text)",
            'const username = utils$1.getSafeProp(configAuth, "username");',
            "withCredentials: defaultToConfig2,\n  next: 1",
            "const hasCredentials = !!this.memoryCache.credentials;",
            "| OpenAI | `openai` | `OPENAI_API_KEY`, `OPENAI_BASE_URL`, `OPENAI_MODEL` |",
            'export ANTHROPIC_API_KEY="sk-ant-..."\nexport GEMINI_API_KEY="AIza..."',
            '"Waiting for authorization": "Aguardando autoriza\\xE7\\xE3o",',
            'secret key algorithm = { name: "RSASSA-PKCS1-v1_5" }',
            "PWD: cwd",
            'PASSWORD="${PASSWORD:?missing}"',
            "API_KEY=<your key>",
        ),
        *(
            "pin: 13",
            "PIN_LED = 13",
            "spin: 4000",
            "vault login -method=userpass",
            "login page / logout page",
        ),
        *(
            "это не пароль",
            "密码错误",
            "токен устарел",
            "mot de passe oublié ?",
            "the token of a user is here",
        ),
        *("def check(self, client_key, request_token):", "returns the access token\n", "password,\n"),
    ],
)
def test_what_only_looks_like_a_secret_stays(text: str) -> None:
    assert default_redactor().text(text).text == text


def test_a_query_ends_at_its_next_parameter() -> None:
    text = f"https://example.com/?password={'hunter' + '2x'}&page=2"

    assert default_redactor().text(text).text.endswith("&page=2")


def test_a_program_about_tokens_is_searched_to_its_end() -> None:
    """Programs that handle tokens are full of keywords. Their words must not be taken for secrets."""
    program = "".join(
        f'''
def get_request_token_secret_{n}(self, client_key, request_token, request):
    """Retrieve the shared secret of a request token.

    It is used to verify the signature of a request, and is called once for each of them by the endpoint that
    hands out the access token. Invalid clients get a stand-in, so that the time does not tell them apart.

    :param client_key: The client/consumer key.
    :param token: The access token string, if the authorization was granted.
    :returns: The token secret as a string.
    """
    if request_token == self.dummy_request_token:
        return self.secrets.get(client_key, request_token)
    raise self._subclass_must_implement('get_request_token_secret')
'''
        for n in "abcdefghijklmnopqrst" * 3
    )

    assert Redactor(text_cap=1 << 30).text(program).text == program


@pytest.mark.parametrize(
    "line",
    [
        "=== RUN   TestFoo{n}_bar\n--- PASS: TestFoo{n}_bar/case_{n} (0.01s)\n",
        "tests/auth/test_token.py::test_password_reset_{n} PASSED [ 12%]\n",
        "PASS tests/auth/token_{n}.test.ts\n  ✓ resets the password ({n} ms)\n",
        "10:00:01Z INFO auth token refreshed user={n} session=abc token_id={n}\n",
    ],
)
def test_a_long_log_about_tokens_and_tests_stays(line: str) -> None:
    """Such logs are dense with keywords. They must not be taken for text that was built to be slow."""
    log = "".join(line.replace("{n}", str(n)) for n in range(600))

    assert Redactor(text_cap=1 << 30).text(log).text == log
