//! A connection to rtnetlink: requests go out, answers come back. What they say is the callers'.

use netlink_packet_core::{DecodeError, NLM_F_REQUEST, NLMSG_ERROR, NetlinkBuffer, NetlinkMessage};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_sys::{Socket, SocketAddr, protocols::NETLINK_ROUTE};
use std::io;

/// See the module's head.
#[derive(Debug)]
pub(crate) struct Connection(Socket);

impl Connection {
    /// Connects, in the network namespace of the calling thread.
    pub(crate) fn open() -> io::Result<Self> {
        let mut socket = Socket::new(NETLINK_ROUTE)?;
        socket.bind_auto()?;
        socket.connect(&SocketAddr::new(0, 0))?;
        Ok(Self(socket))
    }

    /// Sends a request and returns the answer, which the kernel gives before `send` returns.
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
        let mut message = NetlinkMessage::from(request);
        message.header.flags = NLM_F_REQUEST | flags;
        message.finalize();
        let mut bytes = vec![0; message.buffer_len()];
        message.serialize(&mut bytes);
        self.0.send(&bytes, 0).map(drop)
    }

    /// The next datagram: one message or several.
    pub(crate) fn receive(&self) -> io::Result<Vec<u8>> {
        self.0.recv_from_full().map(|(bytes, _)| bytes)
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
