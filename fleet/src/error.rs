//! Why the store did not do something.

use etcd_client::Error;

/// Codes of gRPC for requests that nobody answered: cancelled, deadline exceeded, unavailable.
const SILENT_CODES: [i32; 3] = [1, 4, 14];

/// Why the store did not do it: one line.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// No member answers.
    #[error("etcd does not answer")]
    Silent,
    /// A member refuses.
    #[error("etcd: {0}")]
    Refused(String),
    /// Somebody else changed the head meanwhile.
    #[error("somebody else changed the fleet meanwhile; look at `fleet status` and try again")]
    Conflict,
    /// What is in the store is not what belongs there.
    #[error("the store's {key} {why}")]
    Corrupt {
        /// Where.
        key: String,
        /// What is wrong.
        why: String,
    },
    /// What was given is wrong.
    #[error("{0}")]
    Input(String),
}

impl From<Error> for StoreError {
    fn from(error: Error) -> Self {
        match &error {
            Error::GRpcStatus(status) => {
                let message = status.message();
                let is_silent = SILENT_CODES.contains(&i32::from(status.code()))
                    || message.contains("transport error")
                    || message.contains("Timeout expired")
                    || message.contains("Service was not ready")
                    || message.contains("connection");
                if is_silent { Self::Silent } else { Self::Refused(message.to_owned()) }
            }
            Error::TransportError(_) | Error::IoError(_) => Self::Silent,
            _ => Self::Refused(error.to_string()),
        }
    }
}
