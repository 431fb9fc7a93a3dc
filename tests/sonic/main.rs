//! What SONiC's own tests of QoS, PFC and the PFC watchdog assert, asserted of this switch. Theirs
//! are in sonic-mgmt: `tests/qos`, `tests/saitests`, `tests/pfcwd` and `tests/pfc_asym`. Each one
//! here has the name of the original; `docs/sonic-tests.md` has a row for each of theirs.
//!
//! The switch is a whole worker on a device in memory, and time moves only when a test says so.
//! What is expected comes from `model`, which knows SONiC's formulas and nothing of the code.
//!
//! | file | idea |
//! |---|---|
//! | `model` | SONiC's buffer, one frame at a time |
//! | `dut` | the switch under test: blocked ports, frames by DSCP, counters that moved |
//! | `probe` | a threshold found by search |
//! | `pfcwd` | switches with a watchdog, and storms |
//! | `table` | `docs/sonic-tests.md` names these tests and no others |
//! | the rest | the tests |

mod buffer_profiles;
mod dscp_maps;
mod dut;
mod dwrr;
mod ecn_wred;
mod headroom_pool;
mod ingress_drop;
mod lossy_queue;
mod model;
mod pfc_frames;
mod pfc_pause;
mod pfc_storm;
mod pfc_xoff;
mod pfc_xon;
mod pfcwd;
mod pfcwd_actions;
mod pfcwd_all_ports;
mod pfcwd_big_red_switch;
mod pfcwd_config;
mod pfcwd_detect;
mod pfcwd_restart;
mod pfcwd_timers;
mod pg_watermarks;
mod probe;
mod queue_watermarks;
mod sched_strict_priority;
mod table;
mod traffic;
mod tunnel_qos_remap;
