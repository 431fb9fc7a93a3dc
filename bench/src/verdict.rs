//! How a bench that judges what it measures ends.

use std::error::Error;
use std::process::ExitCode;

/// Whether all came out as it must, as what the process ends with: 0, 1 if something did not, 2 if
/// that could not be told. Standard error says which of the two failed.
pub fn verdict(holds: Result<bool, Box<dyn Error>>) -> ExitCode {
    match holds {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => {
            eprintln!("something came out otherwise than it must");
            ExitCode::FAILURE
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::from(2)
        }
    }
}
