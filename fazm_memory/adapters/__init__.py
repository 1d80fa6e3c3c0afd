"""Session stores for agent frameworks.

One module per framework: `claude_sdk`, `langgraph`, `openai_agents`. Each needs its framework installed, so
import the module you use. See docs/adapters.md.
"""
