package packet

import (
	"bytes"
	"encoding/binary"
	"slices"
	"testing"
	"time"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
	"github.com/gopacket/gopacket/pcapgo"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// ngFile builds pcapng block by block, in either byte order.
type ngFile struct {
	order interface {
		binary.ByteOrder
		binary.AppendByteOrder
	}
	data []byte
}

func (f *ngFile) block(kind uint32, parts ...any) *ngFile {
	var body []byte
	for _, p := range parts {
		switch p := p.(type) {
		case uint16:
			body = f.order.AppendUint16(body, p)
		case uint32:
			body = f.order.AppendUint32(body, p)
		case uint64:
			body = f.order.AppendUint64(body, p)
		case string:
			body = pad(append(body, p...))
		}
	}
	length := uint32(len(body) + blockFrame)
	f.data = f.order.AppendUint32(f.data, kind)
	f.data = f.order.AppendUint32(f.data, length)
	f.data = append(f.data, body...)
	f.data = f.order.AppendUint32(f.data, length)
	return f
}

func (f *ngFile) section() *ngFile {
	return f.block(blockSection, uint32(byteOrderMagic), uint16(1), uint16(0), ^uint64(0))
}

// iface adds an Ethernet interface with a unit of time.
func (f *ngFile) iface(snap uint32, unit byte, offset uint64) *ngFile {
	return f.block(blockInterface, uint16(1), uint16(0), snap, uint16(optTimeUnit), uint16(1), string([]byte{unit}), uint16(optTimeOffset), uint16(8), offset, uint16(optEnd), uint16(0))
}

func (f *ngFile) packet(id uint32, stamp uint64, data string) *ngFile {
	return f.block(blockEnhanced, id, uint32(stamp>>32), uint32(stamp), uint32(len(data)), uint32(len(data)+1), data)
}

func little() *ngFile { return (&ngFile{order: binary.LittleEndian}).section() }

func TestPcapngBlocks(t *testing.T) {
	const frame = "0123456789abcdef0"
	type read struct {
		data string
		wire int
		at   time.Time
		note []string
	}
	for name, c := range map[string]struct {
		file *ngFile
		want []read
	}{
		"big endian": {(&ngFile{order: binary.BigEndian}).section().iface(0, 6, 0).packet(0, 5_000_007, frame), []read{{frame, 18, time.Unix(5, 7000), nil}}},
		"sections of both orders": {&ngFile{order: binary.LittleEndian, data: append(little().iface(0, 9, 0).packet(0, 1, frame).data,
			(&ngFile{order: binary.BigEndian}).section().iface(0, 3, 0).packet(0, 2, frame).data...)},
			[]read{{frame, 18, time.Unix(0, 1), nil}, {frame, 18, time.Unix(0, 2_000_000), nil}}},
		"two interfaces":      {little().iface(0, 0, 0).iface(0, 9, 0).packet(1, 3, frame).packet(0, 3, frame), []read{{frame, 18, time.Unix(0, 3), nil}, {frame, 18, time.Unix(3, 0), nil}}},
		"binary unit":         {little().iface(0, 0x8a, 0).packet(0, 3<<10|512, frame), []read{{frame, 18, time.Unix(3, 500_000_000), nil}}},
		"finest binary unit":  {little().iface(0, 0xbf, 0).packet(0, 1<<63|1<<62, frame), []read{{frame, 18, time.Unix(1, 500_000_000), nil}}},
		"no stamps in range":  {little().iface(0, 0xff, 4).packet(0, 9, frame), []read{{frame, 18, time.Unix(4, 0), nil}}},
		"picoseconds":         {little().iface(0, 12, 0).packet(0, 2_000_000_003_000, frame), []read{{frame, 18, time.Unix(2, 3), nil}}},
		"unit beyond range":   {little().iface(0, 30, 0).packet(0, 9, frame), []read{{frame, 18, time.Unix(0, 0), nil}}},
		"offset":              {little().iface(0, 9, 100).packet(0, 1, frame), []read{{frame, 18, time.Unix(100, 1), nil}}},
		"negative offset":     {little().iface(0, 9, ^uint64(0)).packet(0, 5, frame), []read{{frame, 18, time.Unix(-1, 5), nil}}},
		"simple packets":      {little().iface(16, 6, 0).block(blockSimple, uint32(17), frame), []read{{frame[:16], 17, time.Unix(0, 0), nil}}},
		"simple, cut by none": {little().iface(0, 6, 0).block(blockSimple, uint32(17), frame), []read{{frame, 17, time.Unix(0, 0), nil}}},
		"old packets":         {little().iface(0, 6, 0).block(blockOldPacket, uint16(0), uint16(7), uint32(0), uint32(1), uint32(17), uint32(20), frame), []read{{frame, 20, time.Unix(0, 1000), nil}}},
		"unknown blocks":      {little().block(0x0bad, "what").iface(0, 6, 0).block(5, uint64(1)).packet(0, 1, frame).block(10, ""), []read{{frame, 18, time.Unix(0, 1000), nil}}},
		"comments and others": {little().iface(0, 9, 0).block(blockEnhanced, uint32(0), uint32(0), uint32(1), uint32(17), uint32(17), frame,
			uint16(optComment), uint16(3), "one", uint16(2), uint16(4), uint32(1), uint16(optComment), uint16(0), uint16(optEnd), uint16(0), uint16(optComment), uint16(9), "no"),
			[]read{{frame, 17, time.Unix(0, 1), []string{"one", ""}}}},
	} {
		packets, err := readAll(c.file.data)
		require.NoError(t, err, name)
		var got []read
		for _, p := range packets {
			got = append(got, read{string(p.Data), p.Wire, p.Time, p.Comments})
		}
		assert.Equal(t, c.want, got, name)
	}
}

func TestPcapngErrors(t *testing.T) {
	for _, c := range []struct {
		file *ngFile
		why  string
	}{
		{(&ngFile{order: binary.LittleEndian}).block(blockSection, uint32(0x11223344), uint16(1), uint16(0), uint64(0)), "pcapng: a section begins with the byte order 44 33 22 11"},
		{(&ngFile{order: binary.LittleEndian}).block(blockSection, uint32(byteOrderMagic), uint16(2), uint16(1), uint64(0)), "a section of version 2.1"},
		{little().packet(0, 1, "x"), "a packet of interface 0 in a section that has 0"},
		{little().iface(0, 6, 0).section().packet(0, 1, "x"), "a packet of interface 0 in a section that has 0"},
		{little().iface(0, 6, 0).block(blockEnhanced, uint32(0), uint64(0), uint32(9), uint32(9), "short"), "a packet of 9 bytes in a block that holds 8"},
		{little().iface(0, 6, 0).block(blockEnhanced, uint32(0)), "a packet block of 16 bytes, want at least 32"},
		{little().block(blockInterface, uint32(1)), "an interface of 4 bytes"},
		{little().block(blockInterface, uint16(1), uint16(0), uint32(0), uint16(optTimeUnit), uint16(9), uint32(0)), "an option of 9 bytes in a block that has 4 left"},
		{little().iface(0, 6, 0).block(blockEnhanced, uint32(0), uint64(0), uint32(MaxSize+1), uint32(MaxSize+1), string(make([]byte, MaxSize+1))), "1048577 bytes, at most 1048576"},
		{little().iface(0, 6, 0).block(blockEnhanced, uint32(0), uint64(0), uint32(1), uint32(1), string(make([]byte, 2*maxPacketBlock))), "a block of 4194336 bytes, at most"},
		{&ngFile{order: binary.LittleEndian, data: edit32(little().iface(0, 6, 0).data, 32, 13)}, "a block of 13 bytes"},
		{&ngFile{order: binary.LittleEndian, data: edit32(little().iface(0, 6, 0).data, 68, 8)}, "ends with the length 8"},
	} {
		_, err := readAll(c.file.data)
		assert.ErrorContains(t, err, c.why)
	}
}

// TestPcapngAsPcapgo reads what another implementation writes, and has it read what is written
// here.
func TestPcapngAsPcapgo(t *testing.T) {
	var b bytes.Buffer
	w, err := pcapgo.NewNgWriterInterface(&b, pcapgo.NgInterface{Name: "a", LinkType: layers.LinkTypeEthernet, Comment: "first"}, pcapgo.DefaultNgWriterOptions)
	require.NoError(t, err)
	second, err := w.AddInterface(pcapgo.NgInterface{Name: "b", LinkType: layers.LinkTypeEthernet})
	require.NoError(t, err)
	var want []Captured
	for i := range 20 {
		data := bytes.Repeat([]byte{byte(i)}, 14+i)
		at := time.Unix(1000+int64(i), int64(i)*7)
		ci := gopacket.CaptureInfo{Timestamp: at, CaptureLength: len(data), Length: len(data) + i, InterfaceIndex: (i % 2) * second}
		require.NoError(t, w.WritePacketWithOptions(ci, data, pcapgo.NgPacketOptions{Comments: []string{"c"}}))
		want = append(want, Captured{Data: data, Number: i + 1, Time: at, Wire: len(data) + i, Comments: []string{"c"}})
	}
	require.NoError(t, w.Flush())
	got, err := readAll(b.Bytes())
	require.NoError(t, err)
	assert.Equal(t, want, got)

	var own bytes.Buffer
	o, err := NewWriter(&own, false)
	require.NoError(t, err)
	for _, c := range want {
		require.NoError(t, o.Write(c, c.Data, Verdict{Comment: "XDP_DROP"}))
	}
	require.NoError(t, o.Close())
	r, err := pcapgo.NewNgReader(&own, pcapgo.DefaultNgReaderOptions)
	require.NoError(t, err)
	for _, c := range want {
		data, ci, opt, err := r.ReadPacketDataWithOptions()
		require.NoError(t, err)
		assert.Equal(t, c.Data, data)
		assert.Equal(t, c.Time.UTC(), ci.Timestamp.UTC())
		assert.Equal(t, c.Wire, ci.Length)
		assert.Equal(t, slices.Concat(c.Comments, []string{"XDP_DROP"}), opt.Comments)
	}
}
