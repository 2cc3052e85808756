"""Outside knowledge: entities and values that must exist, looked up in sources the user trusts."""
