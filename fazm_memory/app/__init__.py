"""The façade `Memory` and the programs over it: companion, doctor, demo."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fazm_memory.lazy import lazy_exports

if TYPE_CHECKING:
    from fazm_memory.app.agents import (
        AgentOverview,
        agent_overviews,
        connected_agents,
        connection_setup,
        import_acp,
        import_agents,
        is_temporary_place,
    )
    from fazm_memory.app.companion import Companion
    from fazm_memory.app.costs import cost_text
    from fazm_memory.app.demo import run_demo
    from fazm_memory.app.doctor import SELF_TEST, Check, CheckFunction, run_checks
    from fazm_memory.app.memory import Memory
    from fazm_memory.app.process import check_not_running, companion_pid, raise_open_file_limit
    from fazm_memory.app.setup import PlainSystem, SetupChoice, SetupStep, SetupSystem
    from fazm_memory.app.timeline import day_bounds, session_with_times

__getattr__ = lazy_exports(
    __name__,
    {
        "agents": (
            "AgentOverview agent_overviews connected_agents connection_setup import_acp import_agents "
            "is_temporary_place"
        ),
        "companion": "Companion",
        "costs": "cost_text",
        "demo": "run_demo",
        "doctor": "Check CheckFunction SELF_TEST run_checks",
        "memory": "Memory",
        "process": "check_not_running companion_pid raise_open_file_limit",
        "setup": "PlainSystem SetupChoice SetupStep SetupSystem",
        "timeline": "day_bounds session_with_times",
    },
)
