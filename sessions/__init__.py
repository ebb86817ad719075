"""Agents at work: session hosts, harnesses, clones, prompts and the seat."""
