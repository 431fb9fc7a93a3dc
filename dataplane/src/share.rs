//! What one port may take of a table that all ports share.
//!
//! A host that makes addresses up would fill any table, and then nobody else is learned. So what a
//! port may have depends on what is free, as a dynamic threshold of the buffer does (SONiC:
//! `dynamic_th = 2`): up to [`ALPHA`] times as much. One greedy port gets four fifths; of two each
//! gets four ninths; something stays free for all others, however many are greedy. What is known is
//! never given up for something new.

/// How many entries a port may have for each that is free.
const ALPHA: usize = 4;

/// Whether a port that has `own` entries may add one, to a table with room for `entries_max` of
/// which `len` are in use.
#[inline]
pub const fn may_add(own: usize, len: usize, entries_max: usize) -> bool {
    own < ALPHA.saturating_mul(entries_max.saturating_sub(len))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Adds for each port in turn until none may; returns what each has.
    fn fill(ports: usize, entries_max: usize) -> alloc::vec::Vec<usize> {
        let mut own = alloc::vec![0; ports];
        loop {
            let before: usize = own.iter().sum();
            for port in 0..ports {
                let len = own.iter().sum();
                own[port] += usize::from(may_add(own[port], len, entries_max));
            }
            if own.iter().sum::<usize>() == before {
                return own;
            }
        }
    }

    #[test]
    fn greedy_ports_share_and_leave_something_free() {
        assert_eq!(fill(1, 4_000), [3_200]);
        assert_eq!(fill(2, 9_000), [4_000, 4_000]);
        let of_ten = fill(10, 4_096);
        assert!(of_ten.iter().all(|&own| own.abs_diff(4 * 4_096 / 41) <= 1), "{of_ten:?}");
        assert_eq!(fill(3, 0), [0, 0, 0]);
        assert_eq!(fill(1, 1), [1], "the only entry can be had");
    }

    #[test]
    fn a_port_that_comes_later_finds_room() {
        let len = fill(1, 4_096)[0];
        let mut own = 0;
        while may_add(own, len + own, 4_096) {
            own += 1;
        }
        assert!(own >= 600, "{own}");
    }
}
