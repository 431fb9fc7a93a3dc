//! Slim Fly: the graphs of McKay, Miller and Siran, of diameter two (Besta and Hoefler, 2014).

use super::{Draft, GenerateError, Parameters};
use dataplane::limits::PORTS_MAX;

/// Builds it for a prime `q` with q = 1 modulo 4: two groups of q * q switches, `A1` and so on and
/// `B1` and so on, with `(3 q - 1) / 2` links each.
pub(super) fn build(draft: &mut Draft, parameters: &Parameters) -> Result<(), GenerateError> {
    parameters.allow(&["q", "hosts"])?;
    let q = parameters.need("q", 5, 149)?;
    let is_prime = (2..q).take_while(|factor| factor * factor <= q).all(|f| !q.is_multiple_of(f));
    if !is_prime || q % 4 != 1 {
        let message = format!("`q` is {q}; use a prime that is 1 modulo 4, such as 5, 13 or 17");
        return Err(GenerateError::wrong("q", message));
    }
    let hosts = parameters.optional("hosts", 1, PORTS_MAX)?.unwrap_or(1);
    let ports = hosts + (3 * q - 1) / 2;
    if ports > PORTS_MAX {
        let message = format!("a switch would need {ports} ports; it can have {PORTS_MAX}");
        return Err(GenerateError::wrong("hosts", message));
    }
    parameters.check_size(&[2, q, q, ports])?;
    let mut group = |letter: char| -> Vec<u32> {
        (1..=q * q).map(|number| draft.switch(format!("{letter}{number}"), ports)).collect()
    };
    let groups = [group('A'), group('B')];
    groups.iter().flatten().for_each(|&switch| draft.hosts(switch, hosts));
    let powers = powers_of_primitive_root(q);
    for (which, switches) in groups.iter().enumerate() {
        // Even powers join switches of the first group, odd ones those of the second. As q is 1
        // modulo 4, each set has the negative of each of its members.
        let joins =
            |difference: &usize| powers.iter().skip(which).step_by(2).any(|p| p == difference);
        for row in 0..q {
            for one in 0..q {
                for other in (one + 1..q).filter(|other| joins(&(other - one))) {
                    draft.link(switches[row * q + one], switches[row * q + other]);
                }
            }
        }
    }
    for x in 0..q {
        for y in 0..q {
            for m in 0..q {
                // (0, x, y) and (1, m, c) with y = m x + c.
                let c = (y + q * q - m * x) % q;
                draft.link(groups[0][x * q + y], groups[1][m * q + c]);
            }
        }
    }
    Ok(())
}

/// The powers of the least primitive root of a prime, from its 0th on.
fn powers_of_primitive_root(q: usize) -> Vec<usize> {
    let powers = |root: usize| -> Vec<usize> {
        std::iter::successors(Some(1), |power| Some(power * root % q)).take(q - 1).collect()
    };
    let is_primitive = |powers: &Vec<usize>| powers[1..].iter().all(|&power| power != 1);
    (2..q).map(powers).find(is_primitive).unwrap_or_default()
}
