//! Priority flow control: [`generator`] tells upstream when to be silent, [`receiver`] remembers
//! when downstream asked us to be.

pub mod generator;
pub mod receiver;
