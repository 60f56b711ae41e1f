# Tells what an interpreter is and which distributions it has. Runs on CPython and PyPy 2.7 and 3.x,
# imports nothing but the standard library, prints one JSON object.
import sys
if sys.path and sys.path[0] == "":
    del sys.path[0]
import json
import os
import platform


def installed():
    """Name and version of each distribution from the names of the metadata folders on the path.

    Reading the folder names instead of importlib.metadata (3.8) or pkg_resources (setuptools) works on every
    Python and opens almost no file. The first folder on the path wins, as it does at import.
    """
    found = {}
    library = os.path.dirname(os.path.abspath(os.__file__))
    for place in sys.path:
        # Python 2 describes itself and wsgiref in its own library.
        if os.path.abspath(place).startswith(library) and not place.endswith("-packages"):
            continue
        try:
            entries = sorted(os.listdir(place or "."))
        except OSError:
            continue
        here = {}
        for entry in entries:
            if entry.endswith(".dist-info"):
                name, _, version = entry[:-len(".dist-info")].rpartition("-")
            elif entry.endswith(".egg-info"):
                stem = entry[:-len(".egg-info")].split("-py", 1)[0]
                name, _, version = stem.partition("-")
            elif entry.endswith(".egg"):
                parts = entry[:-len(".egg")].split("-")
                name, version = parts[0], parts[1] if len(parts) > 1 else ""
            else:
                continue
            if not name or not version:
                name, version = headers(os.path.join(place, entry)) or (None, None)
            if name:
                here.setdefault(name, version)
        for name in here:
            found.setdefault(name, here[name])
    return found


def headers(path):
    for inner in ("METADATA", "PKG-INFO", ""):
        try:
            with open(os.path.join(path, inner) if inner else path, "rb") as handle:
                lines = handle.read(65536).decode("utf-8", "replace").splitlines()
        except (IOError, OSError):
            continue
        name = version = None
        for line in lines:
            if line.startswith("Name:"):
                name = line[5:].strip()
            elif line.startswith("Version:"):
                version = line[8:].strip()
            elif not line:
                break
        if name and version:
            return name, version
    return None


def main():
    prefix = getattr(sys, "base_prefix", None) or getattr(sys, "real_prefix", sys.prefix)
    try:
        import sysconfig
        paths = sysconfig.get_paths()
    except Exception:
        paths = {}
    answer = {
        "version": list(sys.version_info[:3]),
        "implementation": platform.python_implementation(),
        "executable": sys.executable,
        "machine": platform.machine(),
        "system": sys.platform,
        "virtual": prefix != sys.prefix,
        "path": [place for place in sys.path if place],
        "standard_library": paths.get("stdlib") or os.path.dirname(os.__file__),
        "site_packages": sorted(set(p for p in (paths.get("purelib"), paths.get("platlib")) if p)),
        "packages": installed(),
    }
    sys.stdout.write("mlem:" + json.dumps(answer) + "\n")


main()
