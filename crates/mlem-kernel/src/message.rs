//! Jupyter messages: made, signed, taken apart.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use serde::Deserialize;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::zmtp::Frame;

/// Ends the routing prefix (Jupyter messaging, "The wire protocol").
const DELIMITER: &[u8] = b"<IDS|MSG>";

/// Version of the messaging protocol that we speak.
const PROTOCOL: &str = "5.3";

/// One client's session: names its messages and signs them.
#[derive(Debug)]
pub(crate) struct Session {
    id: String,
    key: Vec<u8>,
    count: AtomicU64,
}

/// A message from the kernel.
#[derive(Debug)]
pub(crate) struct Incoming {
    /// Its type, such as `stream`.
    pub(crate) kind: String,
    /// The `msg_id` of the request that it belongs to; empty without one.
    pub(crate) parent: String,
    /// Its content; null when it was too large to keep.
    pub(crate) content: Value,
    /// Bytes that were too large to keep.
    pub(crate) oversize: u64,
    /// Bytes that it took on the wire, as far as they were kept.
    pub(crate) size: usize,
}

#[derive(Deserialize)]
struct Header {
    #[serde(default)]
    msg_id: String,
    #[serde(default)]
    msg_type: String,
}

impl Session {
    /// A session; an empty key means unsigned messages, as in Jupyter's own `Session`.
    pub(crate) fn new(id: String, key: String) -> Session {
        Session { id, key: key.into_bytes(), count: AtomicU64::new(0) }
    }

    /// The session's name, which is also the socket identity.
    pub(crate) fn id(&self) -> &str {
        &self.id
    }

    /// Makes a request: its `msg_id` and its frames.
    pub(crate) fn request(&self, kind: &str, content: &Value) -> (String, Vec<Vec<u8>>) {
        let id = format!("{}_{}", self.id, self.count.fetch_add(1, Ordering::Relaxed));
        let header = json!({
            "msg_id": id,
            "username": "mlem",
            "session": self.id,
            "date": iso_date(SystemTime::now()),
            "msg_type": kind,
            "version": PROTOCOL,
        });
        let parts = [
            header.to_string().into_bytes(),
            b"{}".to_vec(),
            b"{}".to_vec(),
            content.to_string().into_bytes(),
        ];
        let mut frames =
            vec![DELIMITER.to_vec(), self.signature(parts.iter().map(Vec::as_slice)).into_bytes()];
        frames.extend(parts);
        (id, frames)
    }

    /// Takes a message apart. The error says what is wrong with it.
    pub(crate) fn open(&self, frames: &[Frame]) -> Result<Incoming, String> {
        let start = frames
            .iter()
            .position(|frame| matches!(frame, Frame::Whole(bytes) if bytes == DELIMITER))
            .ok_or("it has no delimiter")?;
        let [Frame::Whole(signature), parts @ ..] = &frames[start + 1..] else {
            return Err("it has no signature".to_owned());
        };
        let [header, parent, _metadata, content, ..] = parts else {
            return Err(format!("it has {} parts instead of four", parts.len()));
        };
        let mut size = 0;
        let mut oversize = 0;
        for frame in frames {
            match frame {
                Frame::Whole(bytes) => size += bytes.len(),
                Frame::Oversize(start, length) => {
                    size += start.len();
                    oversize += length - start.len() as u64;
                }
            }
        }
        let signed: Option<Vec<&[u8]>> = parts[..4]
            .iter()
            .map(|frame| match frame {
                Frame::Whole(bytes) => Some(bytes.as_slice()),
                Frame::Oversize(..) => None,
            })
            .collect();
        // What was passed over cannot be verified; nothing but text to show is taken from it.
        if let Some(signed) = signed
            && !self.key.is_empty()
            && self.signature(signed.into_iter()).as_bytes() != signature.as_slice()
        {
            return Err("its signature is wrong".to_owned());
        }
        let header: Header = parse(header)?.ok_or("its header is too large")?;
        let parent: Option<Header> = parse(parent).unwrap_or(None);
        let content = match content {
            Frame::Oversize(start, _) if header.msg_type == "stream" => cut_stream(start),
            content => parse(content)
                .map_err(|error| format!("{}: {error}", header.msg_type))?
                .unwrap_or(Value::Null),
        };
        Ok(Incoming {
            kind: header.msg_type,
            parent: parent.map(|parent| parent.msg_id).unwrap_or_default(),
            content,
            oversize,
            size,
        })
    }

    fn signature<'a>(&self, parts: impl Iterator<Item = &'a [u8]>) -> String {
        if self.key.is_empty() {
            return String::new();
        }
        hmac_sha256(&self.key, parts).iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

/// Parses a part as JSON; none when it was too large. Text that is not UTF-8 (Python 2 may send
/// such bytes) is repaired rather than refused.
fn parse<T: serde::de::DeserializeOwned>(frame: &Frame) -> Result<Option<T>, String> {
    let Frame::Whole(bytes) = frame else {
        return Ok(None);
    };
    match serde_json::from_slice(bytes) {
        Ok(value) => Ok(Some(value)),
        Err(error) => {
            let repaired = repaired_json(bytes);
            serde_json::from_str(&repaired).map(Some).map_err(|_| error.to_string())
        }
    }
}

/// The content of a `stream` message of which only the beginning is there. Null when the text is not
/// what it breaks off in.
fn cut_stream(start: &[u8]) -> Value {
    let text = String::from_utf8_lossy(start);
    let mut text = text.trim_end_matches('\u{fffd}');
    // The cut may be inside of an escape sequence, the longest of which has twelve characters.
    for _ in 0..12 {
        if let Ok(content) = serde_json::from_str(&format!("{text}\"}}")) {
            return content;
        }
        let Some(last) = text.chars().next_back() else {
            break;
        };
        text = &text[..text.len() - last.len_utf8()];
    }
    Value::Null
}

/// JSON text with what Python's `json` module writes beyond the standard made standard: bytes that
/// are not UTF-8, lone surrogate escapes, and the bare words `NaN`, `Infinity`, `-Infinity`.
fn repaired_json(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let mut out = String::with_capacity(text.len());
    let mut rest = text.as_ref();
    let mut in_string = false;
    while let Some(first) = rest.chars().next() {
        let mut taken = first.len_utf8();
        if in_string && first == '\\' {
            let unit = |at: usize| {
                let escape = rest.get(at..at + 6)?.strip_prefix("\\u")?;
                u16::from_str_radix(escape, 16).ok()
            };
            match (unit(0), unit(6)) {
                (Some(0xd800..=0xdbff), Some(0xdc00..=0xdfff)) => {
                    taken = 12;
                    out.push_str(&rest[..taken]);
                }
                (Some(0xd800..=0xdfff), _) => {
                    taken = 6;
                    out.push('\u{fffd}');
                }
                _ => {
                    taken = 1 + rest[1..].chars().next().map_or(0, char::len_utf8);
                    out.push_str(&rest[..taken]);
                }
            }
        } else if first == '"' {
            in_string = !in_string;
            out.push(first);
        } else if !in_string
            && let Some(word) = ["NaN", "Infinity", "-Infinity"].iter().find(|word| rest.starts_with(**word))
        {
            taken = word.len();
            out.push_str("null");
        } else {
            out.push(first);
        }
        rest = &rest[taken..];
    }
    out
}

/// HMAC with SHA-256 (RFC 2104).
fn hmac_sha256<'a>(key: &[u8], parts: impl Iterator<Item = &'a [u8]>) -> [u8; 32] {
    const BLOCK: usize = 64;
    let mut padded = [0u8; BLOCK];
    if key.len() > BLOCK {
        padded[..32].copy_from_slice(&Sha256::digest(key));
    } else {
        padded[..key.len()].copy_from_slice(key);
    }
    let mut inner = Sha256::new_with_prefix(padded.map(|byte| byte ^ 0x36));
    for part in parts {
        inner.update(part);
    }
    let mut outer = Sha256::new_with_prefix(padded.map(|byte| byte ^ 0x5c));
    outer.update(inner.finalize());
    outer.finalize().into()
}

/// A moment as `2026-12-01T09:50:09.123456Z`.
fn iso_date(moment: SystemTime) -> String {
    let since = moment.duration_since(UNIX_EPOCH).unwrap_or_default();
    let seconds = since.as_secs();
    let (year, month, day) = civil(seconds / 86_400);
    let (hour, minute, second) = (seconds / 3600 % 24, seconds / 60 % 60, seconds % 60);
    let micros = since.subsec_micros();
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{micros:06}Z")
}

/// Year, month and day of a count of days since 1970-01-01 (Howard Hinnant, `civil_from_days`).
fn civil(days: u64) -> (u64, u64, u64) {
    let shifted = days + 719_468;
    let era = shifted / 146_097;
    let day_of_era = shifted % 146_097;
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    (year, month, day)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn frames(parts: &[&[u8]]) -> Vec<Frame> {
        parts.iter().map(|part| Frame::Whole(part.to_vec())).collect()
    }

    #[test]
    fn hmac_matches_rfc_4231() {
        let digest = hmac_sha256(b"Jefe", [b"what do ya want ".as_slice(), b"for nothing?"].into_iter());
        assert_eq!(digest[..4], [0x5b, 0xdc, 0xc1, 0x46]);
        assert_eq!(digest[28..], [0x64, 0xec, 0x38, 0x43]);
    }

    #[test]
    fn dates_are_civil() {
        assert_eq!(iso_date(UNIX_EPOCH + Duration::from_secs(951_782_400)), "2000-02-29T00:00:00.000000Z");
        assert_eq!(
            iso_date(UNIX_EPOCH + Duration::from_micros(1_796_118_609_000_007)),
            "2026-12-01T09:50:09.000007Z"
        );
    }

    #[test]
    fn an_own_request_opens_and_a_changed_one_does_not() {
        let session = Session::new("s".into(), "key".into());
        let (id, parts) = session.request("execute_request", &json!({"code": "1"}));
        let mut parts: Vec<Frame> = parts.into_iter().map(Frame::Whole).collect();
        let message = session.open(&parts).unwrap();
        assert_eq!((message.kind.as_str(), id.as_str()), ("execute_request", "s_0"));
        parts[5] = Frame::Whole(b"{}".to_vec());
        assert!(session.open(&parts).unwrap_err().contains("signature"));
    }

    #[test]
    fn malformed_messages_are_told_apart() {
        let session = Session::new("s".into(), String::new());
        let open = |parts: &[&[u8]]| session.open(&frames(parts)).unwrap_err();
        assert_eq!(open(&[b"x"]), "it has no delimiter");
        assert_eq!(open(&[DELIMITER]), "it has no signature");
        assert_eq!(open(&[DELIMITER, b"", b"{}"]), "it has 1 parts instead of four");
        assert!(
            open(&[DELIMITER, b"", br#"{"msg_type":"stream"}"#, b"{}", b"{}", b"{"]).starts_with("stream:")
        );
    }

    #[test]
    fn an_oversize_content_leaves_type_and_parent() {
        let session = Session::new("s".into(), "key".into());
        let mut parts =
            frames(&[DELIMITER, b"sig", br#"{"msg_type":"stream"}"#, br#"{"msg_id":"s_4"}"#, b"{}"]);
        parts.push(Frame::Oversize(b"{".to_vec(), (1 << 40) + 1));
        let message = session.open(&parts).unwrap();
        assert_eq!(
            (message.kind.as_str(), message.parent.as_str(), message.oversize),
            ("stream", "s_4", 1 << 40)
        );
    }

    #[test]
    fn the_beginning_of_a_stream_is_shown_wherever_it_is_cut() {
        let full = "{\"name\": \"stdout\", \"text\": \"a\u{20ac}\\n\\ud83d\\ude00b";
        let whole = "a\u{20ac}\n\u{1f600}b";
        for end in 28..=full.len() {
            let content = cut_stream(&full.as_bytes()[..end]);
            assert!(whole.starts_with(content["text"].as_str().unwrap()), "{end}: {content}");
        }
        assert_eq!(cut_stream(full.as_bytes())["text"], whole);
        assert!(cut_stream(br#"{"data": {"#).is_null());
    }

    #[test]
    fn what_python_writes_beyond_json_is_read() {
        let value: Value =
            parse(&Frame::Whole(b"{\"a\": NaN, \"b\": \"NaN \\ud83d \\ud83d\\ude00 \xff \\\" x\"}".to_vec()))
                .unwrap()
                .unwrap();
        assert_eq!(value, json!({"a": null, "b": "NaN \u{fffd} \u{1f600} \u{fffd} \" x"}));
    }
}
