//! Two endpoints and a wire between them that loses, repeats, reorders and delays. What must come
//! out is computed plainly, as if the wire were perfect.

mod behavior;
mod faults;
mod golden;
mod packets;
mod telemetry;
mod wire;
