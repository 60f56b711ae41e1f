//! Reads a kernel's error output: which exception, and which line of the user's own source raised it.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use regex::Regex;

/// Where a traceback frame lies, as the traceback says it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FramePlace {
    /// A cell, by the execution count it ran under.
    Execution(u64),
    /// The cell that is running, body of a cell magic such as `%%time`.
    MagicBody,
    /// A cell of an IPython that names cells by a hash instead of a count (ipykernel 6 before IPython 8).
    RunningCell,
    /// A file.
    File(PathBuf),
}

/// One frame of a traceback, outermost first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frame {
    /// Which source the frame is in.
    pub place: FramePlace,
    /// Line from 1.
    pub line: usize,
}

/// An exception as the notebook's user would describe it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exception {
    /// Class name, e.g. `AttributeError`.
    pub ename: String,
    /// Message without terminal colours.
    pub evalue: String,
    /// Frames, outermost first.
    pub frames: Vec<Frame>,
}

static ANSI: LazyLock<Regex> = LazyLock::new(|| regex(r"\x1b\[[0-9;]*[A-Za-z]"));
/// Headers of frames in cells and files, over the generations of IPython's `ultratb`:
/// 9/8: `Cell In[3], line 2`; 8.0: `Input In [3], in <cell line: 2>()`;
/// 5-7: `<ipython-input-3-0123456789ab> in <module>`; files: `File path:10, in f(x)` or `path in f(x)`.
static CELL_HEADER: LazyLock<Regex> = LazyLock::new(|| {
    regex(r"^\s*(?:File )?(?:Cell In ?\[(\d+)\]|Input In ?\[(\d+)\]|<ipython-input-(\d+)-[0-9a-f]+>)")
});
static LINE_OF: LazyLock<Regex> = LazyLock::new(|| regex(r"(?:, line |<cell line: )(\d+)"));
static TIMED: LazyLock<Regex> =
    LazyLock::new(|| regex(r"^\s*(?:File )?<(?:timed exec|timed eval|magic-timeit|prun)>(?::(\d+))?"));
static TEMP_CELL: LazyLock<Regex> =
    LazyLock::new(|| regex(r#"^\s*(?:File )?"?\S*ipykernel_\d+/\d+\.py"?(?::(\d+)|, line (\d+))?"#));
static FILE_HEADER: LazyLock<Regex> =
    LazyLock::new(|| regex(r#"^\s*File (?:"([^"]+)", line (\d+)|(\S.*?):(\d+)(?:, in |$|\())"#));
static OLD_FILE_HEADER: LazyLock<Regex> =
    LazyLock::new(|| regex(r"^(/\S+|~\S+|[A-Za-z]:\\\S+)(?:\.pyc?)? in \S"));
static ARROW: LazyLock<Regex> = LazyLock::new(|| regex(r"^-+> ?(\d+)"));

fn regex(pattern: &str) -> Regex {
    // Every pattern here is a constant of this file and compiled by its tests.
    #[expect(clippy::unwrap_used)]
    Regex::new(pattern).unwrap()
}

/// Removes terminal colour sequences.
pub fn strip_ansi(text: &str) -> String {
    ANSI.replace_all(text, "").into_owned()
}

impl Exception {
    /// Reads the three fields of a Jupyter `error` output.
    pub fn read(ename: &str, evalue: &str, traceback: &[String]) -> Exception {
        let text = strip_ansi(&traceback.join("\n"));
        Exception { ename: ename.to_owned(), evalue: strip_ansi(evalue), frames: frames(&text) }
    }

    /// `AttributeError: message`, the text that rules match their evidence against.
    pub fn signature(&self) -> String {
        format!("{}: {}", self.ename, self.evalue)
    }
}

/// Whether a file of a traceback belongs to an installed distribution or the standard library.
pub fn is_library(path: &Path) -> bool {
    path.components().any(|part| {
        let part = part.as_os_str().to_string_lossy();
        part == "site-packages"
            || part == "dist-packages"
            || part.starts_with("python2.")
            || part.starts_with("python3.")
    }) || path.to_string_lossy().starts_with('<')
}

fn frames(text: &str) -> Vec<Frame> {
    let mut frames: Vec<Frame> = Vec::new();
    // A frame whose header carries no line number gets it from the `---->` arrow below it.
    let mut pending: Option<FramePlace> = None;
    for line in text.lines() {
        let number = |found: Option<regex::Match<'_>>| found.and_then(|m| m.as_str().parse().ok());
        if let Some(found) = CELL_HEADER.captures(line) {
            let count = found.get(1).or(found.get(2)).or(found.get(3));
            let Some(count) = count.and_then(|m| m.as_str().parse().ok()) else { continue };
            let place = FramePlace::Execution(count);
            match LINE_OF.captures(line).and_then(|m| number(m.get(1))) {
                Some(line) => {
                    frames.push(Frame { place: place.clone(), line });
                    // `<cell line: N>` names the statement; the arrow names the line itself.
                    pending = Some(place);
                }
                None => pending = Some(place),
            }
        } else if let Some(found) = TIMED.captures(line) {
            match number(found.get(1)) {
                Some(line) => frames.push(Frame { place: FramePlace::MagicBody, line }),
                None => pending = Some(FramePlace::MagicBody),
            }
        } else if let Some(found) = TEMP_CELL.captures(line) {
            match number(found.get(1).or(found.get(2))) {
                Some(line) => frames.push(Frame { place: FramePlace::RunningCell, line }),
                None => pending = Some(FramePlace::RunningCell),
            }
        } else if let Some(found) = FILE_HEADER.captures(line) {
            let path = found.get(1).or(found.get(3)).map(|m| m.as_str());
            if let (Some(path), Some(line)) = (path, number(found.get(2).or(found.get(4)))) {
                frames.push(Frame { place: FramePlace::File(PathBuf::from(path)), line });
                pending = None;
            }
        } else if let Some(found) = OLD_FILE_HEADER.captures(line) {
            pending = found.get(1).map(|m| FramePlace::File(PathBuf::from(m.as_str())));
        } else if let Some(found) = ARROW.captures(line)
            && let Some(place) = pending.take()
            && let Some(line) = number(found.get(1))
        {
            match frames.last_mut() {
                Some(last) if last.place == place && matches!(place, FramePlace::Execution(_)) => {
                    last.line = line
                }
                _ => frames.push(Frame { place, line }),
            }
        }
    }
    frames
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Vec<Frame> {
        Exception::read("E", "m", &[text.to_owned()]).frames
    }
    fn execution(count: u64, line: usize) -> Frame {
        Frame { place: FramePlace::Execution(count), line }
    }
    fn file(path: &str, line: usize) -> Frame {
        Frame { place: FramePlace::File(PathBuf::from(path)), line }
    }

    #[test]
    fn ipython_9_names_cell_and_line() {
        let text = "ValueError   Traceback (most recent call last)\n\u{1b}[36mCell\u{1b}[39m In[4], line 2\n      1 import helper\n----> 2 helper.go(3)\n\nFile ~/x/helper.py:7, in go(n)\n      5 def go(n):\n----> 7     n.x()\n\nValueError: m";
        assert_eq!(read(text), [execution(4, 2), file("~/x/helper.py", 7)]);
    }

    #[test]
    fn ipython_8_statement_line_gives_way_to_the_arrow() {
        let text = "Input In [12], in <cell line: 3>()\n      3 f(\n----> 4     g())\n";
        assert_eq!(read(text), [execution(12, 4)]);
    }

    #[test]
    fn ipython_5_and_7_take_the_line_from_the_arrow() {
        let text = "<ipython-input-3-0a1b2c3d4e5f> in <module>()\n      1 x\n----> 2 y\n\n/usr/lib/python2.7/site-packages/pandas/core/frame.pyc in f(self)\n     10 a\n---> 11 b\n";
        assert_eq!(
            read(text),
            [execution(3, 2), file("/usr/lib/python2.7/site-packages/pandas/core/frame.pyc", 11)]
        );
    }

    #[test]
    fn syntax_errors_and_timed_bodies() {
        assert_eq!(read("  Cell In[2], line 3\n    print 'x'\n    ^\nSyntaxError: m"), [execution(2, 3)]);
        assert_eq!(read("  File \"<ipython-input-2-aa>\", line 3\n"), [file("<ipython-input-2-aa>", 3)]);
        assert_eq!(read("File <timed exec>:2\n"), [Frame { place: FramePlace::MagicBody, line: 2 }]);
        assert_eq!(read("  File \"/x/y/helper.py\", line 9\n    print 'a'\n"), [file("/x/y/helper.py", 9)]);
    }

    #[test]
    fn library_frames_are_told_apart() {
        assert!(is_library(Path::new("/venv/lib/python3.11/site-packages/pandas/core/frame.py")));
        assert!(is_library(Path::new("<frozen importlib._bootstrap>")));
        assert!(!is_library(Path::new("/home/me/course/helper.py")));
    }
}
