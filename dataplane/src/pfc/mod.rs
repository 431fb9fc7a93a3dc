//! Priority flow control: [`generator`] tells upstream when to be silent, [`receiver`] remembers
//! when downstream asked us to be, [`watchdog`] reacts where that goes on for too long.

pub mod generator;
pub mod receiver;
pub mod watchdog;
