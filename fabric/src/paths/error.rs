//! Why a set of paths cannot be built.

/// Why a set of paths cannot be built.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PathsError {
    /// A network with more loop-free paths than can be listed.
    #[error("there are too many loop-free paths to list; use k-shortest instead of all-simple")]
    TooMany,
    /// No random walk of that length was found.
    #[error("there is no random loop-free path over {switches} switches; lower `random_switches`")]
    NoRandom {
        /// Its switches.
        switches: usize,
    },
}
