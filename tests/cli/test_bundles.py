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

    results = run("import-bundle", bundle, "--passphrase-file", str(secret))
    assert results.code == 0
    assert "4 events were already here" in results.out


def test_the_way_to_go_on_that_is_reported_can_be_gone(run: Run, session: str, tmp_path: Path) -> None:
    bundle = str(tmp_path / "tidy.bundle")
    for move in ((), ("pause",), ("close",)):  # still at work, put aside, done with
        for one in move:
            assert run(one, session).code == 0
        assert run("export", session, bundle, "--force").code == 0
        results = run("import-bundle", bundle).out
        (line,) = [line for line in results.splitlines() if line.startswith("Continue it: fazm-memory ")]
        assert run(*line.removeprefix("Continue it: fazm-memory ").split()).code == 0
    again = run("resume", session)  # it is at work already
    assert again.code == 0
    assert "Nothing was changed." in again.out


def test_one_is_reported_as_one(run: Run, tmp_path: Path) -> None:
    run("open", "--key", "alone", "--workspace", str(tmp_path))
    bundle = str(tmp_path / "alone.bundle")
    assert "1 event of 1 session" in run("export", "alone", bundle).out
    assert "1 event was already here" in run("import-bundle", bundle).out


def test_other_formats_are_written_and_have_no_passphrase(run: Run, session: str, tmp_path: Path) -> None:
    for name in ("markdown", "atif", "otel"):
        written = run("export", session, str(tmp_path / name), "--format", name)
        assert written.code == 0
        assert "The file is not encrypted" in written.out
    assert (tmp_path / "markdown").read_text().startswith("# ")
    refused = run("export", session, str(tmp_path / "x"), "--format", "atif", "--with-secrets")
    assert refused.code == 2
    assert "has no encryption and no contents of files" in refused.err
    assert not (tmp_path / "x").exists()


def test_files_that_are_not_exported_are_named_with_the_reason(run: Run, tmp_path: Path) -> None:
    call = {"type": "action", "session": "s", "tool": "Write", "files": ["/w/a.txt"]}
    run("record", stdin=[{"type": "session.open", "session": "s", "agent": "fazm", "workspace": "/w"}, call])
    bundle = str(tmp_path / "s.bundle")
    assert "because no version is stored: /w/a.txt" in run("export", "s", bundle).out
    assert "because of --no-files: /w/a.txt" in run("export", "s", bundle, "--no-files", "--force").out
