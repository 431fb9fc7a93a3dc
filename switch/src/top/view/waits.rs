//! Queues that the peer has paused or that wait for their own peak rate, and the ingress ports of
//! their frames.

use super::text::{NOTABLE, Piece, lead, plain, wrap};
use crate::control::stats::{Origin, Wait};
use crate::top::format::{number, time};
use ratatui::text::{Line, Span};

/// What is queued, for how long it has been paused, and its ingress ports; those that pause their
/// peers for it are highlighted.
pub(super) fn lines(wait: &Wait, width: usize) -> Vec<Line<'static>> {
    let (bytes, frames) = (number(wait.bytes.into()), number(wait.frames.into()));
    let paused = if wait.own_rate {
        "held by its own peak rate".to_owned()
    } else {
        format!("paused by the peer for {}", time(wait.paused_for_ns))
    };
    let mut what = plain(format!("{bytes}B in {frames} frames, "));
    what.push(Span::styled(paused, NOTABLE));
    let mut pieces = vec![what];
    pieces.extend(wait.origins.iter().map(origin));
    if wait.has_more_origins {
        pieces.push(plain("and perhaps by others"));
    }
    wrap(lead("waits"), pieces, 2, width)
}

fn origin(origin: &Origin) -> Piece {
    let mut piece = plain(format!("came in by {} class {}", origin.name, origin.priority));
    if origin.paused {
        let text = format!(", which pauses its peer for {}", time(origin.paused_for_ns));
        piece.push(Span::styled(text, NOTABLE));
    }
    piece
}
