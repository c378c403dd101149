/* Uses libnl-3 and libnl-route-3 in a network namespace of its own and prints what it is answered,
 * without what differs from run to run. */
#define _GNU_SOURCE
#include <errno.h>
#include <net/if.h>
#include <netlink/errno.h>
#include <netlink/netlink.h>
#include <netlink/route/addr.h>
#include <netlink/route/link.h>
#include <netlink/route/link/veth.h>
#include <netlink/route/neighbour.h>
#include <netlink/route/nexthop.h>
#include <netlink/route/qdisc.h>
#include <netlink/route/route.h>
#include <netlink/route/rule.h>
#include <netlink/route/tc.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static struct nl_sock *sock;

static void say(const char *what, int err)
{
	printf("%s: %s\n", what, err < 0 ? nl_geterror(err) : "ok");
}

static void show_link(struct nl_object *o, void *arg)
{
	struct rtnl_link *l = (struct rtnl_link *)o;
	const char *kind = rtnl_link_get_type(l), *qdisc = rtnl_link_get_qdisc(l), *alias = rtnl_link_get_ifalias(l);

	printf("  %d %s kind %s mtu %u queue %u flags %x qdisc %s alias %s link %d address of %u bytes, group %u, carrier %u, promiscuity %u, queues %u %u\n", rtnl_link_get_ifindex(l), rtnl_link_get_name(l), kind ? kind : "-",
	       rtnl_link_get_mtu(l), rtnl_link_get_txqlen(l), rtnl_link_get_flags(l) & ~IFF_RUNNING, qdisc ? qdisc : "-", alias ? alias : "-", rtnl_link_get_link(l),
	       rtnl_link_get_addr(l) ? nl_addr_get_len(rtnl_link_get_addr(l)) : 0, rtnl_link_get_group(l), rtnl_link_get_carrier(l), rtnl_link_get_promiscuity(l), rtnl_link_get_num_tx_queues(l), rtnl_link_get_num_rx_queues(l));
}

static void show_addr(struct nl_object *o, void *arg)
{
	struct rtnl_addr *a = (struct rtnl_addr *)o;
	char text[100], peer[100] = "-", broadcast[100] = "-";

	if (rtnl_addr_get_scope(a) == 253)
		return;
	if (rtnl_addr_get_peer(a))
		nl_addr2str(rtnl_addr_get_peer(a), peer, sizeof peer);
	if (rtnl_addr_get_broadcast(a))
		nl_addr2str(rtnl_addr_get_broadcast(a), broadcast, sizeof broadcast);
	printf("  %s peer %s broadcast %s label %s flags %x scope %d device %d\n", nl_addr2str(rtnl_addr_get_local(a), text, sizeof text), peer, broadcast, rtnl_addr_get_label(a) ? rtnl_addr_get_label(a) : "-", rtnl_addr_get_flags(a),
	       rtnl_addr_get_scope(a), rtnl_addr_get_ifindex(a));
}

static void show_route(struct nl_object *o, void *arg)
{
	struct rtnl_route *r = (struct rtnl_route *)o;
	char to[100], via[100] = "-";
	int i;

	if (rtnl_route_get_family(r) != AF_INET)
		return;
	printf("  %s table %u priority %u protocol %d scope %d type %d", nl_addr2str(rtnl_route_get_dst(r), to, sizeof to), rtnl_route_get_table(r), rtnl_route_get_priority(r), rtnl_route_get_protocol(r), rtnl_route_get_scope(r), rtnl_route_get_type(r));
	for (i = 0; i < rtnl_route_get_nnexthops(r); i++) {
		struct rtnl_nexthop *h = rtnl_route_nexthop_n(r, i);
		printf(" [via %s device %d weight %u]", rtnl_route_nh_get_gateway(h) ? nl_addr2str(rtnl_route_nh_get_gateway(h), via, sizeof via) : "-", rtnl_route_nh_get_ifindex(h), rtnl_route_nh_get_weight(h));
	}
	printf("\n");
}

static void show_neigh(struct nl_object *o, void *arg)
{
	struct rtnl_neigh *n = (struct rtnl_neigh *)o;
	char to[100], mac[100] = "-";

	if (rtnl_neigh_get_family(n) != AF_INET)
		return;
	if (rtnl_neigh_get_lladdr(n))
		nl_addr2str(rtnl_neigh_get_lladdr(n), mac, sizeof mac);
	printf("  %s %s state %x device %d\n", nl_addr2str(rtnl_neigh_get_dst(n), to, sizeof to), mac, rtnl_neigh_get_state(n), rtnl_neigh_get_ifindex(n));
}

static void show_qdisc(struct nl_object *o, void *arg)
{
	struct rtnl_tc *q = TC_CAST(o);

	printf("  %s handle %x parent %x device %d\n", rtnl_tc_get_kind(q), rtnl_tc_get_handle(q), rtnl_tc_get_parent(q), rtnl_tc_get_ifindex(q));
}

static void show_rule(struct nl_object *o, void *arg)
{
	struct rtnl_rule *r = (struct rtnl_rule *)o;

	if (rtnl_rule_get_family(r) != AF_INET && rtnl_rule_get_family(r) != AF_INET6)
		return;
	printf("  family %d priority %u table %u action %u\n", rtnl_rule_get_family(r), rtnl_rule_get_prio(r), rtnl_rule_get_table(r), rtnl_rule_get_action(r));
}

static void list(const char *what, int err, struct nl_cache **cache, void (*show)(struct nl_object *, void *))
{
	printf("list %s: %s\n", what, err < 0 ? nl_geterror(err) : "ok");
	if (err < 0)
		return;
	nl_cache_foreach(*cache, show, NULL);
	nl_cache_free(*cache);
}

static void list_links(void)
{
	struct nl_cache *cache = NULL;

	list("links", rtnl_link_alloc_cache(sock, AF_UNSPEC, &cache), &cache, show_link);
}

static void links(void)
{
	struct rtnl_link *l, *change;
	int err;

	say("veth", rtnl_link_veth_add(sock, "d0", "d1", getpid()));
	say("veth again", rtnl_link_veth_add(sock, "d0", "d1", getpid()));
	say("another", rtnl_link_veth_add(sock, "v0", "v1", getpid()));
	err = rtnl_link_get_kernel(sock, 0, "d0", &l);
	say("get", err);
	if (err < 0)
		return;
	change = rtnl_link_alloc();
	rtnl_link_set_flags(change, IFF_UP);
	rtnl_link_set_mtu(change, 1400);
	rtnl_link_set_txqlen(change, 50);
	rtnl_link_set_ifalias(change, "an alias");
	rtnl_link_set_group(change, 3);
	say("change", rtnl_link_change(sock, l, change, 0));
	rtnl_link_put(change);
	rtnl_link_put(l);
	change = rtnl_link_alloc();
	rtnl_link_set_ifindex(change, if_nametoindex("d1"));
	rtnl_link_set_flags(change, IFF_UP);
	say("the other", rtnl_link_change(sock, change, change, 0));
	rtnl_link_put(change);
	err = rtnl_link_get_kernel(sock, 0, "none", &l);
	say("get nothing", err);
	err = rtnl_link_get_kernel(sock, 4711, NULL, &l);
	say("get no index", err);
	list_links();
}

static void addresses(void)
{
	struct nl_cache *cache = NULL;
	struct nl_addr *ip, *other;
	struct rtnl_addr *a = rtnl_addr_alloc();

	rtnl_addr_set_ifindex(a, if_nametoindex("d0"));
	nl_addr_parse("10.1.0.1/24", AF_INET, &ip);
	nl_addr_parse("10.1.0.255", AF_INET, &other);
	rtnl_addr_set_local(a, ip);
	rtnl_addr_set_broadcast(a, other);
	rtnl_addr_set_label(a, "d0:1");
	say("address", rtnl_addr_add(sock, a, 0));
	say("address again", rtnl_addr_add(sock, a, NLM_F_EXCL));
	list("addresses", rtnl_addr_alloc_cache(sock, &cache), &cache, show_addr);
	nl_addr_put(ip);
	nl_addr_put(other);
	rtnl_addr_put(a);
}

static void routes(void)
{
	struct nl_cache *cache = NULL;
	struct nl_addr *to, *via;
	struct rtnl_route *r = rtnl_route_alloc();
	struct rtnl_nexthop *h = rtnl_route_nh_alloc();

	nl_addr_parse("192.0.2.0/24", AF_INET, &to);
	nl_addr_parse("10.1.0.9", AF_INET, &via);
	rtnl_route_set_dst(r, to);
	rtnl_route_set_priority(r, 9);
	rtnl_route_set_metric(r, RTAX_MTU, 1300);
	rtnl_route_nh_set_ifindex(h, if_nametoindex("d0"));
	rtnl_route_nh_set_gateway(h, via);
	rtnl_route_add_nexthop(r, h);
	say("route", rtnl_route_add(sock, r, NLM_F_CREATE | NLM_F_EXCL));
	say("route again", rtnl_route_add(sock, r, NLM_F_CREATE | NLM_F_EXCL));
	list("routes", rtnl_route_alloc_cache(sock, AF_INET, 0, &cache), &cache, show_route);
	say("delete", rtnl_route_delete(sock, r, 0));
	say("delete again", rtnl_route_delete(sock, r, 0));
	rtnl_route_put(r);
}

static void neighbours(void)
{
	struct nl_cache *cache = NULL;
	struct nl_addr *to, *mac;
	struct rtnl_neigh *n = rtnl_neigh_alloc();

	nl_addr_parse("10.1.0.50", AF_INET, &to);
	nl_addr_parse("02:00:00:00:00:50", AF_LLC, &mac);
	rtnl_neigh_set_ifindex(n, if_nametoindex("d0"));
	rtnl_neigh_set_dst(n, to);
	rtnl_neigh_set_lladdr(n, mac);
	rtnl_neigh_set_state(n, rtnl_neigh_str2state("permanent"));
	say("neighbour", rtnl_neigh_add(sock, n, NLM_F_CREATE | NLM_F_EXCL));
	say("neighbour again", rtnl_neigh_add(sock, n, NLM_F_CREATE | NLM_F_EXCL));
	list("neighbours", rtnl_neigh_alloc_cache(sock, &cache), &cache, show_neigh);
	say("delete", rtnl_neigh_delete(sock, n, 0));
	say("delete again", rtnl_neigh_delete(sock, n, 0));
}

static void qdiscs(void)
{
	struct nl_cache *cache = NULL;
	struct rtnl_qdisc *q = rtnl_qdisc_alloc();
	struct rtnl_tc *tc = TC_CAST(q);

	rtnl_tc_set_ifindex(tc, if_nametoindex("d0"));
	rtnl_tc_set_parent(tc, TC_H_CLSACT);
	rtnl_tc_set_handle(tc, TC_HANDLE(0xffff, 0));
	rtnl_tc_set_kind(tc, "clsact");
	say("qdisc", rtnl_qdisc_add(sock, q, NLM_F_CREATE | NLM_F_EXCL));
	say("qdisc again", rtnl_qdisc_add(sock, q, NLM_F_CREATE | NLM_F_EXCL));
	list("qdiscs", rtnl_qdisc_alloc_cache(sock, &cache), &cache, show_qdisc);
	say("delete", rtnl_qdisc_delete(sock, q));
	say("delete again", rtnl_qdisc_delete(sock, q));
	list("rules", rtnl_rule_alloc_cache(sock, AF_INET, &cache), &cache, show_rule);
}

static int told_of(struct nl_msg *msg, void *arg)
{
	printf("  told of %d\n", nlmsg_hdr(msg)->nlmsg_type);
	return NL_OK;
}

static void told(void)
{
	struct nl_sock *g = nl_socket_alloc();
	struct rtnl_link *l = rtnl_link_alloc();

	nl_socket_disable_seq_check(g);
	nl_socket_modify_cb(g, NL_CB_VALID, NL_CB_CUSTOM, told_of, NULL);
	say("connect", nl_connect(g, NETLINK_ROUTE));
	say("join", nl_socket_add_memberships(g, RTNLGRP_LINK, 0));
	rtnl_link_set_ifindex(l, if_nametoindex("v0"));
	say("delete", rtnl_link_delete(sock, l));
	nl_socket_set_nonblocking(g);
	while (nl_recvmsgs_default(g) >= 0)
		;
	nl_socket_free(g);
	list_links();
}

int main(void)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (unshare(CLONE_NEWNET)) {
		perror("namespace");
		return 1;
	}
	sock = nl_socket_alloc();
	say("connect", nl_connect(sock, NETLINK_ROUTE));
	links();
	addresses();
	routes();
	neighbours();
	qdiscs();
	told();
	return 0;
}
