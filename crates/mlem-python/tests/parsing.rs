//! Cells with IPython's syntax, cells that do not parse, and Python 2 told from Python 3.

use mlem_python::{MagicKind, Program, Ranged, Syntax, Unit, is_python2, lift_python2};

fn magics(source: &str) -> Vec<(MagicKind, String, String, Option<String>)> {
    let unit = Unit::cell(source);
    let magics = unit.magics().iter();
    magics.map(|m| (m.kind, m.name.clone(), m.argument.clone(), m.assigned.clone())).collect()
}

#[test]
fn magics_are_listed() {
    let source = "%matplotlib inline\nimport os\nif x:\n    !pip install a\nfiles = !ls *.csv\nt = %timeit f()\ndf?\n?df.head\n";
    let found = magics(source);
    let some = |text: &str| Some(text.to_owned());
    let expected = [
        (MagicKind::Line, "matplotlib", "inline", None),
        (MagicKind::Shell, "!", "pip install a", None),
        (MagicKind::Shell, "!", "ls *.csv", some("files")),
        (MagicKind::Line, "timeit", "f()", some("t")),
        (MagicKind::Help, "?", "df", None),
        (MagicKind::Help, "?", "df.head", None),
    ];
    let expected: Vec<_> = expected
        .into_iter()
        .map(|(kind, name, argument, to)| (kind, name.to_owned(), argument.to_owned(), to))
        .collect();
    assert_eq!(found, expected);
    assert_eq!(*Unit::cell(source).syntax(), Syntax::Clean);
}

#[test]
fn cell_magics_are_routed_by_name() {
    let python = Unit::cell("\n%%time\nx = 1\n");
    assert_eq!(*python.syntax(), Syntax::Clean);
    assert_eq!(python.magics()[0].name, "time");
    let program = Program::new(vec![python]);
    assert!(program.flow(0).binds.contains("x"));

    for (source, language) in [
        ("%%bash\nfor i in *; do echo $i; done", "bash"),
        ("%%writefile a.py\nimport nothing\n", "writefile"),
        ("%%html\n<b>", "html"),
        ("%%R -i df\nlibrary(x)", "R"),
        ("%%!\nls", "!"),
    ] {
        let unit = Unit::cell(source);
        assert_eq!(*unit.syntax(), Syntax::Opaque(language.to_owned()));
        assert!(unit.body().is_empty());
        assert_eq!(unit.magics()[0].kind, MagicKind::Cell);
    }
}

#[test]
fn an_indented_cell_is_read_as_ipython_reads_it() {
    let unit = Unit::cell("\n  x = 1\n  if x:\n    y = [2,\n  3]\n");
    assert_eq!(*unit.syntax(), Syntax::Clean);
    assert_eq!(&unit.source()[unit.body()[0].range()], "x = 1");
    assert_eq!(unit.body().len(), 2);
    assert!(matches!(Unit::module("  x = 1\n").syntax(), Syntax::Broken { .. }));
}

#[test]
fn bare_pip_lines_are_magics() {
    let unit = Unit::cell("pip install -U xgboost\nimport xgboost\n");
    assert_eq!(*unit.syntax(), Syntax::Clean);
    assert_eq!(
        (unit.magics()[0].name.as_str(), unit.magics()[0].argument.as_str()),
        ("pip", "install -U xgboost")
    );
    let program = Program::new(vec![unit]);
    assert_eq!(program.imports()[0].qualified, "xgboost");
}

#[test]
fn code_behind_a_line_magic_counts() {
    let program = Program::new(vec![Unit::cell("%time import numpy as np\n%timeit -n 10 x = np.zeros(3)\n")]);
    assert_eq!(program.imports()[0].bound, "np");
    assert_eq!(&program.units()[0].source()[program.imports()[0].range], "import numpy as np");
    assert!(program.flow(0).binds.contains("x"));
}

#[test]
fn a_broken_cell_names_its_place_and_keeps_its_imports() {
    let broken = Unit::cell("import numpy as np\nx = (1,\ny = 2\n");
    let Syntax::Broken { line, .. } = broken.syntax() else { panic!("{:?}", broken.syntax()) };
    assert!((2..=4).contains(line), "{line}");
    let program = Program::new(vec![broken, Unit::cell("y = np.zeros(2)\n")]);
    assert_eq!(program.imports()[0].qualified, "numpy");
    let value = &program.units()[1].body()[0].as_assign_stmt().unwrap().value;
    assert_eq!(program.type_of(1, value), Some("numpy.ndarray"));
    assert_eq!(
        Unit::cell("é = é é\n").syntax(),
        &Syntax::Broken {
            line: 1,
            column: 7,
            message: "Simple statements must be separated by newlines or semicolons".to_owned(),
        }
    );
}

#[test]
fn only_tokens_make_python2() {
    for source in [
        "print 'a'",
        "print x",
        "exec 'a'",
        "raise E, 'a'",
        "x = 0777",
        "x = 10L",
        "x <> y",
        "x = `y`",
        "x = ur'a'",
        "print >>f, 'a'",
        "print >> f",
        "try:\n    f()\nexcept E, e:\n    pass",
        "def f((a, b)): pass",
        "x = lambda (a, b): a",
        "if x:\n    print 'a',\n",
    ] {
        let unit = Unit::cell(source);
        assert!(matches!(unit.syntax(), Syntax::Python2 { .. }), "{source}: {:?}", unit.syntax());
        assert!(is_python2(std::slice::from_ref(&unit)), "{source}");
        assert!(lift_python2(&unit).is_ok(), "{source}");
    }
    for source in [
        "print('a')",
        "print",
        "# print 'a'",
        "'print x; exec y'",
        "'''\nprint x\n'''",
        "df.long()",
        "x = 0",
        "x = 00",
        "print(x, file=f)",
        "d.has_key('a')",
        "raise E('a')",
        "try:\n    f()\nexcept (A, B):\n    pass",
        "x = a >> b",
        "x.print >> 3",
        "raw_input()",
        "xrange(3)",
        "unicode('a')",
        "print (a, b)",
        "",
    ] {
        let unit = Unit::cell(source);
        assert_eq!(*unit.syntax(), Syntax::Clean, "{source}");
        assert!(!is_python2(&[unit]), "{source}");
    }
    // Broken in both.
    for source in ["print the results of this", "def f(:", "x = = 3", "print 'a' 'b' c"] {
        assert!(matches!(Unit::cell(source).syntax(), Syntax::Broken { .. }), "{source}");
    }
}

#[test]
fn one_stray_statement_does_not_make_a_modern_notebook_python2() {
    let cells = ["f'{x}'", "f'{y}'", "print 'oops'"].map(Unit::cell);
    assert!(!is_python2(&cells));
    let cells = ["import os", "print (1, 2)", "print 'a'"].map(Unit::cell);
    assert!(is_python2(&cells));
}

#[test]
fn module_units_have_names_of_their_own() {
    let helper =
        Unit::module("import pandas as pd\nlimit = 3\ndef load(path):\n    return pd.read_csv(path)\n")
            .named("helper");
    let program = Program::new(vec![
        helper,
        Unit::cell("from helper import *\nimport helper\npd.concat\nhelper.pd.merge\nhelper.load\nlimit\n"),
    ]);
    let value = |index: usize| &*program.units()[1].body()[index].as_expr_stmt().unwrap().value;
    assert_eq!(program.qualified_name(1, value(2)), Some("pandas.concat"));
    assert_eq!(program.qualified_name(1, value(3)), Some("pandas.merge"));
    assert_eq!(program.qualified_name(1, value(4)), Some("helper.load"));
    assert_eq!(program.type_of(1, value(5)), Some("int"));
    assert!(program.flow(0).binds.is_empty());
}

#[test]
fn imports_tell_how_they_stand() {
    let source = "try:\n    import a\nexcept ImportError:\n    import b\ndef f():\n    from c import d as e\nfrom .g import *\nimport h.i\n\
                  try:\n    import j\nexcept ValueError:\n    pass\n";
    let program = Program::new(vec![Unit::module(source)]);
    let found: Vec<_> = program
        .imports()
        .iter()
        .map(|i| (i.qualified.as_str(), i.bound.as_str(), i.guarded, i.in_function, i.is_star))
        .collect();
    assert_eq!(
        found,
        [
            ("a", "a", true, false, false),
            ("b", "b", true, false, false),
            ("c.d", "e", false, true, false),
            (".g", "*", false, false, true),
            ("h.i", "h", false, false, false),
            ("j", "j", false, false, false),
        ]
    );
    assert!(program.name_is_bound("e") && !program.name_is_bound("d"));
}
