//! Parses and analyses generated notebooks and reports CPU seconds:
//! `cargo run --release -p mlem-python --example analyse -- [COUNT] [FILE.py…]`.
//! Files given are split into cells of about ten lines instead of generated text.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use mlem_python::{Program, Unit};

/// Cells like those of tabular notebooks; each notebook repeats them to about 200 lines.
const CELLS: &[&str] = &[
    "import numpy as np\nimport pandas as pd\nimport matplotlib.pyplot as plt\n%matplotlib inline\nfrom sklearn.model_selection import train_test_split\nfrom sklearn.ensemble import RandomForestClassifier\n",
    "train = pd.read_csv('../input/train.csv')\ntest = pd.read_csv('../input/test.csv')\nprint(train.shape, test.shape)\ntrain.head()\n",
    "train['FamilySize'] = train['SibSp'] + train['Parch'] + 1\nfor dataset in [train, test]:\n    dataset['Age'] = dataset['Age'].fillna(dataset['Age'].median())\n    dataset.loc[dataset['Fare'] > 30, 'Rich'] = 1\n    dataset.drop(['Cabin', 'Ticket'], axis=1, inplace=True)\n",
    "def plot_feature(df, name, bins=20):\n    fig, ax = plt.subplots(1, 2, figsize=(12, 4))\n    ax[0].hist(df[name].values, bins=bins, normed=True)\n    ax[1].set_title('Distribution of {}'.format(name))\n    values = [v for v in df[name].unique() if v is not None]\n    return fig, {k: len(df[df[name] == k]) for k in values}\n",
    "plot_feature(train, 'Age')\nplt.show()\n",
    "X = train[[c for c in train.columns if c not in ('Survived', 'PassengerId')]]\ny = train['Survived']\nX_train, X_val, y_train, y_val = train_test_split(X, y, test_size=0.2, random_state=42)\nmodel = RandomForestClassifier(n_estimators=100, max_depth=5, n_jobs=-1)\nmodel.fit(X_train, y_train)\nprint('Accuracy: %.3f' % model.score(X_val, y_val))\n",
    "class Averager(object):\n    def __init__(self, models):\n        self.models = models\n    def fit(self, X, y):\n        for m in self.models:\n            m.fit(X, y)\n        return self\n    def predict(self, X):\n        return np.column_stack([m.predict(X) for m in self.models]).mean(axis=1)\n",
    "scores = []\nfor depth in range(2, 10):\n    m = RandomForestClassifier(max_depth=depth)\n    m.fit(X_train, y_train)\n    score = m.score(X_val, y_val)\n    scores.append(score)\n    if score > 0.9:\n        best = m\n    else:\n        best = model\n",
    "sub = pd.DataFrame({'PassengerId': test['PassengerId'], 'Survived': model.predict(test)})\nsub.to_csv('submission.csv', index=False)\n",
];

#[expect(clippy::print_stdout, reason = "an example's output is its result")]
fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1).peekable();
    let count =
        arguments.next_if(|first| first.parse::<usize>().is_ok()).and_then(|first| first.parse().ok());
    let mut notebooks: Vec<Vec<String>> = Vec::new();
    for path in arguments {
        let Ok(source) = std::fs::read_to_string(path) else { continue };
        let lines: Vec<&str> = source.lines().collect();
        notebooks.push(lines.chunks(10).map(|lines| lines.join("\n")).collect());
    }
    if notebooks.is_empty() {
        for index in 0..count.unwrap_or(1_000) {
            let start = index % CELLS.len();
            let cells = (0..36)
                .map(|cell| CELLS[if cell == 0 { 0 } else { (start + cell) % CELLS.len() }].to_owned());
            notebooks.push(cells.collect());
        }
    }
    let lines: usize = notebooks.iter().flatten().map(|cell| cell.lines().count()).sum();
    let (mut parsing, mut analysis) = (Duration::ZERO, Duration::ZERO);
    let mut imports = 0;
    for cells in &notebooks {
        let start = Instant::now();
        let units: Vec<Unit> = cells.iter().map(|cell| Unit::cell(cell)).collect();
        parsing += start.elapsed();
        let start = Instant::now();
        imports += Program::new(units).imports().len();
        analysis += start.elapsed();
    }
    println!(
        "{} notebooks, {lines} lines, {imports} imports: parse {:.3} s, analysis {:.3} s",
        notebooks.len(),
        parsing.as_secs_f64(),
        analysis.as_secs_f64()
    );
    ExitCode::SUCCESS
}
