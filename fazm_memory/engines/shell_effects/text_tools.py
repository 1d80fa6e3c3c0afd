"""Text tools: what they print, and edits by sed, perl and apply_patch.

A printing tool takes its arguments and its input and returns what it prints, or None for options that are not
followed. This resolves names that are built in `$(…)` and in pipes. Archives and downloads (tar, zip, gzip,
curl) are here too: what they unpack is known from their arguments and their output.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable

from fazm_memory.engines.shell_effects.file_commands import (
    IF_ABSENT,
    Change,
    CommandCall,
    Status,
    options,
    worst_status,
)
from fazm_memory.engines.shell_effects.parser import ansi_text
from fazm_memory.engines.shell_effects.patterns import Match, compiled, is_text, posix_source, substituted
from fazm_memory.engines.shell_effects.state import FileKind, Value, known

TextTool = Callable[[list[str], str], str | None]
_CLASSES = {
    "[:upper:]": "ABCDEFGHIJKLMNOPQRSTUVWXYZ",
    "[:lower:]": "abcdefghijklmnopqrstuvwxyz",
    "[:digit:]": "0123456789",
    "[:space:]": " \t\n\v\f\r",
    "[:blank:]": " \t",
    "[:punct:]": "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~",
}
_CLASSES["[:alpha:]"] = _CLASSES["[:upper:]"] + _CLASSES["[:lower:]"]
_CLASSES["[:alnum:]"] = _CLASSES["[:digit:]"] + _CLASSES["[:alpha:]"]
_FORMAT = re.compile(r"%(?:%|([-0+ #]*)(\d{0,4}|\*)(\.\d{1,4})?([sdiuxXobcqf]))")
_CUT_OPTION = re.compile(r"-([dfc])(.*)", re.DOTALL)
_MOST = 10_000
Edit = Callable[[str], str]
_WIDEST = 1_000
_FLAGS = re.compile(r"[gGiIpe0-9]*")
_CASE_CHANGE = re.compile(r"\\[LUElu]")


def sed_output(args: list[str], text: str) -> str | None:
    """Return what sed prints if its script has only substitutions."""
    extended = any(arg in ("-E", "-r") for arg in args)
    rest = [arg for arg in args if arg not in ("-E", "-r", "-u", "--")]
    scripts = [rest[i + 1] for i, arg in enumerate(rest) if arg == "-e" and i + 1 < len(rest)] or rest[:1]
    expected = 2 * len(scripts) if rest[:1] == ["-e"] else 1
    if len(rest) != expected or any(script.startswith("-") for script in scripts):
        return None
    edit = substitutions("\n".join(scripts), extended=extended)
    if edit is None or not is_text(text):
        return None
    return "".join(edit(line) + "\n" for line in lines_of(text))


def lines_of(text: str) -> list[str]:
    return text.removesuffix("\n").split("\n") if text else []


def character_ranges(text: str) -> str | None:
    """Expand the ranges in a set of characters: `a-e` to `abcde`."""
    out: list[str] = []
    at = 0
    while at < len(text):
        if text[at + 1 : at + 2] == "-" and at + 2 < len(text):
            low, high = ord(text[at]), ord(text[at + 2])
            if high - low > _WIDEST or len(out) > _WIDEST:
                return None
            out += map(chr, range(low, high + 1))
            at += 3
        else:
            out.append(text[at])
            at += 1
    return "".join(out)


def substitutions(script: str, *, extended: bool) -> Edit | None:
    """Compile `s/old/new/flags` of sed to a function of a line.

    None if the script has other commands.
    """
    steps: list[Edit] = []
    at = 0
    while at < len(script):
        if script[at] in " \t\n;":
            at += 1
            continue
        command, delimiter = script[at], script[at + 1 : at + 2]
        if command != "s" or not delimiter or delimiter in "\\\n" or delimiter.isalnum():
            return None
        old, at = _delimited(script, at + 2, delimiter)
        new, at = _delimited(script, at, delimiter)
        flags = _FLAGS.match(script, at)
        at = flags.end() if flags else at
        if old is None or new is None or script[at : at + 1] not in ("", ";", "\n", " ", "\t"):
            return None
        step = _substitution(old, new, flags[0] if flags else "", extended)
        if step is None:
            return None
        steps.append(step)

    def run(line: str) -> str:
        for step in steps:
            line = step(line)
        return line

    return run if steps else None


def _delimited(script: str, at: int, closing: str) -> tuple[str | None, int]:
    out: list[str] = []
    while at < len(script):
        char = script[at]
        if char == closing:
            return "".join(out), at + 1
        if char == "\\" and at + 1 < len(script):
            out.append(script[at + 1] if script[at + 1] == closing else script[at : at + 2])
            at += 2
        else:
            out.append(char)
            at += 1
    return None, at


def _substitution(old: str, new: str, flags: str, extended: bool) -> Edit | None:
    if "e" in flags or _CASE_CHANGE.search(new):
        return None  # the result would be executed, or is changed to upper or lower case
    source = posix_source(old, extended=extended)
    pattern = compiled(source, ignore_case="i" in flags.lower()) if source else None
    if pattern is None:
        return None
    first = int(re.sub(r"\D", "", flags)[:6] or 1)
    count = 0 if "g" in flags else 1
    tokens = re.findall(r"\\.|&|[^\\&]+|.", new, re.DOTALL)

    def fill(match: Match) -> str:
        return "".join(_token(token, match) for token in tokens)

    return lambda line: substituted(pattern, line, fill, count, first)


def _token(token: str, match: Match) -> str:
    if token == "&":
        return match.group(0) or ""
    if len(token) == 2 and token[0] == "\\":
        if token[1].isdigit():
            number = int(token[1])
            return (match.group(number) or "") if number <= len(match.groups()) else ""
        return {"n": "\n", "t": "\t"}.get(token[1], token[1])
    return token


def echo(args: list[str], _: str) -> str | None:
    newline, escapes = "\n", False
    while args and re.fullmatch(r"-[neE]+", args[0]):
        newline = "" if "n" in args[0] else newline
        escapes = "e" in args[0] or (escapes and "E" not in args[0])
        args = args[1:]
    text = " ".join(args)
    if not escapes and re.search(r"\\[abcefnrtv0\\]", text):
        return None  # sh and zsh expand it, bash does not
    return (ansi_text(text) if escapes else text) + newline


def printf(args: list[str], _: str) -> str | None:
    args = args[1:] if args[:1] == ["--"] else args
    if not args or args[0].startswith("-"):
        return None
    form, values = ansi_text(args[0]), args[1:]
    out: list[str] = []
    while len(out) <= _MOST:
        used: list[str] = []
        filled = _fill_format(form, values, used)
        if filled is None:
            return None
        out.append(filled)
        values = values[len(used) :]
        if not values or not used:
            return "".join(out)
    return None


def _fill_format(form: str, values: list[str], used: list[str]) -> str | None:
    def fill(found: re.Match[str]) -> str:
        if found[0] == "%%":
            return "%"
        value = values[len(used)] if len(used) < len(values) else ""
        used.append(value)
        return _formatted(found, value)

    try:
        return _FORMAT.sub(fill, form)
    except ValueError:
        return None


def _formatted(found: re.Match[str], value: str) -> str:
    flags, width, precision, letter = found[1], found[2], found[3] or "", found[4]
    if width == "*" or letter in "qf":
        raise ValueError("not followed")
    if letter in "diuxXo":
        number = ord(value[1]) if value[:1] in "'\"" and len(value) > 1 else _integer(value or "0")
        return f"%{flags}{width}{precision}{'d' if letter in 'iu' else letter}" % number
    text = ansi_text(value) if letter == "b" else value[:1] if letter == "c" else value
    return f"%{flags}{width}{precision}s" % text


def _integer(text: str) -> int:
    text = text.strip()
    sign, digits = (-1, text[1:]) if text.startswith("-") else (1, text.removeprefix("+"))
    octal = len(digits) > 1 and digits.startswith("0") and digits.isdigit()
    return sign * int(digits, 8 if octal else 0)


def basename(args: list[str], _: str) -> str | None:
    suffix = ""
    args = [arg for arg in args if arg != "--"]
    several = bool(args) and args[0] in ("-a", "--multiple")
    if args[:1] == ["-s"] and len(args) > 2:
        several, suffix, args = True, args[1], args[1:]
    names = args[1:] if several else args[:1]
    if not names or (args[0].startswith("-") and not several):
        return None
    if not several and len(args) > 1:
        suffix = args[1]
    bare = [posixpath.basename(name.rstrip("/")) or "/" for name in names]
    return "".join((name.removesuffix(suffix) or name) + "\n" for name in bare)


def dirname(args: list[str], _: str) -> str | None:
    out = []
    for name in args:
        root = "/" if name.startswith("/") else "."
        if name != "--":
            out.append((posixpath.dirname(name.rstrip("/")) or root) + "\n")
    return "".join(out)


def translate(args: list[str], text: str) -> str | None:
    flags = "".join(arg[1:] for arg in args if re.fullmatch(r"-[cdsC]+", arg)).lower()
    words = [arg for arg in args if not re.fullmatch(r"-[cdsC]+", arg)]
    sets = [_character_set(word) for word in words]
    first, second = (sets[0], sets[-1]) if 1 <= len(sets) <= 2 else (None, None)
    if first is None or second is None:
        return None
    if not text.isascii() and (("c" in flags and "d" not in flags) or "[:" in "".join(words)):
        return None  # bytes on Linux, characters on macOS

    def chosen(char: str) -> bool:
        return (char in first) != ("c" in flags)

    def new(char: str) -> str:
        return second[-1] if "c" in flags else second[min(first.rindex(char), len(second) - 1)]

    if "d" in flags:
        text = "".join(char for char in text if not chosen(char))
    elif len(sets) == 2 and second:
        text = "".join(new(char) if chosen(char) else char for char in text)
    if "s" in flags:
        out: list[str] = []
        for char in text:
            squeezed = char in second if len(sets) == 2 else chosen(char)
            if not (squeezed and out and out[-1] == char):
                out.append(char)
        text = "".join(out)
    return text


def _character_set(text: str) -> str | None:
    text = ansi_text(text)
    for name, chars in _CLASSES.items():
        text = text.replace(name, chars if name != "[:punct:]" else chars.replace("-", "") + "-")
    return None if "[:" in text else character_ranges(text)


def cut(args: list[str], text: str) -> str | None:
    delimiter, wanted, mode = "\t", "", ""
    waiting = list(args)
    while waiting:
        found = _CUT_OPTION.fullmatch(waiting.pop(0))
        if found is None:
            return None
        value = found[2] or (waiting.pop(0) if waiting else "")
        if found[1] == "d":
            delimiter = value
        else:
            mode, wanted = found[1], value
    spans = [re.fullmatch(r"(\d{0,6})(-?)(\d{0,6})", part) for part in wanted.split(",")]
    if not wanted or not all(span and span[1] != "0" for span in spans) or len(delimiter) != 1:
        return None
    out = []
    for line in lines_of(text):
        cells = line.split(delimiter) if mode == "f" else list(line)
        if mode == "f" and len(cells) == 1:
            out.append(line)
            continue
        picked: list[str] = []
        for span in spans:
            assert span is not None
            first = int(span[1] or 1)
            last = int(span[3]) if span[3] else len(cells) if span[2] else first
            picked += cells[first - 1 : last]
        out.append((delimiter if mode == "f" else "").join(picked))
    return "".join(line + "\n" for line in out)


def seq(args: list[str], _: str) -> str | None:
    padded = "-w" in args
    numbers = [arg for arg in args if arg != "-w"]
    if not 1 <= len(numbers) <= 3 or not all(re.fullmatch(r"-?\d{1,9}", number) for number in numbers):
        return None
    values = [int(number) for number in numbers]
    first, step, last = {1: (1, 1, values[0]), 2: (values[0], 1, values[-1])}.get(len(values), tuple(values))
    if step == 0 or abs(last - first) // abs(step) > _MOST:
        return None
    counted = range(first, last + (1 if step > 0 else -1), step)
    width = max(len(str(first)), len(str(last))) if padded else 0
    return "".join(f"{number:0{width}d}\n" for number in counted)


def grep(args: list[str], text: str) -> str | None:
    flags = "".join(arg[1:] for arg in args if re.fullmatch(r"-[vEiFoxec]+", arg))
    rest = [arg for arg in args if not re.fullmatch(r"-[vEiFoxec]+", arg)]
    if len(rest) != 1 or rest[0].startswith("-") or "o" in flags or not is_text(text):
        return None
    source = re.escape(rest[0]) if "F" in flags else posix_source(rest[0], extended="E" in flags)
    pattern = None if source is None else compiled(source, ignore_case="i" in flags)
    if pattern is None:
        return None
    match = pattern.fullmatch if "x" in flags else pattern.search
    selected = [line for line in lines_of(text) if (match(line) is None) == ("v" in flags)]
    return f"{len(selected)}\n" if "c" in flags else "".join(line + "\n" for line in selected)


def sort_lines(args: list[str], text: str) -> str | None:
    flags = "".join(arg.lstrip("-") for arg in args)
    if not set(flags) <= set("ruz"):
        return None
    end = "\0" if "z" in flags else "\n"
    found = text.removesuffix(end).split(end) if text else []
    found = sorted(set(found) if "u" in flags else found, reverse="r" in flags)
    return "".join(line + end for line in found)


def first_or_last_lines(name: str) -> TextTool:
    def some(args: list[str], text: str) -> str | None:
        found = re.fullmatch(r"(?:-n)?\0?-?(\d{1,9})", "\0".join(args)) if args else None
        if args and found is None:
            return None
        count = int(found[1]) if found else 10
        selected = [row + "\n" for row in lines_of(text)]
        return "".join(selected[:count] if name == "head" else selected[max(0, len(selected) - count) :])

    return some


def copy_input(args: list[str], text: str) -> str | None:
    return text if not args or args == ["-"] else None


TOOLS: dict[str, TextTool] = {
    "echo": echo,
    "printf": printf,
    "basename": basename,
    "dirname": dirname,
    "tr": translate,
    "cut": cut,
    "seq": seq,
    "grep": grep,
    "egrep": lambda args, text: grep(["-E", *args], text),
    "sort": sort_lines,
    "head": first_or_last_lines("head"),
    "tail": first_or_last_lines("tail"),
    "cat": copy_input,
    "sed": sed_output,
}


# Tools that edit files in place.


_PATCH_FILE = re.compile(r"\*\*\* (Add|Update|Delete) File: (.+)|\*\*\* Move to: (.+)")


def sed(call: CommandCall) -> Status:
    args = list(call.args)
    for place, arg in enumerate(args[:-2]):
        following = args[place + 1].text
        # BSD sed has the suffix as an argument: `-i ''`, `-i .bak`. A script never starts with a dot.
        if arg.text == "-i" and following is not None and (not following or following.startswith(".")):
            args[place : place + 2] = [known("-i" + following)]
            break
    opts = options(args, "efl", "expression", "file", "line-length", optional="i")
    scripted = opts.any("e", "f", "expression", "file")
    files = opts.operands if scripted else opts.operands[1:]
    if not opts.any("i", "in-place"):
        return worst_status(*(call.read(value) for value in files))
    suffix = opts.value("i", "in-place")
    return _edit_in_place(call, files, (suffix.text if suffix else "") or "")


def perl(call: CommandCall) -> Status:
    opts = options(call.args, "eEIm", optional="iMF0lCx")
    files = opts.operands if opts.any("e", "E") else opts.operands[1:]
    if "i" not in opts or not opts.any("e", "E"):
        call.state.files.invalidate()
        return None
    suffix = opts.flags["i"]
    return _edit_in_place(call, files, (suffix.text if suffix else "") or "")


def _edit_in_place(call: CommandCall, files: list[Value], suffix: str) -> Status:
    statuses: list[Status] = []
    for value in files:
        path, text = call.path(value), value.text
        if path is None or text is None:
            statuses.append(False if value.is_no_match else None)
            continue
        reason = call.verdict(text, proven=call.certain(path, FileKind.FILE))
        if reason is None or call.missing(path) or call.certain(path, FileKind.FOLDER):
            statuses.append(False if reason is None else call.must_fail(text))
            continue
        if suffix:
            folder, name = posixpath.split(path)
            backup = suffix.replace("*", name) if "*" in suffix else name + suffix
            call.write(posixpath.join(folder, backup), reason)
        call.emit(path, "modified", None, reason)
        call.state.contents.pop(path, None)
        statuses.append(True)
    return worst_status(*statuses)


def apply_patch(call: CommandCall, text: str | None) -> Status:
    """Follow the patch format of Codex."""
    if text is None:
        return None
    updated = ""
    for line in text.split("\n"):
        found = _PATCH_FILE.fullmatch(line.rstrip("\r"))
        if found is None:
            continue
        path = call.state.path((found[2] or found[3]).strip())
        reason = call.verdict((found[2] or found[3]).strip())
        if path is None or reason is None:
            continue
        if found[3]:
            if updated:
                call.rename(updated, path, reason)
            continue
        updated = path
        changes: dict[str, Change] = {"Add": "created", "Update": "modified", "Delete": "deleted"}
        change = changes[found[1]]
        if change == "deleted":
            call.remove(path, reason)
        else:
            ran = call.emit(path, change, None, reason)
            call.state.files.put(path, FileKind.FILE, ran and not reason)
    return True


# -- archives --------------------------------------------------------------------------------------------

_UNZIPPED = re.compile(r" *(inflating|extracting|creating|linking): (.+?)(?: +-> .*)?")
_TAR_LETTERS = re.compile(r"[A-Za-z]*[cxtruA][A-Za-z]*")
_DOWNLOADED = re.compile(r".*?[‘'\"`](.+?)[’'\"] saved \[.*|Saving to: [‘'\"`](.+?)[’'\"]")
IN_OUTPUT = "named in output"


def tar(call: CommandCall) -> Status:
    args = list(call.args)
    if args and args[0].text is not None and _TAR_LETTERS.fullmatch(args[0].text):
        letters = args[0].text
        args[0] = known("-" + letters.replace("f", "") + ("f" if "f" in letters else ""))
    opts = options(args, "fCTXIg", "file", "directory", "exclude", "files-from", "transform")
    archive = opts.value("f", "file")
    folder = opts.value("C", "directory")
    base = "" if folder is None else folder.text
    if opts.any("c", "create", "r", "u"):
        statuses = [_read_member(call, base, value) for value in opts.operands]
        return worst_status(*statuses, _write_archive(call, archive, append=not opts.any("c", "create")))
    if archive is not None and archive.text != "-":
        call.read(archive)
    if not opts.any("x", "extract", "get") or opts.any("O", "to-stdout"):
        return True
    marked = [line.removeprefix("x ") for line in call.output.lines if line.startswith("x ")]
    members = (marked or _own_lines(call)) if opts.any("v", "verbose") else []
    _write_members(call, base, members, "" if marked else IN_OUTPUT)
    if not members:
        call.state.files.invalidate()
    return True


def _own_lines(call: CommandCall) -> list[str]:
    """The output lines of this command: all, or those in a folder it names."""
    if call.only_printer:
        return call.output.lines
    folders = tuple(line for line in call.output.lines if line.endswith("/") and " " not in line)
    return [line for line in call.output.lines if line.startswith(folders)] if folders else []


def _read_member(call: CommandCall, base: str | None, value: Value) -> Status:
    if base is None or value.text is None:
        return None
    path = call.state.path(posixpath.join(base, value.text))
    reason = call.verdict(value.text)
    if path is None or reason is None or call.missing(path):
        return False
    call.emit(path, "read", None, reason)
    return True


def _write_archive(call: CommandCall, archive: Value | None, *, append: bool) -> Status:
    path = None if archive is None else call.path(archive)
    if path is None or archive is None or archive.text in (None, "-"):
        return None
    if call.lacks_parent(path):
        return call.must_fail(archive.text or "")
    call.write(path, call.verdict(archive.text or "") or "", append=append)
    return True


def _write_members(call: CommandCall, base: str | None, names: list[str], why: str) -> None:
    if base is None:
        call.state.files.invalidate()
        return
    for name in names:
        path = call.state.path(posixpath.join(base, name.strip()))
        if path is None:
            continue
        if not name.strip().endswith("/"):
            call.write(path, why)
        elif not call.look(path).exists:
            unsure = "" if call.look(path).sure else IF_ABSENT
            ran = call.emit(path, "created", None, why or unsure)
            call.state.files.put(path, FileKind.FOLDER, ran and not why)


def unzip(call: CommandCall) -> Status:
    opts = options(call.args, "dxP")
    if not opts.operands:
        return None
    archive = opts.operands[0]
    text = archive.text or ""
    call.read(archive if posixpath.splitext(text)[1] or archive.text is None else known(text + ".zip"))
    if opts.any("l", "t", "p", "v", "Z"):
        return True
    shown = [found[2].rstrip() for line in call.output.lines if (found := _UNZIPPED.fullmatch(line))]
    folder = opts.value("d")
    folder_text = None if folder is None else (folder.text or "").rstrip("/")
    if folder_text:
        shown = [name.removeprefix(folder_text + "/") for name in shown]
        path = call.state.path(folder_text)
        if path is not None and call.certain(path, FileKind.ABSENT):
            _write_members(call, "", [folder_text + "/"], "")
    _write_members(call, folder_text if folder is not None else "", shown, "")
    if not shown:
        call.state.files.invalidate()
    return True


def zip_files(call: CommandCall) -> Status:
    opts = options(call.args, "xibnt")
    if not opts.operands:
        return None
    text = opts.operands[0].text
    if text is not None and not posixpath.splitext(text)[1]:
        text += ".zip"
    statuses = [_read_member(call, "", value) for value in opts.operands[1:]]
    statuses.append(None if text is None else _write_archive(call, known(text), append=True))
    for value in opts.operands[1:] if opts.any("m") else ():
        if path := call.path(value):
            call.remove(path, call.verdict(value.text or "") or "")
    return worst_status(*statuses)


PACKERS = {"gzip": ".gz", "bzip2": ".bz2", "xz": ".xz", "zstd": ".zst", "lz4": ".lz4"}
UNPACKERS = {"gunzip": "gzip", "bunzip2": "bzip2", "unxz": "xz", "unzstd": "zstd"}


def compress(call: CommandCall) -> Status:
    """Follow gzip and others, which replace a file by another beside it."""
    tool = UNPACKERS.get(call.name, call.name)
    opts = options(call.args, "STo")
    ending = PACKERS[tool]
    unpack = call.name in UNPACKERS or opts.any("d", "decompress", "uncompress")
    keep = opts.any("k", "keep") or (tool in ("zstd", "lz4") and "rm" not in opts)
    if opts.any("c", "stdout", "to-stdout", "l", "t", "list", "test"):
        return worst_status(*(call.read(value) for value in opts.operands))
    statuses: list[Status] = []
    for value in opts.operands:
        path, text = call.path(value), value.text
        if path is None or text is None or opts.any("r"):
            statuses.append(None)
            continue
        reason = call.verdict(text, proven=call.certain(path, FileKind.FILE))
        if reason is None or call.missing(path) or (unpack and not path.endswith((ending, ".tgz"))):
            statuses.append(False if reason is None else call.must_fail(text))
            continue
        plain = path[: -len(".tgz")] + ".tar" if path.endswith(".tgz") else path.removesuffix(ending)
        target = plain if unpack else path + ending
        there = call.look(target)
        if there.exists and there.sure and not opts.any("f", "force"):
            statuses.append(call.must_fail(target))
            continue
        call.emit(path, "read", None, reason)
        call.write(target, reason)
        if not keep:
            call.remove(path, reason)
        statuses.append(True)
    return worst_status(*statuses)


def download(call: CommandCall) -> Status:
    if call.name == "curl":
        opts = options(call.args, "oHXdbcuAeFTwmxKErtyYzQ", "output", "header", "request", "data", "user")
        target = opts.value("o", "output")
        named = opts.any("O", "remote-name")
    else:
        opts = options(call.args, "OPoUtTQe", "output-document", "directory-prefix", "header", "user-agent")
        target, named = opts.value("O", "output-document"), True
    if target is not None:
        return _write_archive(call, target, append=False) if target.text != "/dev/null" else None
    shown = [found[1] or found[2] for line in call.output.lines if (found := _DOWNLOADED.fullmatch(line))]
    urls = [value.text.partition("?")[0].rstrip("/") for value in opts.operands if value.text]
    for name in dict.fromkeys(shown) or [posixpath.basename(url) for url in urls if "/" in url and named]:
        path = call.state.path(name)
        if path is not None and named:
            call.write(path, "" if shown else "named after the address")
    return None
