"""Pure libraries of our own. They import nothing else of this project."""
