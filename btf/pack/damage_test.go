package pack

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/internal/testing/rewrite"
)

// TestDamagedPartsAreToldInTheSameWords changes each byte of tables and of kernels stored by them,
// as they are before they are compressed.
func TestDamagedPartsAreToldInTheSameWords(t *testing.T) {
	var all rewrite.Outcomes
	for _, order := range []binary.ByteOrder{binary.LittleEndian, binary.BigEndian} {
		w := NewWriter()
		require.NoError(t, w.Add("a", "", sample(t, order)))
		require.NoError(t, w.Add("b", "", edited(t, longer("more\x00"))))
		a := opened(t, written(t, w))
		var table []byte
		var kernels [][]byte
		for i := range a.index.Kernels {
			k := &a.index.Kernels[i]
			tables, block, err := a.read(k)
			require.NoError(t, err)
			table, kernels = tables.marshal(), append(kernels, k.At.in(block))
		}
		rebuilt := func(table, stored []byte) string {
			tables, err := unmarshal(table)
			if err != nil {
				return "tables: " + err.Error()
			}
			raw, err := tables.rebuild(stored)
			if err != nil {
				return "kernel: " + err.Error()
			}
			return fmt.Sprintf("rebuilt\t%x", raw)
		}
		damage := func(what string, good []byte, say func([]byte) string) {
			all.Add(what, say(good))
			for at := range good {
				for i, v := range []byte{good[at] + 1, good[at] - 1, good[at] ^ 0x80, 0, 0xff} {
					if i != at%5 {
						continue
					}
					bad := bytes.Clone(good)
					bad[at] = v
					all.Ask(fmt.Sprintf("%s %s: byte %d, change %d", order, what, at, i), func() string { return say(bad) })
				}
				all.Ask(fmt.Sprintf("%s %s: cut to %d", order, what, at), func() string { return say(good[:at:at]) })
			}
			all.Add(what+" and more", say(append(bytes.Clone(good), 1)))
		}
		damage("tables", table, func(b []byte) string { return rebuilt(b, kernels[0]) })
		for i, k := range kernels {
			damage(fmt.Sprint("kernel ", i), k, func(b []byte) string { return rebuilt(table, b) })
		}
	}
	all.Compare(t, filepath.Join("testdata", "damage.txt"))
}
