package machine_test

import (
	"context"
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/maps"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/loader"
)

// ring is what a tool maps: it notes what happens.
type ring struct {
	log  []string
	cons uint64
	data [][]byte
}

func (r *ring) Consumed() uint64 { return r.cons }
func (r *ring) Overwrite(uint64) {}

func (r *ring) Reserve(pos, end uint64, size int) {
	r.log = append(r.log, "reserve")
}
func (r *ring) Commit(pos uint64, data []byte, flags uint64) {
	r.log, r.data = append(r.log, "commit"), append(r.data, data)
}
func (r *ring) Discard(pos, flags uint64) { r.log = append(r.log, "discard") }

func empty(t *testing.T) *machine.Machine {
	t.Helper()
	m, err := machine.New(loader.NewLinked(loader.NewTarget("linux-6.12.1", nil)), machine.Config{Uncovered: true})
	require.NoError(t, err)
	t.Cleanup(m.Close)
	return m
}

// outputs makes a program that sends eight bytes to a ring buffer and returns what the helper did.
func outputs(name string, def *loader.Map, target *loader.Target) *loader.LinkedProgram {
	insns := []decode.Insn{
		{Code: 0x7a, Dst: 10, Off: -8, Imm: 7}, // *(u64 *)(r10 - 8) = 7
		{Code: 0x18, Dst: 1, Src: 1}, {},
		{Code: 0xbf, Dst: 2, Src: 10}, {Code: 0x07, Dst: 2, Imm: -8},
		{Code: 0xb7, Dst: 3, Imm: 8}, {Code: 0xb7, Dst: 4},
		{Code: 0x85, Imm: int32(uapi.FuncRingbufOutput)},
		{Code: 0x95},
	}
	raw := loader.Raw{Name: name, Type: uapi.ProgTypeSocketFilter, License: "GPL", Section: "socket", Insns: insns,
		Refs: map[int]loader.Ref{1: {Kind: loader.RefMap, Map: def, Resolved: true}}, Maps: []*loader.Map{def}}
	return raw.Link(target)
}

func TestMapsAndProgramsComeAndGo(t *testing.T) {
	m := empty(t)
	def := &loader.Map{Name: "rb", Type: uapi.MapTypeRingbuf, MaxEntries: 4096, Autocreate: true, Index: -1}
	created, err := m.AddMap(def, nil, nil)
	require.NoError(t, err)
	sink := &ring{}
	created.(maps.RingBuffer).SetSink(sink)
	require.NoError(t, m.AddProgram(outputs("a", def, m.Linked().Target)))
	require.ErrorIs(t, m.AddProgram(outputs("a", def, m.Linked().Target)), machine.ErrExists)

	res, err := m.Run(context.Background(), "a", machine.Input{})
	require.NoError(t, err)
	require.Nil(t, res.Fault)
	assert.Equal(t, uint64(0), res.Ret)
	assert.Empty(t, res.Events, "the sink has them")
	assert.Equal(t, []string{"reserve", "commit"}, sink.log)
	assert.Equal(t, uint64(7), binary.LittleEndian.Uint64(sink.data[0]))

	m.RemoveProgram("a")
	_, err = m.Run(context.Background(), "a", machine.Input{})
	require.ErrorIs(t, err, machine.ErrNoProgram)
	m.RemoveMap(def)
	_, ok := m.Map(def)
	assert.False(t, ok)

	again := &loader.Map{Name: "rb", Type: uapi.MapTypeRingbuf, MaxEntries: 4096, Autocreate: true, Index: -1}
	second, err := m.AddMap(again, nil, nil)
	require.NoError(t, err)
	assert.Greater(t, second.ID(), created.ID(), "ids are not given twice")
}

func TestMapsThatGoGiveTheirMemoryBack(t *testing.T) {
	m := empty(t)
	for range 500 {
		def := &loader.Map{Name: "h", Type: uapi.MapTypeArray, KeySize: 4, ValueSize: 4096, MaxEntries: 16, Autocreate: true, Index: -1}
		a, err := m.AddMap(def, nil, nil)
		require.NoError(t, err)
		require.Equal(t, maps.OK, maps.UserUpdate(a, make([]byte, 4), make([]byte, 4096), 0))
		m.RemoveMap(def)
	}
	assert.Less(t, m.Memory().Used(), uint64(4<<20))
}

func TestARingWithASinkIsAsFullAsItsReaderSays(t *testing.T) {
	m := empty(t)
	def := &loader.Map{Name: "rb", Type: uapi.MapTypeRingbuf, MaxEntries: 4096, Autocreate: true, Index: -1}
	created, err := m.AddMap(def, nil, nil)
	require.NoError(t, err)
	sink := &ring{}
	rb := created.(maps.RingBuffer)
	rb.SetSink(sink)
	for range 255 { // 16 bytes each, the last byte of a ring stays free
		require.Equal(t, maps.OK, rb.Output(make([]byte, 8), 0))
	}
	assert.Equal(t, uapi.EAGAIN, rb.Output(make([]byte, 8), 0))
	sink.cons = 16
	assert.Equal(t, maps.OK, rb.Output(make([]byte, 8), 0))
	sink.cons = 1 << 60
	assert.Equal(t, uapi.EAGAIN, rb.Output(make([]byte, 8), 0), "a position nobody has reached makes no room")
	sink.cons = 255 * 16
	open, ok := rb.Reserve(8, 0)
	require.True(t, ok)
	require.Equal(t, maps.OK, rb.Output(make([]byte, 8), 0))
	assert.Len(t, rb.Open(), 1)
	assert.Equal(t, maps.OK, rb.Discard(open, 0))
	assert.Equal(t, "discard", sink.log[len(sink.log)-1])
}
