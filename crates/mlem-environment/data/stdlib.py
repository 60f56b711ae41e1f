"""Prints one interpreter's standard library, one top-level import name a line.

Works on CPython 2.7 and 3.6 to 3.13. `stdlib.txt` was made by

    for python in ~/.pyenv/versions/{2.7.18,3.6.15,...,3.13.0}/bin/python; do "$python" stdlib.py; done \
        | python3 stdlib.py --merge > stdlib.txt

From 3.10 on the interpreter knows the list itself (`sys.stdlib_module_names`, all platforms);
older ones are read from the folders `Lib` and `lib-dynload` and from the built-in modules.
"""
import os
import sys
import sysconfig


def names():
    known = getattr(sys, "stdlib_module_names", None)
    if known is not None:
        # The list leaves out the library's own tests, which can be imported all the same.
        return set(known) | {"test"}
    found = set(sys.builtin_module_names)
    folder = sysconfig.get_path("stdlib")
    for place in (folder, os.path.join(folder, "lib-dynload"), os.path.join(folder, "lib-tk")):
        for entry in os.listdir(place) if os.path.isdir(place) else ():
            path = os.path.join(place, entry)
            if entry in ("site-packages", "lib-dynload", "lib-tk", "__pycache__"):
                continue
            if os.path.isdir(path):
                if os.path.exists(os.path.join(path, "__init__.py")):
                    found.add(entry)
            elif entry.endswith((".py", ".so")):
                found.add(entry.split(".")[0])
    # Modules of other platforms, which these interpreters' folders lack in part.
    found.update(("winreg", "msvcrt", "winsound", "msilib", "_winapi"))
    if sys.version_info[0] == 2:
        found.update(("_winreg", "dl", "fm", "gl", "sunaudiodev"))
    return found


def merge(lines):
    versions, holders = [], {}
    for line in lines:
        version, name = line.split()
        if version not in versions:
            versions.append(version)
        holders.setdefault(name, set()).add(versions.index(version))
    print("# Standard library by CPython release: name, first release, last release. Made by stdlib.py.")
    print("# releases: " + " ".join(versions))
    for name in sorted(holders):
        if name.startswith("_") and name not in ("__future__", "__main__", "__builtin__", "_winreg", "_thread"):
            continue
        if name.startswith(("test_", "this.", "sitecustomize", "usercustomize")):
            continue
        print("%s %s %s" % (name, versions[min(holders[name])], versions[max(holders[name])]))


if __name__ == "__main__":
    if "--merge" in sys.argv:
        merge(sys.stdin)
    else:
        for each in sorted(names()):
            print("%d.%d %s" % (sys.version_info[0], sys.version_info[1], each))
