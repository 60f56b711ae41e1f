//! Rules neither fire where a name means something else, nor change what only looks like code; and they do
//! fire where a name is reached in a roundabout way.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeMap;

use mlem_python::{Program, Unit};
use mlem_rules::{Catalogue, Finding, Pins, Question, Version, fix_until_stable};

/// Every library of the catalogue in its newest version.
fn newest() -> Pins {
    let version: Version = "9999".parse().unwrap();
    let libraries = Catalogue::shipped().rules().iter().map(|rule| (rule.library.clone(), version.clone()));
    Pins { python: (3, 13), packages: BTreeMap::from_iter(libraries) }
}

fn program(source: &str) -> Program {
    Program::new(source.split("# %%\n").map(Unit::cell).collect())
}

/// What the fixes that need no asking make of a notebook (cells are split at `# %%` lines).
fn fixed(source: &str) -> String {
    let fixed = fix_until_stable(
        Catalogue::shipped(),
        &program(source),
        &newest(),
        (None, None),
        &Finding::is_applicable,
    );
    fixed.sources().join("# %%\n")
}

/// The rules with a finding, fix or not, proven or not.
fn found(source: &str) -> Vec<String> {
    let target = newest();
    let program = program(source);
    let findings = Catalogue::shipped().check(&Question::without_kernel(&program, &target));
    findings.iter().map(|finding| finding.rule.id.clone()).collect()
}

#[track_caller]
fn nothing_is_found(source: &str) {
    assert_eq!(found(source), [] as [String; 0], "in\n{source}");
}

#[track_caller]
fn stays(source: &str) {
    assert_eq!(fixed(source), source);
}

#[track_caller]
fn becomes(source: &str, wanted: &str) {
    assert_eq!(fixed(source), wanted);
}

// --- methods of other things -----------------------------------------------------------------

#[test]
fn append_of_a_list() {
    nothing_is_found("import pandas as pd\nrows = []\nrows.append(1)\nrows.append(pd.DataFrame())\n");
}

#[test]
fn append_of_an_unknown_value() {
    stays("import pandas as pd\nfor column in columns:\n    column.append(1)\n");
}

#[test]
fn append_to_a_list_in_a_dict() {
    nothing_is_found("import pandas as pd\nfound = {'a': []}\nfound['a'].append(1)\n");
}

#[test]
fn items_of_a_dict() {
    nothing_is_found(
        "import pandas as pd\nd = {'a': 1}\nfor key, value in d.items():\n    print(key, value)\n",
    );
}

#[test]
fn a_method_called_append_of_the_authors_own() {
    nothing_is_found(
        "import pandas as pd\nclass Log:\n    def append(self, row):\n        return Log()\n\nlog = Log()\nlog = \
         log.append(pd.DataFrame())\n",
    );
}

#[test]
fn a_distinctive_method_of_the_authors_own_class() {
    nothing_is_found(
        "import pandas as pd\nclass Rotation:\n    def __init__(self, m):\n        self.m = m\n\nr = \
         Rotation(1)\nm = r.as_matrix()\n",
    );
}

#[test]
fn a_distinctive_method_of_a_class_derived_from_the_librarys() {
    becomes(
        "import pandas as pd\nclass Table(pd.DataFrame):\n    pass\n\nt = Table()\nm = t.as_matrix()\n",
        "import pandas as pd\nclass Table(pd.DataFrame):\n    pass\n\nt = Table()\nm = t.values\n",
    );
}

#[test]
fn a_distinctive_method_where_the_library_is_not_used() {
    stays("from scipy.spatial.transform import Rotation\nm = Rotation.from_euler('z', 1).as_matrix()\n");
}

#[test]
fn a_distinctive_method_on_self() {
    stays("import pandas as pd\nclass A(Base):\n    def f(self):\n        return self.as_matrix()\n");
}

#[test]
fn an_attribute_that_a_class_of_the_program_sets() {
    stays(
        "import pandas as pd\nclass Node:\n    def __init__(self):\n        self.is_monotonic = True\n\nprint(node.is_monotonic)\n",
    );
}

#[test]
fn a_function_of_a_module_with_a_methods_name() {
    nothing_is_found("import pandas as pd\nimport tools\nm = tools.as_matrix()\n");
    nothing_is_found("from pandas._libs import algos\nm = algos.is_monotonic(x)\n");
}

#[test]
fn a_class_attribute_is_no_library() {
    nothing_is_found(
        "class Types:\n    float = 1\n    class np:\n        float = 2\n\nprint(Types.float, Types.np.float)\n",
    );
}

#[test]
fn sortlevel_of_an_index() {
    stays("import pandas as pd\ni = pd.MultiIndex.from_tuples([(1, 2)])\ni = i.sortlevel(0)\n");
    nothing_is_found("import pandas as pd\nd = pd.DataFrame()\ni, order = d.index.sortlevel(0)\n");
}

#[test]
fn a_dtype_that_may_be_an_arrays() {
    stays("import pandas as pd\nif values.dtype == object:\n    pass\n");
    nothing_is_found("import pandas as pd\nimport numpy as np\na = np.zeros(3)\nprint(a.dtype == object)\n");
}

#[test]
fn a_dtype_of_a_column() {
    becomes(
        "import pandas as pd\nprint(df['a'].dtype == object)\n",
        "import pandas as pd\nprint(df['a'].dtype in (object, 'str'))\n",
    );
}

#[test]
fn an_attribute_of_a_frame_that_is_no_column() {
    nothing_is_found("import pandas as pd\ndf = pd.DataFrame()\ndf.attrs['source'] = 'x'\n");
}

#[test]
fn rows_taken_by_a_mask_are_a_copy() {
    nothing_is_found(
        "import pandas as pd\ndf = pd.read_csv('x')\ndf[mask]['age'] = 0\nold = df['age'] > 9\ndf[old]['age'] = 0\ncolumns = ['a', 'b']\ndf[columns].fillna(0, inplace=True)\n",
    );
}

#[test]
fn what_is_appended_decides_how() {
    let appended = |other: &str| {
        let source = format!("import pandas as pd\ndf = pd.DataFrame()\ns = pd.Series([1])\nx = {other}\n");
        fixed(&source).lines().last().unwrap().to_string()
    };
    assert_eq!(appended("df.append(df)"), "x = pd.concat([df, df])");
    assert_eq!(appended("df.append(s)"), "x = pd.concat([df, s.to_frame().T.infer_objects()])");
    assert_eq!(
        appended("df.append(s, True)"),
        "x = pd.concat([df, s.to_frame().T.infer_objects()], ignore_index=True)"
    );
    assert_eq!(appended("df.append([s, s])"), "x = pd.concat([df, pd.DataFrame([s, s])])");
    assert_eq!(appended("df.append([df, df])"), "x = pd.concat([df, df, df])");
    assert_eq!(appended("s.append(s)"), "x = pd.concat([s, s])");
    assert_eq!(appended("s.append([s, s])"), "x = pd.concat([s, s, s])");
    assert_eq!(appended("s.append(df)"), "x = s.append(df)");
}

#[test]
fn splitters_in_the_positional_form_of_the_new_module() {
    let fixed = |call: &str| {
        let import = "from sklearn.model_selection import KFold, ShuffleSplit\n";
        fixed(&format!("{import}folds = {call}\n")).lines().last().unwrap().to_string()
    };
    assert_eq!(fixed("KFold(5, True, 1)"), "folds = KFold(5, shuffle=True, random_state=1)");
    assert_eq!(fixed("ShuffleSplit(5, 0.2)"), "folds = ShuffleSplit(5, test_size=0.2)");
    assert_eq!(fixed("KFold(len(X), 5)"), "folds = KFold(n_splits=5)");
    assert_eq!(fixed("ShuffleSplit(len(X), 5, 0.2)"), "folds = ShuffleSplit(n_splits=5, test_size=0.2)");
}

// --- shadowed names --------------------------------------------------------------------------

#[test]
fn a_name_bound_to_something_else() {
    nothing_is_found("import numpy as np\nnp = 3\nprint(np.float)\n");
    nothing_is_found("np = load()\nprint(np.float)\n");
}

#[test]
fn a_parameter_named_like_a_module() {
    nothing_is_found("import numpy as np\ndef f(np):\n    return np.float\n");
    nothing_is_found("import numpy as np\ndef f(*np, **kwargs):\n    return np.float\n");
    nothing_is_found("import numpy as np\nf = lambda np: np.float\n");
}

#[test]
fn a_default_of_a_parameter_is_read_outside() {
    becomes(
        "import numpy as np\nf = lambda np=np.float: np\ndef g(np=np.float):\n    return np.float\n",
        "import numpy as np\nf = lambda np=float: np\ndef g(np=float):\n    return np.float\n",
    );
}

#[test]
fn a_local_name_is_local_in_the_whole_function() {
    nothing_is_found("import numpy as np\ndef f():\n    print(np.float)\n    np = load()\n");
}

#[test]
fn a_name_in_a_nested_scope() {
    becomes(
        "import numpy as np\ndef outer():\n    def inner(np):\n        return np.float\n    return np.float\n",
        "import numpy as np\ndef outer():\n    def inner(np):\n        return np.float\n    return float\n",
    );
}

#[test]
fn an_enclosing_functions_name_hides_the_modules() {
    nothing_is_found(
        "import numpy as np\ndef outer():\n    np = load()\n    def inner():\n        return np.float\n    return inner\n",
    );
}

#[test]
fn a_global_declaration_reaches_the_module() {
    becomes(
        "import numpy as np\ndef f():\n    global np\n    return np.float\n",
        "import numpy as np\ndef f():\n    global np\n    return float\n",
    );
}

#[test]
fn a_global_that_a_function_rebinds() {
    nothing_is_found(
        "import numpy as np\ndef f():\n    global np\n    np = load()\n\ndef g():\n    return np.float\n",
    );
}

#[test]
fn a_nonlocal_name() {
    nothing_is_found(
        "import numpy as np\ndef f():\n    np = load()\n    def g():\n        nonlocal np\n        np = other()\n        return np.float\n    return g\n",
    );
}

#[test]
fn a_comprehensions_variable() {
    nothing_is_found("import numpy as np\nx = [np.float for np in things]\n");
    becomes(
        "import numpy as np\nx = [np for np in things]\ny = np.float(1)\n",
        "import numpy as np\nx = [np for np in things]\ny = float(1)\n",
    );
}

#[test]
fn a_loop_variable() {
    nothing_is_found("import numpy as np\nfor np in things:\n    print(np.float)\n");
}

#[test]
fn a_with_and_an_except_target() {
    nothing_is_found("import numpy as np\nwith open('x') as np:\n    print(np.float)\n");
    nothing_is_found("import numpy as np\ntry:\n    pass\nexcept ValueError as np:\n    print(np.float)\n");
}

#[test]
fn a_walrus() {
    nothing_is_found("import numpy as np\nif (np := load()):\n    print(np.float)\n");
    becomes(
        "import numpy as np\nif (kind := np.float):\n    print(kind)\n",
        "import numpy as np\nif (kind := float):\n    print(kind)\n",
    );
}

#[test]
fn captures_of_a_match_statement() {
    nothing_is_found(
        "import numpy as np\nmatch thing:\n    case [np, *rest]:\n        print(np.float)\n    case {'a': 1, **np}:\n        print(np.float)\n    case str() as np:\n        print(np.float)\n",
    );
    becomes(
        "import numpy as np\nmatch np.float(1):\n    case 1.0 if np.float(2):\n        y = np.float(3)\n",
        "import numpy as np\nmatch float(1):\n    case 1.0 if float(2):\n        y = float(3)\n",
    );
}

#[test]
fn a_deleted_name() {
    nothing_is_found("import numpy as np\ndel np\nprint(np.float)\n");
}

#[test]
fn a_replacement_does_not_use_a_deleted_name() {
    becomes(
        "import pandas as pd\ndf = pd.DataFrame()\ndel pd\ndf = df.append(df)\n",
        "import pandas as pd\ndf = pd.DataFrame()\ndel pd\ndf = df.append(df)\n",
    );
}

#[test]
fn a_replacement_does_not_use_a_name_that_is_not_the_modules_there() {
    stays(
        "import pandas as pd\ndf = pd.DataFrame()\ndef f(pd):\n    frame = df\n    return pd, df.append(df)\n",
    );
    stays("import pandas as pd\ndf = pd.DataFrame()\nx = [df.append(df) for pd in things]\n");
    stays("import pandas as pd\ndf = pd.DataFrame()\nf = lambda pd: df.append(df)\n");
    stays("import pandas as pd\ndf = pd.DataFrame()\npd = 3\ndf = df.append(df)\n");
    becomes(
        "import pandas as pd\ndf = pd.DataFrame()\nx = [pd for pd in things] + [df.append(df)]\n",
        "import pandas as pd\ndf = pd.DataFrame()\nx = [pd for pd in things] + [pd.concat([df, df])]\n",
    );
}

#[test]
fn builtins_that_the_author_defines() {
    nothing_is_found("def xrange(n):\n    return range(n)\n\nfor i in xrange(3):\n    pass\n");
    nothing_is_found("from six.moves import xrange\nfor i in xrange(3):\n    pass\n");
    nothing_is_found("unicode = str\nunicode('a')\n");
}

#[test]
fn builtins_called_like_old_modules() {
    nothing_is_found("print(repr(3), list(map(repr, [1])))\n");
    becomes("import repr\nprint(repr.repr(3))\n", "import reprlib as repr\nprint(repr.repr(3))\n");
}

#[test]
fn a_type_parameter() {
    nothing_is_found("import numpy as np\ndef f[np](x: np) -> np:\n    return np.float\n");
}

// --- guarded code ----------------------------------------------------------------------------

#[test]
fn imports_that_fall_back() {
    nothing_is_found(
        "try:\n    from sklearn.model_selection import KFold\nexcept ImportError:\n    from sklearn.cross_validation import KFold\n",
    );
    nothing_is_found("try:\n    import cPickle as pickle\nexcept ModuleNotFoundError:\n    import pickle\n");
}

#[test]
fn names_that_fall_back() {
    nothing_is_found("try:\n    xrange\nexcept NameError:\n    xrange = range\n");
    nothing_is_found("try:\n    text = unicode\nexcept NameError:\n    text = str\n");
    nothing_is_found("try:\n    unichr(1)\nexcept (NameError, KeyError):\n    chr(1)\n");
}

#[test]
fn attributes_that_fall_back() {
    nothing_is_found(
        "import numpy as np\ntry:\n    trapezoid = np.trapezoid\nexcept AttributeError:\n    trapezoid = np.trapz\n",
    );
    nothing_is_found("import pandas as pd\nif hasattr(df, 'as_matrix'):\n    m = df.as_matrix()\n");
    nothing_is_found("import pandas as pd\nm = df.as_matrix() if hasattr(df, 'as_matrix') else df.values\n");
    nothing_is_found(
        "import pandas as pd\nif not hasattr(df, 'to_numpy'):\n    m = df.as_matrix()\nelse:\n    m = df.to_numpy()\n",
    );
}

#[test]
fn a_guard_of_another_attribute_guards_nothing() {
    becomes(
        "import pandas as pd\nif not hasattr(self, 'data'):\n    m = frame.as_matrix()\n",
        "import pandas as pd\nif not hasattr(self, 'data'):\n    m = frame.values\n",
    );
}

#[test]
fn a_clause_that_catches_everything_guards_nothing() {
    becomes(
        "import numpy as np\ntry:\n    x = np.float(1)\nexcept Exception as error:\n    print(error)\n",
        "import numpy as np\ntry:\n    x = float(1)\nexcept Exception as error:\n    print(error)\n",
    );
}

#[test]
fn branches_for_another_python() {
    nothing_is_found("import sys\nif sys.version_info[0] < 3:\n    text = unicode\nelse:\n    text = str\n");
    nothing_is_found(
        "import sys\nif sys.version_info >= (3, 0):\n    text = str\nelse:\n    text = unicode\n",
    );
    nothing_is_found("import sys\nif sys.version_info.major == 2:\n    import urllib2\n");
    nothing_is_found("import sys\nif sys.version[0] == '2':\n    x = raw_input()\n");
    nothing_is_found("import six\nif six.PY2 and rows:\n    x = raw_input()\n");
    nothing_is_found("x = (input if PY3 else raw_input)('> ')\n");
    becomes(
        "import sys\nif sys.version_info[0] >= 3:\n    import numpy as np\n    x = np.float(1)\n",
        "import sys\nif sys.version_info[0] >= 3:\n    import numpy as np\n    x = float(1)\n",
    );
}

#[test]
fn branches_by_a_librarys_version() {
    nothing_is_found(
        "import pandas as pd\nfrom packaging.version import Version\nif Version(pd.__version__) < Version('1.0'):\n    m = df.as_matrix()\nelse:\n    m = df.to_numpy()\n",
    );
}

#[test]
fn branches_by_a_function_that_asks_for_a_version() {
    nothing_is_found("if _version_predates(mpl, '3.7'):\n    handles = legend.legendHandles\n");
}

#[test]
fn keys_that_fall_back() {
    nothing_is_found(
        "import matplotlib as mpl\ntry:\n    c = mpl.rcParams['axes.prop_cycle']\nexcept KeyError:\n    c = mpl.rcParams['axes.color_cycle']\n",
    );
}

#[test]
fn a_list_that_gets_another_value() {
    nothing_is_found("rc = [1, 2]\nrc = zip(*(rc[:1], rc[1:]))\nfor pair in rc:\n    print(pair)\n");
    nothing_is_found("import numpy as np\ns = zip(a, b)\nfor i, (s, t) in s:\n    print(np.mean(s), s[0])\n");
    nothing_is_found("s = zip(a, b)\nx = [s[0] for s in s]\n");
    becomes("s = zip(a, b)\nprint(s[0])\n", "s = list(zip(a, b))\nprint(s[0])\n");
}

#[test]
fn code_that_waits_for_the_failure() {
    nothing_is_found(
        "import numpy as np\nimport pytest\nwith pytest.raises(AttributeError):\n    np.float\n",
    );
}

// --- ways to a name --------------------------------------------------------------------------

#[test]
fn an_import_in_a_function() {
    becomes(
        "def f():\n    import numpy as np\n    return np.float(1)\n",
        "def f():\n    import numpy as np\n    return float(1)\n",
    );
}

#[test]
fn an_import_in_a_branch() {
    becomes(
        "if fast:\n    import numpy as np\nelse:\n    import numpy as np\nx = np.float(1)\n",
        "if fast:\n    import numpy as np\nelse:\n    import numpy as np\nx = float(1)\n",
    );
    nothing_is_found("if fast:\n    import cupy as np\nelse:\n    import numpy as np\nx = np.float(1)\n");
}

#[test]
fn an_alias_of_a_module() {
    becomes(
        "import numpy\nnp = numpy\nx = np.float(1)\nn = np\ny = n.float(2)\n",
        "import numpy\nnp = numpy\nx = float(1)\nn = np\ny = float(2)\n",
    );
}

#[test]
fn an_alias_that_an_import_gives() {
    becomes("import numpy as n\nx = n.float(1)\n", "import numpy as n\nx = float(1)\n");
    becomes(
        "from sklearn.cross_validation import train_test_split as split\na, b = split(x)\n",
        "from sklearn.model_selection import train_test_split as split\na, b = split(x)\n",
    );
}

#[test]
fn an_import_under_a_name_in_use() {
    becomes(
        "np = 3\nprint(np)\nimport numpy as np\nx = np.float(1)\n",
        "np = 3\nprint(np)\nimport numpy as np\nx = float(1)\n",
    );
    becomes(
        "import numpy as np\nimport cupy as np\nx = np.float(1)\n",
        "import numpy as np\nimport cupy as np\nx = np.float(1)\n",
    );
}

#[test]
fn an_import_of_an_earlier_cell() {
    becomes("import numpy as np\n# %%\nx = np.float(1)\n", "import numpy as np\n# %%\nx = float(1)\n");
}

#[test]
fn a_star_import() {
    becomes(
        "from numpy import *\nx = arange(3).astype(float)\n",
        "from numpy import *\nx = arange(3).astype(float)\n",
    );
    becomes(
        "from sklearn.cross_validation import *\nx = train_test_split(a)\n",
        "from sklearn.model_selection import *\nx = train_test_split(a)\n",
    );
}

#[test]
fn a_name_from_an_unknown_star_import() {
    nothing_is_found("from helpers import *\nx = np.float(1)\n");
}

#[test]
fn code_in_decorators_defaults_and_annotations() {
    becomes(
        "import numpy as np\n@register(np.float)\ndef f(x: np.float = np.float(1)) -> np.float:\n    y: np.float = x\n",
        "import numpy as np\n@register(float)\ndef f(x: float = float(1)) -> float:\n    y: float = x\n",
    );
}

#[test]
fn a_chain_over_several_lines() {
    becomes(
        "import pandas as pd\nm = (df  # all\n     .dropna()  # rows\n     .as_matrix()  # values\n     .sum())\n",
        "import pandas as pd\nm = (df  # all\n     .dropna()  # rows\n     .values  # values\n     .sum())\n",
    );
}

// --- text that looks like code ---------------------------------------------------------------

#[test]
fn strings_with_code() {
    nothing_is_found(
        "import numpy as np\na = 'np.float(1)'\nb = \"\"\"\nx = np.float(1)\ndf.as_matrix()\n\"\"\"\nc = b'np.float'\nd = r'np.float'\n",
    );
}

#[test]
fn code_in_exec_and_eval() {
    nothing_is_found("import numpy as np\nexec('x = np.float(1)')\neval(\"np.float(1)\")\n");
}

#[test]
fn comments_with_code() {
    nothing_is_found("import numpy as np\n# x = np.float(1)\ny = 1  # df.as_matrix(), xrange(3)\n");
}

#[test]
fn docstrings_with_code() {
    nothing_is_found("import numpy as np\ndef f():\n    \"\"\"\n    >>> np.float(1)\n    \"\"\"\n");
}

#[test]
fn type_comments() {
    nothing_is_found("import numpy as np\nx = []  # type: list[np.float]\n");
}

#[test]
fn f_strings_hold_code_and_text() {
    becomes(
        "import numpy as np\ns = f'np.float {np.float(1):.2f} np.float'\n",
        "import numpy as np\ns = f'np.float {float(1):.2f} np.float'\n",
    );
    becomes(
        "import numpy as np\ns = f'{f\"{np.float(1)}\"} np.float {np.float(2)!r:>{np.float(3)}}'\n",
        "import numpy as np\ns = f'{f\"{float(1)}\"} np.float {float(2)!r:>{float(3)}}'\n",
    );
}

#[test]
fn f_strings_that_show_their_code_show_the_new_code() {
    becomes("import numpy as np\ns = f'{np.float(1)=}'\n", "import numpy as np\ns = f'{float(1)=}'\n");
}

#[test]
fn f_strings_of_python_3_12() {
    becomes(
        "import numpy as np\ns = f'{d['a']} {np.float(d['np.float'])} {\n    np.float(1)  # np.float\n}'\n",
        "import numpy as np\ns = f'{d['a']} {float(d['np.float'])} {\n    float(1)  # np.float\n}'\n",
    );
}

#[test]
fn f_strings_of_python_3_12_as_arguments() {
    becomes(
        "import pandas as pd\ndf = pd.DataFrame()\nx = df.append(pd.Series(f'{d['#']}', name=f'{f'{'a'}'}'))\n",
        "import pandas as pd\ndf = pd.DataFrame()\nx = pd.concat([df, pd.Series(f'{d['#']}', name=f'{f'{'a'}'}').to_frame().T.infer_objects()])\n",
    );
}

#[test]
fn implicit_concatenation_in_a_call() {
    becomes(
        "import pandas as pd\nx = df.as_matrix()[f('as_matrix()' \"df.as_matrix()\"  # df.as_matrix()\n)]\n",
        "import pandas as pd\nx = df.values[f('as_matrix()' \"df.as_matrix()\"  # df.as_matrix()\n)]\n",
    );
}

#[test]
fn magics_with_code() {
    stays("import numpy as np\n!python -c 'import numpy; numpy.float'\n%env X=np.float\n");
    stays("%%writefile x.py\nimport numpy as np\nx = np.float(1)\n");
    becomes("import numpy as np\n%time x = np.float(1)\n", "import numpy as np\n%time x = float(1)\n");
}

#[test]
fn code_with_a_syntax_error_is_left_alone() {
    stays("import numpy as np\n# %%\nx = np.float(1\n# %%\nd = f(x y)\ne = np.float(2)\n");
}

#[test]
fn carriage_returns_and_other_spaces_stay() {
    becomes(
        "import numpy as np\r\nx = np.float(1)\r\n\x0cy\t=\tnp.float(2) \\\r\n  + 1\r\n",
        "import numpy as np\r\nx = float(1)\r\n\x0cy\t=\tfloat(2) \\\r\n  + 1\r\n",
    );
}

#[test]
fn letters_beyond_ascii_stay() {
    becomes(
        "import numpy as np\ngröße = np.float(1); 日本 = 'np.float é'; x = np.float(größe)\n",
        "import numpy as np\ngröße = float(1); 日本 = 'np.float é'; x = float(größe)\n",
    );
}
