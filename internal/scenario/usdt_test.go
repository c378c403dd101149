package scenario

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const usdtObject = "../../examples/usdt/usdt.bpf.o"

// usdtRun is a run whose arguments are where usdt says, and whose record has these values.
func usdtRun(usdt, args, want string) string {
	return "runs: [{prog: on_query, usdt: '" + usdt + "', args: " + args + ", expect: {ringbuf: {queries: [" + want + "]}}}]"
}

// TestUSDTArguments: bpf_usdt_arg finds each argument in the register or the memory that the note
// names, with its size and sign.
func TestUSDTArguments(t *testing.T) {
	for _, c := range []struct{ usdt, args, want string }{
		{"-4@%esi 8@%rdi", "{arg1: -2, arg2: !user hi}", "{as: query, count: 2, status: -2, text: hi}"},
		{"-4@-20(%rbp) 8@-16(%rbp)", "{arg1: -3, arg2: !user stack}", "{as: query, status: -3, text: stack}"},
		{"-2@8(%rsp) 8@%r15 1@%bl", "{arg1: 0x1ffff, arg2: !user x, arg3: 1}", "{as: query, count: 3, status: -1, text: x}"},
		{"2@8(%rsp) 8@%r15", "{arg1: 0x1ffff, arg2: !user x}", "{as: query, status: 65535, text: x}"},
		{"1@$7 8@16(%rip)", "{arg2: !user pc}", "{as: query, status: 7, text: pc}"},
		{"-4@4(%rdi) 8@%rdi", "{arg1: 5, arg2: !user \"abcdefgh\"}", "{as: query, status: 5, text: \"abcd\\x05\"}"},
	} {
		r, err := openScenario(t, usdtObject, usdtRun(c.usdt, c.args, c.want))
		require.NoError(t, err, c.usdt)
		results, err := r.All(t.Context(), nil)
		require.NoError(t, err, c.usdt)
		assert.Equal(t, "", failures(results[0]), c.usdt)
	}
}

func TestUSDTMistakes(t *testing.T) {
	for _, c := range []struct{ usdt, args, want string }{
		{"4@%xmm0", "{}", "no register xmm0"},
		{"-4@%esi", "{arg1: 1, arg2: 2}", "argument arg2: the probe has 1 arguments"},
		{"4@$5 8@%rdi", "{arg1: 6}", "argument 1 cannot be 6: it is a constant in the note, and is 5"},
		{"4@%esi 8@%rsi", "{arg1: 1, arg2: 2}", "argument 1 cannot be 1: it shares its place"},
		{"4@(%rdi) 8@%rdi", "{arg1: 1, arg2: 64}", "argument 1 is in memory at 0x40, and nothing is mapped there"},
		{"4@(%rbp) 4@9999999(%rbp)", "{}", "are 9999999 bytes apart"},
		{"4@(%rdi,%rsi,4) 8@%rdi", "{}", "idx_reg_off"},
		{"@missing", "{}", "no such file"},
	} {
		_, err := openScenario(t, usdtObject, usdtRun(c.usdt, c.args, "{as: query}"))
		assert.ErrorContains(t, err, c.want, c.usdt)
	}
	_, err := openScenario(t, "../../examples/session/session.bpf.o", "runs: [{prog: on_read, usdt: '8@%rdi'}]")
	assert.ErrorContains(t, err, "is not attached to a USDT probe")
}

// TestUSDTNote: the arguments are where the note of a binary says, the second of two places if the
// run asks for it.
func TestUSDTNote(t *testing.T) {
	path := filepath.Join(t.TempDir(), "mysqld")
	require.NoError(t, os.WriteFile(path, binaryWithProbe("mysql", "query__done", "-4@%r12d 8@%r13", "-4@%r13d 8@%r12"), 0o600))
	for _, place := range []string{"", "#2"} {
		r, err := openScenario(t, usdtObject, usdtRun("@"+path+place, "{arg1: -9, arg2: !user note}", "{as: query, count: 2, status: -9, text: note}"))
		require.NoError(t, err)
		results, err := r.All(t.Context(), nil)
		require.NoError(t, err)
		assert.Equal(t, "", failures(results[0]))
		c, err := r.m.Inspect("on_query", r.input[r.file.Runs[0]].in)
		require.NoError(t, err)
		_, v, ok := c.Register(map[string]string{"": "r12", "#2": "r13"}[place])
		assert.True(t, ok)
		assert.Equal(t, uint64(uint32(0xfffffff7)), v)
		c.Leave()
	}
	_, err := openScenario(t, usdtObject, usdtRun("@"+path+"#3", "{}", "{as: query}"))
	assert.ErrorContains(t, err, "has 2 places")
}

// binaryWithProbe is an x86-64 ELF file with notes of one probe at several places.
func binaryWithProbe(provider, name string, args ...string) []byte {
	var notes, b bytes.Buffer
	for i, a := range args {
		desc := binary.LittleEndian.AppendUint64(nil, uint64(0x1000*(i+1)))
		desc = append(desc, make([]byte, 16)...)
		desc = append(desc, provider+"\x00"+name+"\x00"+a+"\x00"...)
		for _, v := range []uint32{8, uint32(len(desc)), 3} {
			_ = binary.Write(&notes, binary.LittleEndian, v)
		}
		notes.WriteString("stapsdt\x00")
		notes.Write(append(desc, make([]byte, -len(desc)&3)...))
	}
	names := "\x00.note.stapsdt\x00.shstrtab\x00"
	h := elf.Header64{Type: uint16(elf.ET_EXEC), Machine: uint16(elf.EM_X86_64), Version: 1, Ehsize: 64, Shentsize: 64, Shnum: 3, Shstrndx: 2}
	copy(h.Ident[:], []byte{0x7f, 'E', 'L', 'F', byte(elf.ELFCLASS64), 1, 1})
	h.Shoff = uint64(64 + notes.Len() + len(names))
	_ = binary.Write(&b, binary.LittleEndian, h)
	b.Write(notes.Bytes())
	b.WriteString(names)
	for _, s := range []elf.Section64{{}, {Name: 1, Type: uint32(elf.SHT_NOTE), Off: 64, Size: uint64(notes.Len()), Addralign: 4},
		{Name: 15, Type: uint32(elf.SHT_STRTAB), Off: uint64(64 + notes.Len()), Size: uint64(len(names)), Addralign: 1}} {
		_ = binary.Write(&b, binary.LittleEndian, s)
	}
	return b.Bytes()
}
