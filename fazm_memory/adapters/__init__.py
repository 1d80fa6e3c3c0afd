"""Adapters: the memory as the session store of agent frameworks. Each needs its framework."""
