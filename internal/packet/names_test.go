package packet

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestFieldsWithoutAPacket: their width where no packet decides it.
func TestFieldsWithoutAPacket(t *testing.T) {
	for _, tt := range []struct {
		path string
		bits int
		ok   bool
	}{
		{"ip.ttl", 8, true}, {"tcp.dport", 16, true}, {"ip.src", 32, true}, {"eth.dst", 48, true}, {"ip", 0, true}, {"payload", 0, true}, {"ip.nope", 0, false}, {"nope.x", 0, false}, {"tcp[1].sport", 16, true},
	} {
		f, err := FieldNamed(tt.path)
		assert.Equal(t, tt.ok, err == nil, "%s: %v", tt.path, err)
		if tt.ok {
			assert.Equal(t, tt.bits, f.Bits, tt.path)
		}
	}
	assert.Contains(t, FieldNames("ip"), "ttl")
	assert.Nil(t, FieldNames("nope"))
	assert.True(t, IsHeader("udp"))
	assert.False(t, IsHeader("nope"))
}

// TestFilesOfBytes: the number of a packet, and the largest file that is one.
func TestFilesOfBytes(t *testing.T) {
	dir := t.TempDir()
	for name, n := range map[string]int{"empty": 0, "one": 1, "most": MaxSize, "more": MaxSize + 1} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), make([]byte, n), 0o644))
	}
	for name, want := range map[string]string{
		"one": "", "most": "", "empty": "the file is empty", "more": "a packet of more than", "one#1": "it has no packet 1", "one#0": "want the number of a packet", "one#x": "want the number of a packet", "#1": "want the name of a file", "missing": "no such file",
	} {
		_, err := loadFile(name, dir)
		if want == "" {
			assert.NoError(t, err, name)
		} else {
			assert.ErrorContains(t, err, want, name)
		}
	}
}

// TestRepair sets lengths to what the packet has, and sums to what they must be.
func TestRepair(t *testing.T) {
	for _, text := range []string{"eth/ip/udp/'abc'", "eth/ip6/udp/'abc'", "eth/ip/tcp/'abc'", "eth/ip6/tcp", "eth/vlan/ip/icmp"} {
		whole, err := Parse(text)
		require.NoError(t, err)
		broken := append([]byte(nil), whole...)
		for i, l := range Decode(broken, 0).Layers {
			if f, ok := Decode(whole, 0).Layers[i].Field(broken, "len"); ok && l.Name != "arp" {
				f.Put(broken, f.Get(broken)-1)
			}
		}
		Repair(broken, 0)
		assert.Equal(t, whole, broken, text)
		longer := append(append([]byte(nil), whole...), "more"...)
		Repair(longer, 0)
		h := Decode(longer, 0)
		for i := range h.Layers {
			state, _ := h.Sum(longer, i)
			assert.NotEqual(t, SumWrong, state, "%s: %s", text, h.Layers[i].Name)
		}
	}
	Repair(nil, 0)
	Repair(make([]byte, 15), 0)
}

// TestRepairLeavesCutPacketsCut: no length becomes that of the rest, and only sums that the rest
// suffices for are mended.
func TestRepairLeavesCutPacketsCut(t *testing.T) {
	for _, text := range []string{"eth/ip/udp/'abcdefgh'", "eth/ip6/udp/'abcdefgh'", "eth/ip/ip/udp/'abcdefgh'"} {
		whole, err := Parse(text)
		require.NoError(t, err)
		cut := bytes.Clone(whole[:len(whole)-3])
		if f, err := Decode(cut, 0).Field(cut, "ip.csum"); err == nil {
			f.Put(cut, f.Get(cut)^1)
		}
		Repair(cut, 0)
		assert.Equal(t, whole[:len(cut)], cut, text)
	}
}
