"""Restore files to a point in time: plan, restore, undo, copy."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fazm_memory.lazy import lazy_exports

if TYPE_CHECKING:
    from fazm_memory.rewind.own_folder import (
        ManifestEntry,
        NewCommits,
        copy_workspace,
        entry_json,
        fetch_commits,
        files_of,
        manifest,
        manifest_counts,
        manifest_digest,
        merge_plan,
        new_commits,
        remove_copy,
        write_manifest,
    )
    from fazm_memory.rewind.plan import FileContent, RewindPlan, RewindStep, changed_files
    from fazm_memory.rewind.restore import (
        DONE,
        DROPPED,
        PLANNED,
        RUNNING,
        UNDONE,
        EmptiedFolder,
        KeepRule,
        RestoredStep,
        RestoreJournal,
        RestoreRun,
        RewindContext,
        emptied_folders,
        exclusive_rewind,
        open_workspace,
        store_version,
        undo_keep_rule,
    )
    from fazm_memory.rewind.safe_directory import SafeDirectory, WriteRefused

__getattr__ = lazy_exports(
    __name__,
    {
        "own_folder": (
            "ManifestEntry NewCommits copy_workspace entry_json fetch_commits files_of manifest "
            "manifest_counts manifest_digest merge_plan new_commits remove_copy write_manifest"
        ),
        "plan": "FileContent RewindPlan RewindStep changed_files",
        "restore": (
            "DONE DROPPED EmptiedFolder KeepRule PLANNED RUNNING RestoreJournal RestoreRun "
            "RestoredStep RewindContext UNDONE emptied_folders exclusive_rewind open_workspace "
            "store_version undo_keep_rule"
        ),
        "safe_directory": "SafeDirectory WriteRefused",
    },
)
