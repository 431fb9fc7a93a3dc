/* What bindgen reads: the DPDK headers whose types and functions the switch uses, and the shim.
 * Nothing is copied from DPDK by hand; build.rs narrows this to an allow-list. */
#include <rte_alarm.h>
#include <rte_dev.h>
#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_ethdev.h>
#include <rte_lcore.h>
#include <rte_log.h>
#include <rte_mbuf.h>
#include <rte_mempool.h>
#include <rte_version.h>

#include "shim.h"
