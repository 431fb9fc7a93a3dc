//! Queues as fluids, with `C = tau = 1`: the least room with which gentle flow control never fills
//! a queue, found by trying, as an oracle for the bounds in `config::gfc`.

use config::gfc::{staged, theorem, tight};

/// Steps of a `tau`.
const STEPS: usize = 1_000;
/// A queue that has not overflowed after so many steps does not: its rate has fallen to nothing.
const TIME: usize = 40 * STEPS;
/// So many halvings of the interval in which the least room is.
const HALVINGS: usize = 24;

/// How a rate follows a fill: the conceptual form's line, or the halvings of the staged form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mapping {
    Line,
    Stages,
}

/// What drains a queue, from 0 to 1 at each step.
#[derive(Clone, Copy, Debug)]
pub(super) enum Drain {
    /// Nothing: the queue only fills.
    Stopped,
    /// The whole speed for a part of each period, in steps, and nothing in the rest.
    Bursts { period: usize, on: usize },
}

impl Drain {
    fn at(self, step: usize) -> f64 {
        match self {
            Self::Stopped => 0.0,
            Self::Bursts { period, on } => f64::from(step % period < on),
        }
    }
}

/// Drains that are tried: none, and bursts of many periods and shares.
pub(super) fn drains() -> Vec<Drain> {
    let periods = [300, 1_000, 1_550, 3_500, 10_000];
    let bursts = periods.into_iter().flat_map(|period| {
        (1..4).map(move |quarters| Drain::Bursts { period, on: period * quarters / 4 })
    });
    std::iter::once(Drain::Stopped).chain(bursts).collect()
}

/// Whether a queue that slows its sender down from `span` before it is full on never fills. The
/// inflow is what the room said `tau` ago.
pub(super) fn holds(mapping: Mapping, span: f64, drain: Drain) -> bool {
    let mut room = vec![span];
    for step in 0..TIME {
        let seen = if step < STEPS { span } else { room[step - STEPS] };
        let share = (seen / span).clamp(0.0, 1.0);
        let inflow = match mapping {
            Mapping::Line => share,
            Mapping::Stages if share > 0.0 => (1.0 / share).log2().floor().exp2().recip(),
            Mapping::Stages => 0.0,
        };
        let next = (room[step] + (drain.at(step) - inflow) / STEPS as f64).min(span);
        if next < 0.0 {
            return false;
        }
        room.push(next);
    }
    true
}

/// The least span that holds with every one of [`drains`].
pub(super) fn least_span(mapping: Mapping) -> f64 {
    let (mut fails, mut does) = (0.1, 8.0);
    for _ in 0..HALVINGS {
        let middle = (fails + does) / 2.0;
        if drains().into_iter().all(|drain| holds(mapping, middle, drain)) {
            does = middle;
        } else {
            fails = middle;
        }
    }
    does
}

/// The bounds of `config::gfc` in `C tau`: Theorem 4.1, the tight one, and `Bm - B0` of the stages.
pub(super) fn bounds() -> [f64; 3] {
    const UNIT: u64 = 1_000_000;
    [theorem(UNIT), tight(UNIT), 2 * staged(UNIT)].map(|bytes| bytes as f64 / UNIT as f64)
}
