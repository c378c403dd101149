package loader

import (
	"debug/elf"
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/internal/elfbuild"
)

// relocatedOnce is an object of one program, "r1 = variable ll; r0 = 0; exit", with one record for
// the first instruction.
func relocatedOnce(order binary.ByteOrder, imm int32, record func(b *elfbuild.Builder, code, sym int)) ([]byte, error) {
	b := elfbuild.New(order)
	code := b.Code("syscall", []decode.Insn{{Code: codeLdImm, Dst: 1, Imm: imm}, {}, {Code: 0xb7}, {Code: 0x95}})
	b.Func("prog", code, 0, 4)
	data := b.Section(".data", elf.SHT_PROGBITS, elf.SHF_ALLOC|elf.SHF_WRITE, make([]byte, 64))
	record(b, code, b.Symbol("variable", data, 16, 8, elf.STT_OBJECT, elf.STB_GLOBAL))
	o, err := OpenBytes("once.o", b.Bytes())
	if err != nil {
		return nil, err
	}
	l, err := o.Load(nil, LoadOptions{})
	if err != nil {
		return nil, err
	}
	p := l.Programs[0]
	if p.Status != StatusOK {
		return nil, p.Err
	}
	return decode.Marshal(p.Insns, order), nil
}

// TestRelocationRecords: the records of code by type, with addends in the instruction (REL) and in
// the record (RELA).
func TestRelocationRecords(t *testing.T) {
	rel := func(typ int) func(*elfbuild.Builder, int, int) {
		return func(b *elfbuild.Builder, code, sym int) { b.Rel(code, elfbuild.Rel{Off: 0, Sym: sym, Type: typ}) }
	}
	rela := func(addend int64) func(*elfbuild.Builder, int, int) {
		return func(b *elfbuild.Builder, code, sym int) {
			b.RelA(code, elf.Rela64{Info: uint64(sym)<<32 | rel64, Addend: addend})
		}
	}
	for _, order := range []binary.ByteOrder{binary.LittleEndian, binary.BigEndian} {
		for _, tt := range []struct {
			name   string
			imm    int32
			record func(*elfbuild.Builder, int, int)
			off    int64 // in .data; -1: the instruction stays, -2: refused
		}{
			{"R_BPF_64_64", 0, rel(rel64), 16},
			{"R_BPF_64_64 with an addend", 8, rel(rel64), 24},
			{"R_BPF_NONE is passed over", 7, rel(relNone), -1},
			{"R_BPF_64_ABS64 is none of code", 0, rel(relABS64), -2},
			{"second half of a 64-bit load", 0, func(b *elfbuild.Builder, code, sym int) {
				b.Rel(code, elfbuild.Rel{Off: 8, Sym: sym, Type: rel64})
			}, -2},
			{"a second half, then a load", 0, func(b *elfbuild.Builder, code, sym int) {
				b.Rel(code, elfbuild.Rel{Off: 8, Sym: sym, Type: rel64}, elfbuild.Rel{Off: 16, Sym: sym, Type: rel64})
			}, -2},
			{"two records for one load", 0, func(b *elfbuild.Builder, code, sym int) {
				b.Rel(code, elfbuild.Rel{Off: 0, Sym: sym, Type: rel64}, elfbuild.Rel{Off: 0, Sym: sym, Type: rel64})
			}, -2},
			{"RELA", 0, rela(8), 24},
			{"RELA, the sum goes back", 0, rela(-16), 0},
			{"RELA, addend beyond 32 bits", 0, rela(1 << 32), -2},
			{"RELA, sum beyond 32 bits", 0, rela(1<<32 - 8), -2},
			{"RELA, sum below 0", 0, rela(-24), -2},
		} {
			t.Run(tt.name+" "+order.String(), func(t *testing.T) {
				code, err := relocatedOnce(order, tt.imm, tt.record)
				if tt.off == -2 {
					require.ErrorIs(t, err, ErrRelocation)
					return
				}
				require.NoError(t, err)
				insns, err := decode.Unmarshal(code, order)
				require.NoError(t, err)
				if tt.off == -1 {
					assert.Equal(t, decode.Insn{Code: codeLdImm, Dst: 1, Imm: tt.imm}, insns[0])
					return
				}
				assert.EqualValues(t, srcMapVal, insns[0].Src)
				assert.EqualValues(t, tt.off, insns[1].Imm)
			})
		}
	}
}
