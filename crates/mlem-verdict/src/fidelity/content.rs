//! What a piece of code does: what its calls are about, whether it only shows something, whether
//! it changes anything.

use mlem_python::tree::{Kind, Node};

use super::difference::Frame;
use super::knowledge::{Topic, knowledge};
use super::names::{function, method};

/// Topics that matter even inside of what only shows something.
pub(super) const TELLING: &[&str] = &[
    "exit",
    "submission",
    "synthetic",
    "weights",
    "training",
    "metric",
    "prediction",
    "seed",
    "split",
    "output",
];

pub(super) fn topic_named(topic: Option<&Topic>, names: &[&str]) -> bool {
    topic.is_some_and(|topic| names.contains(&topic.name.as_str()))
}

pub(super) fn frame_topic(frame: &Frame) -> Option<&'static Topic> {
    match frame {
        Frame::Function(name) => knowledge().function(name),
        Frame::Method(name) => knowledge().method(name),
        _ => None,
    }
}

/// What a mention of a full name or of a method is about.
pub(super) fn name_topic(node: &Node) -> Option<&'static Topic> {
    match node.kind {
        Kind::Reference => knowledge().function(&node.text),
        Kind::Attribute => knowledge().method(&node.text),
        _ => None,
    }
}

pub(super) fn call_topic(node: &Node) -> Option<&'static Topic> {
    node.children.first().filter(|_| node.kind == Kind::Call).and_then(name_topic)
}

/// What the calls in a piece of code are about. A full name that is mentioned counts as called: it
/// may be passed on.
pub(super) fn topics_in(node: &Node) -> Vec<&'static Topic> {
    let mut found: Vec<&'static Topic> = Vec::new();
    node.walk(&mut |part| {
        let topic = match part.kind {
            Kind::Reference => knowledge().function(&part.text),
            _ => call_topic(part),
        };
        if let Some(topic) = topic
            && found.iter().all(|other| other.name != topic.name)
        {
            found.push(topic);
        }
    });
    found
}

pub(super) fn telling_topic(node: &Node) -> Option<&'static Topic> {
    topics_in(node)
        .into_iter()
        .filter(|topic| TELLING.contains(&topic.name.as_str()))
        .min_by_key(|topic| knowledge().rank(topic))
}

/// Whether an expression has anything in it that is computed.
pub(super) fn computes(node: &Node) -> bool {
    node.any(&mut |part| matches!(part.kind, Kind::Name | Kind::Call | Kind::Attribute | Kind::Subscript))
}

pub(super) fn prints(node: &Node) -> bool {
    matches!(function(node), Some("print" | "display"))
        || function(node).is_some_and(|name| name.starts_with("IPython."))
}

/// Whether a text or call states a score in literal digits: `Accuracy: 0.97`.
pub(super) fn states_a_score(node: &Node) -> bool {
    let mut words = String::new();
    let mut has_number = false;
    node.walk(&mut |part| match part.kind {
        Kind::Text => {
            let bytes = part.text.as_bytes();
            has_number |= bytes
                .windows(3)
                .any(|three| three[0].is_ascii_digit() && three[1] == b'.' && three[2].is_ascii_digit())
                && !part.text.contains('{');
            words.push_str(&part.text);
        }
        Kind::Number => has_number |= part.text.contains('.'),
        _ => {}
    });
    has_number && knowledge().names_a_score(&words) && !computes_a_value(node)
}

/// Whether anything but the printing itself is computed.
pub(super) fn computes_a_value(node: &Node) -> bool {
    let inner = if prints(node) || node.kind == Kind::Expression {
        &node.children[..]
    } else {
        std::slice::from_ref(node)
    };
    inner.iter().any(|child| {
        if prints(child) {
            computes_a_value(child)
        } else {
            child.any(&mut |part| matches!(part.kind, Kind::Name | Kind::Attribute | Kind::Subscript))
        }
    })
}

/// Whether a statement only shows something: a value, a text, a picture.
pub(super) fn only_shows(statement: &Node) -> bool {
    match statement.kind {
        Kind::Expression => {
            let value = &statement.children[0];
            shows(value)
        }
        Kind::If | Kind::For | Kind::With | Kind::Try => {
            let quiet = |child: &Node| match child.kind {
                Kind::Block => child.children.iter().all(only_shows),
                Kind::Handler => child.block("body").unwrap_or_default().iter().all(only_shows),
                _ => is_inert(child),
            };
            statement.children.iter().all(quiet)
        }
        Kind::Pass => true,
        Kind::Assign => {
            let value = statement.children.last();
            value.is_some_and(|value| {
                let draws = function(value).is_some_and(|name| {
                    name.contains('.') && topic_named(knowledge().function(name), &["display"])
                }) || method(value).is_some_and(|(name, _)| knowledge().draws(name));
                draws && shows(value)
            }) && statement.children[..statement.children.len() - 1]
                .iter()
                .all(|target| matches!(target.kind, Kind::Name | Kind::Tuple))
        }
        _ => false,
    }
}

pub(super) fn shows(value: &Node) -> bool {
    let root_shows = match value.kind {
        Kind::Call => match (function(value), method(value)) {
            (Some(name), _) => topic_named(knowledge().function(name), &["display", "metric", "inspection"]),
            (None, Some((name, _))) => {
                knowledge().only_shows(name)
                    || topic_named(knowledge().method(name), &["metric", "prediction", "rows"])
            }
            (None, None) => false,
        },
        Kind::Name
        | Kind::Reference
        | Kind::Attribute
        | Kind::Subscript
        | Kind::Tuple
        | Kind::List
        | Kind::Binary
        | Kind::Compare
        | Kind::Number
        | Kind::Text
        | Kind::Format => true,
        _ => false,
    };
    root_shows && is_inert(value)
}

/// Whether evaluating it is known to change nothing: it calls only what the table knows to give a
/// value. A call of the program's own functions, or of what nobody knows, may do anything.
pub(super) fn is_inert(node: &Node) -> bool {
    const ACTS: &[&str] = &[
        "exit",
        "submission",
        "synthetic",
        "seed",
        "training",
        "output",
        "weights",
        "split",
        "model",
        "layers",
        "optimizer",
    ];
    !node.any(&mut |part| match part.kind {
        Kind::Call => {
            let in_place = part.children[1..].iter().any(|argument| {
                argument.kind == Kind::Keyword
                    && argument.text == "inplace"
                    && argument.children[0].text != "False"
            });
            let known = match (function(part), method(part)) {
                (Some(name), _) => {
                    knowledge().function(name).is_some_and(|topic| !ACTS.contains(&topic.name.as_str()))
                }
                (None, Some((name, _))) => {
                    knowledge().only_shows(name)
                        || knowledge().method(name).is_some_and(|topic| {
                            matches!(topic.name.as_str(), "features" | "rows" | "metric" | "prediction")
                                && name != "pop"
                        })
                }
                (None, None) => false,
            };
            in_place || !known
        }
        Kind::Walrus
        | Kind::Yield
        | Kind::Await
        | Kind::Escape
        | Kind::Return
        | Kind::Break
        | Kind::Continue
        | Kind::Raise => true,
        _ => false,
    })
}

/// The values that a call of `print` shows, whatever text stands between them.
pub(super) fn shown_values(call: &Node) -> Option<Vec<&Node>> {
    fn collect<'a>(node: &'a Node, found: &mut Vec<&'a Node>) {
        match node.kind {
            Kind::Text | Kind::Number | Kind::Constant => {}
            Kind::Format | Kind::Tuple => node.children.iter().for_each(|child| collect(child, found)),
            Kind::Binary if matches!(node.text.as_str(), "%" | "+") && is_text(&node.children[0]) => {
                node.children.iter().for_each(|child| collect(child, found));
            }
            Kind::Call if function(node) == Some("str") => {
                node.children[1..].iter().for_each(|child| collect(child, found))
            }
            Kind::Call
                if method(node)
                    .is_some_and(|(name, receiver)| name == "format" && receiver.kind == Kind::Text) =>
            {
                node.children[1..].iter().for_each(|child| collect(child, found));
            }
            _ => found.push(node),
        }
    }
    fn is_text(node: &Node) -> bool {
        matches!(node.kind, Kind::Text | Kind::Format)
            || node.kind == Kind::Binary && is_text(&node.children[0])
            || function(node) == Some("str")
    }
    (function(call) == Some("print")).then(|| {
        let mut found = Vec::new();
        for argument in call.children[1..].iter().filter(|argument| argument.kind != Kind::Keyword) {
            collect(argument, &mut found);
        }
        found
    })
}

/// Whether a `try` goes on after an error without raising it again.
pub(super) fn swallows(statement: &Node) -> bool {
    statement
        .children
        .iter()
        .filter(|child| child.kind == Kind::Handler)
        .any(|handler| !handler.any(&mut |part| part.kind == Kind::Raise))
}

/// The last part of a literal path, where the node is one.
pub(super) fn file_name(node: &Node) -> Option<String> {
    let text = match node.kind {
        Kind::Text => node.text.clone(),
        Kind::Call if function(node) == Some("pathlib.Path") => {
            node.children.get(1).filter(|only| only.kind == Kind::Text)?.text.clone()
        }
        // `FOLDER + 'train.csv'`, `f'{folder}/train.csv'`, `os.path.join(folder, 'train.csv')`,
        // `folder / 'train.csv'`: the end is certain.
        Kind::Binary if matches!(node.text.as_str(), "+" | "/") => {
            node.children.last().filter(|last| last.kind == Kind::Text)?.text.clone()
        }
        Kind::Format | Kind::Call if node.kind == Kind::Format || function(node) == Some("os.path.join") => {
            node.children.last().filter(|last| last.kind == Kind::Text)?.text.clone()
        }
        _ => return None,
    };
    let name = text.rsplit(['/', '\\']).next().unwrap_or(&text).to_owned();
    (!name.is_empty()).then_some(name)
}
