//! Errors about a device: the cause and what to do.

use super::device_args::DeviceArgs;
use super::error::{DpdkError, errno_text};
use super::log;

/// The error for `args`: the cause from `errno` and DPDK's log, the advice for its driver.
pub(super) fn failure(args: &DeviceArgs, doing: &str, errno: i32) -> DpdkError {
    let (text, logged) = (errno_text(errno), log::take());
    let cause =
        if logged.is_empty() { format!("{doing}: {text}") } else { format!("{doing}: {logged}") };
    refusal(args, &cause, args.advice())
}

/// The error for `args` with this cause and advice.
pub(super) fn refusal(args: &DeviceArgs, cause: &str, advice: &str) -> DpdkError {
    DpdkError::Device {
        device: args.text().to_owned(),
        cause: cause.to_owned(),
        advice: advice.to_owned(),
    }
}
