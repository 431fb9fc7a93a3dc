//! Events as lines of plain text on stderr.

use std::fmt::{Debug, Write as _};
use std::io::{self, Write as _};
use tracing::Subscriber;
use tracing::field::{Field, Visit};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::Context;

/// Writes each event's text, and no field: the text names the port.
#[derive(Debug)]
pub(super) struct Plain;

impl<S: Subscriber> Layer<S> for Plain {
    fn on_event(&self, event: &tracing::Event<'_>, _context: Context<'_, S>) {
        let mut text = Text::default();
        event.record(&mut text);
        let _reader_is_gone = writeln!(io::stderr().lock(), "knotless: {}", text.0);
    }
}

/// The text of an event.
#[derive(Default)]
struct Text(String);

impl Visit for Text {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        if field.name() == "message" {
            let _strings_take_all = write!(self.0, "{value:?}");
        }
    }
}
