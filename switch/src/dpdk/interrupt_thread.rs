//! Calls that run on the EAL's interrupt thread, between the callbacks of drivers.

use std::ffi::{c_int, c_void};
use std::sync::mpsc::{Sender, channel};

/// A call, and where its end is told.
struct Call<F> {
    call: F,
    done: Sender<()>,
}

/// Runs `call` on the interrupt thread and returns after its end. No driver's callback runs
/// meanwhile. `call` must not wait for an interrupt.
pub(super) fn run<F: FnOnce() + Send>(call: F) {
    let (done, end) = channel();
    let pointer = Box::into_raw(Box::new(Call { call, done }));
    // An alarm is the EAL's way to its interrupt thread; 1 us is the shortest.
    // SAFETY: the callback takes the box, once; what `call` borrows outlives the wait below.
    let status: c_int =
        unsafe { dpdk_sys::rte_eal_alarm_set(1, Some(on_alarm::<F>), pointer.cast()) };
    if status != 0 {
        // No memory for an alarm. The callback never runs, so the box is still ours.
        // SAFETY: from `Box::into_raw` above.
        on_thread(*unsafe { Box::from_raw(pointer) });
    }
    // An error says that the sender is gone, which it is after the call only.
    let _ended = end.recv();
}

extern "C" fn on_alarm<F: FnOnce()>(pointer: *mut c_void) {
    // SAFETY: `run` made it from a box of this type, and gave it to one alarm.
    on_thread(*unsafe { Box::from_raw(pointer.cast::<Call<F>>()) });
}

fn on_thread<F: FnOnce()>(Call { call, done }: Call<F>) {
    call();
    // `run` waits for it.
    let _told = done.send(());
}
