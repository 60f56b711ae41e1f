"""Prints every public callable of an import package with its parameters and their defaults, as JSON.

usage: python introspect.py PACKAGE

Runs on CPython 2.7 and every later one, since it is run by the interpreter that an old library needs.
An object that several public modules offer is listed under its shortest name; the others are its aliases.
"""

from __future__ import print_function

import importlib
import inspect
import json
import os
import pkgutil
import sys
import types
import warnings

# Parts of a module path that are not meant for users.
PRIVATE = ("tests", "test", "testing", "conftest", "externals", "setup", "_version", "experimental")


def public(path):
    return not any(part.startswith("_") or part in PRIVATE for part in path.split("."))


def modules(root):
    yield root
    for found in pkgutil.walk_packages(root.__path__, root.__name__ + ".", onerror=lambda name: None):
        if not public(found[1]):
            continue
        try:
            yield importlib.import_module(found[1])
        except BaseException:  # an optional dependency is missing; what needs it is not there to be read
            continue


def default(value):
    """A default as it would be written: literals by their repr, callables and classes by their name."""
    if isinstance(value, (types.FunctionType, types.BuiltinFunctionType, type)):
        return getattr(value, "__name__", repr(value))
    text = repr(value)
    return text.split(" at 0x")[0] + ">" if " at 0x" in text else text


def parameters(function):
    """[name, default or None, kind] of every parameter but self; None where the signature cannot be read."""
    # Asked for the signature of a Cython function, CPython 3.6 may crash.
    if not isinstance(function, (types.FunctionType, types.MethodType)):
        return None
    try:
        if hasattr(inspect, "signature"):
            found = []
            for each in inspect.signature(function).parameters.values():
                has = each.default is not inspect.Parameter.empty
                found.append([each.name, default(each.default) if has else None, str(each.kind)])
        else:
            names, starred, spread, defaults = inspect.getargspec(function)
            defaults = defaults or ()
            without = len(names) - len(defaults)
            found = []
            for at, name in enumerate(names):
                has = at >= without
                found.append([name, default(defaults[at - without]) if has else None, "POSITIONAL_OR_KEYWORD"])
            if starred:
                found.append([starred, None, "VAR_POSITIONAL"])
            if spread:
                found.append([spread, None, "VAR_KEYWORD"])
    except (TypeError, ValueError):
        return None
    return found[1:] if found and found[0][0] in ("self", "cls") else found


def callables(root):
    names = {}
    objects = {}
    for module in modules(root):
        offered = getattr(module, "__all__", None) or [name for name in dir(module) if not name.startswith("_")]
        for name in offered:
            try:
                found = getattr(module, name, None)
            except Exception:  # scikit-learn's experimental names refuse to be looked at
                continue
            if not (inspect.isclass(found) or inspect.isroutine(found)):
                continue
            home = getattr(found, "__module__", None) or ""
            if home.split(".")[0] != root.__name__:
                continue
            names.setdefault(id(found), set()).add(module.__name__ + "." + name)
            objects[id(found)] = found
    for key, found in objects.items():
        aliases = sorted(names[key], key=lambda name: (name.count("."), len(name), name))
        yield aliases[0], aliases[1:], found


def main(package):
    warnings.simplefilter("ignore")
    os.environ.setdefault("MPLBACKEND", "Agg")
    root = importlib.import_module(package)
    found = {}
    for name, aliases, thing in callables(root):
        if inspect.isclass(thing):
            found[name] = {"aliases": aliases, "parameters": parameters(thing.__init__)}
            for method in dir(thing):
                if method.startswith("_"):
                    continue
                member = getattr(thing, method, None)
                if inspect.isroutine(member):
                    found[name + "." + method] = {"aliases": [], "parameters": parameters(member)}
        else:
            found[name] = {"aliases": aliases, "parameters": parameters(thing)}
    version = getattr(root, "__version__", None)
    json.dump({"version": version, "callables": found}, sys.stdout, sort_keys=True)


if __name__ == "__main__":
    main(sys.argv[1])
