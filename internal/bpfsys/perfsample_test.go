package bpfsys_test

import (
	"encoding/hex"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/internal/bpfsys"
	"github.com/bpfrun/bpfrun/internal/uapi"
)

// TestRecordsHaveWhatTheirEventAsksFor: the fields of PERF_SAMPLE_* stand before the program's data,
// in the kernel's order (perf_output_sample).
func TestRecordsHaveWhatTheirEventAsksFor(t *testing.T) {
	const raw, tm, id, cpu, identifier, ip = 1 << 10, 1 << 2, 1 << 6, 1 << 7, 1 << 16, 1 << 0
	const data = "0c000000" + "0700000000000000" + "00000000"
	for _, tt := range []struct {
		name    string
		samples uint64
		want    string
		note    string
	}{
		{"the data alone", raw, data, ""},
		{"the time", raw | tm, "TIME" + data, ""},
		{"ids and the CPU", raw | identifier | tm | id | cpu, "ID" + "TIME" + "ID" + "0000000000000000" + data, ""},
		{"what is not simulated", raw | ip, data, "records of perf event software:10 lack what sample_type 0x1 asks for"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			k := newCaller(t, newestKernel(t))
			a := make([]byte, 136)
			le.PutUint32(a, 1) // PERF_TYPE_SOFTWARE
			le.PutUint32(a[4:], 136)
			le.PutUint64(a[8:], 10) // PERF_COUNT_SW_BPF_OUTPUT
			le.PutUint64(a[24:], tt.samples)
			event, r := k.openEvent(a, -1)
			require.Zero(t, r.errno)
			object := k.files[int32(event)].Object
			require.Zero(t, k.s.MapRange(object, bpfsys.ReadWrite, 0, 2*4096, true, true))
			m := k.must(k.createMap(uapi.MapTypePerfEventArray, 4, 4, 1, 0))
			_, e, _ := k.call(mapUpdate, field{0, m}, field{8, k.put([]byte{0, 0, 0, 0})}, field{16, k.put(le.AppendUint32(nil, uint32(event)))}, field{24, uint64(0)})
			require.Zero(t, e)
			prog, e := k.load(uapi.ProgTypeSchedCls, []decode.Insn{
				{Code: 0x7a, Dst: 10, Off: -8, Imm: 7},
				{Code: 0x18, Dst: 2, Src: 1, Imm: int32(m)}, {},
				{Code: 0xb7, Dst: 3}, {Code: 0xbf, Dst: 4, Src: 10}, {Code: 0x07, Dst: 4, Imm: -8}, {Code: 0xb7, Dst: 5, Imm: 8},
				{Code: 0x85, Imm: int32(uapi.FuncPerfEventOutput)},
				{Code: 0xb7}, {Code: 0x95},
			})
			require.Zero(t, e, "%v", k.notes)
			_, e, _ = k.call(testRun, field{0, int(prog)}, field{8, 64}, field{16, k.room(64)}, field{68, 0})
			require.Zero(t, e, "%v", k.notes)
			ring := bpfsys.Shared(object).Bytes()[4096:]
			size := le.Uint16(ring[6:])
			assert.EqualValues(t, 9, le.Uint32(ring), "PERF_RECORD_SAMPLE")
			got, want := ring[8:size], ""
			for rest := tt.want; rest != ""; {
				at := got[len(want)/2:]
				switch {
				case rest[:2] == "TI":
					assert.NotZero(t, le.Uint64(at))
					want, rest = want+hex.EncodeToString(at[:8]), rest[4:]
				case rest[:2] == "ID":
					assert.NotZero(t, le.Uint64(at))
					want, rest = want+hex.EncodeToString(at[:8]), rest[2:]
				default:
					want, rest = want+rest[:8], rest[8:]
				}
			}
			assert.Equal(t, want, hex.EncodeToString(got))
			if tt.note == "" {
				assert.Empty(t, k.notes)
			} else {
				assert.Contains(t, k.notes[0], tt.note)
			}
		})
	}
}
