"""`export` and `import-bundle`, as a person meets them."""

from __future__ import annotations

from pathlib import Path

from .conftest import Run


def test_a_sealed_bundle_names_the_options_that_open_it(run: Run, session: str, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("correct horse\n")
    bundle = str(tmp_path / "tidy.bundle")
    assert run("export", session, bundle, "--passphrase-file", str(secret)).code == 0

    refused = run("import-bundle", bundle)
    assert refused.code == 19
    assert "--passphrase asks for it at the terminal, --passphrase-file FILE reads it" in refused.err
    options = run("import-bundle", "--help").out
    assert "--passphrase " in options
    assert "--passphrase-file FILE" in options

    told = run("import-bundle", bundle, "--passphrase-file", str(secret))
    assert told.code == 0
    assert "4 events were here already" in told.out


def test_one_is_told_as_one(run: Run, tmp_path: Path) -> None:
    run("open", "--key", "alone", "--workspace", str(tmp_path))
    bundle = str(tmp_path / "alone.bundle")
    assert "1 event of 1 session" in run("export", "alone", bundle).out
    assert "1 event was here already" in run("import-bundle", bundle).out
