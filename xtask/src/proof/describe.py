"""Describes values as trees of JSON that can be compared between Python and library versions.

Every node has a kind `k`: none, bool, number, text, bytes, sequence, mapping, array, frame, series, estimator, object,
callable, opaque. Only what two versions can be expected to agree on is described; the rest is opaque, by class name.
"""

import datetime
import itertools
import math
import sys

MOST = 5000  # elements described of one collection; its length is always described
DEEPEST = 7
PY2 = sys.version_info[0] == 2
TEXT = (type(u""),)
INTEGER = (int, long) if PY2 else (int,)  # noqa: F821
ITERATORS = {
    "range", "xrange", "map", "filter", "zip", "generator", "enumerate", "reversed", "dict_keys", "dict_values",
    "dict_items", "listiterator", "list_iterator", "tuple_iterator", "dictionary-keyiterator",
    "dictionary-valueiterator", "dictionary-itemiterator", "dict_keyiterator", "islice", "chain", "izip", "imap",
    "ifilter", "odict_keys", "odict_values", "odict_items", "izip_longest", "zip_longest", "odict_iterator",
}


def text(value):
    """Text, whichever way the interpreter holds it."""
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return value


def class_name(value):
    return type(value).__name__


def package(value):
    return (getattr(type(value), "__module__", None) or "").split(".")[0]


def lineage(value):
    """Names of all classes a value is an instance of, each as package.Class."""
    return {(c.__module__ or "").split(".")[0] + "." + c.__name__ for c in type(value).__mro__}


def opaque(value):
    return {"k": "opaque", "class": class_name(value)}


def is_iterator(value):
    """Whether looking at its elements would use them up."""
    return class_name(value) in ITERATORS and iter(value) is value


def describe(value, namespace=None, depth=0):
    if depth > DEEPEST:
        return opaque(value)
    try:
        return node(value, namespace, depth)
    except Exception:  # a value that cannot even be looked at is opaque
        return opaque(value)


def number(value):
    if isinstance(value, INTEGER):
        return {"k": "number", "t": "int", "v": int(value) if abs(value) < 2 ** 53 else str(int(value))}
    value = float(value)
    if math.isnan(value) or math.isinf(value):
        return {"k": "number", "t": "float", "v": str(value)}
    return {"k": "number", "t": "float", "v": value}


def sequence(kind, items, length, namespace, depth):
    return {
        "k": "sequence",
        "t": kind,
        "length": length,
        "v": [describe(item, namespace, depth + 1) for item in itertools.islice(iter(items), MOST)],
    }


def node(value, namespace, depth):
    inner = depth + 1
    if value is None:
        return {"k": "none"}
    if isinstance(value, bool):
        return {"k": "bool", "v": value}
    if isinstance(value, INTEGER) or isinstance(value, float):
        return number(value)
    if isinstance(value, complex):
        return sequence("complex", [value.real, value.imag], 2, namespace, depth)
    if isinstance(value, TEXT):
        return {"k": "text", "v": value[:MOST]}
    if isinstance(value, (bytes, bytearray)):
        if PY2:
            try:
                return {"k": "text", "v": bytes(value).decode("utf-8")[:MOST]}
            except UnicodeDecodeError:
                pass
        return {"k": "bytes", "v": "".join("%02x" % b for b in bytearray(value[:MOST]))}
    if isinstance(value, type) or callable(value) and class_name(value) in (
        "function", "builtin_function_or_method", "method", "instancemethod", "ufunc", "type", "classobj", "partial",
        "method-wrapper", "cython_function_or_method", "_ArrayFunctionDispatcher", "fused_cython_function",
    ):
        return {"k": "callable", "name": getattr(value, "__name__", class_name(value))}
    if isinstance(value, (datetime.date, datetime.time)):
        return {"k": "text", "v": value.isoformat()}
    if isinstance(value, datetime.timedelta):
        return {"k": "text", "v": repr(value.total_seconds()) + " s"}
    if class_name(value) in ("NaTType", "NAType"):
        return {"k": "number", "t": "float", "v": "nan"}
    if class_name(value) in ("Decimal", "Fraction", "Period", "Interval", "UUID", "PosixPath"):
        return {"k": "text", "v": text(str(value))}
    for known in (described_numpy, described_pandas, described_sparse, described_model, described_picture):
        found = known(value, namespace, inner)
        if found is not None:
            return found
    if isinstance(value, dict):
        return mapping(value.items(), namespace, inner)
    if isinstance(value, (list, tuple)):
        kind = "list" if isinstance(value, list) else "tuple"
        return sequence(kind, value, len(value), namespace, depth)
    if isinstance(value, (set, frozenset)):
        items = sorted((describe(item, namespace, inner) for item in value), key=repr)
        return {"k": "sequence", "t": "set", "length": len(items), "v": items}
    if class_name(value) in ITERATORS:
        items = list(itertools.islice(iter(value), MOST + 1))
        return sequence("iterator", items, len(items), namespace, depth)
    if type(value).__module__ == "__main__" and hasattr(value, "__dict__"):
        return parts(value, vars(value), namespace, inner)
    return opaque(value)


def mapping(items, namespace, depth):
    items = [[describe(key, namespace, depth), describe(item, namespace, depth)] for key, item in items]
    return {"k": "mapping", "v": sorted(items, key=lambda item: repr(sorted(item[0].items())))[:MOST]}


def parts(value, found, namespace, depth):
    described = {text(name): describe(part, namespace, depth) for name, part in found.items()}
    return {"k": "object", "class": class_name(value), "parts": described}


def attributes(value, names, namespace, depth):
    found = {}
    for name in names:
        try:
            found[name] = getattr(value, name)
        except Exception:  # not in this version, or not for this value
            continue
    return parts(value, found, namespace, depth)


def array(values, shape, dtype, namespace, depth):
    return {
        "k": "array",
        "t": dtype,
        "shape": list(shape),
        "v": [describe(item, namespace, depth) for item in itertools.islice(iter(values), MOST)],
    }


def described_numpy(value, namespace, depth):
    numpy = sys.modules.get("numpy")
    if numpy is None:
        return None
    if isinstance(value, numpy.bool_):
        return {"k": "bool", "v": bool(value)}
    if isinstance(value, numpy.datetime64) or isinstance(value, numpy.timedelta64):
        return {"k": "text", "v": str(value.astype("datetime64[us]" if isinstance(value, numpy.datetime64) else "timedelta64[us]"))}
    if isinstance(value, numpy.generic) and not isinstance(value, numpy.void):
        return node(value.item(), namespace, depth) if class_name(value.item()) != class_name(value) else number(value)
    if isinstance(value, numpy.ma.MaskedArray):
        flat = value.filled(numpy.nan) if value.dtype.kind == "f" else value.astype(object).filled(None)
        return array(numpy.asarray(flat).ravel().tolist(), value.shape, value.dtype.kind, namespace, depth)
    if isinstance(value, numpy.ndarray):
        flat = value
        if value.dtype.kind == "M":
            flat = value.astype("datetime64[us]").astype(str)
        elif value.dtype.kind == "m":
            flat = value.astype("timedelta64[us]").astype("int64")
        elif value.dtype.names:
            flat = value.astype(object)
        flat = numpy.asarray(flat)
        if value.ndim == 0:
            return describe(flat.item(), namespace, depth)
        # The first elements only: a large image is not turned into a list as a whole.
        return array(flat.ravel()[:MOST].tolist(), value.shape, value.dtype.kind, namespace, depth)
    if isinstance(value, numpy.dtype):
        return {"k": "text", "v": text(str(value))}
    return None


def column(values, namespace, depth):
    """The elements of a column or an index, by content."""
    return [describe(item, namespace, depth) for item in itertools.islice(iter(values), MOST)]


def described_pandas(value, namespace, depth):
    if package(value) != "pandas":
        return None
    kinds = lineage(value)
    if "pandas.DataFrame" in kinds:
        return {
            "k": "frame",
            "columns": column(value.columns, namespace, depth),
            "index": column(value.index, namespace, depth),
            "types": [text(str(dtype)) for dtype in value.dtypes],
            "v": [column(value.iloc[:, at], namespace, depth) for at in range(min(value.shape[1], 200))],
        }
    if "pandas.Series" in kinds:
        return {
            "k": "series",
            "name": describe(value.name, namespace, depth),
            "index": column(value.index, namespace, depth),
            "type": text(str(value.dtype)),
            "v": column(value, namespace, depth),
        }
    if kinds & {"pandas.Index", "pandas.ExtensionArray", "pandas.Categorical"}:
        return array(value, [len(value)], text(str(value.dtype)), namespace, depth)
    if "Dtype" in class_name(value):
        return {"k": "text", "v": text(str(value))}
    return None


def described_sparse(value, namespace, depth):
    if package(value) == "scipy" and hasattr(value, "toarray"):
        return described_numpy(value.toarray(), namespace, depth)
    return None


def tensor(value, namespace, depth):
    if package(value) == "torch" and "torch.Tensor" in lineage(value):
        return describe(value.detach().cpu().numpy(), namespace, depth)
    if package(value) in ("tensorflow", "keras") and hasattr(value, "numpy"):
        return describe(value.numpy(), namespace, depth)
    if package(value) in ("tensorflow", "keras") and hasattr(value, "shape") and hasattr(value, "dtype"):
        shape = [describe(getattr(size, "value", size), namespace, depth) for size in value.shape]
        return {"k": "object", "class": "symbolic tensor", "parts": {"shape": sequence("tuple", [], len(shape), None, 0)}}
    return None


def described_model(value, namespace, depth):
    kinds = lineage(value)
    names = {kind.split(".")[-1] for kind in kinds}
    found = tensor(value, namespace, depth)
    if found is not None:
        return found
    if hasattr(value, "get_params") and hasattr(value, "set_params"):
        return estimator(value, namespace, depth)
    if package(value) == "networkx" and "Graph" in names:
        return parts(value, {"nodes": sorted(map(repr, value.nodes())), "edges": sorted(map(repr, value.edges()))}, namespace, depth)
    if package(value) == "PIL" and hasattr(value, "getdata"):
        return parts(value, {"size": value.size, "mode": value.mode, "pixels": list(value.getdata())[:MOST]}, namespace, depth)
    if package(value) == "statsmodels":
        wanted = ["params", "bse", "pvalues", "rsquared", "llf", "resid", "fittedvalues", "nobs"]
        return attributes(value, wanted, namespace, depth)
    if package(value) == "xgboost" and class_name(value) == "Booster":
        return parts(value, {"trees": value.get_dump()}, namespace, depth)
    if package(value) == "lightgbm" and class_name(value) == "Booster":
        return parts(value, {"trees": value.num_trees(), "importance": value.feature_importance()}, namespace, depth)
    if package(value) == "plotly" and hasattr(value, "to_plotly_json"):
        return describe(value.to_plotly_json(), namespace, depth)
    if package(value) in ("keras", "tensorflow"):
        if class_name(value) == "History":
            return describe(value.history, namespace, depth)
        if "Model" in names and hasattr(value, "layers"):
            return keras_model(value, namespace, depth)
        if "Layer" in names and hasattr(value, "get_config"):
            return keras_layer(value, namespace, depth)
    return None


def keras_layer(layer, namespace, depth):
    """What a layer was asked to be: the plain entries of its configuration."""
    plain = {
        name: setting
        for name, setting in layer.get_config().items()
        if name not in ("name", "dtype", "trainable") and (setting is None or isinstance(setting, (bool, str, int, float, list, tuple)))
    }
    return parts(layer, plain, namespace, depth)


def keras_model(model, namespace, depth):
    """Layers without the input layer, which only some versions list; and the number of weights."""
    layers = [layer for layer in model.layers if class_name(layer) != "InputLayer"]
    found = {"layers": [class_name(layer) for layer in layers]}
    try:
        found["weights"] = model.count_params()
    except Exception:  # not built yet
        pass
    return parts(model, found, namespace, depth)


def estimator(value, namespace, depth):
    """Class, parameters (and which of them are not the default), fitted attributes, predictions."""
    parameters = value.get_params(deep=False) if accepts_deep(value) else value.get_params()
    defaults = defaults_of(type(value))
    described, given = {}, []
    for name, setting in parameters.items():
        described[text(name)] = describe(setting, namespace, depth + 1)
        if name not in defaults or describe(defaults[name], namespace, depth + 1) != described[text(name)]:
            given.append(text(name))
    fitted = {}
    # Attributes of a fit end in one underscore (scikit-learn's developer guide); some are properties.
    for name in dir(value):
        if name.endswith("_") and not name.startswith("_") and not name.endswith("__"):
            try:
                fitted[text(name)] = describe(getattr(value, name), None, depth + 1)
            except Exception:  # not fitted, or not for this estimator
                continue
    predicted = None
    if fitted and namespace is not None and hasattr(value, "predict"):
        for name in ("X", "X_train", "X_test", "x"):
            if name in namespace:
                try:
                    predicted = describe(value.predict(namespace[name]), None, depth + 1)
                    break
                except Exception:  # not what it was fitted on
                    continue
    return {
        "k": "estimator",
        "class": class_name(value),
        "parameters": described,
        "given": sorted(given),
        "fitted": fitted,
        "predicted": predicted,
    }


def accepts_deep(value):
    try:
        value.get_params(deep=False)
        return True
    except TypeError:
        return False


def defaults_of(kind):
    """Defaults of the constructor's arguments."""
    initialiser = getattr(kind.__init__, "deprecated_original", kind.__init__)
    if PY2:
        import inspect

        names, _, _, values = inspect.getargspec(initialiser)
        return dict(zip(names[len(names) - len(values or ()):], values or ()))
    import inspect

    return {
        name: parameter.default
        for name, parameter in inspect.signature(initialiser).parameters.items()
        if parameter.default is not inspect.Parameter.empty
    }


def described_picture(value, namespace, depth):
    # The figure is described as a whole; its artists are not values of their own.
    if package(value) == "matplotlib" and hasattr(value, "get_children"):
        return opaque(value)
    return None


def figures():
    """All open figures: what is drawn, not how it comes out in pixels."""
    pyplot = sys.modules.get("matplotlib.pyplot")
    if pyplot is None:
        return []
    found = [describe_figure(pyplot.figure(number)) for number in sorted(pyplot.get_fignums())]
    pyplot.close("all")
    return found


def describe_figure(figure):
    try:
        figure.canvas.draw()  # places the ticks and writes their labels
    except Exception:  # what is drawn is compared, not whether it can be
        pass
    title = getattr(figure, "_suptitle", None)
    drawn = {
        "size": list(figure.get_size_inches()),
        "title": "" if title is None else title.get_text(),
        # A colour bar shows what its image says, with artists of its own that change from release to release.
        "axes": [describe_axes(axes) for axes in figure.axes if axes.get_label() != "<colorbar>"],
        "legends": [[part.get_text() for part in legend.get_texts()] for legend in getattr(figure, "legends", [])],
    }
    return plain(drawn)


def plain(value):
    """A tree of the describer out of nested Python lists and dictionaries."""
    return describe(value, None, -6)


def colour(value):
    colors = sys.modules["matplotlib.colors"]
    try:
        return [round(float(part), 4) for part in colors.ColorConverter().to_rgba(value)]
    except Exception:  # not a colour
        return text(str(value))


def asked(getter):
    """What a getter says, or nothing where this kind of axes has none (three dimensions)."""
    try:
        return getter()
    except Exception:  # the getter is missing, or None
        return None


def describe_axes(axes):
    drawn = {
        "title": axes.get_title(),
        "labels": [axes.get_xlabel(), axes.get_ylabel()],
        "limits": [list(axes.get_xlim()), list(axes.get_ylim())],
        "scales": [axes.get_xscale(), axes.get_yscale()],
        "background": colour(axes.patch.get_facecolor()),
        "frame": asked(lambda: bool(axes.get_frame_on())),
        "aspect": asked(lambda: axes.get_aspect()),
        "ticks": [list(axes.get_xticks()), list(axes.get_yticks())],
        "tick labels": [
            [label.get_text() for label in labels] for labels in (axes.get_xticklabels(), axes.get_yticklabels())
        ],
        "lines": [describe_line(line) for line in axes.lines],
        "patches": [describe_patch(patch) for patch in axes.patches],
        "collections": [describe_collection(each) for each in axes.collections],
        "images": [describe_image(image) for image in axes.images],
        "texts": [[each.get_text(), list(each.get_position())] for each in axes.texts],
        "tables": len(axes.tables),
    }
    legend = axes.get_legend()
    if legend is not None:
        drawn["legend"] = [part.get_text() for part in legend.get_texts()]
    return drawn


def describe_line(line):
    return {
        "x": line.get_xdata(),
        "y": line.get_ydata(),
        "colour": colour(line.get_color()),
        "style": [line.get_linestyle(), line.get_marker(), float(line.get_linewidth())],
        "label": "" if text(line.get_label()).startswith(("_", "line")) else text(line.get_label()),
    }


def describe_patch(patch):
    return {
        "class": class_name(patch),
        "outline": patch.get_path().transformed(patch.get_patch_transform()).vertices.round(9),
        "fill": colour(patch.get_facecolor()) if patch.get_fill() else None,
        "alpha": patch.get_alpha(),
    }


def describe_collection(each):
    values = each.get_array()
    return {
        "class": class_name(each),
        "places": each.get_offsets(),
        "values": values if values is None else values.ravel(),
        "fills": each.get_facecolor(),
        "paths": [path.vertices for path in each.get_paths()[:50]],
        "alpha": each.get_alpha(),
    }


def describe_image(image):
    # A colour map is its colours; its name is not.
    colours = [colour(image.cmap(at / 8.0)) for at in range(9)]
    return {"values": image.get_array(), "map": colours, "range": list(image.get_clim())}
