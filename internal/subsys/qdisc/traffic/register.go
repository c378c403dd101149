package traffic

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/internal/endian"
	"github.com/bpfrun/bpfrun/internal/subsys/qdisc"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/loader"
)

// builtin are the disciplines that every kernel has (pktsched_init); their names are taken.
var builtin = []string{"pfifo_fast", "pfifo", "bfifo", "pfifo_head_drop", "mq", "noqueue"}

// register returns the discipline's name, or the reason why a kernel does not register it.
func register(spec *btf.Spec, ops *loader.LinkedStructOps, order binary.ByteOrder) (string, error) {
	member := func(name string) []byte {
		f, err := spec.ResolvePath(ops.KernType, name)
		if err != nil {
			return nil
		}
		n, err := spec.Sizeof(f.Type)
		off := int64(f.Offset())
		if err != nil || n < 0 || off+n > int64(len(ops.Data)) {
			return nil
		}
		return ops.Data[off : off+n]
	}
	for _, name := range []string{"priv_size", "static_flags"} {
		if b := member(name); len(b) > 0 && len(b) <= 8 && endian.Uint(order, b) != 0 {
			return "", fmt.Errorf("%s is not 0: %w", name, uapi.EINVAL)
		}
	}
	id, rest, ended := bytes.Cut(member("id"), []byte{0})
	switch {
	case len(id) == 0:
		return "", fmt.Errorf("it has no id: %w", uapi.EINVAL)
	case !ended:
		return "", fmt.Errorf("its id %q is longer than %d bytes: %w", id, len(id)-1, uapi.EINVAL)
	case len(bytes.Trim(rest, "\x00")) > 0 || bytes.ContainsFunc(id, notInName):
		return "", fmt.Errorf("its id %q has other characters than letters, digits, _ and .: %w", id, uapi.EINVAL)
	}
	name := string(id)
	for _, op := range qdisc.Operations {
		if ops.Progs[string(op)] == "" {
			return name, fmt.Errorf("it has no %s; all of %s are required: %w", op, operations(), uapi.EINVAL)
		}
	}
	if slices.Contains(builtin, name) {
		return name, fmt.Errorf("its id %q is that of a discipline of the kernel: %w", name, uapi.EEXIST)
	}
	return name, nil
}

// notInName reports characters that names of BPF objects must not have (bpf_obj_name_cpy).
func notInName(r rune) bool {
	return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '.')
}

func operations() string {
	var names []string
	for _, op := range qdisc.Operations {
		names = append(names, string(op))
	}
	return strings.Join(names, ", ")
}
