package helpers

import (
	"encoding/asn1"
	"errors"
	"fmt"

	"github.com/bpfrun/bpfrun/helpers/proto"
	"github.com/bpfrun/bpfrun/internal/maps"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/vm"
)

// Kernel services that depend on its configuration or on what user space loaded into it: keys,
// measured files, cgroup v1. None of these is set up in the simulated kernel, which responds as a
// kernel without them.
var serviceHelpers = []row{
	{ID: uapi.FuncImaInodeHash, Do: answer(uapi.EOPNOTSUPP), Note: "no file is measured: -EOPNOTSUPP"},
	{ID: uapi.FuncImaFileHash, Do: answer(uapi.EOPNOTSUPP), Note: "no file is measured: -EOPNOTSUPP"},
	{ID: uapi.FuncBprmOptsSet, Do: bprmOptsSet},
}

var serviceKfuncs = []kfuncRow{
	{Name: "bpf_map_sum_elem_count", Wide: true, Args: []proto.Arg{argMap}, Do: mapSumElemCount},
	{Name: "bpf_task_get_cgroup1", Wide: true, Args: []proto.Arg{argObject, argAny}, Do: none, Note: "there are no hierarchies of cgroup v1: NULL"},
	{Name: "bpf_lookup_user_key", Wide: true, Args: []proto.Arg{argAny, argAny}, Do: none, Note: "there are no keys: NULL"},
	{Name: "bpf_lookup_system_key", Wide: true, Args: []proto.Arg{argAny}, Do: lookupSystemKey, Note: "the keyrings are empty"},
	{Name: "bpf_key_put", Args: []proto.Arg{argObject}, Do: releaseObject},
	{Name: "bpf_verify_pkcs7_signature", Args: []proto.Arg{argDynptr, argDynptr, argObject}, Do: verifySignature, Note: "non-DER input is -EBADMSG; the answer for anything else is the scenario's (`helpers:`)"},
	{Name: "bpf_real_data_inode", Wide: true, Args: []proto.Arg{argObject}, Do: realDataInode, Note: "no file is on an overlay"},
	{Name: "cgroup_rstat_updated", Args: []proto.Arg{argObject, argAny}, Do: rstat, Note: rstatNote},
	{Name: "cgroup_rstat_flush", Args: []proto.Arg{argObject}, Do: rstat, Note: rstatNote},
	{Name: "css_rstat_updated", Args: []proto.Arg{argObject, argAny}, Do: rstat, Note: rstatNote},
	{Name: "css_rstat_flush", Args: []proto.Arg{argObject}, Do: rstat, Note: rstatNote},
	{Name: "bpf_iter_dmabuf_new", Args: []proto.Arg{argIter}, Do: iterEmptyNew, Note: noBuffers},
	{Name: "bpf_iter_dmabuf_next", Wide: true, Args: []proto.Arg{argIter}, Do: none, Note: noBuffers},
	{Name: "bpf_iter_dmabuf_destroy", Args: []proto.Arg{argIter}, Do: nothing},
	{Name: "bpf_xdp_get_xfrm_state", Wide: true, Args: []proto.Arg{argCtx, argMem, argSize}, Do: xdpXfrmState, Note: "no security association is set up: NULL and -ENOENT"},
	{Name: "bpf_xdp_xfrm_state_release", Args: []proto.Arg{argObject}, Do: releaseObject},
	{Name: "bpf_sock_ops_enable_tx_tstamp", Args: []proto.Arg{argObject, argAny}, Do: sockOpsTxTimestamp},
	{Name: "bpf_skb_get_hash", Args: []proto.Arg{argObject}, Do: skbGetHash},
	{Name: "bpf_get_fsverity_digest", Args: []proto.Arg{argObject, argDynptr}, Do: answer(uapi.ENODATA), Note: "no file has a digest: -ENODATA"},
}

// answer always returns that errno.
func answer(errno uapi.Errno) Impl {
	return func(c *Call) (uint64, *vm.Action) { return errnoRet(errno), nil }
}

// none always returns NULL.
func none(c *Call) (uint64, *vm.Action) { return 0, nil }

// bprmOptsSet sets or clears secureexec, the one option there is.
func bprmOptsSet(c *Call) (uint64, *vm.Action) {
	const secureexec = 1
	o := c.Kernel.ObjectAt(c.Args[0])
	if o == nil {
		return 0, badArg("bpf_bprm_opts_set of %#x, which is not a linux_binprm", c.Args[0])
	}
	if c.Args[1]&^uint64(secureexec) != 0 {
		return errnoRet(uapi.EINVAL), nil
	}
	if err := o.SetUint("secureexec", c.Args[1]); err != nil {
		return 0, notSimulated("bpf_bprm_opts_set: " + err.Error())
	}
	return 0, nil
}

// mapSumElemCount counts the elements of hash tables, the only maps that keep a count.
func mapSumElemCount(c *Call) (uint64, *vm.Action) {
	m := c.ref.m
	if !m.Spec().Type.Has(uapi.MapCounted) {
		return 0, nil
	}
	return uint64(countElements(m)), nil
}

func countElements(m maps.Map) (n int) {
	key, errno := m.NextKey(nil)
	for ; errno == 0; n++ {
		key, errno = m.NextKey(key)
	}
	return n
}

// Notes about what the simulated kernel lacks.
const (
	noBuffers = "there are no DMA buffers"
	rstatNote = "counts are exact at all times: there is nothing to flush, and flushers are not called"
)

func nothing(*Call) (uint64, *vm.Action) { return 0, nil }

// iterEmptyNew starts an empty iteration.
func iterEmptyNew(c *Call) (uint64, *vm.Action) { return 0, c.guest.WriteU64(c.Args[0], 0) }

// lookupSystemKey makes a bpf_key that names a keyring of the kernel; whether that has keys is not
// looked at (kernel/bpf/helpers.c bpf_lookup_system_key).
func lookupSystemKey(c *Call) (uint64, *vm.Action) {
	const platform = 2 // VERIFY_USE_PLATFORM_KEYRING, the last
	if c.Args[0] > platform {
		return 0, nil
	}
	o, err := c.Kernel.NewObjectNamed(fmt.Sprintf("system key %d", c.Args[0]), "bpf_key")
	if err == nil {
		err = errors.Join(o.SetUint("key", c.Args[0]), o.SetUint("has_ref", 0))
	}
	if err != nil {
		return 0, notSimulated("bpf_lookup_system_key: " + err.Error())
	}
	return c.take(o, "bpf_key")
}

// verifySignature parses no message of PKCS #7: only what cannot be one has an answer
// (certs/system_keyring.c).
func verifySignature(c *Call) (uint64, *vm.Action) {
	if o := c.Kernel.ObjectAt(c.Args[2]); o == nil || o.TypeName() != "bpf_key" {
		return 0, badArg("%#x is no bpf_key", c.Args[2])
	}
	d, f := c.dynptrAt(c.Args[1])
	if f != nil {
		return 0, f
	}
	if d.data == 0 {
		return errnoRet(uapi.EINVAL), nil
	}
	sig, f := c.dynptrLoad(d, 0, uint64(d.size))
	if f != nil {
		return 0, f
	}
	var content asn1.RawValue
	if rest, err := asn1.Unmarshal(sig, &content); err != nil || len(rest) > 0 || content.Tag != asn1.TagSequence {
		return errnoRet(uapi.EBADMSG), nil
	}
	return 0, notSimulated("bpf_verify_pkcs7_signature checks no signature; a scenario can say what it returns (helpers: {bpf_verify_pkcs7_signature: 0})")
}

func realDataInode(c *Call) (uint64, *vm.Action) {
	file := c.Kernel.ObjectAt(c.Args[0])
	if file == nil {
		return 0, badArg("bpf_real_data_inode of %#x, which is no file", c.Args[0])
	}
	inode, err := file.Pointee("f_inode")
	if err != nil || inode == nil {
		return 0, nil
	}
	return inode.Addr(), nil
}

// rstat requires its argument to be a cgroup; its statistics need no flushing.
func rstat(c *Call) (uint64, *vm.Action) {
	if c.Kernel.ObjectAt(c.Args[0]) == nil {
		return 0, badArg("%#x is no cgroup", c.Args[0])
	}
	return 0, nil
}

// xdpXfrmState looks for a security association (net/xfrm/xfrm_state_bpf.c). struct
// bpf_xfrm_state_opts begins with the errno and the id of a network namespace.
func xdpXfrmState(c *Call) (uint64, *vm.Action) {
	const size, currentNetns = 36, -1
	opts := c.In(1)
	if len(opts) < 4 {
		return 0, nil
	}
	errno := uapi.ENOENT
	if len(opts) != size {
		errno = uapi.EINVAL
	} else if id := int32(c.guest.Order().Uint32(opts[4:])); id < currentNetns {
		errno = uapi.EINVAL
	} else if id >= 0 {
		errno = uapi.ENONET
	}
	return 0, c.guest.WriteU32(c.Args[1], uint32(errnoRet(errno)))
}

// sockOpsTxTimestamp requests time stamps for a packet about to be sent.
func sockOpsTxTimestamp(c *Call) (uint64, *vm.Action) {
	const sendmsg = 17 // BPF_SOCK_OPS_TSTAMP_SENDMSG_CB
	ctx, f := c.sockOps(c.Args[0])
	switch {
	case f != nil:
		return 0, f
	case sockOp(ctx) != sendmsg:
		return errnoRet(uapi.EOPNOTSUPP), nil
	case c.Args[1] != 0:
		return errnoRet(uapi.EINVAL), nil
	}
	return 0, nil
}

// skbGetHash returns the hash of the packet's flow.
func skbGetHash(c *Call) (uint64, *vm.Action) {
	if skb := c.foreignSkb(c.Args[0]); skb != nil {
		return c.foreignHash(skb)
	}
	ctx, f := c.packetOf(c.Args[0])
	if f != nil {
		return 0, f
	}
	return uint64(c.Kernel.FlowHash(ctx.Packet.Whole())), nil
}
