//! HTTP/1.1 over a TCP or a unix stream, written and read byte by byte.

use std::io::{Read, Write};

/// A response.
#[derive(Debug)]
pub(crate) struct Response {
    pub(crate) status: u16,
    /// The status line and the headers.
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Response {
    /// The value of a header.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let lines = self.head.lines().filter_map(|line| line.split_once(": "));
        lines.filter(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value).next()
    }
}

/// What the server says to `request` until it closes.
pub(crate) fn exchange(stream: &mut (impl Read + Write), request: &[u8]) -> String {
    stream.write_all(request).unwrap();
    let mut octets = Vec::new();
    // A server that closes before it has read all makes the kernel reset the connection.
    let _reset = stream.read_to_end(&mut octets);
    String::from_utf8(octets).unwrap()
}

/// The one response to `request`, which must ask the server to close.
pub(crate) fn response(stream: &mut (impl Read + Write), request: &[u8]) -> Response {
    let text = exchange(stream, request);
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or_else(|| panic!("no end: {text:?}"));
    let status = head.split(' ').nth(1).and_then(|code| code.parse().ok());
    let status = status.unwrap_or_else(|| panic!("no status: {head}"));
    Response { status, head: head.to_owned(), body: body.to_owned() }
}

/// `METHOD PATH` with these further header lines.
pub(crate) fn ask(
    stream: &mut (impl Read + Write),
    method: &str,
    path: &str,
    headers: &str,
) -> Response {
    let request =
        format!("{method} {path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n{headers}\r\n");
    response(stream, request.as_bytes())
}
