//! Buckets of a group: which of its members each part of the hash goes to.
//!
//! Members of one weight have the same number of buckets, side by side: a flow takes the member
//! that it would take without buckets, `hash * members / 2^32`. A member that cannot be used leaves
//! its buckets to the others, one by one, so the flows of the others stay where they are.

use crate::limits::ECMP_MAX;
use alloc::vec::Vec;

/// The member of each bucket, by weights of which 1 to [`ECMP_MAX`] are given; a weight of 0 counts
/// as 1. At most [`ECMP_MAX`] buckets, and one for each member at least.
pub(super) fn deal(weights: &[u16]) -> Vec<u8> {
    let members = weights.len().min(ECMP_MAX);
    let weights: Vec<u64> = weights.iter().take(members).map(|&it| u64::from(it.max(1))).collect();
    let counts = if weights.iter().all(|weight| Some(weight) == weights.first()) {
        alloc::vec![if members > 1 { ECMP_MAX / members } else { 1 }; members]
    } else {
        shares_of(&weights, ECMP_MAX)
    };
    (0_u8..).zip(counts).flat_map(|(member, count)| core::iter::repeat_n(member, count)).collect()
}

/// `buckets` of them in proportion to the weights: each member has one, and the rest go, one by
/// one, to who has the fewest for its weight.
fn shares_of(weights: &[u64], buckets: usize) -> Vec<usize> {
    let mut counts = alloc::vec![1_usize; weights.len()];
    for _ in weights.len()..buckets {
        // The member with the largest weight for a bucket more; the first of equal ones.
        let gains = |at: usize| (weights[at], counts[at] as u64 + 1);
        let best = (1..weights.len()).fold(0, |best, at| {
            let ((weight, count), (best_weight, best_count)) = (gains(at), gains(best));
            if weight * best_count > best_weight * count { at } else { best }
        });
        counts[best] += 1;
    }
    counts
}

/// The buckets of members with other `weights`, of whom `before` tells which member each was until
/// now: who stays keeps its buckets, up to its share. As many buckets as before.
pub(super) fn deal_again(
    buckets: &[u8],
    before: impl Fn(u8) -> Option<u8>,
    weights: &[u16],
) -> Vec<u8> {
    let weights: Vec<u64> = weights.iter().map(|&it| u64::from(it.max(1))).collect();
    let mut left = shares_of(&weights, buckets.len());
    let mut dealt: Vec<Option<u8>> = Vec::with_capacity(buckets.len());
    for &bucket in buckets {
        let stays = before(bucket).filter(|&member| left[usize::from(member)] > 0);
        if let Some(member) = stays {
            left[usize::from(member)] -= 1;
        }
        dealt.push(stays);
    }
    let mut heir = 0;
    let mut next = || {
        while left.get(heir).is_some_and(|&left| left == 0) {
            heir += 1;
        }
        if let Some(left) = left.get_mut(heir) {
            *left -= 1;
        }
        u8::try_from(heir.min(weights.len() - 1)).unwrap_or(0)
    };
    dealt.into_iter().map(|member| member.unwrap_or_else(&mut next)).collect()
}

/// Deals the buckets of members that are not `usable` to those that are. `buckets` stays as it is
/// if none is.
pub(super) fn without_unusable(buckets: &mut [u8], is_usable: impl Fn(u8) -> bool) {
    let members = buckets.iter().copied().max().map_or(0, |last| usize::from(last) + 1);
    let mut counts = [0_usize; ECMP_MAX];
    buckets.iter().for_each(|&member| counts[usize::from(member)] += 1);
    let usable: Vec<u8> = (0_u8..).take(members).filter(|&member| is_usable(member)).collect();
    if usable.is_empty() {
        return;
    }
    for bucket in buckets.iter_mut().filter(|bucket| !is_usable(**bucket)) {
        let fewest = usable.iter().copied().min_by_key(|&member| counts[usize::from(member)]);
        let Some(heir) = fewest else { continue };
        counts[usize::from(heir)] += 1;
        *bucket = heir;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn count(buckets: &[u8], member: u8) -> usize {
        buckets.iter().filter(|&&it| it == member).count()
    }

    #[test]
    fn members_of_one_weight_get_the_flows_that_they_get_without_buckets() {
        for members in 1..=ECMP_MAX {
            let buckets = deal(&alloc::vec![3; members]);
            for step in 0..=0xFFFF_u32 {
                let hash = u64::from(step << 16 | 0x8000);
                let plain = (hash * members as u64) >> 32;
                let bucket = (hash * buckets.len() as u64) >> 32;
                let bucket = usize::try_from(bucket).unwrap();
                assert_eq!(u64::from(buckets[bucket]), plain, "{members} members");
            }
        }
    }

    #[test]
    fn buckets_are_in_proportion_to_the_weights() {
        let buckets = deal(&[1, 3]);
        assert_eq!((count(&buckets, 0), count(&buckets, 1)), (16, 48));
        let buckets = deal(&[1, 10_000]);
        assert_eq!((count(&buckets, 0), count(&buckets, 1)), (1, 63));
        assert_eq!(deal(&[0]), [0]);
    }

    proptest! {
        #[test]
        fn a_member_that_goes_moves_its_own_flows_only_and_evenly(
            weights in proptest::collection::vec(1..300_u16, 2..=ECMP_MAX),
            gone in any::<prop::sample::Index>(),
        ) {
            let before = deal(&weights);
            prop_assert!(before.len() <= ECMP_MAX);
            let gone = u8::try_from(gone.index(weights.len())).unwrap();
            let mut after = before.clone();
            without_unusable(&mut after, |member| member != gone);
            for (&old, &new) in before.iter().zip(&after) {
                prop_assert!(new != gone && (old == gone || old == new));
            }
        }

        #[test]
        fn members_that_stay_keep_their_flows(
            weights in proptest::collection::vec(1..4_u16, 2..=8),
            stay in proptest::collection::vec(any::<bool>(), 8),
            added in 0..3_usize,
        ) {
            let before = deal(&weights);
            let staying: Vec<u8> = (0_u8..).zip(&stay).take(weights.len())
                .filter(|&(_, stays)| *stays).map(|(member, _)| member).collect();
            let mut others: Vec<u16> =
                staying.iter().map(|&member| weights[usize::from(member)]).collect();
            others.extend(core::iter::repeat_n(1, added));
            prop_assume!(!others.is_empty());
            let place = |member: u8| {
                let place = staying.iter().position(|&it| it == member)?;
                u8::try_from(place).ok()
            };
            let after = deal_again(&before, place, &others);
            prop_assert_eq!(after.len(), before.len());
            let shares: Vec<u64> = others.iter().map(|&it| u64::from(it)).collect();
            let shares = shares_of(&shares, before.len());
            for (member, share) in (0_u8..).zip(shares) {
                prop_assert_eq!(count(&after, member), share, "{}", member);
            }
            // Without newcomers no flow of one who stays moves.
            if added == 0 && staying.len() < weights.len() {
                let moved = before.iter().zip(&after).filter(|&(&old, &new)| {
                    place(old).is_some_and(|old| old != new)
                });
                prop_assert!(moved.count() <= others.len(), "rounding alone moves flows");
            }
        }

        #[test]
        fn the_heirs_of_equal_members_stay_equal(members in 2..=ECMP_MAX) {
            let mut buckets = deal(&alloc::vec![1; members]);
            without_unusable(&mut buckets, |member| member != 0);
            let counts: Vec<usize> =
                (1..members).map(|it| count(&buckets, u8::try_from(it).unwrap())).collect();
            let (least, most) = (counts.iter().min(), counts.iter().max());
            prop_assert!(most.unwrap() - least.unwrap() <= 1, "{:?}", counts);
        }
    }
}
