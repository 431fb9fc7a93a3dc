//! A connection to rtnetlink: requests go out, answers come back. What they say is the callers'.
//!
//! A caller may give up before it has read every answer. So each request has a number, which its
//! answers repeat: what was left of an earlier request is passed over, and not taken for the answer
//! to the next one.

use netlink_packet_core::{DecodeError, NLM_F_REQUEST, NLMSG_ERROR, NetlinkBuffer, NetlinkMessage};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_sys::{Socket, SocketAddr, protocols::NETLINK_ROUTE};
use nix::sys::socket::{setsockopt, sockopt::ReceiveTimeout};
use nix::sys::time::TimeVal;
use std::io;
use std::sync::atomic::{AtomicU32, Ordering};

/// How long an answer may take. The kernel gives it when it has its lock of all interfaces, which
/// others may hold for long.
const ANSWER_S_MAX: i64 = 10;

/// See the module's head.
#[derive(Debug)]
pub(crate) struct Connection {
    socket: Socket,
    /// The number of the last request.
    sequence_number: AtomicU32,
}

impl Connection {
    /// Connects, in the network namespace of the calling thread.
    pub(crate) fn open() -> io::Result<Self> {
        let mut socket = Socket::new(NETLINK_ROUTE)?;
        socket.bind_auto()?;
        socket.connect(&SocketAddr::new(0, 0))?;
        setsockopt(&socket, ReceiveTimeout, &TimeVal::new(ANSWER_S_MAX, 0))?;
        Ok(Self { socket, sequence_number: AtomicU32::new(0) })
    }

    /// Sends a request and returns the answer.
    ///
    /// # Errors
    /// What the kernel answers; `TimedOut` if it does not.
    pub(crate) fn ask(&self, request: RouteNetlinkMessage, flags: u16) -> io::Result<Vec<u8>> {
        self.send(request, flags)?;
        let answer = self.receive()?;
        match refusal(&answer).map_err(io::Error::other)? {
            Some(error) => Err(error),
            None => Ok(answer),
        }
    }

    /// Sends a request, to which several messages answer.
    pub(crate) fn send(&self, request: RouteNetlinkMessage, flags: u16) -> io::Result<()> {
        let sequence_number = self.sequence_number.fetch_add(1, Ordering::Relaxed).wrapping_add(1);
        let mut message = NetlinkMessage::from(request);
        message.header.flags = NLM_F_REQUEST | flags;
        message.header.sequence_number = sequence_number;
        message.finalize();
        let mut bytes = vec![0; message.buffer_len()];
        message.serialize(&mut bytes);
        self.socket.send(&bytes, 0).map(drop)
    }

    /// The next datagram that answers the last request: one message or several.
    ///
    /// # Errors
    /// `TimedOut` if none comes.
    pub(crate) fn receive(&self) -> io::Result<Vec<u8>> {
        loop {
            let (bytes, _) = self.socket.recv_from_full().map_err(timed_out)?;
            let message = NetlinkBuffer::new_checked(&bytes).map_err(io::Error::other)?;
            if message.sequence_number() == self.sequence_number.load(Ordering::Relaxed) {
                return Ok(bytes);
            }
        }
    }
}

fn timed_out(error: io::Error) -> io::Error {
    match error.kind() {
        io::ErrorKind::WouldBlock => io::ErrorKind::TimedOut.into(),
        _ => error,
    }
}

/// The error that `answer` is, if it is one and not an acknowledgement.
fn refusal(answer: &[u8]) -> Result<Option<io::Error>, DecodeError> {
    let message = NetlinkBuffer::new_checked(answer)?;
    let is_error = message.message_type() == NLMSG_ERROR;
    Ok(if is_error { error_of(message.payload()) } else { None })
}

/// The error of an `NLMSG_ERROR`; `None` if it is an acknowledgement.
pub(crate) fn error_of(payload: &[u8]) -> Option<io::Error> {
    let errno = payload.first_chunk().map_or(0, |code| i32::from_ne_bytes(*code));
    (errno != 0).then(|| io::Error::from_raw_os_error(errno.saturating_neg()))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A message with this content.
    pub(crate) fn framed(message_type: u16, payload: &[u8]) -> Vec<u8> {
        let length = u32::try_from(16 + payload.len()).unwrap();
        let mut bytes = length.to_ne_bytes().to_vec();
        bytes.extend(message_type.to_ne_bytes());
        bytes.extend([0; 10]);
        bytes.extend(payload);
        bytes
    }

    #[test]
    fn what_is_left_of_an_earlier_request_is_no_answer_to_the_next() {
        use netlink_packet_route::link::{LinkAttribute, LinkMessage};
        let link = |name: &str| {
            let mut request = LinkMessage::default();
            request.attributes.push(LinkAttribute::IfName(name.to_owned()));
            RouteNetlinkMessage::GetLink(request)
        };
        let connection = Connection::open().unwrap();
        connection.send(link("knotless-none"), 0).unwrap();
        assert!(connection.ask(link("lo"), 0).is_ok(), "the loopback is there");
        connection.send(link("lo"), 0).unwrap();
        let absent = connection.ask(link("knotless-none"), 0).unwrap_err();
        assert_eq!(absent.raw_os_error(), Some(nix::libc::ENODEV));
    }

    #[test]
    fn an_error_and_an_acknowledgement_are_distinguished() {
        const RTM_NEWLINK: u16 = 16;
        let message =
            |errno: i32| framed(NLMSG_ERROR, &[&errno.to_ne_bytes()[..], &[0; 16]].concat());
        let error = refusal(&message(-19)).unwrap().unwrap();
        assert_eq!(error.raw_os_error(), Some(19));
        assert!(refusal(&message(0)).unwrap().is_none());
        assert!(refusal(&framed(RTM_NEWLINK, &[0xFF; 32])).unwrap().is_none());
    }
}
