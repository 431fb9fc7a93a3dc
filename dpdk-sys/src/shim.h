/* C functions around what DPDK offers only as static inlines, thread-locals or function-like macros.
 * A name `shim_X` does exactly what `X` does. */
#ifndef KNOTLESS_SHIM_H
#define KNOTLESS_SHIM_H

#include <rte_ethdev.h>
#include <rte_mbuf.h>
#include <rte_mempool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

uint16_t shim_rte_eth_rx_burst(uint16_t port, uint16_t queue, struct rte_mbuf **frames, uint16_t n);
uint16_t shim_rte_eth_tx_burst(uint16_t port, uint16_t queue, struct rte_mbuf **frames, uint16_t n);
int shim_rte_eth_rx_queue_count(uint16_t port, uint16_t queue);

/* rte_pktmbuf_pool_create, with the flags of the mempool. */
struct rte_mempool *shim_pktmbuf_pool_create(const char *name, unsigned int frames,
					     unsigned int cache, uint16_t room, unsigned int flags);
struct rte_mbuf *shim_rte_pktmbuf_alloc(struct rte_mempool *pool);
void shim_rte_pktmbuf_free(struct rte_mbuf *frame);

/* What the switch reads and writes of struct rte_mbuf, whose fields lie in anonymous unions from DPDK
 * 24.03 on, so that bindgen gives them other names. shim.c asserts that the two are one in memory. */
struct shim_mbuf {
	void *buf_addr;
	uint64_t buf_iova;
	uint16_t data_off;
	uint16_t refcnt;
	uint16_t nb_segs;
	uint16_t port;
	uint64_t ol_flags;
	uint32_t packet_type;
	uint32_t pkt_len;
	uint16_t data_len;
	uint16_t vlan_tci;
	uint32_t hash[2];
	uint16_t vlan_tci_outer;
	uint16_t buf_len;
	struct rte_mempool *pool;
	struct shim_mbuf *next;
	uint64_t rest[7];
};

/* Whether the link is up: 1 or 0, or a negative errno. The fields of struct rte_eth_link have other
 * names in bindgen from DPDK 24.11 on, too. */
int shim_link_is_up(uint16_t port);

int shim_rte_errno(void);
unsigned int shim_rte_lcore_id(void);

/* Sends DPDK's log to `write` instead of stderr, one call a line. 0, or -1 with errno set. */
int shim_rte_openlog_callback(ssize_t (*write)(void *unused, const char *text, size_t length));

static const uint64_t SHIM_RTE_ETH_RX_OFFLOAD_SCATTER = RTE_ETH_RX_OFFLOAD_SCATTER;
static const uint64_t SHIM_RTE_ETH_TX_OFFLOAD_MULTI_SEGS = RTE_ETH_TX_OFFLOAD_MULTI_SEGS;
static const uint32_t SHIM_RTE_ETH_DEV_INTR_RMV = RTE_ETH_DEV_INTR_RMV;
static const uint64_t SHIM_RTE_ETH_RSS_FLOWS =
	RTE_ETH_RSS_IP | RTE_ETH_RSS_TCP | RTE_ETH_RSS_UDP | RTE_ETH_RSS_SCTP;
static const uint32_t SHIM_RTE_ETH_MQ_RX_RSS = RTE_ETH_MQ_RX_RSS;
static const uint32_t SHIM_RTE_MEMPOOL_F_NO_IOVA_CONTIG = RTE_MEMPOOL_F_NO_IOVA_CONTIG;
static const uint32_t SHIM_LCORE_ID_ANY = LCORE_ID_ANY;

/* One row of the layout table that tests/layout.rs compares with what bindgen generated. */
struct shim_layout {
	const char *name;
	size_t offset;
	size_t size;
};

/* The table as the C compiler sees the headers; its length in `*rows`. */
const struct shim_layout *shim_layout_table(size_t *rows);

#endif
