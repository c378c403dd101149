package record

import (
	"context"
	"encoding/binary"
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/bpfrun/bpfrun/conformance/verdicts"
	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/internal/uapi"
)

// GeneratedVerdicts fills in the kernel's verdict on a generated program, which does not belong to
// an object.
func GeneratedVerdicts(_ context.Context, l *verdicts.Line, cfg VerdictConfig) error {
	g := l.Generated
	insns, err := g.Insns()
	if err != nil {
		return err
	}
	typ, ok := uapi.ParseProgType(l.ProgType)
	if !ok {
		return fmt.Errorf("%s: program type %q is not known", l.Program, l.ProgType)
	}
	l.Kernel, l.Insns = Release(), len(insns)
	types := -1
	if len(g.Types) > 0 {
		if types, err = loadTypes(g.Types); err != nil {
			skip(l, verdicts.ByEnv, err)
			return nil
		}
		defer unix.Close(types)
	}
	fds := make([]int, len(g.Maps))
	for i, m := range g.Maps {
		if fds[i], err = generatedMap(m, types); err != nil {
			skip(l, verdicts.ByMap, err)
			return nil
		}
		defer unix.Close(fds[i])
	}
	for pc := 0; pc < len(insns); pc += max(insns[pc].Len(), 1) {
		in := &insns[pc]
		if in.IsLdImm64() && (in.Src == decode.PseudoMapFD || in.Src == decode.PseudoMapValue) {
			if in.Imm < 0 || int(in.Imm) >= len(fds) {
				return fmt.Errorf("%s: instruction %d refers to map %d of %d", l.Program, pc, in.Imm, len(fds))
			}
			in.Imm = int32(fds[in.Imm])
		}
	}
	r := &request{code: decode.Marshal(insns, binary.NativeEndian), license: []byte("GPL\x00")}
	for _, f := range g.Funcs {
		r.funcs = binary.NativeEndian.AppendUint32(r.funcs, uint32(f.Insn))
		r.funcs = binary.NativeEndian.AppendUint32(r.funcs, f.Type)
	}
	r.attr = loadAttr{
		typ: uint32(typ), count: uint32(len(insns)), insns: pointer(r.code), license: pointer(r.license), flags: l.ProgFlags,
		name: objectName(l.Program), attach: l.Attach,
	}
	r.setFuncs(types)
	r.judge(l, cfg)
	return nil
}

func generatedMap(m verdicts.Map, types int) (int, error) {
	a := mapAttr{typ: m.Type, key: m.Key, value: m.Value, entries: m.Entries, flags: m.Flags, name: objectName(verdicts.MapName)}
	if m.ValueType != 0 && types >= 0 {
		a.btf, a.keyType, a.valueType = uint32(types), m.KeyType, m.ValueType
	}
	fd, err := createMap(&a)
	if err != nil || m.Frozen == nil {
		return fd, err
	}
	image := make([]byte, m.Value)
	copy(image, m.Frozen)
	if err = updateMap(fd, slot(0), image); err == nil {
		err = freezeMap(fd)
	}
	if err != nil {
		unix.Close(fd)
	}
	return fd, err
}
