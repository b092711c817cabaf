//! Requests: as much of HTTP/1.1 as a file server needs.

use super::response::Status;
use std::path::PathBuf;
use std::str;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Method {
    Get,
    Head,
}

/// Which bytes are asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Range {
    /// From the first to the last.
    From(u64, u64),
    /// So many at the end.
    Last(u64),
}

impl Range {
    /// Start and end of what there is of it in a file of `len` bytes.
    pub(super) fn within(self, len: u64) -> Option<(u64, u64)> {
        let (start, end) = match self {
            Self::From(first, last) => (first, last.saturating_add(1).min(len)),
            Self::Last(count) => (len.saturating_sub(count), len),
        };
        (start < end).then_some((start, end))
    }
}

#[derive(PartialEq, Eq, Debug)]
pub(super) struct Request {
    pub(super) method: Method,
    /// Below the root: of names only.
    pub(super) path: PathBuf,
    pub(super) range: Option<Range>,
    pub(super) keep_alive: bool,
}

/// The request that `bytes` begin with, and of how many bytes its head is; `None` while that is incomplete.
pub(super) fn parse(bytes: &[u8]) -> Option<(usize, Result<Request, Status>)> {
    // Empty lines in front of a request are to be ignored.
    let blank = bytes
        .iter()
        .take_while(|byte| b"\r\n".contains(byte))
        .count();
    let head = &bytes[blank..];
    let len = head.windows(4).position(|part| part == b"\r\n\r\n")?;
    let request = str::from_utf8(&head[..len])
        .map_err(|_| Status::BadRequest)
        .and_then(parse_head);
    Some((blank + len + 4, request))
}

fn parse_head(head: &str) -> Result<Request, Status> {
    let mut lines = head.split("\r\n");
    let mut words = lines.next().unwrap_or_default().split(' ');
    let (Some(method), Some(target), Some(version), None) =
        (words.next(), words.next(), words.next(), words.next())
    else {
        return Err(Status::BadRequest);
    };
    let mut request = Request {
        method: match method {
            "GET" => Method::Get,
            "HEAD" => Method::Head,
            _ => return Err(Status::MethodNotAllowed),
        },
        path: path(target)?,
        range: None,
        keep_alive: match version {
            "HTTP/1.1" => true,
            "HTTP/1.0" => false,
            _ => return Err(Status::BadRequest),
        },
    };
    for line in lines {
        let (name, value) = line.split_once(':').ok_or(Status::BadRequest)?;
        field(&mut request, name, value.trim_matches([' ', '\t']))?;
    }
    Ok(request)
}

fn field(request: &mut Request, name: &str, value: &str) -> Result<(), Status> {
    let is = |other: &str| name.eq_ignore_ascii_case(other);
    let has = |word: &str| {
        value
            .split(',')
            .any(|part| part.trim().eq_ignore_ascii_case(word))
    };
    if is("connection") && has("close") {
        request.keep_alive = false;
    }
    // A range of another unit, or several, may be ignored: the whole file is sent then.
    if is("range") {
        request.range = value.strip_prefix("bytes=").and_then(range);
    }
    // Nothing that is asked for here has a body, and what follows must not be taken for a request.
    if is("transfer-encoding") || (is("content-length") && value != "0") {
        return Err(Status::BadRequest);
    }
    Ok(())
}

fn range(text: &str) -> Option<Range> {
    let (first, last) = text.split_once('-')?;
    let number = |text: &str| {
        text.bytes()
            .all(|digit| digit.is_ascii_digit())
            .then(|| text.parse().ok())?
    };
    match (first, last) {
        ("", count) => Some(Range::Last(number(count)?)),
        (first, "") => Some(Range::From(number(first)?, u64::MAX)),
        (first, last) => {
            let (first, last) = (number(first)?, number(last)?);
            (first <= last).then_some(Range::From(first, last))
        }
    }
}

/// The path that a target names, if that does not lead out of the root.
fn path(target: &str) -> Result<PathBuf, Status> {
    let target = target.split(['?', '#']).next().unwrap_or_default();
    let encoded = target.strip_prefix('/').ok_or(Status::BadRequest)?;
    let decoded = decode(encoded).ok_or(Status::BadRequest)?;
    let names = decoded.split('/').filter(|name| !name.is_empty());
    if names
        .clone()
        .any(|name| matches!(name, "." | "..") || name.contains('\0'))
    {
        return Err(Status::NotFound);
    }
    Ok(names.collect())
}

fn decode(encoded: &str) -> Option<String> {
    let mut bytes = encoded.bytes();
    let mut decoded = Vec::with_capacity(encoded.len());
    while let Some(byte) = bytes.next() {
        decoded.push(if byte == b'%' {
            let mut digit = || char::from(bytes.next()?).to_digit(16);
            (digit()? * 16 + digit()?) as u8
        } else {
            byte
        });
    }
    String::from_utf8(decoded).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(text: &str) -> Result<Request, Status> {
        let (len, request) = parse(text.as_bytes()).expect("a whole head");
        assert_eq!(len, text.len());
        request
    }

    #[test]
    fn a_head_is_parsed_when_it_is_complete() {
        let text =
            "\r\nGET /a%20b/c?x HTTP/1.1\r\nrange: bytes=2-5\r\nConnection: x, Close\r\n\r\n";
        for len in 0..text.len() {
            assert_eq!(parse(&text.as_bytes()[..len]), None);
        }
        let expected = Request {
            method: Method::Get,
            path: "a b/c".into(),
            range: Some(Range::From(2, 5)),
            keep_alive: false,
        };
        assert_eq!(request(text), Ok(expected));
        let (len, _) = parse(format!("{text}GET").as_bytes()).expect("a whole head");
        assert_eq!(len, text.len());
    }

    #[test]
    fn what_is_not_served_is_refused() {
        for (text, status) in [
            ("POST / HTTP/1.1\r\n\r\n", Status::MethodNotAllowed),
            ("GET / HTTP/2\r\n\r\n", Status::BadRequest),
            ("GET  / HTTP/1.1\r\n\r\n", Status::BadRequest),
            ("GET a HTTP/1.1\r\n\r\n", Status::BadRequest),
            ("GET /%zz HTTP/1.1\r\n\r\n", Status::BadRequest),
            ("GET /%ff HTTP/1.1\r\n\r\n", Status::BadRequest),
            ("GET /a\r\n\r\n", Status::BadRequest),
            ("GET / HTTP/1.1\r\nno colon\r\n\r\n", Status::BadRequest),
            (
                "GET / HTTP/1.1\r\ncontent-length: 5\r\n\r\n",
                Status::BadRequest,
            ),
            ("GET /../a HTTP/1.1\r\n\r\n", Status::NotFound),
            ("GET /a/%2e%2E/%2e./b HTTP/1.1\r\n\r\n", Status::NotFound),
            ("GET /a%2f..%2f..%2fb HTTP/1.1\r\n\r\n", Status::NotFound),
            ("GET /a%00 HTTP/1.1\r\n\r\n", Status::NotFound),
        ] {
            assert_eq!(request(text), Err(status), "{text}");
        }
    }

    #[test]
    fn ranges_are_cut_to_the_file() {
        for (text, len, expected) in [
            ("0-0", 10, Some((0, 1))),
            ("2-", 10, Some((2, 10))),
            ("2-99", 10, Some((2, 10))),
            ("-3", 10, Some((7, 10))),
            ("-30", 10, Some((0, 10))),
            ("-0", 10, None),
            ("10-", 10, None),
            ("0-", 0, None),
            ("0-18446744073709551615", 10, Some((0, 10))),
        ] {
            let range = range(text).expect("a range");
            assert_eq!(range.within(len), expected, "{text} of {len}");
        }
        for text in ["", "-", "5-2", "a-b", "+1-2", "1-2,4-5", "0x1-2"] {
            assert_eq!(range(text), None, "{text}");
        }
    }
}
