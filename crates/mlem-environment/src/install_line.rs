//! Commands that install packages, as notebooks hold them: `!pip install -q x==1.2 "y>=3" git+https://…`.

use crate::Distribution;
use crate::knowledge::Knowledge;
use crate::requirement::Requirement;

/// What one command line asks for.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Installs {
    pub(crate) requirements: Vec<Requirement>,
    /// Requirements files named by `-r`.
    pub(crate) files: Vec<String>,
    /// Arguments that say no distribution, each with why.
    pub(crate) skipped: Vec<String>,
}

/// Options of `pip install` and `conda install` that take the next word as their value.
const WITH_VALUE: &[&str] = &[
    "-i",
    "--index-url",
    "--extra-index-url",
    "-f",
    "--find-links",
    "-c",
    "--constraint",
    "-t",
    "--target",
    "--prefix",
    "--root",
    "--src",
    "--upgrade-strategy",
    "--global-option",
    "--install-option",
    "--config-settings",
    "--platform",
    "--python-version",
    "--proxy",
    "--timeout",
    "--default-timeout",
    "--retries",
    "--trusted-host",
    "--cert",
    "--log",
    "--cache-dir",
    "--channel",
    "-n",
    "--name",
    "-p",
    "--progress-bar",
    "--no-binary",
    "--only-binary",
    "--solver",
];

/// Reads a shell command line, which may hold several commands.
pub(crate) fn read(line: &str) -> Installs {
    let mut installs = Installs::default();
    if !line.contains("install") {
        return installs;
    }
    for command in commands(line) {
        read_command(&command, &mut installs);
    }
    installs
}

fn read_command(words: &[String], installs: &mut Installs) {
    let Some((conda, arguments)) = installer(words) else { return };
    let mut arguments = arguments.iter();
    while let Some(word) = arguments.next() {
        if word.starts_with('-') {
            let name = word.split('=').next().unwrap_or(word);
            match name {
                "-r" | "--requirement" | "--file" => {
                    let value = word
                        .split_once('=')
                        .map(|(_, value)| value.to_owned())
                        .or_else(|| arguments.next().cloned());
                    installs.files.extend(value);
                }
                _ if word.contains('=') => {}
                // conda's `-c` is a channel, pip's a constraint: both take a value.
                _ if WITH_VALUE.contains(&name) => drop(arguments.next()),
                _ => {}
            }
            continue;
        }
        match requirement(word, conda) {
            Ok(found) => installs.requirements.extend(found),
            Err(why) => installs.skipped.push(why),
        }
    }
}

/// The arguments of an install command, and whether it is conda's.
fn installer(words: &[String]) -> Option<(bool, &[String])> {
    let mut rest = words;
    while let Some((first, after)) = rest.split_first() {
        let name = first.trim_start_matches(['!', '%']).rsplit(['/', '\\']).next().unwrap_or(first);
        let assignment = first.contains('=') && !first.starts_with('-');
        match name {
            "sudo" | "yes" | "time" | "exec" | "env" | "uv" | "-H" | "-E" | "-m" | "-q" | "--quiet" => {
                rest = after
            }
            _ if assignment => rest = after,
            _ if name.starts_with("python") || name.contains("executable") || name == "py" => rest = after,
            _ if name == "pip" || name.strip_prefix("pip").is_some_and(is_version) => {
                return subcommand(after).map(|arguments| (false, arguments));
            }
            "conda" | "mamba" | "micromamba" => return subcommand(after).map(|arguments| (true, arguments)),
            "easy_install" => return Some((false, after)),
            _ => return None,
        }
    }
    None
}

fn is_version(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_digit() || c == '.')
}

/// What follows `install`, with options before it passed over.
fn subcommand(words: &[String]) -> Option<&[String]> {
    let at = words.iter().position(|word| !word.starts_with('-'))?;
    (words[at] == "install").then(|| &words[at + 1..])
}

fn requirement(word: &str, conda: bool) -> Result<Option<Requirement>, String> {
    if word.contains(['$', '{', '}', '*']) && !word.contains("==") {
        return Err(format!("`{word}` depends on a variable"));
    }
    if word.ends_with(".whl") && !word.contains("://") {
        // A wheel that lies in a data set, for machines without a network: its name says what it is (PEP 427).
        let file = word.rsplit('/').next().unwrap_or(word);
        let mut parts = file.split('-');
        return match (parts.next(), parts.next()) {
            (Some(name), Some(version)) if Distribution::is_valid(name) => Ok(Some(Requirement::exactly(
                Distribution::new(name),
                version.split('+').next().unwrap_or(version),
            ))),
            _ => Err(format!("`{word}` is a file")),
        };
    }
    if word == "."
        || word.starts_with(['.', '/', '~'])
        || word.ends_with(".gz")
        || word.ends_with(".zip") && !word.contains("://")
    {
        return Err(format!("`{word}` is a file or folder"));
    }
    if conda {
        // `conda-forge::lightgbm`
        let word = word.rsplit("::").next().unwrap_or(word);
        let mut found = Requirement::parse(word).map_err(|error| error.to_string())?;
        return Ok(Knowledge::shipped().from_conda(found.distribution.as_str()).map(|name| {
            found.distribution = name;
            found
        }));
    }
    Requirement::parse(word).map(Some).map_err(|error| error.to_string())
}

/// Splits a line into commands at `;`, `&&`, `||`, `|` and `&`, and each into words, as a shell does: quotes, `\`, and no
/// redirections.
fn commands(line: &str) -> Vec<Vec<String>> {
    let mut commands = vec![Vec::new()];
    let mut word = String::new();
    let mut in_word = false;
    let mut quote = None;
    let mut characters = line.chars().peekable();
    let mut skip_next = false;
    let finish = |word: &mut String, in_word: &mut bool, commands: &mut Vec<Vec<String>>, skip: &mut bool| {
        if *in_word {
            let text = std::mem::take(word);
            if *skip {
                *skip = false;
            } else if let Some(last) = commands.last_mut() {
                last.push(text);
            }
            *in_word = false;
        }
    };
    while let Some(character) = characters.next() {
        match (quote, character) {
            (Some(open), _) if character == open => quote = None,
            (Some(_), _) => word.push(character),
            (None, '\'' | '"') => {
                quote = Some(character);
                in_word = true;
            }
            (None, '\\') => {
                if let Some(next) = characters.next()
                    && next != '\n'
                {
                    word.push(next);
                    in_word = true;
                }
            }
            (None, '#') if !in_word => break,
            (None, ';' | '|' | '&' | '\n') => {
                finish(&mut word, &mut in_word, &mut commands, &mut skip_next);
                skip_next = false;
                commands.push(Vec::new());
            }
            // People forget the quotes of `x>=1.2`; the shell then writes a file, they meant a version.
            (None, '>' | '<')
                if in_word && (characters.peek() == Some(&'=') || word.chars().any(char::is_alphabetic)) =>
            {
                word.push(character);
            }
            (None, '>' | '<') => {
                // `2>&1`, `> /dev/null`: the file descriptor before it and the target after it are no arguments.
                word.clear();
                in_word = false;
                while characters.peek().is_some_and(|next| matches!(next, '>' | '&')) {
                    characters.next();
                }
                skip_next = true;
            }
            (None, _) if character.is_whitespace() => {
                finish(&mut word, &mut in_word, &mut commands, &mut skip_next)
            }
            (None, _) => {
                word.push(character);
                in_word = true;
            }
        }
    }
    finish(&mut word, &mut in_word, &mut commands, &mut skip_next);
    commands.retain(|command| !command.is_empty());
    commands
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(line: &str) -> String {
        let installs = read(line);
        let mut shown: Vec<String> = installs.requirements.iter().map(ToString::to_string).collect();
        shown.extend(installs.files.iter().map(|file| format!("-r {file}")));
        shown.extend(installs.skipped.iter().map(|_| "?".to_owned()));
        shown.join(", ")
    }

    #[test]
    fn install_commands_are_read_as_the_shell_would() {
        for (line, expected) in [
            ("pip install numpy", "numpy"),
            (
                "pip install -q x==1.2 \"y>=3\" git+https://h/o/z.git",
                "x==1.2, y>=3, z @ git+https://h/o/z.git",
            ),
            ("pip3 install --upgrade --user pandas > /dev/null 2>&1", "pandas"),
            ("python -m pip install -U scikit-learn", "scikit-learn"),
            ("{sys.executable} -m pip install tqdm", "tqdm"),
            ("pip -q install a b", "a, b"),
            ("pip install a && pip install b; echo pip install c", "a, b"),
            ("pip install -i https://i.example/simple -f https://f.example a", "a"),
            ("pip install -r requirements.txt --no-deps", "-r requirements.txt"),
            ("pip install ../input/thing/thing-1.0.2-py3-none-any.whl", "thing==1.0.2"),
            ("pip install torch>=1.0", "torch>=1.0"),
            ("pip install 'torch>=1.0,<2' # comment", "torch>=1.0,<2"),
            ("pip install ./local $NAME", "?, ?"),
            ("pip uninstall -y keras", ""),
            ("conda install -y -c conda-forge lightgbm=2.3 pytorch", "lightgbm==2.3.*, torch"),
            ("conda install python=3.6 conda-forge::xgboost", "xgboost"),
            ("yes | pip install a", "a"),
            ("sudo -H pip2.7 install a", "a"),
            ("apt-get install -y graphviz", ""),
            ("ls", ""),
            ("uv pip install polars", "polars"),
            ("pip install --target=/kaggle/working a", "a"),
        ] {
            assert_eq!(shown(line), expected, "{line}");
        }
    }
}
