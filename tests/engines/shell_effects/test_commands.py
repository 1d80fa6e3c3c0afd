"""Effects of single commands and scripts."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from fazm_memory.engines.shell_effects import FileEffect, file_effects

CWD = "/w"
FILES = [
    "a.txt",
    "b.txt",
    "it's.txt",
    "IMG 1.JPG",
    "img2.JPG",
    "old.gz",
    "docs/guide.md",
    "docs/api/ref.md",
    "empty/",
]


def listing_of(*names: str) -> Callable[[str], Sequence[str]]:
    """A listing of the folder /w with these files; names that end in a slash are empty folders."""
    folders: dict[str, set[str]] = {CWD: set()}
    for name in names:
        above = CWD
        *parents, last = name.rstrip("/").split("/")
        for parent in parents:
            folders[above].add(parent + "/")
            above += "/" + parent
            folders.setdefault(above, set())
        folders[above].add(last + "/" * name.endswith("/"))
        if name.endswith("/"):
            folders.setdefault(f"{above}/{last}", set())

    def entries(folder: str) -> Sequence[str]:
        above, _, name = folder.rpartition("/")
        if folder not in folders and name in folders.get(above, ()):
            raise NotADirectoryError(folder)
        if folder not in folders and folder.startswith(CWD):
            raise FileNotFoundError(folder)
        return sorted(folders[folder])

    return entries


LISTING = listing_of(*FILES)


def short(path: str) -> str:
    return path.removeprefix(CWD + "/")


def line(effect: FileEffect) -> str:
    """An effect in one line, with a question mark when it is only inferred."""
    origin = f" from {short(effect.origin)}" if effect.origin else ""
    return f"{effect.change} {short(effect.path)}{origin}{'?' if effect.inferred else ''}"


def effects_of(
    command: str | Sequence[str], *, output: str = "", ok: bool = True, listed: bool = True
) -> list[str]:
    listing = LISTING if listed else None
    effects = file_effects(command, cwd=CWD, output=output, ok=ok, home="/home/u", listing=listing)
    assert all(effect.inferred == bool(effect.why) for effect in effects)
    return [line(effect) for effect in effects]


def changes(command: str, *, output: str = "", ok: bool = True, listed: bool = True) -> list[str]:
    found = effects_of(command, output=output, ok=ok, listed=listed)
    return [effect for effect in found if not effect.startswith("read ")]


def reasons(command: str, *, output: str = "", ok: bool = True, listed: bool = False) -> list[str]:
    listing = LISTING if listed else None
    return [effect.why for effect in file_effects(command, cwd=CWD, output=output, ok=ok, listing=listing)]


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("mv a.txt c.txt", ["renamed c.txt from a.txt"]),
        ("mv a.txt docs", ["renamed docs/a.txt from a.txt"]),
        ("mv a.txt docs/", ["renamed docs/a.txt from a.txt"]),
        ("mv a.txt b.txt docs", ["renamed docs/a.txt from a.txt", "renamed docs/b.txt from b.txt"]),
        ("mv -t docs a.txt b.txt", ["renamed docs/a.txt from a.txt", "renamed docs/b.txt from b.txt"]),
        ("mkdir new && mv a.txt new", ["created new", "renamed new/a.txt from a.txt"]),
        ("mv -T docs manual", ["renamed manual from docs"]),
        ("mv -n a.txt b.txt", []),
        ("mv a.txt .", []),
        ("mv docs docs/api", []),
        ("mv ../w/a.txt ./docs/../c.txt", ["renamed c.txt from a.txt"]),
        ("mv ~/x.pdf /tmp/x.pdf", ["renamed /tmp/x.pdf from /home/u/x.pdf"]),
        ("mv *.JPG docs/", ["renamed docs/IMG 1.JPG from IMG 1.JPG", "renamed docs/img2.JPG from img2.JPG"]),
    ],
)
def test_a_move_renames_to_the_target_or_into_it_when_it_is_a_folder(
    command: str, expected: list[str]
) -> None:
    assert expected == effects_of(command)


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("cp a.txt c.txt", ["read a.txt", "created c.txt"]),
        ("cp a.txt b.txt", ["read a.txt", "modified b.txt"]),
        ("cp -r docs d2", ["read docs", "created d2"]),
        ("cp -r docs empty", ["read docs", "created empty/docs"]),
        ("cp -a docs/. empty/", ["read docs", "created empty/api", "created empty/guide.md"]),
        ("cp docs x", []),
        ("cp -n a.txt b.txt", ["read a.txt"]),
        ("cp a.txt{,.bak}", ["read a.txt", "created a.txt.bak"]),
        (
            "install -D a.txt lib/x/a.txt",
            ["read a.txt", "created lib", "created lib/x", "created lib/x/a.txt"],
        ),
        ("ln -s a.txt link", ["created link"]),
        ("ln -s a.txt b.txt", []),
        ("ln -sf a.txt b.txt", ["modified b.txt"]),
        ("ditto docs d2", ["read docs", "created d2"]),
    ],
)
def test_a_copy_reads_its_source_and_writes_its_target(command: str, expected: list[str]) -> None:
    assert expected == effects_of(command)


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("rm a.txt", ["deleted a.txt"]),
        ("rm -rf docs nope", ["deleted docs"]),
        ("rm docs", []),
        ("rm -f nope", []),
        ("rmdir empty docs", ["deleted empty"]),
        ("unlink a.txt", ["deleted a.txt"]),
        ("trash a.txt", ["deleted a.txt"]),
        ("mkdir empty", []),
        ("mkdir -p docs/x/y empty", ["created docs/x", "created docs/x/y"]),
        ("mkdir no/such; true", []),
        ("touch a.txt new", ["modified a.txt?", "created new"]),
        ("truncate -s 0 a.txt new", ["modified a.txt", "created new"]),
        ("chown me b.txt", []),
        ("chmod 600 a.txt; chmod -w b.txt", ["modified a.txt?", "modified b.txt?"]),
        ("chmod -R u+w docs; chmod +x nope; true", []),
        ("chmod --reference=a.txt b.txt", ["modified b.txt?"]),
    ],
)
def test_files_and_folders_are_created_and_removed(command: str, expected: list[str]) -> None:
    assert expected == effects_of(command)


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("echo x > a.txt", ["modified a.txt"]),
        ("echo x > new", ["created new"]),
        ("echo x >> new; echo y >> new", ["created new", "modified new"]),
        ("echo x >| a.txt 2> err", ["modified a.txt", "created err"]),
        ("make &> all.log", ["created all.log"]),
        ("cat < a.txt > c", ["read a.txt", "created c"]),
        ("ls > /dev/null 2>&1", []),
        ("echo x > docs", []),
        ("echo x > no/such", []),
        ("echo x | tee -a a.txt n1 > /dev/null", ["modified a.txt", "created n1"]),
        ("{ echo 1; echo 2; } > grouped", ["created grouped"]),
        ("cat > f.py <<'EOF'\nrm -rf docs\nEOF", ["created f.py"]),
        ("sort a.txt -o sorted", ["read a.txt", "created sorted"]),
    ],
)
def test_redirections_write_and_read_files(command: str, expected: list[str]) -> None:
    assert expected == effects_of(command)


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("sed -i 's/a/b/' a.txt b.txt", ["modified a.txt", "modified b.txt"]),
        ("sed -i '' 's/a/b/' a.txt", ["modified a.txt"]),
        ("sed -i.bak 's/a/b/' a.txt", ["created a.txt.bak", "modified a.txt"]),
        ("sed -i .bak 's/a/b/' a.txt", ["created a.txt.bak", "modified a.txt"]),
        ("sed -Ei -e 's/a/b/' a.txt", ["modified a.txt"]),
        ("sed 's/a/b/' a.txt", ["read a.txt"]),
        ("perl -pi -e 's/a/b/' a.txt", ["modified a.txt"]),
        ("perl -i.orig -pe 's/a/b/' a.txt", ["created a.txt.orig", "modified a.txt"]),
    ],
)
def test_editing_in_place_modifies(command: str, expected: list[str]) -> None:
    assert expected == effects_of(command)


def test_the_patch_format_of_coding_agents_names_its_files() -> None:
    patch = (
        "*** Begin Patch\n*** Add File: new.py\n+x = 1\n*** Update File: a.txt\n*** Move to: moved.txt\n"
        "@@\n-a\n+b\n*** Delete File: b.txt\n*** End Patch"
    )
    expected = ["created new.py", "modified a.txt", "renamed moved.txt from a.txt", "deleted b.txt"]
    assert expected == effects_of(["apply_patch", patch])
    assert expected == effects_of(f"apply_patch <<'EOF'\n{patch}\nEOF")


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("git mv a.txt c.txt", ["renamed c.txt from a.txt"]),
        ("git rm a.txt", ["deleted a.txt"]),
        ("git rm --cached a.txt", []),
        (
            "git -C docs mv guide.md g.md && rm a.txt",
            ["renamed docs/g.md from docs/guide.md", "deleted a.txt"],
        ),
        ("git checkout -- a.txt", ["modified a.txt?"]),
        ("git restore a.txt", ["modified a.txt?"]),
        ("git restore --staged a.txt", []),
        ("git clone https://example.org/some/repo.git", ["created repo?"]),
        ("git clone https://example.org/some/repo.git here", ["created here"]),
    ],
)
def test_git_commands_that_name_files_are_followed(command: str, expected: list[str]) -> None:
    assert expected == effects_of(command)


@pytest.mark.parametrize(
    ("command", "output", "expected"),
    [
        ("tar czf out.tgz docs", "", ["created out.tgz"]),
        (
            "tar xvf old.tar",
            "x one.txt\nx sub/\nx sub/two.txt\n",
            ["created one.txt", "created sub", "created sub/two.txt"],
        ),
        ("tar xzvf old.tgz -C docs", "new.md\n", ["created docs/new.md?"]),
        ("tar xzf old.tgz", "", []),
        ("tar xzvf old.tgz && echo done", "new.md\ndone\n", []),
        ("tar xzvf old.tgz; ls", "n/\nn/x.md\na.txt\n", ["created n?", "created n/x.md?"]),
        (
            "unzip z.zip -d out",
            "  inflating: out/x.txt\n   creating: out/d/\n",
            ["created out", "created out/x.txt", "created out/d"],
        ),
        ("zip -r z.zip docs", "  adding: docs/ (stored 0%)\n", ["created z.zip"]),
        ("gzip a.txt", "", ["created a.txt.gz", "deleted a.txt"]),
        ("gunzip old.gz", "", ["created old", "deleted old.gz"]),
        ("gzip -k a.txt", "", ["created a.txt.gz"]),
        ("curl -sL https://example.org/x -o x.bin", "", ["created x.bin"]),
        ("curl -O https://example.org/x.bin", "", ["created x.bin?"]),
        ("wget https://example.org/y.bin", "Saving to: ‘y.bin’\n", ["created y.bin"]),
        ("rename 's/a/b/' a.txt; rsync -a docs/ b; patch -p1 < b.txt", "patching file a.txt\n", []),
    ],
)
def test_archives_and_downloads(command: str, output: str, expected: list[str]) -> None:
    assert expected == changes(command, output=output)


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("cat a.txt b.txt", ["a.txt", "b.txt"]),
        ("head -n 5 a.txt; tail -f b.txt", ["a.txt", "b.txt"]),
        ("grep -n -e x a.txt; grep x b.txt", ["a.txt", "b.txt"]),
        ("awk -F, '{print $1}' a.txt", ["a.txt"]),
        (
            "diff a.txt b.txt; md5sum a.txt; wc -l b.txt; less docs/guide.md",
            ["a.txt", "b.txt", "a.txt", "b.txt", "docs/guide.md"],
        ),
        ("jq -r --arg k v .x a.txt | sort -r", ["a.txt"]),
        ("sort -r a.txt; grep --include '*.c' -r x docs", ["a.txt"]),
        ("cat nope docs; true", []),
        ("bash docs/guide.md; python3 a.txt; source b.txt", ["docs/guide.md", "a.txt", "b.txt"]),
        ("echo a.txt; ls b.txt; test -f a.txt", []),
    ],
)
def test_commands_that_only_read_are_reported_as_reading(command: str, expected: list[str]) -> None:
    assert [f"read {name}" for name in expected] == effects_of(command)


@pytest.mark.parametrize(
    "command",
    [
        ["bash", "-lc", "mv a.txt c.txt"],
        ["mv", "a.txt", "c.txt"],
        ["zsh", "-c", "mv a.txt c.txt"],
        "bash -c 'mv a.txt c.txt'",
        'bash -euo pipefail -c \'mv "$1" "$2"\' _ a.txt c.txt',
        "sudo -u me mv a.txt c.txt",
        "env -i X=1 mv a.txt c.txt",
        "nice -n 10 nohup time mv a.txt c.txt",
        "command mv a.txt c.txt",
        "timeout -k 1 5 /bin/mv a.txt c.txt",
        "eval 'mv a.txt' c.txt",
        "bash <<'EOF'\nmv a.txt c.txt\nEOF",
        "printf 'a.txt' | xargs -I{} mv {} c.txt",
        "printf '#!/bin/sh\\nmv a.txt c.txt\\n' | sh",
    ],
)
def test_commands_in_wrappers_and_nested_shells_are_followed(command: str | Sequence[str]) -> None:
    assert effects_of(command) == ["renamed c.txt from a.txt"]


def test_cd_is_followed_and_a_subshell_has_its_own_folder() -> None:
    assert effects_of("(cd docs && rm guide.md); rm a.txt") == ["deleted docs/guide.md", "deleted a.txt"]
    assert effects_of("pushd docs; rm guide.md; popd; rm a.txt") == ["deleted docs/guide.md", "deleted a.txt"]
    assert effects_of("cd docs/api; rm ref.md; cd -; cd docs; rm guide.md") == [
        "deleted docs/api/ref.md",
        "deleted docs/guide.md",
    ]
    assert effects_of("cd docs && touch x | cat") == ["created docs/x"]
    assert effects_of('cd "$SOMEWHERE" && rm a.txt') == []
    assert effects_of("cd nowhere; rm a.txt") == ["deleted a.txt"]
    assert effects_of("cd nowhere && rm a.txt", ok=False) == []


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ('for f in a.txt b.txt; do mv "$f" "${f%.txt}.md"; done', ["a.md from a.txt", "b.md from b.txt"]),
        ('for f in *.JPG; do mv "$f" "${f// /_}"; done', ["IMG_1.JPG from IMG 1.JPG"]),
        (
            'for f in *.JPG; do mv "$f" "$(echo "$f" | tr A-Z a-z)"; done',
            ["img 1.jpg from IMG 1.JPG", "img2.jpg from img2.JPG"],
        ),
        (
            'i=7; for f in a.txt b.txt; do printf -v n "%03d" $i; mv "$f" "$n.txt"; ((i++)); done',
            ["007.txt from a.txt", "008.txt from b.txt"],
        ),
        (
            'while IFS=, read -r x y; do mv "$x" "$y"; done <<EOF\na.txt,1\nb.txt,2\nEOF',
            ["1 from a.txt", "2 from b.txt"],
        ),
        ('set -- a.txt b.txt; for f; do mv "$f" "x-$f"; done', ["x-a.txt from a.txt", "x-b.txt from b.txt"]),
        ('up() { mv "$1" "${1^^}"; }; up a.txt; up b.txt', ["A.TXT from a.txt", "B.TXT from b.txt"]),
        ('for f in a.txt b.txt; do [ "$f" = a.txt ] && continue; mv "$f" c; done', ["c from b.txt"]),
    ],
)
def test_simple_loops_are_followed(command: str, expected: list[str]) -> None:
    assert [f"renamed {effect}" for effect in expected] == effects_of(command)


def test_a_counter_over_names_whose_order_depends_on_the_locale_is_inferred() -> None:
    counted = 'i=0; for f in *; do i=$((i+1)); [ -f "$f" ] && mv "$f" "n$i"; done; true'
    assert all(effect.endswith("?") for effect in effects_of(counted))
    assert effects_of(counted)


def test_conditions_are_decided_with_a_listing_and_inferred_without() -> None:
    script = "if [ -f a.txt ]; then rm a.txt; else touch a.txt; fi"
    assert effects_of(script) == ["deleted a.txt"]
    assert effects_of(script, listed=False) == ["deleted a.txt?", "created a.txt?"]
    assert "inside a conditional" in reasons(script)[0]
    assert effects_of("[[ -d docs && ! -e x ]] && mv b.txt x") == ["renamed x from b.txt"]
    assert effects_of("case a.md in *.txt) rm a.txt;; *.m?) rm b.txt;; esac") == ["deleted b.txt"]
    assert effects_of("grep -q x a.txt && rm a.txt; true") == ["read a.txt", "deleted a.txt?"]
    assert effects_of("grep -q x a.txt && rm a.txt") == ["read a.txt", "deleted a.txt"]
    assert effects_of("rm a.txt & wait") == ["deleted a.txt?"]
    assert effects_of("false && rm a.txt; true || rm b.txt") == []


def test_a_branch_that_ends_in_failure_was_not_taken_by_a_successful_script() -> None:
    assert effects_of("unheard_of || exit 1; rm a.txt") == ["deleted a.txt"]
    assert effects_of("unheard_of || exit 0; rm a.txt") == ["deleted a.txt?"]
    assert effects_of("set -e\nunheard_of\nrm a.txt\nrm b.txt") == ["deleted a.txt", "deleted b.txt"]


def test_a_possible_break_affects_the_loop_and_a_possible_continue_the_round() -> None:
    assert effects_of("for f in a.txt b.txt; do unheard_of || break; rm $f; done; rm img2.JPG") == [
        "deleted a.txt?",
        "deleted b.txt?",
        "deleted img2.JPG",
    ]
    assert effects_of("for f in a.txt b.txt; do unheard_of || continue; rm $f; done; rm img2.JPG") == [
        "deleted a.txt?",
        "deleted b.txt?",
        "deleted img2.JPG",
    ]


def test_a_loop_that_waits_for_another_program_ends() -> None:
    assert effects_of("until [ -f ready ]; do sleep 1; done; mv ready done") == ["renamed done from ready?"]
    endless = effects_of("while true; do date >> log; sleep 5; done")
    assert endless[:2] == ["created log", "modified log"]
    assert len(endless) < 5


def test_effects_of_find_and_xargs_from_a_listing_are_inferred() -> None:
    assert sorted(effects_of("find . -name '*.md' -delete")) == [
        "deleted docs/api/ref.md?",
        "deleted docs/guide.md?",
    ]
    assert effects_of("find . -maxdepth 1 -name '[ab].txt' -exec mv {} {}.old \\;") == [
        "renamed a.txt.old from a.txt?",
        "renamed b.txt.old from b.txt?",
    ]
    assert effects_of("find docs -path '*api*' -type f -print0 | xargs -0 rm") == ["deleted docs/api/ref.md?"]
    assert effects_of("find . -mtime +30 -delete") == []
    assert effects_of("echo a.txt b.txt | xargs -n1 rm") == ["deleted a.txt", "deleted b.txt"]


def test_after_an_unknown_program_the_listing_is_uncertain() -> None:
    assert effects_of("echo > gen.txt") == ["created gen.txt"]
    assert effects_of("python3 build.py; echo > gen.txt", output="x")[-1:] == ["created gen.txt?"]
    assert effects_of("python3 - <<'EOF'\nimport os\nos.remove('a.txt')\nEOF") == []
    assert effects_of("ssh host 'rm -rf /data'; docker run x rm a.txt") == []


def test_a_script_file_that_the_script_wrote_is_followed() -> None:
    expected = ["created s.sh", "read s.sh", "renamed c.txt from a.txt"]
    assert expected == effects_of("cat > s.sh <<'EOF'\nmv a.txt c.txt\nEOF\nbash s.sh")


def test_a_trap_runs_at_the_end() -> None:
    assert effects_of("trap 'rm -f lock' EXIT; touch lock; rm a.txt") == [
        "created lock",
        "deleted a.txt",
        "deleted lock",
    ]


def test_unknown_names_are_never_reported() -> None:
    for command in (
        "rm *.log",
        'rm "$NAME"',
        "mv *.a *.b x/",
        "touch $(date +%F).txt",
        "cp $X/y ~nobody/z",
        "echo > $OUT",
    ):
        for effect in file_effects(command, cwd=CWD):
            assert not set("*?$`") & set(effect.path), command
    assert effects_of("rm *.log; cp [xyz]* docs", listed=False) == []


def test_a_file_moved_to_an_unknown_name_is_deleted() -> None:
    assert effects_of('mv a.txt "$(date +%F).txt"') == ["deleted a.txt?"]
    assert reasons('mv a.txt "$(date +%F).txt"') == ["moved to a name that is not known"]


def test_a_file_moved_from_an_unknown_name_is_reported_at_its_target() -> None:
    script = 'tmp=$(mktemp); sort a.txt > "$tmp"; mv "$tmp" b.txt'
    assert effects_of(script) == ["read a.txt", "modified b.txt?"]
    assert reasons('cp "$X" new.txt') == ["it came from a name that is not known"]
    assert effects_of('mv "$X" docs; cp "$X" place/; mv *.y z.txt', listed=False) == []


def test_without_a_listing_effects_that_need_it_are_inferred_with_a_reason() -> None:
    assert reasons("mv report archive") == ["the target may be a folder"]
    assert reasons("echo x > new") == ["overwrites if it existed"]
    assert reasons("rm -rf build") == ["only if it existed"]
    assert reasons("mkdir -p build") == ["only if it did not exist"]
    assert reasons("cp a.txt b.txt") == ["", "overwrites if it existed"]
    assert reasons("rm x 2>/dev/null; true") == ["its errors are not shown"]
    assert reasons("rm x") == [""]
    assert reasons("mv draft.txt final.txt") == [""]


def test_a_listing_may_be_a_plain_mapping_of_folders() -> None:
    tree = {"/w": ["a.txt", "docs"], "/w/docs": ["x"]}
    lenient = file_effects("mv a.txt docs; touch new", cwd="/w", listing=lambda path: tree.get(path, ()))
    strict = file_effects("mv a.txt docs; touch new", cwd="/w", listing=tree.__getitem__)
    assert [FileEffect("/w/docs/a.txt", "renamed", "/w/a.txt"), FileEffect("/w/new", "created")] == list(
        lenient
    )
    assert lenient == strict


def test_quoting_spaces_unicode_and_newlines_are_kept() -> None:
    assert effects_of("mv it\\'s.txt 'it is.txt'") == ["renamed it is.txt from it's.txt"]
    assert effects_of("mkdir -p ünï; touch ünï/日本") == ["created ünï", "created ünï/日本"]
    assert effects_of("touch 'two\nlines'") == ["created two\nlines"]
    assert effects_of(r"touch $'\x41\t\u00e9'") == ["created A\té"]
    assert effects_of("touch 'star*'") == ["created star*"]


def test_relative_names_are_unknown_in_a_relative_working_folder() -> None:
    assert file_effects("rm a.txt", cwd="somewhere") == ()
    assert [FileEffect("/x", "deleted")] == list(file_effects("rm /x", cwd=""))


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("n=w; n[0]=x; n+=(z); touch $n ${n[@]} ${n[1]}${n[-1]}; touch after", ["after"]),
        ("m=a; m=(b c); declare -A m; touch $m ${m[k]}; touch after", ["after"]),
        ("x=a; x+=b; touch $x; unset x; touch c${x}d", ["ab", "cd"]),
        ("let n=2*3; touch n$n; readonly R=r; touch $R; export E=e; touch $E", ["n6", "r", "e"]),
        ("f() { local x=in; touch $x; }; x=out; f; touch $x", ["in", "out"]),
        ("p=x/y.tar; touch ${p##*/} ${#p}", ["y.tar", "7"]),
        ("l=x; mapfile -t l < <(printf '1\\n2\\n'); touch $l ${l[@]}; touch after", ["after"]),
        ("read -r a b <<< 'one two three'; touch $a \"$b\"", ["one", "two three"]),
        ("touch $(realpath q); touch $PWD/p", ["q", "p"]),
        ('set -- x y z; shift; touch $1 $#; set -f; touch "$*"', ["y", "2", "y z"]),
        ("X=1 touch t$X; Y=2; Y=3 true; touch u$Y", ["u2"]),
        ("if [ 3 -gt 2 -a a != b ] && [ -n x ] && ! [ -z x ]; then touch yes; else touch no; fi", ["yes"]),
        ("[[ abc == a* && ( x < y || 1 -eq 1 ) ]] && touch glob; true", ["glob"]),
        (
            "for ((i=0; i<2; i++)); do touch c$i; done; i=5; while ((i > 4)); do touch w$((i--)); done",
            ["c0", "c1", "w5"],
        ),
        ("x=5; touch $((x * 2)) $((x % 3)) $((x < 1)) $((x == 5 && 2 < 1))", ["10", "2", "0"]),
        ("for a in 1 2; do for b in 1 2; do [ $b = 2 ] && continue 2; touch $a$b; done; done", ["11", "21"]),
        ("for a in 1 2; do for b in 1 2; do touch $a$b; break 2; done; done", ["11"]),
    ],
)
def test_variables_and_conditions_lead_to_the_right_names(script: str, expected: list[str]) -> None:
    created = [
        effect.removeprefix("created ").removesuffix("?")
        for effect in changes(script)
        if effect.startswith("created")
    ]
    assert expected == created


@pytest.mark.parametrize(
    "change",
    ["((i = i > 3 ? 1 : 2))", "((i <<= 1))", "((j = 0x1f, i++))", "let 'i = i ** 2'", "((++i, j | 1))"],
)
def test_a_variable_assigned_by_unsupported_arithmetic_is_unknown(change: str) -> None:
    assert changes(f"i=5; {change}; touch f$i; true") == []


def test_the_status_of_a_script_with_set_e_does_not_prove_what_stands_before_an_and() -> None:
    assert effects_of("set -e; unheard_of && rm a.txt; rm b.txt") == ["deleted a.txt?", "deleted b.txt"]
    assert effects_of("set -e; if unheard_of; then rm a.txt; fi; rm b.txt") == [
        "deleted a.txt?",
        "deleted b.txt",
    ]


def test_many_undecided_branches_are_each_inferred() -> None:
    arms = " ".join(f"a{number}) rm x{number};;" for number in range(60))
    assert effects_of(f"case $UNKNOWN in {arms} esac", listed=False) == [
        f"deleted x{number}?" for number in range(60)
    ]
    branches = " ".join(f"elif unheard_of{number}; then rm x{number};" for number in range(60))
    assert len(effects_of(f"if unheard_of; then rm x; {branches} fi", listed=False)) == 61


def test_a_command_in_a_loop_does_not_consume_the_input_of_the_loop() -> None:
    script = "while read -r f; do head -1 $f > $f.head; done <<'EOF'\na.txt\nb.txt\nEOF"
    assert changes(script) == ["created a.txt.head", "created b.txt.head"]
