"""The menu bar without a menu bar: what it shows as a value, and what its items do, on any system."""
