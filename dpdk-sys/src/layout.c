/* Size and offset of everything the Rust code reads or writes directly, as the C compiler that sees
 * the installed headers lays it out. tests/layout.rs holds bindgen's structs against this. */
#include "shim.h"

#define TYPE(type) { #type, 0, sizeof(struct type) }
#define FIELD(type, field) \
	{ #type "." #field, offsetof(struct type, field), sizeof(((struct type *)0)->field) }

static const struct shim_layout table[] = {
	TYPE(rte_mbuf),
	TYPE(shim_mbuf),
	FIELD(shim_mbuf, buf_addr),
	FIELD(shim_mbuf, data_off),
	FIELD(shim_mbuf, nb_segs),
	FIELD(shim_mbuf, port),
	FIELD(shim_mbuf, ol_flags),
	FIELD(shim_mbuf, pkt_len),
	FIELD(shim_mbuf, data_len),
	FIELD(shim_mbuf, buf_len),
	FIELD(shim_mbuf, pool),
	FIELD(shim_mbuf, next),
	TYPE(rte_eth_conf),
	FIELD(rte_eth_conf, rxmode),
	FIELD(rte_eth_conf, txmode),
	FIELD(rte_eth_conf, rx_adv_conf),
	TYPE(rte_eth_rss_conf),
	FIELD(rte_eth_rss_conf, rss_key),
	FIELD(rte_eth_rss_conf, rss_key_len),
	FIELD(rte_eth_rss_conf, rss_hf),
	TYPE(rte_eth_rxmode),
	FIELD(rte_eth_rxmode, mq_mode),
	FIELD(rte_eth_rxmode, mtu),
	FIELD(rte_eth_rxmode, offloads),
	TYPE(rte_eth_txmode),
	FIELD(rte_eth_txmode, offloads),
	TYPE(rte_eth_rxconf),
	TYPE(rte_eth_txconf),
	TYPE(rte_eth_dev_info),
	FIELD(rte_eth_dev_info, device),
	FIELD(rte_eth_dev_info, driver_name),
	FIELD(rte_eth_dev_info, min_mtu),
	FIELD(rte_eth_dev_info, max_mtu),
	FIELD(rte_eth_dev_info, max_rx_pktlen),
	FIELD(rte_eth_dev_info, rx_offload_capa),
	FIELD(rte_eth_dev_info, tx_offload_capa),
	FIELD(rte_eth_dev_info, max_rx_queues),
	FIELD(rte_eth_dev_info, max_tx_queues),
	FIELD(rte_eth_dev_info, hash_key_size),
	FIELD(rte_eth_dev_info, flow_type_rss_offloads),
	TYPE(rte_eth_stats),
	FIELD(rte_eth_stats, ipackets),
	FIELD(rte_eth_stats, opackets),
	FIELD(rte_eth_stats, ibytes),
	FIELD(rte_eth_stats, obytes),
	FIELD(rte_eth_stats, imissed),
	FIELD(rte_eth_stats, ierrors),
	FIELD(rte_eth_stats, oerrors),
	FIELD(rte_eth_stats, rx_nombuf),
	TYPE(rte_eth_fc_conf),
	FIELD(rte_eth_fc_conf, mode),
	FIELD(rte_eth_fc_conf, mac_ctrl_frame_fwd),
	TYPE(rte_ether_addr),
	FIELD(rte_ether_addr, addr_bytes),
	TYPE(rte_dev_iterator),
};

const struct shim_layout *shim_layout_table(size_t *rows)
{
	*rows = sizeof(table) / sizeof(table[0]);
	return table;
}
