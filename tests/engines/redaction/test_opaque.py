"""Random values near the word for a secret, in many languages, and what looks like them but stays.

The class: a value that only its disorder and the words before it give away. Looked for as well: other
alphabets (hex, base64, lower case, with dashes and underscores), names of services without a word for
a secret, names on the line above, and ids, digests, paths and placeholders in the same places.
"""

from __future__ import annotations

import pytest

from fazm_memory.engines.redaction import default_redactor
from fazm_memory.engines.redaction.classify import disorder
from fazm_memory.engines.redaction.rules import expand

VALUES = {
    "base62": "{alnum:32}",
    "lower": "{lower:32}",
    "hex": "{hex:32}{hex:8}",
    "underscores": "{alnum:9}_{alnum:11}_{lower:8}",
    "dashes": "{lower:8}-{lower:9}-{lower:10}",
}
FORMS = (
    'var acmeToken string = "%s"',
    "acmeToken := `%s`",
    "ACME_TOKEN ::= %s",
    "$acme_secret .= '%s';",
    "'acme_api_key' => '%s',",
    'acme_api_key ||= "%s"',
    'acme_token <- "%s"',
    'Dim acmeSecret As String = "%s"',
    'NSString *acmeToken = @"%s";',
    'let acmeToken: String = "%s"',
    '$cfg{acme_token} = "%s";',
    "acme_secret = [[%s]]",
    'config.setAcmeToken("%s")',
    "<acmeToken>\n    %s\n</acmeToken>",
    '<add key="acmeSecret" value="%s" />',
    "- name: ACME_TOKEN\n  value: %s",
    '{\\"acmeToken\\": \\"%s\\"}',
    "mvn verify -Dacme.token=%s",
    "New-AcmeSession -Token %s",
    "https://api.example.com/v1?access_token=%s&page=1",
    "# acme token - %s",
)


def redact(text: str) -> str:
    return default_redactor().text(text).text


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("alphabet", VALUES)
def test_a_random_value_is_found_however_it_is_assigned(form: str, alphabet: str) -> None:
    value = expand(VALUES[alphabet])

    assert value not in redact(form % value)


@pytest.mark.parametrize(
    "text",
    [
        "adafruit %s",
        "datadog.authenticate('%s')",
        "[mailgun]\n%s",
        "| algolia | %s |",
    ],
)
def test_a_random_value_beside_the_name_of_a_service_is_found(text: str) -> None:
    value = expand("{alnum:32}")

    assert value not in redact(text % value)


@pytest.mark.parametrize(
    "text",
    [
        expand("AKIA{upper:16},") + "%s",
        "User,Access key ID,Secret access key\nbob," + expand("AKIA{upper:16}") + ",%s",
        "Unseal Key 1: %s",
        "Unseal Key 3 (will be hidden): %s",
        "vault login %s",
        "AZURE_DEVOPS_EXT_PAT=%s",
    ],
)
def test_a_random_value_beside_another_credential_is_found(text: str) -> None:
    value = expand("{alnum:40}")

    assert value not in redact(text % value)


@pytest.mark.parametrize(
    "text",
    [
        "commit {hex:40}",
        "token_id: {uuid}",
        "key: node_modules/.cache/{hex:16}.json",
        "HEROKU_SLUG_COMMIT={hex:40}",
        "SENTRY_RELEASE={hex:40}",
        "public_key = {alnum:43}",
        "cache_key: {hex:32}",
        "-----BEGIN PUBLIC KEY-----\n{alnum:64}\n-----END PUBLIC KEY-----",
        "https://www.figma.com/file/{alnum:22}/Design",
        "spotify:track:{alnum:22}",
        "api_key = YOUR_API_KEY_HERE_1234",
        "token = xxxxxxxx1234xxxxxxxx",
        "token: test_the_reader_with_12_files_and_3_folders",
        "discord checksum sha256:{hex:32}{hex:32}",
        'token = getToken("{hex:8}")',
    ],
)
def test_an_id_a_digest_or_a_placeholder_stays(text: str) -> None:
    text = expand(text)

    assert redact(text) == text


@pytest.mark.parametrize("alphabet", VALUES)
def test_a_random_value_is_disordered(alphabet: str) -> None:
    assert disorder(expand(VALUES[alphabet])) > 1


@pytest.mark.parametrize(
    "name",
    ["internationalization", "test_case_12_of_reader", "getElementById", "MAX_UPLOAD_SIZE_MB", "2026-11-14"],
)
def test_a_name_is_not_disordered(name: str) -> None:
    assert disorder(name) < 0.5


@pytest.mark.parametrize(
    "text",
    [
        "password: Vk9_mQ2xT7pLz4Rb",
        "password = 'Kw3fx bQ81m'",
        'Connect-Thing -User bob -Password "ixlQGWNLJq"',
        '<property name="hibernate.connection.password">RMqQxikQDMrXJC</property>',
        "rar a -hpQlokCf9PL6t5 a.rar",
        "recovery code: c3j96-qbiz4",
    ],
)
def test_a_password_in_a_less_common_form_is_found(text: str) -> None:
    assert "[REDACTED:" in redact(text)


@pytest.mark.parametrize(
    "text",
    [
        'password = "changeme"',
        'password="test"',
        'password = "password123"',
        "password: !vault |",
        "-Password $cred.Password",
        "-Password (Read-Host -AsSecureString)",
        "--- PASS: TestExtractPrompts/empty_data (0.00s)",
        "PASS: tests/reader/test_lines.py::test_two_lines",
        "AKIAIOSFODNN7EXAMPLE",
        "AIzaSyXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXX",
        "ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
    ],
)
def test_a_stand_in_for_a_secret_stays(text: str) -> None:
    assert redact(text) == text
