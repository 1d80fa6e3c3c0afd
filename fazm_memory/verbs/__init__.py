"""The verbs of the façade that are many enough to have a module of their own."""
