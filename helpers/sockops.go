package helpers

import (
	"bytes"

	"github.com/bpfrun/bpfrun/internal/kernel/hook"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/vm"
)

var sockOpsHelpers = []row{
	{ID: uapi.FuncSockOpsCbFlagsSet, Do: onSockOps(sockOpsCallbackFlags)},
	{ID: uapi.FuncLoadHdrOpt, Do: onSockOps(loadHdrOpt)},
	{ID: uapi.FuncStoreHdrOpt, Do: onSockOps(storeHdrOpt)},
	{ID: uapi.FuncReserveHdrOpt, Do: onSockOps(reserveHdrOpt)},
}

// TCP options (RFC 9293, RFC 6994) and events of sockops programs.
const (
	optEnd         = 0
	optNop         = 1
	optExp253      = 253
	optExp254      = 254
	opHdrOptLen    = 14
	opWriteHdrOpt  = 15
	loadHdrOptSYN  = 1 // BPF_LOAD_HDR_OPT_TCP_SYN
	tcpHeaderLeast = 20
)

// sockOps returns the context of a sockops program.
func (at *finder) sockOps(addr uint64) (*hook.Context, *vm.Action) {
	if c := at.contextAt(addr); c != nil && c.Type == "bpf_sock_ops" {
		return c, nil
	}
	return nil, badArg("%#x is not the context of a sockops program", addr)
}

// sockOp returns the event that a sockops program is called for.
func sockOp(ctx *hook.Context) uint64 {
	op, _ := ctx.Field("op")
	return op
}

func sockOpsCallbackFlags(c *Call, ctx *hook.Context) (uint64, *vm.Action) {
	s := ctx.Socket()
	if s == nil || !s.Full() {
		return errnoRet(uapi.EINVAL), nil
	}
	flags := uint32(c.Args[1])
	s.SetCallbackFlags(flags & allSockOpsCBs)
	return uint64(flags &^ allSockOpsCBs), nil
}

// searchOption finds a TCP option by kind and, for experimental ones, magic (bpf_search_tcp_opt).
// ended means that an end-of-list option was found.
func searchOption(opts []byte, kind byte, magic []byte) (opt []byte, ended bool, errno uapi.Errno) {
	for len(opts) > 0 {
		switch opts[0] {
		case optEnd:
			return nil, true, uapi.ENOMSG
		case optNop:
			opts = opts[1:]
			continue
		}
		if len(opts) < 2 || int(opts[1]) > len(opts) || opts[1] < 2 {
			return nil, false, uapi.EFAULT
		}
		one := opts[:opts[1]]
		if one[0] == kind {
			if len(magic) > len(one)-2 {
				return nil, false, uapi.ENOMSG
			}
			if bytes.HasPrefix(one[2:], magic) {
				return one, false, 0
			}
		}
		opts = opts[len(one):]
	}
	return nil, false, uapi.ENOMSG
}

func loadHdrOpt(c *Call, ctx *hook.Context) (uint64, *vm.Action) {
	want, f := c.guest.Read(c.Args[1], c.Args[2]&0xffffffff)
	if f != nil {
		return 0, f
	}
	if len(want) < 2 || c.Args[3]&^loadHdrOptSYN != 0 {
		return errnoRet(uapi.EINVAL), nil
	}
	kind, n := want[0], int(want[1])
	var magic []byte
	switch {
	case n > len(want) || kind == optNop || kind == optEnd:
		return errnoRet(uapi.EINVAL), nil
	case kind == optExp253 || kind == optExp254:
		if n != 4 && n != 6 {
			return errnoRet(uapi.EINVAL), nil
		}
		magic = append(magic, want[2:n]...)
	case n != 0:
		return errnoRet(uapi.EINVAL), nil
	}
	if c.Args[3]&loadHdrOptSYN != 0 {
		return errnoRet(uapi.ENOENT), nil // no SYN was saved
	}
	hdr := ctx.TCPHeader()
	if hdr == nil || sockOp(ctx) == opHdrOptLen {
		return errnoRet(uapi.EPERM), nil
	}
	opt, _, errno := searchOption(hdr[tcpHeaderLeast:], kind, magic)
	if errno != 0 {
		return errnoRet(errno), nil
	}
	if len(opt) > len(want) {
		return errnoRet(uapi.ENOSPC), c.guest.Write(c.Args[1], opt[:len(want)])
	}
	return uint64(len(opt)), c.guest.Write(c.Args[1], opt)
}

func storeHdrOpt(c *Call, ctx *hook.Context) (uint64, *vm.Action) {
	opt := c.In(1)
	if sockOp(ctx) != opWriteHdrOpt || ctx.TCPHeader() == nil {
		return errnoRet(uapi.EPERM), nil
	}
	if len(opt) < 2 || c.Args[3] != 0 {
		return errnoRet(uapi.EINVAL), nil
	}
	kind, n := opt[0], int(opt[1])
	switch {
	case n > len(opt) || kind == optNop || kind == optEnd:
		return errnoRet(uapi.EINVAL), nil
	case n > ctx.OptionSpace():
		return errnoRet(uapi.ENOSPC), nil
	}
	var magic []byte
	if kind == optExp253 || kind == optExp254 {
		if n < 4 {
			return errnoRet(uapi.EINVAL), nil
		}
		magic = opt[2:4]
	}
	_, ended, errno := searchOption(ctx.TCPHeader()[tcpHeaderLeast:], kind, magic)
	switch {
	case errno == 0:
		return errnoRet(uapi.EEXIST), nil
	case errno != uapi.ENOMSG:
		return errnoRet(errno), nil
	case ended:
		return errnoRet(uapi.ENOSPC), nil
	}
	ctx.AppendOption(opt[:n])
	return 0, c.Run.emit(Event{Kind: TCPOption, Number: uint64(kind), Data: append([]byte(nil), opt[:n]...)})
}

func reserveHdrOpt(c *Call, ctx *hook.Context) (uint64, *vm.Action) {
	n := c.Args[1] & 0xffffffff
	switch {
	case sockOp(ctx) != opHdrOptLen:
		return errnoRet(uapi.EPERM), nil
	case c.Args[2] != 0 || n < 2:
		return errnoRet(uapi.EINVAL), nil
	case n > uint64(ctx.OptionSpace()):
		return errnoRet(uapi.ENOSPC), nil
	}
	ctx.ReserveOption(int(n))
	return 0, nil
}
