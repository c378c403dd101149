package kernel

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func cgroupShape(t *testing.T, k *Kernel, task view) {
	cg := task.ptr("cgroups.dfl_cgrp")
	leaf := cg
	chain := []view{}
	for range 16 {
		chain = append([]view{cg}, chain...)
		self := cg.in("self")
		assert.Equal(t, cg.addr, self.num("cgroup"))
		assert.Zero(t, self.num("ss"))
		kn := cg.ptr("kn")
		assert.Equal(t, cg.addr, kn.num("priv"), "cgroup_kn_lock_live finds the cgroup by its node")
		assert.Equal(t, cg.addr, cg.num("dom_cgrp"))
		assert.EqualValues(t, 0o40000, kn.num("mode")&0o170000)
		assert.EqualValues(t, 1, kn.num("flags")&15, "KERNFS_DIR")
		if cg.num("level") == 0 {
			assert.Zero(t, self.num("parent"))
			assert.Zero(t, kn.num("parent|__parent"))
			assert.EqualValues(t, 1, kn.num("id|id.id"))
			assert.Empty(t, kn.text("name"))
			break
		}
		up := self.ptr("parent").outer("cgroup", "self")
		assert.Equal(t, cg.num("level")-1, up.num("level"))
		assert.Equal(t, up.num("kn"), kn.num("parent|__parent"))
		assert.Contains(t, addrs(k.listAt(t, up.at("self.children"), "cgroup", "self.sibling")), cg.addr)
		assert.Equal(t, cg.num("root"), up.num("root"))
		assert.Equal(t, kn.num("dir.root"), kn.num("parent->dir.root|__parent->dir.root"), "one kernfs_root")
		cg = up
	}
	require.Len(t, chain, int(leaf.num("level"))+1)
	root := leaf.ptr("root")
	assert.Equal(t, cg.addr, root.at("cgrp"))
	assert.Zero(t, root.num("hierarchy_id"))
	assert.Equal(t, cg.num("kn"), root.num("kf_root.kn"))
	for i, a := range chain {
		for _, c := range chain[i:] {
			if c.has("ancestors[0]|_low_ancestors[0]") {
				assert.Equal(t, a.addr, c.num(fmt.Sprintf("ancestors[%d]|_low_ancestors[%d]", i, i)))
			} else {
				assert.Equal(t, a.num("kn.id|kn.id.id"), c.num(fmt.Sprintf("ancestor_ids[%d]", i)))
			}
		}
		want := uint64(len(chain) - 1 - i)
		assert.Equal(t, want, a.num("nr_descendants"))
	}
	if leaf.has("nr_populated_csets") {
		assert.EqualValues(t, 1, leaf.num("nr_populated_csets"))
	}
}

func cssSetShape(t *testing.T, k *Kernel, task view) {
	set := task.ptr("cgroups")
	cg := set.ptr("dfl_cgrp")
	assert.Contains(t, addrs(set.list("tasks", "task_struct", "cg_list")), task.addr)
	assert.EqualValues(t, len(set.list("tasks", "task_struct", "cg_list")), set.num("nr_tasks"))
	assert.Equal(t, set.addr, set.num("dom_cset"))
	enum, ok := k.BTF().EnumValue("cgroup_subsys_id", "CGROUP_SUBSYS_COUNT")
	require.True(t, ok)
	for i := range enum {
		css := set.ptr(fmt.Sprintf("subsys[%d]", i))
		assert.Equal(t, i, css.num("ss.id"), "subsystem %d", i)
		assert.NotEmpty(t, css.text("ss.name"))
		at := css.ptr("cgroup")
		assert.Equal(t, cg.num("root"), at.num("root"), "one hierarchy")
		assert.LessOrEqual(t, at.num("level"), cg.num("level"))
		assert.Equal(t, css.addr, at.num(fmt.Sprintf("subsys[%d]", i)), "the cgroup's state of subsystem %d is that of its tasks", i)
		for level := at.num("level"); css.num("parent") != 0; {
			css = css.ptr("parent")
			assert.Less(t, css.num("cgroup.level"), level)
			level = css.num("cgroup.level")
		}
		assert.Zero(t, css.num("cgroup.level"), "the states of subsystem %d go up to the root", i)
	}
	links := k.listAt(t, set.at("cgrp_links"), "cgrp_cset_link", "cgrp_link")
	require.Len(t, links, 1)
	assert.Equal(t, cg.addr, links[0].num("cgrp"))
	assert.Equal(t, set.addr, links[0].num("cset"))
	assert.Equal(t, addrs(links), addrs(k.listAt(t, cg.at("cset_links"), "cgrp_cset_link", "cset_link")))
	assert.Zero(t, initTask(t, task).num("cgroups.dfl_cgrp.level"), "the idle task is in the root")
}

func netShape(t *testing.T, k *Kernel, task view) {
	ns := task.ptr("nsproxy.net_ns")
	devs := ns.list("dev_base_head", "net_device", "dev_list")
	require.Len(t, devs, 2)
	lo, eth := devs[0], devs[1]
	assert.Equal(t, ns.num("loopback_dev"), lo.addr)
	for _, c := range []struct {
		dev               view
		name              string
		index, typ, mtu   uint64
		flags, headerSize uint64
	}{{lo, "lo", 1, 772, 65536, 0x49, 14}, {eth, "eth0", 2, 1, 1500, 0x1043, 14}} {
		assert.Equal(t, c.name, c.dev.text("name"))
		assert.Equal(t, c.index, c.dev.num("ifindex"))
		assert.Equal(t, c.typ, c.dev.num("type"), "%s: ARPHRD_LOOPBACK, ARPHRD_ETHER", c.name)
		assert.Equal(t, c.mtu, c.dev.num("mtu"))
		assert.Equal(t, c.flags, c.dev.num("flags"), c.name)
		assert.Equal(t, c.headerSize, c.dev.num("hard_header_len"))
		assert.EqualValues(t, 6, c.dev.num("addr_len"))
		assert.Equal(t, ns.addr, c.dev.num("nd_net.net"))
		assert.EqualValues(t, 1, c.dev.num("reg_state"), "NETREG_REGISTERED")
		assert.Zero(t, c.dev.num("state")&4, "the carrier is there")
		assert.NotZero(t, c.dev.num("netdev_ops"))
		assert.NotZero(t, c.dev.num("num_tx_queues"))
		assert.Equal(t, c.dev.addr, c.dev.num("_tx.dev"))
		in := c.dev.ptr("ip_ptr")
		assert.Equal(t, c.dev.addr, in.num("dev"))
		ifa := in.ptr("ifa_list")
		assert.Equal(t, in.addr, ifa.num("ifa_dev"))
		assert.Equal(t, c.name, ifa.text("ifa_label"))
		assert.Zero(t, ifa.num("ifa_next"))
		addr := ifa.num("ifa_local")
		mask := ifa.num("ifa_mask")
		assert.Equal(t, addr, ifa.num("ifa_address"))
		assert.NotZero(t, addr&mask)
		found := viewOf(t, k, "hlist_node", ns.num(fmt.Sprintf("dev_index_head[%d].first", c.index))).outer("net_device", "index_hlist")
		assert.Equal(t, c.dev.addr, found.addr, "__dev_get_by_index")
	}
	assert.EqualValues(t, 2, ns.num("ifindex"))
	assert.GreaterOrEqual(t, ns.num("passive.refs.counter|passive.counter"), uint64(1))
}
