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

int shim_rte_errno(void);
unsigned int shim_rte_lcore_id(void);

/* Sends DPDK's log to `write` instead of stderr, one call a line. 0, or -1 with errno set. */
int shim_rte_openlog_callback(ssize_t (*write)(void *unused, const char *text, size_t length));

static const uint64_t SHIM_RTE_ETH_RX_OFFLOAD_SCATTER = RTE_ETH_RX_OFFLOAD_SCATTER;
static const uint64_t SHIM_RTE_ETH_TX_OFFLOAD_MULTI_SEGS = RTE_ETH_TX_OFFLOAD_MULTI_SEGS;
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
