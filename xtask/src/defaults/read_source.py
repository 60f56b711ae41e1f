"""Prints every public class and function of a package with its parameters and their defaults, as JSON.

usage: python read_source.py FOLDER PACKAGE

The package is read and not imported, for those whose dependencies are too heavy to install. The result has the shape of
introspect.py's; what a decorator or a base class adds is not seen.
"""

import ast
import json
import os
import sys

from introspect import public


def parameters(function):
    arguments = function.args
    plain = arguments.posonlyargs + arguments.args
    defaults = [None] * (len(plain) - len(arguments.defaults)) + arguments.defaults
    found = [[each.arg, default, "POSITIONAL_OR_KEYWORD"] for each, default in zip(plain, defaults)]
    found += [[each.arg, default, "KEYWORD_ONLY"] for each, default in zip(arguments.kwonlyargs, arguments.kw_defaults)]
    found = [[name, ast.unparse(default) if default else None, kind] for name, default, kind in found]
    return found[1:] if found and found[0][0] in ("self", "cls") else found


def main(folder, package):
    found = {}
    for place, _, files in os.walk(os.path.join(folder, package)):
        for file in files:
            if not file.endswith(".py"):
                continue
            path = os.path.join(place, file)
            module = os.path.relpath(path, folder)[:-3].replace(os.sep, ".")
            module = module[: -len(".__init__")] if module.endswith(".__init__") else module
            if not public(module):
                continue
            try:
                with open(path, encoding="utf-8") as source:
                    tree = ast.parse(source.read())
            except (SyntaxError, UnicodeDecodeError):  # Python 2, or a template
                continue
            for node in tree.body:
                name = "%s.%s" % (module, getattr(node, "name", ""))
                if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
                    found[name] = {"aliases": [], "parameters": parameters(node)}
                if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                    for member in node.body:
                        if isinstance(member, ast.FunctionDef) and member.name == "__init__":
                            found[name] = {"aliases": [], "parameters": parameters(member)}
                        elif isinstance(member, ast.FunctionDef) and not member.name.startswith("_"):
                            found[name + "." + member.name] = {"aliases": [], "parameters": parameters(member)}
    json.dump({"version": None, "callables": found}, sys.stdout, sort_keys=True)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
