//! How many bounces the rules of a network must provide for: the answer of Tagger's Table I.
//!
//! A bounce is a turn from down to up, by which a frame gets around a failed link; rules raise its
//! tag there. Frames that bounce more often than the rules provide for become lossy. So the number
//! to provide for is the least k of which it is known that at most the wanted share of frames
//! bounces more often than k times. What is known is an upper bound at 95 %: a network in which no
//! frame of a thousand bounced may well bounce one in ten thousand.

use serde::{Deserialize, Serialize};

/// How often frames bounced.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BounceCounts {
    /// Frames that were looked at.
    pub frames: u64,
    /// Of these: those that bounced once or more often, twice or more often, and so on.
    pub at_least: Vec<u64>,
    /// Whether what is not listed did not occur. Otherwise it cannot be seen: rules do not count
    /// the bounces of frames that are lossy already.
    pub sees_all: bool,
}

/// What to provide for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Provision {
    /// So many bounces suffice.
    Bounces(usize),
    /// More than so many are needed, and how many cannot be seen: compile for more, and look again.
    MoreThan(usize),
    /// Even if nothing had bounced, so few frames would not show it: so many are needed.
    FramesNeeded(u64),
}

impl BounceCounts {
    /// The least number of bounces that at most `share` of the frames exceed, known at 95 %.
    pub(crate) fn provision(&self, share: f64) -> Provision {
        if upper_bound(0) > share * self.frames as f64 {
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "rounded up"
            )]
            let needed = (upper_bound(0) / share).ceil() as u64;
            return Provision::FramesNeeded(needed);
        }
        let exceeds = |&bounces: &usize| {
            let frames = self.at_least.get(bounces).copied().unwrap_or(0);
            upper_bound(frames) > share * self.frames as f64
        };
        let listed = self.at_least.len();
        let last = if self.sees_all { listed } else { listed.saturating_sub(1) };
        (0..=last)
            .find(|bounces| !exceeds(bounces))
            .map_or(Provision::MoreThan(last), Provision::Bounces)
    }

    /// The answer in words.
    pub(crate) fn describe(&self, share: f64) -> String {
        let goal = format!("so that at most {share:e} of the frames bounce more often (at 95 %)");
        match self.provision(share) {
            Provision::Bounces(bounces) => format!("bounces to provision: {bounces}, {goal}"),
            Provision::MoreThan(bounces) => format!(
                "bounces to provision: more than {bounces}, {goal}; compile with more and look again"
            ),
            Provision::FramesNeeded(frames) => format!(
                "bounces to provision: not known from {} frames, {goal}: {frames} are needed",
                self.frames
            ),
        }
    }
}

/// A share of frames on the command line: above 0, and below 1.
pub(crate) fn share(text: &str) -> Result<f64, String> {
    let share = text.parse().ok().filter(|share: &f64| *share > 0.0 && *share < 1.0);
    share.ok_or_else(|| "use a number above 0 and below 1, such as 1e-6".to_owned())
}

/// The upper bound at 95 % of the expected number of events, if so many were counted: that of the
/// Poisson distribution, by the approximation of Wilson and Hilferty, which is within 1 %.
fn upper_bound(events: u64) -> f64 {
    const Z: f64 = 1.645;
    let next = events as f64 + 1.0;
    next * (1.0 - 1.0 / (9.0 * next) + Z / (3.0 * next.sqrt())).powi(3)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The chance of at most `events` if so many are expected.
    fn poisson(events: u64, expected: f64) -> f64 {
        let mut term = (-expected).exp();
        let mut sum = term;
        for event in 1..=events {
            term *= expected / event as f64;
            sum += term;
        }
        sum
    }

    #[test]
    fn at_the_upper_bound_so_few_events_have_a_chance_of_five_percent() {
        for events in [0, 1, 2, 5, 10, 50, 100] {
            let chance = poisson(events, upper_bound(events));
            assert!((0.048..0.0525).contains(&chance), "{events} events: {chance}");
        }
    }

    fn counts(frames: u64, at_least: &[u64], sees_all: bool) -> BounceCounts {
        BounceCounts { frames, at_least: at_least.to_vec(), sees_all }
    }

    #[test]
    fn table_1_of_tagger_provides_for_one_bounce() {
        // 11/01/2016: 148,416 of 11,381,533,570 measurements, and of two bounces nothing is said.
        let day = counts(11_381_533_570, &[148_416], true);
        assert_eq!(day.provision(1e-6), Provision::Bounces(1));
        assert_eq!(day.provision(1.4e-5), Provision::Bounces(0), "its probability is 1.3e-5");
    }

    #[test]
    fn the_answer_is_the_least_number_that_is_known_to_suffice() {
        let some = counts(10_000_000, &[120, 3, 0], true);
        assert_eq!(some.provision(2e-5), Provision::Bounces(0));
        assert_eq!(some.provision(1e-6), Provision::Bounces(1));
        assert_eq!(some.provision(7e-7), Provision::Bounces(2), "3 of 1e7 may be 7.7 of 1e7");
        assert_eq!(some.provision(1e-7), Provision::FramesNeeded(29_687_374));
        assert_eq!(counts(0, &[], true).provision(1e-6), Provision::FramesNeeded(2_968_738));
    }

    #[test]
    fn rules_see_no_bounces_behind_the_last_tag() {
        let rules = counts(10_000_000, &[120, 90], false);
        assert_eq!(rules.provision(2e-5), Provision::Bounces(0));
        assert_eq!(rules.provision(1.2e-5), Provision::Bounces(1));
        assert_eq!(rules.provision(1e-6), Provision::MoreThan(1));
    }
}
