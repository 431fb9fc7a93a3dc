//! Asks the control thread for the counters, and keeps the page for some milliseconds: many
//! clients at once cost as little as one.

use super::page::Format;
use super::{silent_text, text};
use crate::control::protocol::{Reply, Request};
use crate::control::stats::Stats;
use crate::control::{Call, ReplyTo};
use crossbeam::channel::Sender;
use hyper::body::Bytes;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{Mutex, mpsc};
use tokio::time::{Instant, timeout};

/// For how long a page is given to other clients, too. A client that reads every 10 ms gets a new
/// one each time.
const AGE_MAX: Duration = Duration::from_millis(5);
/// How long the control thread may take. It waits 3 s for a worker.
const ANSWER_MAX: Duration = Duration::from_secs(5);

/// Where pages come from.
#[derive(Debug)]
pub(super) struct Source {
    name: String,
    calls: Sender<Call>,
    /// The lock is held while the control thread is asked, so that it is asked once.
    kept: Mutex<Option<Kept>>,
}

/// The last answer, and its pages as far as they were wanted.
#[derive(Debug)]
struct Kept {
    until: Instant,
    /// `None` if a worker did not answer.
    stats: Option<Arc<Stats>>,
    text: Option<Bytes>,
    open_metrics: Option<Bytes>,
}

impl Source {
    /// Of the switch `name`, whose control thread takes `calls`.
    pub(super) fn new(name: &str, calls: Sender<Call>) -> Self {
        Self { name: name.to_owned(), calls, kept: Mutex::default() }
    }

    /// The page in `format`.
    ///
    /// # Errors
    /// The control thread does not answer; in one line.
    pub(super) async fn page(&self, format: Format) -> Result<Bytes, &'static str> {
        let mut slot = self.kept.lock().await;
        let kept = match slot.take().filter(|kept| Instant::now() < kept.until) {
            Some(kept) => kept,
            None => self.ask().await?,
        };
        let kept = slot.insert(kept);
        let page = match format {
            Format::Text => &mut kept.text,
            Format::OpenMetrics => &mut kept.open_metrics,
        };
        let page = page.get_or_insert_with(|| match &kept.stats {
            Some(stats) => text(stats, format).into(),
            None => silent_text(&self.name, format).into(),
        });
        Ok(page.clone())
    }

    async fn ask(&self) -> Result<Kept, &'static str> {
        let (reply, mut answer) = mpsc::channel(1);
        let call = Call { request: Request::Stats, reply: ReplyTo::Task(reply) };
        if self.calls.try_send(call).is_err() {
            return Err("the switch is too busy to answer or is stopping");
        }
        let stats = match timeout(ANSWER_MAX, answer.recv()).await {
            Ok(Some(Reply::Stats(stats))) => Some(Arc::from(stats)),
            // A worker does not answer.
            Ok(Some(_)) => None,
            Ok(None) => return Err("the switch is stopping"),
            Err(_) => return Err("the switch took too long to answer"),
        };
        let until = Instant::now() + AGE_MAX;
        Ok(Kept { until, stats, text: None, open_metrics: None })
    }
}
