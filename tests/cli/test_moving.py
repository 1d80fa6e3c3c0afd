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


def test_the_way_to_go_on_that_is_told_can_be_gone(run: Run, session: str, tmp_path: Path) -> None:
    bundle = str(tmp_path / "tidy.bundle")
    for move in ((), ("pause",), ("close",)):  # still at work, put aside, done with
        for one in move:
            assert run(one, session).code == 0
        assert run("export", session, bundle, "--force").code == 0
        told = run("import-bundle", bundle).out
        (line,) = [line for line in told.splitlines() if line.startswith("go on with it: fazm-memory ")]
        assert run(*line.removeprefix("go on with it: fazm-memory ").split()).code == 0
    refused = run("resume", session)
    assert refused.code == 7
    assert f"`fazm-memory resume {session[:8]} --offer` shows how to go on" in refused.err


def test_one_is_told_as_one(run: Run, tmp_path: Path) -> None:
    run("open", "--key", "alone", "--workspace", str(tmp_path))
    bundle = str(tmp_path / "alone.bundle")
    assert "1 event of 1 session" in run("export", "alone", bundle).out
    assert "1 event was here already" in run("import-bundle", bundle).out
