"""Who changed a file, from what was running, what it named, and where."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fazm_memory.watch.attribution import SLACK, ActiveWorkspace, CallInterval, DiskChange, attribute

S = 1_000_000
ONE = DiskChange("/w/report.txt", "modified", 100 * S, 101 * S)
HOME = ActiveWorkspace("aaaaaaaa-1", "/w", 90 * S)
OTHER = ActiveWorkspace("bbbbbbbb-2", "/w", 95 * S)
SHELL = CallInterval("aaaaaaaa-1", "Bash", 99 * S, 102 * S, seq=7)


def test_a_change_that_its_call_tells_needs_no_telling() -> None:
    call = replace(SHELL, tool="Edit", touched=(("/w/report.txt", "modified"),))
    verdict = attribute(ONE, [call], [HOME])
    assert (verdict.told, verdict.by, verdict.session, verdict.seq) == (True, "agent", "aaaaaaaa-1", 7)


REPORTED = replace(SHELL, started=110 * S, ended=110 * S, untimed=True)  # nine seconds after the change


@pytest.mark.parametrize("change", ["renamed", "deleted"])
def test_a_move_or_deletion_belongs_to_the_call_that_reports_it_a_little_later(change: str) -> None:
    late = replace(REPORTED, touched=(("/w/report.txt", change),))
    verdict = attribute(replace(ONE, change=change), [late], [HOME])
    assert (verdict.told, verdict.by, verdict.seq) == (True, "agent", 7)


@pytest.mark.parametrize(
    ("change", "call"),
    [
        ("modified", REPORTED),  # a person may have written before the call did
        ("renamed", replace(REPORTED, untimed=False)),  # its own times say that it began later
        ("renamed", replace(REPORTED, started=200 * S, ended=200 * S)),
    ],
)
def test_a_later_report_does_not_claim_other_changes(change: str, call: CallInterval) -> None:
    late = replace(call, touched=(("/w/report.txt", change),))
    assert attribute(replace(ONE, change=change), [late], [HOME]).by == "person"


@pytest.mark.parametrize("text", ["sort /w/report.txt", "sed -i s/a/b/ report.txt", "cat >report.txt"])
def test_a_call_that_names_the_file_while_it_changes_is_certain(text: str) -> None:
    verdict = attribute(ONE, [replace(SHELL, named=text)], [HOME, OTHER])
    assert (verdict.by, verdict.session, verdict.sure) == ("agent", "aaaaaaaa-1", "certain")
    assert verdict.evidence == "named by Bash (#7) of session aaaaaaaa"


def test_the_end_of_another_name_is_not_the_name() -> None:
    verdict = attribute(ONE, [replace(SHELL, named="sort myreport.txt")], [HOME])
    assert verdict.sure == "likely"


def test_a_call_at_work_in_the_folder_is_likely_the_one() -> None:
    verdict = attribute(ONE, [replace(SHELL, named="make", ended=None)], [HOME])
    assert (verdict.by, verdict.sure) == ("agent", "likely")
    assert verdict.evidence == "in the workspace while it ran: Bash (#7) of session aaaaaaaa"


def test_two_sessions_in_one_folder_are_distinguished_by_what_they_name() -> None:
    other = replace(SHELL, session="bbbbbbbb-2", named="report.txt")
    assert attribute(ONE, [SHELL, other], [HOME, OTHER]).session == "bbbbbbbb-2"


def test_two_sessions_that_cannot_be_distinguished_are_reported_not_to_be() -> None:
    other = replace(SHELL, session="bbbbbbbb-2", started=100 * S)
    verdict = attribute(ONE, [SHELL, other], [HOME, OTHER])
    assert (verdict.by, verdict.sure, verdict.seq) == ("agent", "possible", None)
    assert "aaaaaaaa or bbbbbbbb, which cannot be told apart" in verdict.evidence


def test_a_tool_that_only_looks_wrote_nothing() -> None:
    for tool in ("Read", "mcp__fs__read_file", "Grep"):
        verdict = attribute(ONE, [replace(SHELL, tool=tool, named="report.txt")], [HOME])
        assert (verdict.by, verdict.sure, verdict.session) == ("person", "likely", "aaaaaaaa-1")


def test_a_call_that_was_over_long_before_is_no_evidence() -> None:
    over = replace(SHELL, started=90 * S, ended=ONE.earliest - SLACK - 1)
    assert attribute(ONE, [over], [HOME]).by == "person"
    assert attribute(ONE, [replace(over, ended=ONE.earliest - SLACK)], [HOME]).by == "agent"


def test_where_no_session_works_nobody_can_tell() -> None:
    verdict = attribute(ONE, [], [ActiveWorkspace("c", "/elsewhere", 0)])
    assert (verdict.by, verdict.session, verdict.sure) == ("unknown", None, None)
    assert attribute(replace(ONE, path="/workshop/x"), [SHELL], [HOME]).by == "unknown"


def test_a_change_in_a_pause_without_any_call_is_possibly_a_persons() -> None:
    away = replace(ONE, earliest=50 * S, latest=120 * S, away=True)
    paused = replace(HOME, pauses=((60 * S, 110 * S),))
    verdict = attribute(away, [], [paused])
    assert (verdict.by, verdict.sure, verdict.session) == ("person", "possible", "aaaaaaaa-1")
    assert "session aaaaaaaa was paused" in verdict.evidence
    assert attribute(away, [SHELL], [paused]).by == "unknown", "an agent worked in that time"
    assert attribute(away, [], [replace(HOME, pauses=((1, 2),))]).by == "unknown", "the pause was before"
    assert attribute(away, [], [replace(paused, heard=False)]).by == "unknown"


def test_a_session_that_is_not_heard_might_have_been_it() -> None:
    verdict = attribute(ONE, [], [HOME, replace(OTHER, heard=False)])
    assert (verdict.by, verdict.sure) == ("unknown", None)


def test_what_changed_while_not_watched_is_the_agents_only_if_a_call_names_it() -> None:
    away = replace(ONE, earliest=0, away=True)
    named = attribute(away, [replace(SHELL, named="report.txt")], [HOME])
    assert (named.by, named.sure) == ("agent", "likely")
    verdict = attribute(away, [SHELL], [HOME])
    assert (verdict.by, verdict.session) == ("unknown", "aaaaaaaa-1")
    assert verdict.evidence == "changed while not watched; calls ran then that do not name it"


def test_a_rename_is_known_by_either_name() -> None:
    one = DiskChange("/w/new.txt", "renamed", 100 * S, 101 * S, origin="/w/old.txt")
    assert attribute(one, [replace(SHELL, named="mv old.txt $n")], [HOME]).sure == "certain"


def test_the_innermost_workspace_gets_a_persons_change() -> None:
    inner = ActiveWorkspace("inner", "/w/sub", 0)
    assert attribute(replace(ONE, path="/w/sub/a"), [], [HOME, inner]).session == "inner"
