package scopes

import (
	"bytes"
	"encoding/binary"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/internal/dwarfloc"
)

// The location of a variable may be damaged in any way.
func FuzzLocate(f *testing.F) {
	f.Add([]byte{dwarfloc.OpFbreg, 0x10})
	f.Add([]byte{dwarfloc.OpBreg0 + 1, 0x7f, dwarfloc.OpConsts, 8, dwarfloc.OpDiv, dwarfloc.OpStackValue})
	f.Add([]byte{dwarfloc.OpConst2s, 1, 2, dwarfloc.OpLit0 + 3, dwarfloc.OpShl, dwarfloc.OpDup, dwarfloc.OpSwap, dwarfloc.OpStackValue})
	f.Fuzz(func(t *testing.T, expr []byte) {
		_, _ = Locate(expr, binary.LittleEndian, State{
			Reg:   func(int) (uint64, error) { return 1, nil },
			Frame: func() (uint64, error) { return 2, nil },
			Read:  func(uint64, int) (uint64, error) { return 3, nil },
		})
	})
}

// An object's debug information may be damaged in any way.
func FuzzDWARF(f *testing.F) {
	for _, build := range []string{"O2-dwarf4", "O2-dwarf5"} {
		b, err := os.ReadFile("../testdata/locals-" + build + ".o")
		require.NoError(f, err)
		f.Add(b, 0, byte(0))
	}
	f.Fuzz(func(t *testing.T, object []byte, at int, to byte) {
		if len(object) > 1<<16 {
			return
		}
		if at >= 0 && at < len(object) {
			object = bytes.Clone(object)
			object[at] = to
		}
		d, err := Read(object)
		if err != nil || d == nil {
			return
		}
		for _, sc := range d.Scopes {
			for _, r := range sc.Ranges {
				for _, v := range d.Visible(r[0]) {
					for _, l := range v.Vars {
						_, _ = d.Location(l, r[0])
					}
				}
			}
		}
	})
}
