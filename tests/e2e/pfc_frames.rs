//! Flow control on the wire, as tshark sees it.

use crate::host::Host;
use crate::process::Running;
use nix::sys::signal::Signal;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// A capture of MAC control frames in progress.
#[derive(Debug)]
pub(crate) struct Capture {
    running: Running,
    file: PathBuf,
}

/// A PFC frame as tshark decoded it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PfcSeen {
    pub(crate) source: String,
    pub(crate) destination: String,
    pub(crate) frame_bytes: u64,
    pub(crate) opcode: u64,
    /// The class-enable vector.
    pub(crate) classes: u64,
    /// The time of each class, in quanta.
    pub(crate) quanta: [u64; 8],
}

impl Capture {
    /// Begins to capture at `host`.
    pub(crate) fn start(host: &Host, directory: &Path) -> Self {
        let file = directory.join(format!("{}.pcapng", host.dev));
        // Ends by itself, for it may have capabilities, and those take away the death signal.
        let limits = "-a duration:200 -f ether[12:2]==0x8808";
        let arguments = format!("-q -i {} {limits} -w {}", host.dev, file.display());
        let mut running = host.start("dumpcap", &arguments);
        running.wait_for("File:");
        Self { running, file }
    }

    /// Ends, and has tshark decode what there is.
    pub(crate) fn stop(self) -> Vec<PfcSeen> {
        self.running.signal(Signal::SIGINT);
        self.running.end(Duration::from_secs(20)).success();
        let fields = ["eth.src", "eth.dst", "frame.len", "macc.opcode", "macc.cbfc.enbv"];
        let times = (0..8).map(|class| format!("macc.cbfc.pause_time.c{class}"));
        let mut tshark = Command::new("tshark");
        tshark.arg("-r").arg(&self.file).args(["-T", "fields"]);
        for field in fields.into_iter().map(str::to_owned).chain(times) {
            tshark.args(["-e", &field]);
        }
        let output = tshark.output().expect("tshark is installed");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let text = String::from_utf8(output.stdout).expect("tshark writes text");
        text.lines().map(parse).collect()
    }
}

fn parse(line: &str) -> PfcSeen {
    let mut fields = line.split('\t');
    let mut text = || fields.next().unwrap_or_else(|| panic!("{line} is cut short")).to_owned();
    PfcSeen {
        source: text(),
        destination: text(),
        frame_bytes: number(&text()),
        opcode: number(&text()),
        classes: number(&text()),
        quanta: std::array::from_fn(|_| number(&text())),
    }
}

fn number(text: &str) -> u64 {
    let parsed = match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16),
        None => text.parse(),
    };
    parsed.unwrap_or_else(|_| panic!("`{text}` is no number"))
}
