"""What the rooms of all runtimes are built of: inputs matched and checked, outputs, CPUs, a model as a step.

Knows tensor payloads and a model's ports. Knows nothing of any runtime.
"""
