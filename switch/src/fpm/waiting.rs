//! Routes whose next hop comes later: a zebra that finds routes in the kernel at its start may send
//! them before the next hops that they name.

use super::netlink::RouteMessage;
use ipnet::IpNet;
use std::collections::{BTreeMap, HashMap};

/// Routes that may wait.
const WAITING_MAX: usize = 1 << 16;

/// Routes by the number that they wait for.
#[derive(Debug, Default)]
pub(super) struct Waiting {
    by_number: HashMap<u32, BTreeMap<IpNet, RouteMessage>>,
    numbers: HashMap<IpNet, u32>,
}

impl Waiting {
    pub(super) fn is_empty(&self) -> bool {
        self.numbers.is_empty()
    }

    /// `route` waits for `number`; false if too many do.
    pub(super) fn add(&mut self, number: u32, route: &RouteMessage) -> bool {
        if self.numbers.len() >= WAITING_MAX {
            return false;
        }
        self.numbers.insert(route.prefix, number);
        self.by_number.entry(number).or_default().insert(route.prefix, route.clone());
        true
    }

    /// The route for `prefix` waits no longer: it was removed or replaced.
    pub(super) fn forget(&mut self, prefix: IpNet) {
        let Some(number) = self.numbers.remove(&prefix) else { return };
        if let Some(routes) = self.by_number.get_mut(&number) {
            routes.remove(&prefix);
            if routes.is_empty() {
                self.by_number.remove(&number);
            }
        }
    }

    /// The routes that waited for `number`.
    pub(super) fn take(&mut self, number: u32) -> Vec<RouteMessage> {
        let routes = self.by_number.remove(&number).unwrap_or_default();
        routes.keys().for_each(|prefix| _ = self.numbers.remove(prefix));
        routes.into_values().collect()
    }
}
