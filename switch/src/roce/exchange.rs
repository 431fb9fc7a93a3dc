//! How two sides learn of each other's queue pairs: by TCP, as the programs of perftest 6.06 do
//! (`ib_write_bw` and its siblings), so that those can be the other side.
//!
//! The client says something, and the server answers with as much: the version of the exchange, the
//! page and the cache line of its machine, the code of its MTU, then its queue pairs, twice. The
//! last of these exchanges is a barrier; another one follows when the client is done, with reports
//! of five numbers unless the test was of SEND, and "done" ends it.

use super::RoceError;
use roce::psn::Psn;
use std::fmt::Write as _;
use std::io::{ErrorKind, Read, Write};
use std::net::{IpAddr, Ipv6Addr, SocketAddr, TcpStream};
use std::time::Duration;

/// The port of perftest.
pub(super) const PORT: u16 = 18_515;
/// The version that is spoken here, as it is said.
const VERSION: &[u8; 16] = b"6.06\0\0\0\0\0\0\0\0\0\0\0\0";
const PAGE_BYTES: [u8; 4] = 4_096_u32.to_be_bytes();
const CACHE_LINE_BYTES: [u8; 4] = 64_u32.to_be_bytes();
/// Bytes of a queue pair as text.
const PAIR_BYTES: usize = 108;
const DONE: &[u8; 5] = b"done\0";
/// How long the other side may take for an answer.
const PATIENCE: Duration = Duration::from_secs(60);
/// Numbers of a report, of eight bytes each.
const REPORT_NUMBERS: usize = 5;

/// A queue pair, as one side tells it the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Pair {
    /// Its number.
    pub queue_pair: u32,
    /// First packet sequence number that it sends.
    pub psn: Psn,
    /// The key of its memory.
    pub key: u32,
    /// The address of its memory.
    pub address: u64,
    /// READs that it takes at once.
    pub reads: u8,
    /// Its IP address.
    pub ip: IpAddr,
}

impl Pair {
    /// As the exchange writes it.
    pub(super) fn encode(&self) -> [u8; PAIR_BYTES] {
        let Self { queue_pair, psn, key, address, reads, ip } = self;
        let mut text = format!(
            "0000:{reads:04x}:{queue_pair:06x}:{:06x}:{key:08x}:{address:016x}:",
            psn.value()
        );
        for octet in mapped(*ip).octets() {
            // Writing to a string does not fail.
            let _always = write!(text, "{octet:02x}:");
        }
        text.push_str("00000000:");
        let mut bytes = [0; PAIR_BYTES];
        let len = text.len().min(PAIR_BYTES);
        bytes[..len].copy_from_slice(&text.as_bytes()[..len]);
        bytes
    }

    /// Of what the other side wrote.
    pub(super) fn decode(bytes: &[u8]) -> Option<Self> {
        let text = str::from_utf8(bytes).ok()?;
        let mut fields = text.split(':');
        let mut number = || u64::from_str_radix(fields.next()?, 16).ok();
        let _lid = number()?;
        let reads = u8::try_from(number()?.min(255)).ok()?;
        let queue_pair = u32::try_from(number()?).ok()?;
        let psn = Psn::new(u32::try_from(number()?).ok()?);
        let key = u32::try_from(number()?).ok()?;
        let address = number()?;
        let mut octets = [0; 16];
        for octet in &mut octets {
            *octet = u8::try_from(number()?).ok()?;
        }
        let ip = Ipv6Addr::from(octets).to_canonical();
        Some(Self { queue_pair, psn, key, address, reads, ip })
    }
}

fn mapped(ip: IpAddr) -> Ipv6Addr {
    match ip {
        IpAddr::V4(v4) => v4.to_ipv6_mapped(),
        IpAddr::V6(v6) => v6,
    }
}

/// The code of an MTU (InfiniBand 9.7.1), as a digit.
fn mtu_code(mtu: u32) -> [u8; 2] {
    let code = b'1' + u8::try_from(mtu.trailing_zeros().saturating_sub(8)).unwrap_or(0);
    [code, 0]
}

/// The lesser of our MTU and what the other side says.
fn agreed_mtu(own: u32, said: &[u8]) -> u32 {
    match said.first() {
        Some(code @ b'1'..=b'5') => own.min(256 << (code - b'1')),
        _ => own,
    }
}

fn failed(peer: SocketAddr) -> impl Fn(std::io::Error) -> RoceError {
    move |source| RoceError::Exchange { peer, why: source.to_string() }
}

/// The client's side.
pub(super) struct Client {
    stream: TcpStream,
    peer: SocketAddr,
    /// SENDs have another order.
    sends: bool,
}

impl Client {
    /// Connects to `peer`; the client, and the MTU that both can do.
    ///
    /// # Errors
    /// Nobody listens there, or speaks otherwise.
    pub(super) fn connect(
        peer: SocketAddr,
        own_mtu: u32,
        sends: bool,
    ) -> Result<(Self, u32), RoceError> {
        let stream = TcpStream::connect_timeout(&peer, PATIENCE).map_err(failed(peer))?;
        stream.set_nodelay(true).map_err(failed(peer))?;
        stream.set_read_timeout(Some(PATIENCE)).map_err(failed(peer))?;
        let mut client = Self { stream, peer, sends };
        client.swap(VERSION)?;
        client.swap(&PAGE_BYTES)?;
        client.swap(&CACHE_LINE_BYTES)?;
        let mtu = agreed_mtu(own_mtu, &client.swap(&mtu_code(own_mtu))?);
        Ok((client, mtu))
    }

    /// Our own address of the connection.
    ///
    /// # Errors
    /// The system does not know it.
    pub(super) fn own_ip(&self) -> Result<IpAddr, RoceError> {
        let address = self.stream.local_addr().map_err(failed(self.peer))?;
        Ok(address.ip().to_canonical())
    }

    /// Tells our queue pairs; the other side's.
    ///
    /// # Errors
    /// The other side ends, or speaks otherwise.
    pub(super) fn pairs(&mut self, own: &[Pair]) -> Result<Vec<Pair>, RoceError> {
        own.iter().map(|pair| self.pair(pair)).collect()
    }

    /// Waits until both sides have connected their queue pairs; the other side's, as it says them
    /// now.
    ///
    /// # Errors
    /// As [`Self::pairs`].
    pub(super) fn ready(&mut self, own: &[Pair]) -> Result<(), RoceError> {
        if self.sends {
            self.barrier(own)?;
        }
        self.pairs(own)?;
        self.barrier(own)
    }

    /// Says that all is done.
    ///
    /// # Errors
    /// As [`Self::pairs`].
    pub(super) fn end(&mut self, own: &[Pair]) -> Result<(), RoceError> {
        self.barrier(own)?;
        if !self.sends {
            for _ in 0..REPORT_NUMBERS {
                self.swap(&[0; 8])?;
            }
            self.barrier(own)?;
        }
        self.stream.write_all(DONE).map_err(failed(self.peer))
    }

    fn barrier(&mut self, own: &[Pair]) -> Result<(), RoceError> {
        own.first().map_or(Ok(()), |pair| self.pair(pair).map(drop))
    }

    fn pair(&mut self, own: &Pair) -> Result<Pair, RoceError> {
        let said = self.swap(&own.encode())?;
        Pair::decode(&said).ok_or_else(|| RoceError::Exchange {
            peer: self.peer,
            why: "the other side does not say its queue pair as perftest 6.06 does".to_owned(),
        })
    }

    fn swap<const N: usize>(&mut self, own: &[u8; N]) -> Result<[u8; N], RoceError> {
        let mut said = [0; N];
        self.stream
            .write_all(own)
            .and_then(|()| self.stream.read_exact(&mut said))
            .map_err(failed(self.peer))?;
        Ok(said)
    }
}

/// What a client says next, in its order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Version,
    Page,
    CacheLine,
    Mtu,
    Pairs,
}

/// The server's side, which never blocks.
pub(super) struct Session {
    stream: TcpStream,
    pub(super) peer: SocketAddr,
    stage: Stage,
    said: Vec<u8>,
    /// What both sides can do.
    pub(super) mtu: u32,
    /// Queue pairs of the client, and ours that answer them.
    pub(super) pairs: Vec<(Pair, Pair)>,
}

/// What has come of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Progress {
    /// Nothing new.
    Waits,
    /// The client tells a queue pair that is new. [`Session::answer`] it.
    Asks(Pair),
    /// It is over.
    Over,
}

impl Session {
    /// Of a connection that was accepted.
    ///
    /// # Errors
    /// The system refuses to make it non-blocking.
    pub(super) fn new(stream: TcpStream, peer: SocketAddr, mtu: u32) -> Result<Self, RoceError> {
        stream.set_nonblocking(true).map_err(failed(peer))?;
        stream.set_nodelay(true).map_err(failed(peer))?;
        let (said, pairs) = (Vec::new(), Vec::new());
        Ok(Self { stream, peer, stage: Stage::Version, said, mtu, pairs })
    }

    /// Our own address of the connection.
    pub(super) fn own_ip(&self) -> Option<IpAddr> {
        Some(self.stream.local_addr().ok()?.ip().to_canonical())
    }

    /// Reads what the client has said, and answers what needs no queue pair.
    ///
    /// # Errors
    /// The connection breaks.
    pub(super) fn poll(&mut self) -> Result<Progress, RoceError> {
        let mut more = [0; 1_024];
        match self.stream.read(&mut more) {
            Ok(0) => return Ok(Progress::Over),
            Ok(bytes) => self.said.extend_from_slice(&more[..bytes]),
            Err(error)
                if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
            Err(error) => return Err(failed(self.peer)(error)),
        }
        loop {
            let wanted = match self.stage {
                Stage::Version => VERSION.len(),
                Stage::Page | Stage::CacheLine => 4,
                Stage::Mtu => 2,
                Stage::Pairs if self.said.starts_with(&DONE[..4]) => return Ok(Progress::Over),
                // The text of a pair has a colon here; the numbers of a report are eight bytes.
                Stage::Pairs if self.said.len() >= 8 && self.said[4] != b':' => 8,
                Stage::Pairs => PAIR_BYTES,
            };
            if self.said.len() < wanted {
                return Ok(Progress::Waits);
            }
            let message: Vec<u8> = self.said.drain(..wanted).collect();
            match self.stage {
                Stage::Version => self.say(VERSION, Stage::Page)?,
                Stage::Page => self.say(&PAGE_BYTES, Stage::CacheLine)?,
                Stage::CacheLine => self.say(&CACHE_LINE_BYTES, Stage::Mtu)?,
                Stage::Mtu => {
                    let own = mtu_code(self.mtu);
                    self.mtu = agreed_mtu(self.mtu, &message);
                    self.say(&own, Stage::Pairs)?;
                }
                Stage::Pairs if wanted == 8 => self.say(&message, Stage::Pairs)?,
                Stage::Pairs => {
                    let pair = Pair::decode(&message).ok_or_else(|| RoceError::Exchange {
                        peer: self.peer,
                        why: "it does not say its queue pair as perftest 6.06 does".to_owned(),
                    })?;
                    let known = self.pairs.iter().find(|(it, _)| it.queue_pair == pair.queue_pair);
                    let Some(&(_, own)) = known else { return Ok(Progress::Asks(pair)) };
                    self.say(&own.encode(), Stage::Pairs)?;
                }
            }
        }
    }

    /// Answers a queue pair of the client with ours.
    ///
    /// # Errors
    /// The connection breaks.
    pub(super) fn answer(&mut self, theirs: Pair, own: Pair) -> Result<(), RoceError> {
        self.pairs.push((theirs, own));
        self.say(&own.encode(), Stage::Pairs)
    }

    fn say(&mut self, message: &[u8], then: Stage) -> Result<(), RoceError> {
        self.stage = then;
        self.stream.write_all(message).map_err(failed(self.peer))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As `ib_write_bw` of perftest 4.5+0.17 sent it.
    const SAID: &[u8] = b"0000:0001:000011:fb68d2:0000023a:00007f12e252d000:\
        00:00:00:00:00:00:00:00:00:00:ff:ff:0a:01:01:02:00000000:\0";

    #[test]
    fn a_pair_is_read_and_written_as_perftest_does() {
        let pair = Pair::decode(SAID).unwrap();
        let wanted = Pair {
            queue_pair: 0x11,
            psn: Psn::new(0xFB_68D2),
            key: 0x23A,
            address: 0x7F12_E252_D000,
            reads: 1,
            ip: "10.1.1.2".parse().unwrap(),
        };
        assert_eq!(pair, wanted);
        assert_eq!(pair.encode(), SAID);
        assert_eq!(Pair::decode(b"0000:0001:000011"), None);
        assert_eq!(Pair::decode(&[0xFF; 108]), None);
    }

    #[test]
    fn the_lesser_mtu_is_agreed_on() {
        assert_eq!(mtu_code(1_024), *b"3\0");
        assert_eq!(mtu_code(4_096), *b"5\0");
        assert_eq!(agreed_mtu(1_024, b"5\0"), 1_024);
        assert_eq!(agreed_mtu(4_096, b"2\0"), 512);
        assert_eq!(agreed_mtu(1_024, b"x\0"), 1_024);
    }
}
