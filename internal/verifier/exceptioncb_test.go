package verifier_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/internal/uapi/since"
	"github.com/bpfrun/bpfrun/internal/verifier"
)

// TestExceptionCallbacksAreNamedByTags: a kernel finds the callback by the declaration tags of the
// first function, whatever the loader says.
func TestExceptionCallbacksAreNamedByTags(t *testing.T) {
	for _, c := range []struct {
		name    string
		release uapi.Release
		tags    []string
		linkage uint32
		listed  bool // in func_info
		want    uapi.Errno
		message string
		at      int
	}{
		{"one", since.R(6, 12), []string{"exception_callback:cb"}, btf.LinkageGlobal, true, 0, "", 2},
		{"none", since.R(6, 12), nil, btf.LinkageGlobal, false, 0, "", 0},
		{"another tag", since.R(6, 12), []string{"callback:cb"}, btf.LinkageGlobal, false, 0, "", 0},
		{"before exceptions", since.R(6, 6), []string{"exception_callback:cb"}, btf.LinkageGlobal, false, 0, "", 0},
		{"the first release with them", since.R(6, 7), []string{"exception_callback:cb"}, btf.LinkageGlobal, true, 0, "", 2},
		{"two", since.R(6, 12), []string{"exception_callback:cb", "exception_callback:cb"}, btf.LinkageGlobal, true, uapi.EEXIST, "multiple exception callback tags for main subprog", 0},
		{"one, and another tag", since.R(6, 12), []string{"exception_callback:cb", "callback:cb"}, btf.LinkageGlobal, true, 0, "", 2},
		{"no such function", since.R(6, 12), []string{"exception_callback:db"}, btf.LinkageGlobal, true, uapi.ENOENT, "exception callback 'db' could not be found in BTF", 0},
		{"a static function", since.R(6, 12), []string{"exception_callback:cb"}, btf.LinkageStatic, true, uapi.EINVAL, "exception callback 'cb' must have global linkage", 0},
		{"not in func_info", since.R(6, 12), []string{"exception_callback:cb"}, btf.LinkageGlobal, false, uapi.EINVAL, "exception callback type id not found in func_info", 0},
		{"the first function", since.R(6, 12), []string{"exception_callback:main"}, btf.LinkageGlobal, false, uapi.EINVAL, "invalid exception callback insn_off in func_info: 0", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := btf.NewBuilder(nil)
			word := b.Int("int", 4, 1)
			long := b.Int("unsigned long", 8, 0)
			mainProto := b.Add(btf.Type{Kind: btf.KindFuncProto, Ref: word})
			cbProto := b.Add(btf.Type{Kind: btf.KindFuncProto, Ref: word, Params: []btf.Param{{Name: "cookie", Type: long}}})
			main := b.Add(btf.Type{Kind: btf.KindFunc, Name: "main", Ref: mainProto, Linkage: btf.LinkageGlobal})
			cb := b.Add(btf.Type{Kind: btf.KindFunc, Name: "cb", Ref: cbProto, Linkage: c.linkage})
			for _, tag := range c.tags {
				b.Add(btf.Type{Kind: btf.KindDeclTag, Name: tag, Ref: main, ComponentIdx: -1})
			}
			spec, err := b.Spec(binary.LittleEndian)
			require.NoError(t, err)
			p := &verifier.Program{Type: uapi.ProgTypeSocketFilter, BTF: spec, Funcs: []verifier.FuncInfo{{Type: main, Name: "main"}}}
			text := "r0 = 0\nexit"
			if c.listed {
				p.Funcs = append(p.Funcs, verifier.FuncInfo{Insn: 2, Type: cb, Name: "cb"})
				text += "\nr0 = 1\nexit"
			}
			v := verdict(t, &verifier.Kernel{Release: c.release}, p, text)
			assert.Equal(t, c.want, v.Errno, v.Message)
			assert.Equal(t, c.message, v.Message)
			assert.Equal(t, c.at, v.ExceptionCallback)
		})
	}
}

// TestLogsMarkUse: up to 6.17 the log tells which registers and slots were written since the last
// state that is kept, and what later states read.
func TestLogsMarkUse(t *testing.T) {
	for _, c := range []struct {
		release uapi.Release
		lines   []string
	}{
		{since.R(6, 17), []string{"0: R1=ctx() R10=fp0", " R6_w=7", " R6_w=7 R10=fp0 fp-8_w=7", "R2_w=7", "R0_w=scalar()", "; R0=1\n7:"}},
		{since.R(6, 18), []string{"0: R1=ctx() R10=fp0", " R6=7", " R6=7 R10=fp0 fp-8=7", "R2=7", "R0=scalar()", "; R0=1\n7:"}},
	} {
		insns, err := decode.Assemble("r6 = 7\n*(u64 *)(r10 - 8) = r6\nr2 = *(u64 *)(r10 - 8)\ncall 5\nr0 = r0\nif r0 == 0 goto +1\nr0 = 1\nexit")
		require.NoError(t, err)
		var log bytes.Buffer
		v, err := verifier.Verify(context.Background(), &verifier.Kernel{Release: c.release}, &verifier.Program{Type: uapi.ProgTypeSocketFilter, License: "GPL", Insns: insns}, verifier.Options{Log: &log, LogLevel: 2})
		require.NoError(t, err)
		assert.Equal(t, verifier.Accepted, v.Outcome, v.Message)
		for _, line := range c.lines {
			assert.Contains(t, log.String(), line, "%v", c.release)
		}
		if c.release == since.R(6, 18) {
			assert.NotContains(t, log.String(), "_w=")
		}
	}
}
