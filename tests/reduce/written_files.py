"""The files that a running process writes and that have not got their names yet."""

import os
import pathlib


def unfinished(process, folder):
    """Of the process with this number, in this folder: without a name, or with a temporary one."""
    start = f"{pathlib.Path(folder).resolve()}/"
    found = []
    try:
        for entry in os.listdir(f"/proc/{process}/fd"):
            link = os.readlink(f"/proc/{process}/fd/{entry}")
            if link.startswith(start + "#") or link.startswith(start) and ".tmp-" in link:
                found.append(link)
    except OSError:  # it has ended, or closed the file
        pass
    return found


def can_be_nameless(folder):
    """Whether the file system has files without a name, which go with the process that has them."""
    try:
        os.close(os.open(folder, os.O_WRONLY | os.O_TMPFILE))
    except OSError:
        return False
    return True
