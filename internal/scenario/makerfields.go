package scenario

import (
	"github.com/bpfrun/bpfrun/internal/scenario/grammar"
)

// fieldsOf returns the sets of a maker whose keys set the same fields on every kernel and whatever
// their values are. Fields that the kernel does not have are left out by who asks.
func fieldsOf(fields func() map[string][]string) func(*builder, string, *grammar.Node) []string {
	return func(_ *builder, key string, _ *grammar.Node) []string { return fields()[key] }
}

// The fields that keys of makers set, made when they are asked for. A connection and a flow have a
// tuple for each direction; that of replies is reversed.

func fileFields() map[string][]string {
	return map[string][]string{
		"ino": {"f_inode.i_ino"}, "mode": {"f_inode.i_mode"}, "flags": {"f_flags"}, "size": {"f_inode.i_size"}, "dev": {"f_inode.i_sb.s_dev"},
	}
}

func connFields() map[string][]string {
	return map[string][]string{
		"protocol": {"tuplehash[0].tuple.dst.protonum", "tuplehash[1].tuple.dst.protonum"},
		"source":   {"tuplehash[0].tuple.src.u3", "tuplehash[1].tuple.dst.u3"},
		"dest":     {"tuplehash[0].tuple.dst.u3", "tuplehash[1].tuple.src.u3"},
		"sport":    {"tuplehash[0].tuple.src.u", "tuplehash[1].tuple.dst.u"},
		"dport":    {"tuplehash[0].tuple.dst.u", "tuplehash[1].tuple.src.u"},
		"zone":     {"zone.id"},
		"expires":  {"timeout"},
	}
}

func flowFields() map[string][]string {
	return map[string][]string{
		"protocol": {"tuplehash[0].tuple.l4proto", "tuplehash[1].tuple.l4proto"},
		"source":   {"tuplehash[0].tuple.src_v6", "tuplehash[1].tuple.dst_v6"},
		"dest":     {"tuplehash[0].tuple.dst_v6", "tuplehash[1].tuple.src_v6"},
		"sport":    {"tuplehash[0].tuple.src_port", "tuplehash[1].tuple.dst_port"},
		"dport":    {"tuplehash[0].tuple.dst_port", "tuplehash[1].tuple.src_port"},
		"iif":      {"tuplehash[0].tuple.iifidx"},
		"oif":      {"tuplehash[1].tuple.iifidx"},
		"expires":  {"timeout"},
	}
}

func cgroupFields() map[string][]string {
	return map[string][]string{"path": {"kn.name"}, "id": {"kn.id"}}
}

func bprmFields() map[string][]string {
	return map[string][]string{"path": {"filename", "interp", "file"}}
}

func mmFields() map[string][]string {
	return map[string][]string{"args": {"arg_start", "arg_end"}, "env": {"env_start", "env_end"}}
}

// regsSet lists the registers that a key of !pt_regs sets by the calling convention of the target.
func regsSet(b *builder, key string, value *grammar.Node) []string {
	names := b.k.RegsByPurpose()
	switch key {
	case "args":
		return names.Args[:min(len(names.Args), len(value.Items))]
	case "ret":
		return []string{names.Ret}
	case "ip":
		return []string{names.IP}
	case "sp":
		return []string{names.SP}
	}
	return nil
}
