#define _GNU_SOURCE
#include "shim.h"

#include <rte_errno.h>
#include <rte_lcore.h>
#include <rte_log.h>
#include <rte_mbuf_pool_ops.h>
#include <stdio.h>

#define SAME_PLACE(field) \
	_Static_assert(offsetof(struct shim_mbuf, field) == offsetof(struct rte_mbuf, field) && \
			       sizeof(((struct shim_mbuf *)0)->field) == \
				       sizeof(((struct rte_mbuf *)0)->field), \
		       "struct shim_mbuf is struct rte_mbuf: " #field)
SAME_PLACE(buf_addr);
SAME_PLACE(data_off);
SAME_PLACE(refcnt);
SAME_PLACE(nb_segs);
SAME_PLACE(port);
SAME_PLACE(ol_flags);
SAME_PLACE(packet_type);
SAME_PLACE(pkt_len);
SAME_PLACE(data_len);
SAME_PLACE(vlan_tci);
SAME_PLACE(hash);
SAME_PLACE(vlan_tci_outer);
SAME_PLACE(buf_len);
SAME_PLACE(pool);
SAME_PLACE(next);
_Static_assert(sizeof(struct shim_mbuf) == sizeof(struct rte_mbuf), "struct shim_mbuf is struct rte_mbuf");

uint16_t shim_rte_eth_rx_burst(uint16_t port, uint16_t queue, struct rte_mbuf **frames, uint16_t n)
{
	return rte_eth_rx_burst(port, queue, frames, n);
}

uint16_t shim_rte_eth_tx_burst(uint16_t port, uint16_t queue, struct rte_mbuf **frames, uint16_t n)
{
	return rte_eth_tx_burst(port, queue, frames, n);
}

int shim_rte_eth_rx_queue_count(uint16_t port, uint16_t queue)
{
	return rte_eth_rx_queue_count(port, queue);
}

struct rte_mbuf *shim_rte_pktmbuf_alloc(struct rte_mempool *pool)
{
	return rte_pktmbuf_alloc(pool);
}

struct rte_mempool *shim_pktmbuf_pool_create(const char *name, unsigned int frames,
					     unsigned int cache, uint16_t room, unsigned int flags)
{
	struct rte_pktmbuf_pool_private sizes = { .mbuf_data_room_size = room };
	unsigned int element = sizeof(struct rte_mbuf) + room;
	struct rte_mempool *pool;
	int status;

	pool = rte_mempool_create_empty(name, frames, element, cache, sizeof(sizes), SOCKET_ID_ANY, flags);
	if (pool == NULL)
		return NULL;
	status = rte_mempool_set_ops_byname(pool, rte_mbuf_best_mempool_ops(), NULL);
	if (status == 0) {
		rte_pktmbuf_pool_init(pool, &sizes);
		status = rte_mempool_populate_default(pool);
	}
	if (status < 0) {
		rte_mempool_free(pool);
		rte_errno = -status;
		return NULL;
	}
	rte_mempool_obj_iter(pool, rte_pktmbuf_init, NULL);
	return pool;
}

void shim_rte_pktmbuf_free(struct rte_mbuf *frame)
{
	rte_pktmbuf_free(frame);
}

int shim_link_is_up(uint16_t port)
{
	struct rte_eth_link link = { 0 };
	int status = rte_eth_link_get_nowait(port, &link);

	return status < 0 ? status : link.link_status == RTE_ETH_LINK_UP;
}

int shim_rte_errno(void)
{
	return rte_errno;
}

unsigned int shim_rte_lcore_id(void)
{
	return rte_lcore_id();
}

int shim_rte_openlog_callback(ssize_t (*write)(void *unused, const char *text, size_t length))
{
	cookie_io_functions_t functions = { .write = write };
	FILE *stream = fopencookie(NULL, "w", functions);

	if (stream == NULL)
		return -1;
	/* Line by line, so that a message is there when the call that logged it returns. */
	setvbuf(stream, NULL, _IOLBF, BUFSIZ);
	return rte_openlog_stream(stream);
}
