package loader

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf/btffile"
	"github.com/bpfrun/bpfrun/decode"
)

// TestHintsForNewInstructions: only instructions that -mcpu chooses are avoided with it.
func TestHintsForNewInstructions(t *testing.T) {
	for _, tt := range []struct {
		name string
		in   decode.Insn
		want string
	}{
		{"sign extension", decode.Insn{Code: 0xbf, Off: 8}, "-mcpu=v3"},
		{"32-bit jump", decode.Insn{Code: 0x16}, "-mcpu=v2"},
		{"fetch", decode.Insn{Code: 0xdb, Imm: 1}, "-mcpu=v2"},
		{"address of a callback", decode.Insn{Code: 0x18, Src: 4}, "bpf_loop"},
		{"may_goto", decode.Insn{Code: 0xe5}, "constant bound"},
		{"arena", decode.Insn{Code: 0xbf, Off: 1}, "arenas"},
		{"kfunc", decode.Insn{Code: 0x85, Src: 2}, "kernel functions"},
	} {
		text := withoutInsn(tt.in)
		assert.Contains(t, text, tt.want, tt.name)
		assert.Equal(t, tt.want[0] == '-', decodeMCPU(text), tt.name)
	}
}

func decodeMCPU(text string) bool { return len(text) > 7 && text[:7] == "compile" }

// TestCallbacksAreNotAvoidedWithMCPU: an old kernel refuses a program with callbacks, and the hint
// says what the reason is.
func TestCallbacksAreNotAvoidedWithMCPU(t *testing.T) {
	o, err := Open("../testdata/objects/clang-14/calledback.o")
	require.NoError(t, err)
	spec, err := btffile.Load("../testdata/btf/linux-5.10.262-amd64-cloud.btf.xz", nil)
	require.NoError(t, err)
	l, err := o.Load(NewTarget("old", spec), LoadOptions{})
	require.NoError(t, err)
	for _, p := range l.Programs {
		err := p.Refusal(Verified{})
		require.Error(t, err, p.Name)
		assert.NotContains(t, err.Error(), "mcpu", p.Name)
	}
}

// TestRetargetIsOfferedForTheSameHookOnly: other hooks are named, without advice to attach to them.
func TestRetargetIsOfferedForTheSameHookOnly(t *testing.T) {
	for _, tt := range []struct {
		name, near string
		same       bool
	}{
		{"do_sys_opnat2", "do_sys_openat2", true},
		{"vfs_raed", "vfs_read", true},
		{"blk_account_io_start", "__blk_account_io_start", true},
		{"kmem_cache_alloc", "kmem_cache_alloc_noprof", true},
		{"syscalls/sys_enter_opn", "sys_enter_open", true},
		{"blk_account_io_start", "blk_account_io_done", false},
		{"sched_process_fork", "sched_process_exit", false},
		{"account_page_dirtied", "account_page_range", false},
	} {
		assert.Equal(t, tt.same, sameHook(tt.name, tt.near), tt.name)
	}
}

// TestHintsForUndefinedSymbols: --extern sets constants; a function needs the object that defines
// it.
func TestHintsForUndefinedSymbols(t *testing.T) {
	o, err := Open("../testdata/objects/clang-14/undefined.o")
	require.NoError(t, err)
	hints := map[string]string{}
	for _, e := range o.Externs {
		hints[e.Name] = o.externHint(e)
	}
	require.Contains(t, hints, "missing_function")
	assert.Contains(t, hints["missing_function"], "bpftool gen object")
	assert.NotContains(t, hints["missing_function"], "--extern")
	assert.Contains(t, hints["missing_constant"], "--extern missing_constant=VALUE")
}
