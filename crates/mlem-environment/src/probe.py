# Answers questions about what an interpreter has: one JSON object a line on standard input, one answer a line on standard
# output. Runs on Python 2.7 and 3.x, imports nothing but the standard library before it is asked.
#
#   {"id": 1, "op": "lookup", "name": "pandas.DataFrame.append"}
#   {"id": 2, "op": "names", "module": "scipy.special"}
import sys
if sys.path and sys.path[0] == "":
    del sys.path[0]
import ast
import importlib
import inspect
import json
import os
import types
import warnings
try:
    import builtins
except ImportError:
    import __builtin__ as builtins

# What is imported may print, read standard input or close both; the conversation keeps its own descriptors.
ANSWERS = os.fdopen(os.dup(1), "w")
QUESTIONS = os.fdopen(os.dup(0), "r")
NOTHING = os.open(os.devnull, os.O_RDWR)
os.dup2(NOTHING, 0)
os.dup2(NOTHING, 1)
os.dup2(NOTHING, 2)

PYTHON2 = sys.version_info[0] == 2
TEXT = (str, type(u""))
MISSING = object()
LONGEST = 300


def cut(text):
    if not isinstance(text, TEXT):
        text = repr(text)
    return text if len(text) <= LONGEST else text[:LONGEST] + "..."


def describe(error):
    try:
        message = str(error)
    except Exception:
        message = ""
    answer = {"type": type(error).__name__, "message": cut(message)}
    missing = getattr(error, "name", None) if isinstance(error, ImportError) else None
    if missing:
        answer["module"] = missing
    return answer


def walk(name):
    """The object of a dotted name: (object, owner, name of the module that was imported, None) or
    (MISSING, owner, longest name that exists, error)."""
    parts = name.split(".")
    try:
        value = importlib.import_module(parts[0])
    except BaseException as error:
        # SystemExit, KeyboardInterrupt and pytest's outcomes are no Exception.
        value = getattr(builtins, parts[0], MISSING) if isinstance(error, ImportError) else MISSING
        if value is MISSING:
            return MISSING, None, "", error
    module, owner = parts[0], None
    for at in range(1, len(parts)):
        part, before = parts[at], ".".join(parts[:at])
        owner, failure = value, None
        try:
            value = getattr(owner, part)
        except BaseException as error:
            failure = error
            value = MISSING
        if value is MISSING and isinstance(owner, types.ModuleType):
            try:
                value = importlib.import_module(before + "." + part)
            except BaseException as error:
                gone = isinstance(error, ImportError) and getattr(error, "name", None) in (before + "." + part, None)
                # "No module named" says less than what the library's own __getattr__ had to say.
                return MISSING, owner, before, failure if gone else error
        if value is MISSING:
            return MISSING, owner, before, failure
        if isinstance(value, types.ModuleType):
            module = ".".join(parts[:at + 1])
    return value, owner, module, None


def kind_of(value, owner, last):
    if isinstance(value, types.ModuleType):
        return "module"
    if inspect.isclass(value):
        return "class"
    if isinstance(value, property) or type(value).__name__ in ("cached_property", "CachedAccessor"):
        return "property"
    if inspect.isclass(owner):
        for base in inspect.getmro(owner):
            if last in vars(base):
                raw = vars(base)[last]
                if isinstance(raw, staticmethod):
                    return "static-method"
                if isinstance(raw, classmethod):
                    return "class-method"
                break
    if callable(value):
        return "method" if inspect.isclass(owner) else "function"
    return "data"


def parameters(value, kind):
    """Parameters in order, without the one that a call on an instance or class fills; None when nothing tells."""
    if kind not in ("class", "function", "method", "static-method", "class-method"):
        return None
    found = by_signature(value)
    if found is None:
        found = by_document(getattr(value, "__text_signature__", None), True) or by_document(getattr(value, "__doc__", None), False)
    if found is None:
        return None
    bound = kind == "method" and not PYTHON2 or kind == "class" and PYTHON2
    if found and (bound or PYTHON2 and kind == "method") and found[0]["kind"].startswith("positional"):
        if found[0]["name"] in ("self", "cls", "$self", "/self") or kind == "method":
            found = found[1:]
    return found


KINDS = {0: "positional-only", 1: "positional-or-keyword", 2: "var-positional", 3: "keyword-only", 4: "var-keyword"}


def by_signature(value):
    if hasattr(inspect, "signature"):
        try:
            signature = inspect.signature(value)
        except (ValueError, TypeError):
            return None
        except BaseException:
            return None
        found = []
        for each in signature.parameters.values():
            item = {"name": each.name, "kind": KINDS[int(each.kind)]}
            if each.default is not inspect.Parameter.empty:
                try:
                    item["default"] = cut(repr(each.default))
                except BaseException:
                    item["default"] = "..."
            found.append(item)
        return found
    try:
        spec = inspect.getargspec(value.__init__ if inspect.isclass(value) else value)
    except TypeError:
        return None
    defaults = list(spec.defaults or ())
    first = len(spec.args) - len(defaults)
    found = []
    for at, name in enumerate(spec.args):
        item = {"name": name if isinstance(name, TEXT) else "arg%d" % at, "kind": KINDS[1]}
        if at >= first:
            item["default"] = cut(repr(defaults[at - first]))
        found.append(item)
    if spec.varargs:
        found.append({"name": spec.varargs, "kind": KINDS[2]})
    if spec.keywords:
        found.append({"name": spec.keywords, "kind": KINDS[4]})
    return found


def by_document(text, is_signature):
    """Compiled functions describe themselves as `name(a, b=None, *, c)` in the first lines of their documentation."""
    if not isinstance(text, TEXT):
        return None
    text = text.strip()
    if is_signature:
        line = text.replace("($self, /, ", "(").replace("($self, /)", "()").replace("$", "")
    else:
        line = ""
        for each in text.splitlines()[:3]:
            if "(" in each and each.rstrip().rstrip(".").endswith(")") or ") ->" in each:
                line = each.strip()
                break
        if not line or line.split("(", 1)[0].strip().replace(".", "").replace("_", "").isalnum() is False:
            return None
        line = line.replace("[, ", ", ").replace("[", "").replace("]", "")
    inside = line[line.find("("):].split(") ->")[0]
    if not inside.endswith(")"):
        inside = inside[:inside.rfind(")") + 1] if ")" in inside else inside + ")"
    try:
        tree = ast.parse("def f%s: pass" % inside)
    except (SyntaxError, ValueError):
        return None
    given = tree.body[0].args
    found = []
    plain = [(each, KINDS[0]) for each in getattr(given, "posonlyargs", [])] + [(each, KINDS[1]) for each in given.args]
    first = len(plain) - len(given.defaults)
    for at, (each, kind) in enumerate(plain):
        item = {"name": getattr(each, "arg", getattr(each, "id", "?")), "kind": kind}
        if at >= first:
            item["default"] = source_of(inside, given.defaults[at - first])
        found.append(item)
    if given.vararg:
        found.append({"name": getattr(given.vararg, "arg", given.vararg), "kind": KINDS[2]})
    for each, default in zip(getattr(given, "kwonlyargs", []), getattr(given, "kw_defaults", [])):
        item = {"name": each.arg, "kind": KINDS[3]}
        if default is not None:
            item["default"] = source_of(inside, default)
        found.append(item)
    if given.kwarg:
        found.append({"name": getattr(given.kwarg, "arg", given.kwarg), "kind": KINDS[4]})
    return found


def source_of(inside, node):
    try:
        return cut(repr(ast.literal_eval(node)))
    except (ValueError, TypeError, SyntaxError):
        pass
    try:
        return cut(ast.unparse(node))
    except Exception:
        return "..."


HOLDERS = {}


def holder(module):
    """Name and version of the distribution that a module's file belongs to."""
    top = module.split(".")[0]
    path = getattr(sys.modules.get(module), "__file__", None) or getattr(sys.modules.get(top), "__file__", None) or ""
    if not HOLDERS:
        read_holders()
    parts = module.split(".")
    for length in range(len(parts), 0, -1):
        known = HOLDERS.get("/".join(parts[:length]), {})
        if len(known) == 1:
            return list(known.items())[0]
        for name in known:
            # Several distributions share a folder (namespace packages); this one's own file list decides.
            if any(path.replace(os.sep, "/").endswith("/" + each) for each in known[name][1]):
                return name, known[name]
    return None


def read_holders():
    for place in sys.path:
        try:
            entries = os.listdir(place or ".")
        except OSError:
            continue
        for entry in entries:
            if not entry.endswith((".dist-info", ".egg-info")):
                continue
            stem = entry.rsplit(".", 1)[0].split("-py")[0]
            name, _, version = stem.partition("-")
            if entry.endswith(".dist-info"):
                name, _, version = stem.rpartition("-")
            folder = os.path.join(place, entry)
            for listing in ("RECORD", "installed-files.txt", "top_level.txt"):
                try:
                    with open(os.path.join(folder, listing), "rb") as handle:
                        lines = handle.read().decode("utf-8", "replace").splitlines()
                except (IOError, OSError):
                    continue
                for line in lines:
                    path = line.split(",")[0].strip().replace("\\", "/")
                    if path.startswith("../") and listing == "installed-files.txt":
                        path = path[3:]
                    if path.startswith((".", "/")) or ".dist-info" in path or ".egg-info" in path or not path:
                        continue
                    keys = path.split("/")
                    keys[-1] = keys[-1].split(".")[0]
                    for length in range(1, min(len(keys), 4) + 1):
                        known = HOLDERS.setdefault("/".join(keys[:length]), {})
                        files = known.setdefault(name, (version, []))[1]
                        if length == 1 and path.endswith("/__init__.py"):
                            files.append(path)
                break
    HOLDERS.setdefault("", {})


def lookup(name):
    answer = {"exists": False, "kind": None, "signature": None, "distribution": None, "version": None, "error": None,
              "doc": None, "defined": None, "deprecated": None, "nearest": None}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        value, owner, module, error = walk(name)
    last = name.split(".")[-1]
    for each in caught:
        text = str(each.message)
        if issubclass(each.category, (DeprecationWarning, PendingDeprecationWarning, FutureWarning)) and last in text:
            answer["deprecated"] = cut(text)
    if value is MISSING:
        answer["error"] = describe(error)
        answer["nearest"] = module
        module = module or name.split(".")[0]
    else:
        answer["exists"] = True
        answer["kind"] = kind_of(value, owner, last)
        answer["signature"] = parameters(value, answer["kind"])
        home, own = getattr(value, "__module__", None), getattr(value, "__qualname__", getattr(value, "__name__", None))
        if answer["kind"] == "module":
            answer["defined"] = getattr(value, "__name__", None)
        elif isinstance(home, TEXT) and isinstance(own, TEXT):
            answer["defined"] = home + "." + own
        doc = getattr(value, "__doc__", None)
        if isinstance(doc, TEXT) and doc.strip() and answer["kind"] != "data":
            answer["doc"] = cut(doc.strip().splitlines()[0])
    held = holder(module)
    if held:
        answer["distribution"], answer["version"] = held[0], held[1][0]
    elif value is not MISSING:
        version = getattr(sys.modules.get(name.split(".")[0]), "__version__", None)
        answer["version"] = version if isinstance(version, TEXT) else None
    return answer


def names(module):
    value, _, _, error = walk(module)
    if value is MISSING:
        return {"names": None, "error": describe(error)}
    listed = getattr(value, "__all__", None)
    try:
        found = [each for each in (listed or dir(value)) if isinstance(each, TEXT) and not each.startswith("_")]
    except BaseException as failure:
        return {"names": None, "error": describe(failure)}
    answer = []
    for each in sorted(set(found)):
        try:
            kind = kind_of(getattr(value, each), value, each)
        except BaseException:
            continue
        if kind != "module":
            answer.append([each, kind])
    return {"names": answer, "error": None}


def main():
    warnings.simplefilter("ignore")
    while True:
        line = QUESTIONS.readline()
        if not line:
            break
        question = json.loads(line)
        try:
            if question["op"] == "lookup":
                answer = lookup(question["name"])
            else:
                answer = names(question["module"])
        except BaseException as error:
            answer = {"failed": describe(error)}
        answer["id"] = question["id"]
        ANSWERS.write(json.dumps(answer) + "\n")
        ANSWERS.flush()
    # Threads and exit handlers of what was imported have nothing to finish here.
    os._exit(0)


main()
