//! The structs that bindgen generated (with clang) lie in memory as the C compiler lays them out,
//! field by field, for everything that the Rust code touches directly.

use std::ffi::CStr;
use std::mem::offset_of;

/// Size of the field that `_project` reads, without a value of it.
fn field_size<T, F>(_project: fn(&T) -> &F) -> usize {
    size_of::<F>()
}

/// One row a struct and one a field, in the order of layout.c.
macro_rules! layouts {
    ($($type:ident { $($field:ident),* })*) => {
        vec![$(
            (stringify!($type).to_owned(), 0, size_of::<dpdk_sys::$type>()),
            $((
                concat!(stringify!($type), ".", stringify!($field)).to_owned(),
                offset_of!(dpdk_sys::$type, $field),
                field_size(|value: &dpdk_sys::$type| &value.$field),
            ),)*
        )*]
    };
}

fn rows_as_rust_sees_them() -> Vec<(String, usize, usize)> {
    layouts! {
        rte_mbuf {}
        shim_mbuf {
            buf_addr, data_off, nb_segs, port, ol_flags, pkt_len, data_len, buf_len, pool, next
        }
        rte_eth_conf { rxmode, txmode, rx_adv_conf }
        rte_eth_rss_conf { rss_key, rss_key_len, rss_hf }
        rte_eth_rxmode { mq_mode, mtu, offloads }
        rte_eth_txmode { offloads }
        rte_eth_rxconf {}
        rte_eth_txconf {}
        rte_eth_dev_info {
            device, driver_name, min_mtu, max_mtu, max_rx_pktlen, rx_offload_capa, tx_offload_capa,
            max_rx_queues, max_tx_queues, hash_key_size, flow_type_rss_offloads
        }
        rte_eth_stats {
            ipackets, opackets, ibytes, obytes, imissed, ierrors, oerrors, rx_nombuf
        }
        rte_eth_fc_conf { mode, mac_ctrl_frame_fwd }
        rte_ether_addr { addr_bytes }
        rte_dev_iterator {}
    }
}

fn rows_as_c_sees_them() -> Vec<(String, usize, usize)> {
    let mut rows = 0;
    // SAFETY: `rows` is a valid place to write to.
    let table = unsafe { dpdk_sys::shim_layout_table(&raw mut rows) };
    // SAFETY: the shim returns a static table of exactly `rows` initialized rows.
    let table = unsafe { std::slice::from_raw_parts(table, rows) };
    table
        .iter()
        .map(|row| {
            // SAFETY: every name in the table is a string literal.
            let name = unsafe { CStr::from_ptr(row.name) };
            (name.to_str().expect("a C identifier").to_owned(), row.offset, row.size)
        })
        .collect()
}

#[test]
fn every_struct_we_touch_lies_in_memory_as_the_c_compiler_has_it() {
    assert_eq!(rows_as_rust_sees_them(), rows_as_c_sees_them());
}
