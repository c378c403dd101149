package hid

import (
	"bytes"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/bpfrun/bpfrun/internal/testing/rewrite"
)

// TestDamagedDescriptorsAreToldInTheSameWords changes each byte of descriptors with items of all
// kinds to many values, and compares the error, or the reports.
func TestDamagedDescriptorsAreToldInTheSameWords(t *testing.T) {
	said := func(desc []byte) string {
		d, err := Parse(desc)
		if err != nil {
			return err.Error()
		}
		out := "parsed\t"
		for _, r := range d.Reports {
			out += fmt.Sprint(r.Type, r.ID, r.Bits, r.Len(), r.Fields, d.Numbered(r.Type), d.Longest(), ";")
		}
		return out
	}
	var all rewrite.Outcomes
	for name, good := range map[string][]byte{
		"default": DefaultDescriptor(0),
		"lengths": {0x06, 1, 0, 0x0a, 2, 0, 0xa1, 1, 0x1a, 1, 0, 0x2a, 8, 0, 0x16, 0, 0, 0x26, 255, 0, 0x76, 8, 0, 0x96, 4, 0, 0x82, 2, 0, 0xc0,
			0x07, 1, 0, 0, 0, 0x0b, 2, 0, 1, 0, 0xa1, 2, 0x17, 0xff, 0xff, 0xff, 0xff, 0x27, 1, 0, 0, 0, 0x77, 4, 0, 0, 0, 0x97, 2, 0, 0, 0, 0x93, 0, 0, 0, 0, 0xc0},
		"delimiters": {0x05, 1, 0x75, 8, 0x95, 2, 0x25, 9, 0xa9, 1, 0x09, 1, 0x09, 2, 0xa9, 0, 0xa9, 1, 0x09, 3, 0xa9, 0, 0x09, 4, 0x81, 2, 0x09, 5, 0x91, 2},
		"stack":      {0x75, 8, 0x95, 1, 0x85, 1, 0xa4, 0x75, 4, 0x85, 2, 0x81, 2, 0xb4, 0x81, 2, 0x65, 1, 0x55, 3, 0x35, 1, 0x45, 9, 0x79, 1, 0x39, 2, 0xb1, 0},
	} {
		all.Add(name, said(good))
		for at := range good {
			for _, v := range []byte{good[at] + 1, good[at] - 1, good[at] + 4, good[at] + 16, good[at] ^ 0x80, 0, 0xff, 0xfe, 0xc0, 0xa1, 0x81, 0xb4, 0xa4, 0x19, 0x29, 0x09, 0x85, 0xa9} {
				bad := bytes.Clone(good)
				bad[at] = v
				all.Add(fmt.Sprintf("%s: byte %d is %#x", name, at, v), said(bad))
			}
			all.Add(fmt.Sprintf("%s: cut to %d", name, at), said(good[:at]))
		}
	}
	all.Compare(t, filepath.Join("testdata", "damage.txt"))
}
