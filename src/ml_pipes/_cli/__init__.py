"""The commands of ``ml-pipes``; each is a file with ``add_parser`` and ``run``."""
