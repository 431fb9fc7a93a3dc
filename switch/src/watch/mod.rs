//! `knotless watch`: the events of a switch as they happen, from its flight recorder; of a queue
//! that stalls also who waits for whom, asked of the other switches.

use crate::control::protocol::Request;
use crate::ctl::client::{Client, SwitchArgs};
use crate::flight_recorder::Recording;
use crate::flight_recorder::event::{FlightEvent, What};
use crate::output;
use crate::why::chain::World;
use crate::why::clock::clock;
use crate::why::duration;
use crate::why::switches::{OtherSwitches, WorldError};
use clap::Args;
use serde_json::json;
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// How often the switch is asked.
const POLL: Duration = Duration::from_millis(100);

/// `knotless watch`
#[derive(Debug, Args)]
pub struct WatchArgs {
    #[command(flatten)]
    switch: SwitchArgs,
    /// Begin with what the switch has recorded already
    #[arg(long)]
    last: bool,
    /// Show each change of a queue's depth, too
    #[arg(long)]
    depths: bool,
    /// Stop after this time; otherwise at Ctrl-C
    #[arg(long = "for", value_name = "TIME", value_parser = duration)]
    time: Option<Duration>,
    #[command(flatten)]
    others: OtherSwitches,
    /// Print JSON lines
    #[arg(long)]
    json: bool,
}

/// Watches. Exit 2: there is no such switch; 1: the connection broke.
pub fn run(arguments: &WatchArgs) -> ExitCode {
    match watch(arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            output::error(&error);
            ExitCode::from(error.exit_code())
        }
    }
}

fn watch(arguments: &WatchArgs) -> Result<(), WorldError> {
    let socket = arguments.switch.socket()?;
    let mut client = Client::connect(&socket)?;
    let mut after = 0;
    if !arguments.last {
        let page: Recording = client.ask(&Request::Recorder { after: u64::MAX })?;
        after = page.last;
    }
    let end = arguments.time.map(|time| Instant::now() + time);
    loop {
        let page: Recording = client.ask(&Request::Recorder { after })?;
        // A number is given once, so a gap is what the recorder had no room for.
        let next = page.events.first().map_or(after + 1, |event| event.seq);
        if after > 0 && next > after + 1 {
            missed(arguments, &page.switch, next - after - 1);
        }
        // Asked once for all queues that have stalled.
        let mut world = None;
        for event in &page.events {
            after = event.seq;
            if arguments.depths || !matches!(event.what, What::Depth { .. }) {
                show(arguments, &page.switch, event);
            }
            if let What::Stall { port, priority, .. } = &event.what {
                let world = match &mut world {
                    Some(world) => world,
                    None => world.insert(arguments.others.world(&socket)?),
                };
                show_chain(arguments, world, &page.switch, (port, *priority));
            }
        }
        if !page.events.is_empty() && after < page.last {
            continue;
        }
        if end.is_some_and(|end| Instant::now() >= end) {
            return Ok(());
        }
        std::thread::sleep(POLL);
    }
}

fn show(arguments: &WatchArgs, switch: &str, event: &FlightEvent) {
    if arguments.json {
        let mut line = json!(event);
        line["switch"] = json!(switch);
        output::print(line);
    } else {
        output::print(format_args!(
            "{} {switch}: {}",
            clock(event.time_unix_ms),
            event.what.text()
        ));
    }
}

fn missed(arguments: &WatchArgs, switch: &str, events: u64) {
    if arguments.json {
        output::print(json!({ "event": "missed", "switch": switch, "events": events }));
    } else {
        output::print(format_args!("{switch}: {events} events were not kept for long enough"));
    }
}

/// Who waits for whom, from a queue that has stalled.
fn show_chain(arguments: &WatchArgs, world: &World, switch: &str, (port, priority): (&str, usize)) {
    let ports = world.switches.get(switch).map(|view| &view.stats.ports);
    let number = ports.and_then(|ports| ports.iter().find(|it| it.name == port));
    let chain = number.and_then(|port| world.chain(switch, port.number, Some(priority)));
    let Some(chain) = chain else { return };
    if arguments.json {
        output::print(json!({ "event": "chain", "switch": switch, "chain": chain }));
    } else {
        chain.lines().iter().for_each(|line| output::print(format_args!("  {line}")));
    }
}
