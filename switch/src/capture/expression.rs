//! Filters in the language of pcap-filter(7), compiled by libpcap.

use pcap::{Capture, Linktype};

/// An expression that is none.
#[derive(Debug, thiserror::Error)]
pub(super) enum ExpressionError {
    /// libpcap refuses it.
    #[error("filter `{expression}`: {why}; see pcap-filter(7)")]
    Refused {
        /// The expression.
        expression: String,
        /// What libpcap says.
        why: String,
    },
    /// There is no libpcap to ask.
    #[error("libpcap cannot compile filters: {0}")]
    Library(pcap::Error),
}

/// The program of `expression`: code, jt, jf and k of each instruction.
///
/// # Errors
/// It is no expression.
pub(super) fn compile(expression: &str) -> Result<Vec<(u16, u8, u8, u32)>, ExpressionError> {
    let dead = Capture::dead(Linktype::ETHERNET).map_err(ExpressionError::Library)?;
    let program = dead.compile(expression, true).map_err(|error| {
        let why = match error {
            pcap::Error::PcapError(why) => why,
            other => other.to_string(),
        };
        ExpressionError::Refused { expression: expression.to_owned(), why }
    })?;
    // The crate shows an instruction, as `tcpdump -ddd` does, and does not give its fields.
    let instruction = |text: String| {
        let mut numbers = text.split(' ').map(str::parse::<u32>);
        let mut next = || numbers.next().and_then(Result::ok).unwrap_or_default();
        let [code, jt, jf, k] = [next(), next(), next(), next()];
        let small = |number: u32| u8::try_from(number).unwrap_or_default();
        (u16::try_from(code).unwrap_or_default(), small(jt), small(jf), k)
    };
    Ok(program.get_instructions().iter().map(ToString::to_string).map(instruction).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use dataplane::capture::filter::Filter;
    use dataplane::capture::program::Instruction;
    use proptest::prelude::*;

    /// Expressions of all parts of the language that speak of Ethernet.
    const EXPRESSIONS: [&str; 36] = [
        "",
        "ip",
        "ip6",
        "arp",
        "tcp",
        "udp port 4791",
        "dst host 10.1.3.2",
        "src net 10.1.0.0/16",
        "net 10.1.1.0/24 and not host 10.1.1.7",
        "host 10.1.1.2 and host 10.1.3.2",
        "host 10.1.1.2 or host 10.1.3.2 or host 10.1.2.2",
        "ip6 host fd00:1:1::2",
        "tcp port 80 or tcp port 443",
        "portrange 1000-2000",
        "tcp[tcpflags] & (tcp-syn|tcp-fin) != 0",
        "ip[1] & 0xfc == 104",
        "ip[8] < 5",
        "ip[6:2] & 0x1fff != 0",
        "icmp or icmp6",
        "icmp[icmptype] == icmp-echo",
        "ether host 02:00:00:00:01:01",
        "ether src 02:00:00:00:01:01 and ip",
        "ether multicast",
        "ether broadcast",
        "ether proto 0x8808",
        "ether[12:2] > 1500",
        "vlan",
        "vlan 10",
        "vlan 10 and host 10.1.1.2",
        "vlan and udp port 4791",
        "less 100",
        "greater 1000",
        "len > 64 and len <= 512",
        "udp[4:2] * 2 > 100",
        "ip[2:2] / 3 == 20",
        "ip proto 17 and (ip[20:2] - ip[22:2]) & 7 == 3",
    ];

    fn both(expression: &str) -> (Filter, pcap::BpfProgram) {
        let ours = compile(expression).unwrap_or_else(|error| panic!("{error}"));
        let ours = ours.into_iter().map(|(code, jt, jf, k)| Instruction { code, jt, jf, k });
        let ours = Filter::new(&ours.collect::<Vec<_>>())
            .unwrap_or_else(|error| panic!("{expression}: {error}"));
        let dead = Capture::dead(Linktype::ETHERNET).unwrap();
        (ours, dead.compile(expression, true).unwrap())
    }

    /// Frames that expressions speak of: octets that are compared stand where they are looked for.
    fn frame() -> impl Strategy<Value = Vec<u8>> {
        fn pick<T: Clone + std::fmt::Debug + 'static>(of: Vec<T>) -> impl Strategy<Value = T> {
            proptest::sample::select(of)
        }
        let mac =
            || pick(vec![[2, 0, 0, 0, 1, 1], [0xFF; 6], [1, 0, 0x5E, 0, 0, 1], [2, 0, 0, 0, 0, 9]]);
        let kind = pick(vec![0x0800_u16, 0x86DD, 0x0806, 0x8808, 0x88CC, 0x0100]);
        let vlan = proptest::option::of(pick(vec![10_u16, 11, 0xE00A]));
        let v4 = || {
            pick(vec![[10, 1, 1, 2], [10, 1, 3, 2], [10, 1, 2, 2], [10, 1, 1, 7], [192, 0, 2, 1]])
        };
        let protocol = pick(vec![6_u8, 17, 1, 58, 132]);
        let port = || pick(vec![80_u16, 443, 4791, 1500, 9]);
        let rest = proptest::collection::vec(any::<u8>(), 0..90);
        (
            mac(),
            mac(),
            kind,
            vlan,
            (v4(), v4()),
            protocol,
            (port(), port()),
            any::<[u8; 10]>(),
            rest,
            any::<bool>(),
        )
            .prop_map(
                |(dst, src, kind, vlan, (from, to), protocol, ports, noise, rest, is_whole)| {
                    let mut frame = [dst, src].concat();
                    if let Some(tci) = vlan {
                        frame.extend([0x81, 0]);
                        frame.extend(tci.to_be_bytes());
                    }
                    frame.extend(kind.to_be_bytes());
                    if kind == 0x0800 {
                        frame.extend([
                            0x45,
                            noise[0],
                            0,
                            60,
                            noise[1],
                            noise[2],
                            noise[3] & 1,
                            0,
                            noise[4],
                            protocol,
                        ]);
                        frame.extend([noise[5], noise[6]]);
                        frame.extend(from);
                        frame.extend(to);
                    } else if kind == 0x86DD {
                        frame.extend([0x60, 0, 0, 0, 0, 20, protocol, noise[4]]);
                        frame.extend([0xFD, 0, 0, 1, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, from[3]]);
                        frame.extend([0xFD, 0, 0, 1, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, to[3]]);
                    }
                    frame.extend(ports.0.to_be_bytes());
                    frame.extend(ports.1.to_be_bytes());
                    frame.extend(rest);
                    if !is_whole {
                        frame.truncate(usize::from(noise[9]) % frame.len());
                    }
                    frame
                },
            )
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 2_000, ..ProptestConfig::default() })]

        /// libpcap's own interpreter is the oracle.
        #[test]
        fn frames_match_as_libpcap_says(frame in frame()) {
            thread_local! {
                static FILTERS: Vec<(Filter, pcap::BpfProgram)> = EXPRESSIONS.iter().map(|it| both(it)).collect();
            }
            FILTERS.with(|filters| {
                for ((ours, theirs), expression) in filters.iter().zip(EXPRESSIONS) {
                    let (found, expected) = (ours.matches(&frame, frame.len()), theirs.filter(&frame));
                    assert_eq!(found, expected, "{expression}: {frame:02x?}");
                }
            });
        }
    }

    #[test]
    fn what_is_no_expression_is_refused_in_a_line() {
        for expression in ["ip and", "host", "nonsense words", "vlan 5000", "ip[", "ether host 1"] {
            let error = compile(expression).unwrap_err().to_string();
            assert!(error.contains(expression) && !error.contains('\n'), "{error}");
        }
    }
}
