package machine_test

import (
	"context"
	"fmt"
	"hash/fnv"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf/embedded"
	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/testing/rewrite"
	"github.com/bpfrun/bpfrun/internal/valuehash"
)

// ranAs says how a run ended, and, after a tab, a hash of all that it did.
func ranAs(t *testing.T, m *machine.Machine, name string) string {
	res, err := m.Run(context.Background(), name, machine.Input{})
	if err != nil {
		return "not run: " + err.Error()
	}
	said := string(res.Status)
	if res.Fault != nil {
		said += ": " + res.Fault.Kind.String() + ": " + res.Fault.Error()
	} else if len(res.Warnings) > 0 {
		said += ", warned: " + res.Warnings[0]
	} else if len(res.Findings) > 0 {
		said += fmt.Sprintf(", found: %v", res.Findings[0])
	}
	h := fnv.New64a()
	v := valuehash.New(h)
	v.Add(outcome(res))
	require.NoError(t, v.Err())
	return fmt.Sprintf("%s\t%x", said, h.Sum64())
}

// changedInsns calls run with a program in which one field of one instruction is another.
func changedInsns(insns []decode.Insn, run func(what string)) {
	for pc := range insns {
		in := &insns[pc]
		if pc > 0 && insns[pc-1].Op() == decode.OpLdImm64 {
			continue
		}
		was := *in
		changes := []func(){
			func() { in.Imm++ }, func() { in.Imm-- }, func() { in.Imm = -1 }, func() { in.Imm = 0 }, func() { in.Imm += 8 }, func() { in.Imm ^= 1 << 20 },
			func() { in.Off += 8 }, func() { in.Off -= 8 }, func() { in.Off++ }, func() { in.Off ^= 1 << 12 },
			func() { in.Dst = (in.Dst + 1) % 11 }, func() { in.Src = (in.Src + 1) % 11 },
		}
		for k := range 2 { // two of them, others at each instruction
			i := (pc*5 + k*7) % len(changes)
			if changes[i](); *in != was {
				run(fmt.Sprintf("insn %d change %d", pc, i))
			}
			*in = was
		}
	}
}

// TestChangedProgramsRunTheSame changes one instruction at a time of many programs, which no
// verifier then sees, runs them, and compares how they end and all that they did.
func TestChangedProgramsRunTheSame(t *testing.T) {
	var all rewrite.Outcomes
	objects, err := filepath.Glob("../../testdata/objects/clang-14/*.o")
	require.NoError(t, err)
	for _, path := range objects {
		if strings.HasSuffix(path, "/x86.o") { // not of BPF
			continue
		}
		l := load(t, path, target(t, embedded.Name))
		m, err := machine.New(l, machine.Config{Seed: 1, MaxInsns: 20_000})
		require.NoError(t, err)
		base := m.Snapshot()
		n, path := 0, filepath.Base(path)
		for _, lp := range l.Programs {
			m.Restore(base)
			before := ranAs(t, m, lp.Name)
			all.Add(path+" "+lp.Name, before)
			if len(lp.Insns) > 200 || n > 40 { // enough of this object
				continue
			}
			changedInsns(lp.Insns, func(what string) {
				n++
				if !all.Asks(path + " " + lp.Name + " " + what) {
					return
				}
				m.Restore(base)
				m.RemoveProgram(lp.Name)
				if err := m.AddProgram(lp); err != nil {
					all.Add(path+" "+lp.Name+" "+what, "not added: "+err.Error())
					return
				}
				all.Add(path+" "+lp.Name+" "+what, ranAs(t, m, lp.Name))
			})
		}
		m.Close()
	}
	all.Compare(t, filepath.Join("testdata", "changedinsns.txt"))
}
