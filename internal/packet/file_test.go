package packet

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
	"github.com/gopacket/gopacket/pcapgo"
	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var sample = []string{"eth/ip/tcp/'one'", "eth/ip6/udp/'two'", "eth/arp"}

func sampleFile(t testing.TB, old bool) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := NewWriter(&b, old)
	require.NoError(t, err)
	for i, e := range sample {
		p, err := Parse(e)
		require.NoError(t, err)
		c := Captured{Data: p, Wire: len(p), Time: time.Unix(100, int64(i)), Comments: []string{"was here"}}
		require.NoError(t, w.Write(c, p, Verdict{Comment: "XDP_PASS", Kind: XDPVerdict, Value: 2}))
	}
	require.NoError(t, w.Close())
	return b.Bytes()
}

func readAll(in []byte) (packets []Captured, err error) {
	r, err := NewReader(bytes.NewReader(in), "test")
	if err != nil {
		return nil, err
	}
	defer r.Close()
	for {
		c, err := r.Next()
		if err == io.EOF {
			return packets, nil
		}
		if err != nil {
			return packets, err
		}
		c.Data = bytes.Clone(c.Data)
		packets = append(packets, c)
	}
}

func gzipped(t testing.TB, b []byte) []byte {
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	_, err := z.Write(b)
	require.NoError(t, err)
	require.NoError(t, z.Close())
	return out.Bytes()
}

func TestFilesAreReadBack(t *testing.T) {
	z, err := zstd.NewWriter(nil)
	require.NoError(t, err)
	for name, data := range map[string][]byte{
		"pcap": sampleFile(t, true), "pcapng": sampleFile(t, false), "gzip": gzipped(t, sampleFile(t, true)), "zstd": z.EncodeAll(sampleFile(t, false), nil),
	} {
		packets, err := readAll(data)
		require.NoError(t, err, name)
		require.Len(t, packets, len(sample), name)
		for i, c := range packets {
			want, _ := Parse(sample[i])
			assert.Equal(t, want, c.Data, name)
			assert.Equal(t, i+1, c.Number)
			assert.Equal(t, time.Unix(100, int64(i)).UTC(), c.Time.UTC(), name)
			if name == "pcapng" {
				assert.Equal(t, []string{"was here", "XDP_PASS"}, c.Comments)
			}
		}
	}
}

// TestPacketsOfEverySizeAreRead has packets without bytes, and some larger than the buffer, next to
// each other and at both ends of the file.
func TestPacketsOfEverySizeAreRead(t *testing.T) {
	sizes := []int{0, 0, 1, MaxSize, 0, 65520, MaxSize, MaxSize, 3, 0}
	for _, sizes := range [][]int{sizes, {0}, {MaxSize}, {1, 0}} {
		file := bytes.Clone(sampleFile(t, true)[:fileHeader])
		for i, n := range sizes {
			record := make([]byte, recordHeader+n)
			binary.LittleEndian.PutUint32(record[8:], uint32(n))
			binary.LittleEndian.PutUint32(record[12:], uint32(n))
			for j := range n {
				record[recordHeader+j] = byte(i + j)
			}
			file = append(file, record...)
		}
		packets, err := readAll(file)
		require.NoError(t, err)
		require.Len(t, packets, len(sizes))
		for i, n := range sizes {
			require.Len(t, packets[i].Data, n)
			if n > 0 {
				assert.Equal(t, byte(i), packets[i].Data[0])
				assert.Equal(t, byte(i+n-1), packets[i].Data[n-1])
			}
		}
	}
}

func TestVerdictsAreInTheirOption(t *testing.T) {
	r, err := pcapgo.NewNgReader(bytes.NewReader(sampleFile(t, false)), pcapgo.DefaultNgReaderOptions)
	require.NoError(t, err)
	_, _, opt, err := r.ReadPacketDataWithOptions()
	require.NoError(t, err)
	require.Len(t, opt.Verdicts, 1)
	assert.Equal(t, pcapgo.NgEpbVerdictTypeLinuxeBPFXDP, opt.Verdicts[0].Type)
	assert.Equal(t, []byte{2, 0, 0, 0, 0, 0, 0, 0}, opt.Verdicts[0].Data)
}

func TestTruncatedFilesSayWhere(t *testing.T) {
	for name, old := range map[string]bool{"pcap": true, "pcapng": false} {
		whole := sampleFile(t, old)
		for n := range len(whole) {
			packets, err := readAll(whole[:n])
			if err == nil {
				continue // cut between two packets
			}
			var fe *FileError
			require.ErrorAs(t, err, &fe, "%s cut to %d bytes", name, n)
			if fe.Packet > 0 {
				assert.Equal(t, len(packets)+1, fe.Packet, "%s cut to %d bytes", name, n)
				assert.Contains(t, fe.Why, "is truncated")
				assert.Positive(t, fe.Offset)
				assert.Less(t, fe.Offset, int64(n)+1)
			}
		}
	}
}

func TestLyingFiles(t *testing.T) {
	pcap := sampleFile(t, true)
	for _, c := range []struct {
		name string
		data []byte
		why  string
	}{
		{"empty", nil, "not a pcap"},
		{"text", []byte("hello, world\n"), "not a pcap"},
		{"version", edit(pcap, 4, 9), "version 9.4, want 2.4"},
		{"link type", edit(pcap, 20, 105), "link type 105"},
		{"capture length", edit32(pcap, 24+8, 0xffffffff), "4294967295 bytes, at most"},
		{"length below capture length", edit32(pcap, 24+12, 1), "57 bytes were captured of a packet of 1"},
		{"huge packet", append(edit32(edit32(edit32(pcap[:40], 16, 0x7fffffff), 32, 2<<20), 36, 2<<20), make([]byte, 2<<20)...), "at most 1048576"},
		{"endless block", endless(sampleFile(t, false)), "16 MiB"},
		{"gzip", []byte{0x1f, 0x8b, 0, 0}, "gzip"},
	} {
		_, err := readAll(c.data)
		var fe *FileError
		require.ErrorAs(t, err, &fe, c.name)
		assert.Contains(t, fe.Error(), c.why, c.name)
	}
}

func edit(b []byte, at int, v byte) []byte {
	b = bytes.Clone(b)
	b[at] = v
	return b
}

func edit32(b []byte, at int, v uint32) []byte {
	b = bytes.Clone(b)
	binary.LittleEndian.PutUint32(b[at:], v)
	return b
}

// endless is a pcapng file with a block, of a kind that is skipped, that continues for longer than
// anyone waits.
func endless(ng []byte) []byte {
	at := bytes.Index(ng, []byte{6, 0, 0, 0}) // an enhanced packet block
	b := edit32(edit32(ng[:at+28], at, 0x0bad), at+4, 0x7ffffffc)
	return append(b, make([]byte, maxRecord+2*bufferSize)...)
}

func TestPacketsLargerThanTheBuffer(t *testing.T) {
	for _, old := range []bool{true, false} {
		var b bytes.Buffer
		w, err := NewWriter(&b, old)
		require.NoError(t, err)
		sizes := []int{10, bufferSize - 20, bufferSize, 3 * bufferSize, 14, MaxSize}
		for _, n := range sizes {
			p := bytes.Repeat([]byte{byte(n)}, n)
			require.NoError(t, w.Write(Captured{Data: p, Wire: n}, p, Verdict{}))
		}
		require.NoError(t, w.Close())
		packets, err := readAll(b.Bytes())
		require.NoError(t, err)
		for i, n := range sizes {
			assert.Equal(t, bytes.Repeat([]byte{byte(n)}, n), packets[i].Data)
		}
	}
}

func TestOtherLinkTypesGetAnEthernetHeader(t *testing.T) {
	inner, err := Parse("eth/ip/udp/'x'")
	require.NoError(t, err)
	inner = inner[14:]
	cooked := append([]byte{0, 0, 0, 1, 0, 6, 2, 0, 0, 0, 0, 9, 0, 0, 8, 0}, inner...)
	for _, c := range []struct {
		link  linkType
		data  []byte
		src   string
		short bool
	}{
		{linkRaw, inner, "00:00:00:00:00:00", false},
		{linkIPv4, inner, "00:00:00:00:00:00", false},
		{linkNull, append([]byte{2, 0, 0, 0}, inner...), "00:00:00:00:00:00", false},
		{linkSLL, cooked, "02:00:00:00:00:09", false},
		{linkSLL2, append(append([]byte{8, 0, 0, 0, 0, 0, 0, 1, 0, 1, 0, 6, 2, 0, 0, 0, 0, 9, 0, 0}, inner...), 0), "02:00:00:00:00:09", false},
		{linkSLL, cooked[:15], "", true},
	} {
		var b bytes.Buffer
		w := pcapgo.NewWriter(&b)
		require.NoError(t, w.WriteFileHeader(65536, layers.LinkType(c.link)))
		require.NoError(t, w.WritePacket(gopacket.CaptureInfo{Timestamp: time.Unix(1, 0), CaptureLength: len(c.data), Length: len(c.data) + 5}, c.data))
		packets, err := readAll(b.Bytes())
		if c.short {
			require.ErrorContains(t, err, "too few for the header")
			continue
		}
		require.NoError(t, err, c.link)
		p := packets[0].Data
		h := Decode(p, Ethernet)
		f, err := h.Field(p, "eth.src")
		require.NoError(t, err)
		assert.Equal(t, c.src, f.Text(p))
		assert.Equal(t, "eth/ip/udp/payload", h.String()[:18])
		assert.Equal(t, len(p)+5, packets[0].Wire)
	}
}

func TestPacketsOfFilesByNumber(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.pcapng")
	require.NoError(t, os.WriteFile(path, sampleFile(t, false), 0o600))
	p, err := ReadPacket(path, 2)
	require.NoError(t, err)
	want, _ := Parse(sample[1])
	assert.Equal(t, want, p)
	_, err = ReadPacket(path, 4)
	assert.ErrorContains(t, err, "has no packet 4: it has 3")
	_, err = Open(filepath.Join(t.TempDir(), "absent"))
	assert.ErrorIs(t, err, os.ErrNotExist)
	_, err = Open(t.TempDir())
	assert.ErrorContains(t, err, "a directory")
}

func TestReadersStopAfterAnError(t *testing.T) {
	pcap := sampleFile(t, true)
	r, err := NewReader(bytes.NewReader(pcap[:50]), "cut")
	require.NoError(t, err)
	_, first := r.Next()
	require.Error(t, first)
	_, second := r.Next()
	assert.Equal(t, first, second)
}

func FuzzReader(f *testing.F) {
	f.Add(sampleFile(f, true))
	f.Add(sampleFile(f, false))
	f.Add(gzipped(f, sampleFile(f, true)))
	f.Add([]byte{0x0a, 0x0d, 0x0d, 0x0a, 28, 0, 0, 0, 0x4d, 0x3c, 0x2b, 0x1a, 1, 0, 0, 0})
	f.Fuzz(func(t *testing.T, data []byte) {
		packets, err := readAll(data)
		var fe *FileError
		if err != nil && !errors.As(err, &fe) {
			t.Fatalf("%T: %v", err, err)
		}
		for _, c := range packets {
			if len(c.Data) > MaxSize {
				t.Fatalf("%d bytes", len(c.Data))
			}
			Decode(c.Data, Ethernet)
		}
	})
}
