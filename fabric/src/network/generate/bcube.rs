//! BCube(n, k): n^(k+1) servers of k + 1 ports, which forward, and k + 1 levels of n^k switches of
//! n ports, which join the servers that differ in one digit (Guo et al., 2009).
//!
//! A server that forwards is a switch here: port d + 1 leads to level d, and one port more, the
//! last, to the server's own traffic, which is the host. It has rules like any other switch.

use super::{Draft, GenerateError, Parameters};
use dataplane::limits::PORTS_MAX;

/// Builds it. Servers are `B`, switches `W`; both carry the digits that name them, the highest
/// first, a switch after its level: `W0-12` joins the servers `B120`, `B121`, `B122`, ...
pub(super) fn build(draft: &mut Draft, parameters: &Parameters) -> Result<(), GenerateError> {
    parameters.allow(&["n", "k"])?;
    let n = parameters.need("n", 2, PORTS_MAX)?;
    let k = parameters.need("k", 0, 8)?;
    let factors: Vec<usize> = std::iter::repeat_n(n, k + 1).chain([2 * k + 3]).collect();
    parameters.check_size(&factors)?;
    let per_level = n.pow(u32::try_from(k).unwrap_or(0));
    let count = per_level * n;
    let servers: Vec<u32> =
        (0..count).map(|at| draft.switch(format!("B{}", digits(at, n, k + 1)), k + 2)).collect();
    let mut stride = 1;
    for level in 0..=k {
        for at in 0..per_level {
            let digits = if k == 0 { String::new() } else { digits(at, n, k) };
            let switch = draft.switch(format!("W{level}-{digits}"), n);
            // The server's number with digit `level` taken out is `at`.
            let first = at / stride * stride * n + at % stride;
            for digit in 0..n {
                let slots = draft.link(servers[first + digit * stride], switch);
                let dimension = u8::try_from(level).unwrap_or(u8::MAX);
                slots.iter().for_each(|&slot| draft.network.set_dimension(slot, dimension));
            }
        }
        stride *= n;
    }
    servers.iter().for_each(|&server| draft.hosts(server, 1));
    Ok(())
}

/// `value` to the base `n` in `width` digits, the highest first.
fn digits(mut value: usize, n: usize, width: usize) -> String {
    let mut digits = Vec::new();
    for _ in 0..width {
        digits.push((value % n).to_string());
        value /= n;
    }
    digits.reverse();
    digits.join(if n > 10 { "." } else { "" })
}
