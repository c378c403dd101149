package verifier_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/internal/assembly"
	"github.com/bpfrun/bpfrun/internal/testing/testbtf"
	"github.com/bpfrun/bpfrun/internal/verifier"
	"github.com/bpfrun/bpfrun/loader"
)

// Kernels before 6.5 have the functions of the kernel's own tests in net/bpf/test_run.c, some of
// them with flags that no other function has.
func TestKernelTestKfuncs(t *testing.T) {
	spec, err := testbtf.Load("../../testdata/btf/linux-6.1.176-arm64-cloud.btf.xz")
	require.NoError(t, err)
	const (
		acquire = "*(u64 *)(r10 - 8) = 0\nr1 = r10\nr1 += -8\ncall bpf_kfunc_call_test_acquire\nif r0 == 0 goto out\nr6 = r0\nr1 = r0\n"
		release = "r1 = r6\ncall bpf_kfunc_call_test_release\nout: r0 = 0\nexit"
		lookup  = "*(u32 *)(r10 - 4) = 0\nr2 = r10\nr2 += -4\nr1 = map_fd(m)\ncall bpf_map_lookup_elem\nif r0 == 0 goto out\nr1 = r0\n"
		getKptr = "r2 = 0\nr3 = 0\ncall bpf_kfunc_call_test_kptr_get\nout: r0 = 0\nexit"
	)
	for _, c := range []struct{ name, text, message string }{
		{"an object is acquired and released", acquire + release, ""},
		{"an object is not released", acquire + "out: r0 = 0\nexit", "Unreleased reference id=2 alloc_insn=3"},
		{"memory of an argument's size", acquire + "r2 = 8\ncall bpf_kfunc_call_test_get_rdwr_mem\nif r0 == 0 goto end\n*(u64 *)(r0 + 0) = 1\nend: " + release, ""},
		{"memory is smaller than the access", acquire + "r2 = 4\ncall bpf_kfunc_call_test_get_rdwr_mem\nif r0 == 0 goto end\n*(u64 *)(r0 + 0) = 1\nend: " + release,
			"R0 min value is outside of the allowed memory range"},
		{"a reference to memory", acquire + "r2 = 8\ncall bpf_kfunc_call_test_acq_rdonly_mem\n" + release, "acquire kernel function does not return PTR_TO_BTF_ID"},
		{"a number as the context", "r1 = 1\ncall bpf_kfunc_call_test_pass_ctx\nr0 = 0\nexit", "arg#0 expected pointer to ctx, but got PTR"},
		{"the stack as a kptr", "r1 = r10\nr1 += -8\n" + getKptr, "arg#0 expected pointer to map value"},
		{"a map's value without kptrs", lookup + getKptr, "arg#0 no referenced kptr at map value offset=0"},
		{"a kptr at a variable offset", lookup + "r3 = *(u32 *)(r1 + 0)\nr3 &= 8\nr1 += r3\n" + getKptr, "arg#0 must have constant offset"},
	} {
		t.Run(c.name, func(t *testing.T) {
			raw, err := assembly.Object("x.s", ".map m array 4 16 1\n.prog p tc\n"+c.text, spec)
			require.NoError(t, err)
			o, err := loader.OpenBytes("x.o", raw)
			require.NoError(t, err)
			l, err := o.Load(loader.NewTarget("6.1.0", spec), loader.LoadOptions{LinkOnly: true, Only: []string{"p"}})
			require.NoError(t, err)
			lp, ok := l.Program("p")
			require.True(t, ok)
			p, err := verifier.FromLinked(l, lp)
			require.NoError(t, err)
			v, err := verifier.Verify(context.Background(), verifier.KernelOf(l.Target), p, verifier.Options{})
			require.NoError(t, err)
			assert.Empty(t, v.Missing)
			assert.Equal(t, c.message, v.Message)
			assert.Equal(t, c.message == "", v.Outcome == verifier.Accepted)
		})
	}
}
