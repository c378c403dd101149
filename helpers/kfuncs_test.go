package helpers

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/internal/maps"
	"github.com/bpfrun/bpfrun/internal/uapi"
)

const sys = uapi.ProgTypeSyscall

var noCtx = make([]byte, 8)

// k is a kfunc call whose result is kept: of functions that return bool only that bit, of those
// that return nothing nothing.
func k(fn string, args ...any) string {
	text := do("kfunc "+fn, args...)
	switch {
	case strings.Contains(fn, "_is_") || strings.Contains(fn, "_test_") || boolean[fn]:
		return trimKeep(text) + "r0 &= 1\nkeep r0\n"
	case void[fn]:
		return trimKeep(text)
	}
	return text
}

var (
	boolean = map[string]bool{"bpf_cpumask_empty": true, "bpf_cpumask_full": true, "bpf_cpumask_and": true, "bpf_cpumask_equal": true, "bpf_cpumask_intersects": true, "bpf_cpumask_subset": true}
	void    = map[string]bool{"bpf_cpumask_set_cpu": true, "bpf_cpumask_clear_cpu": true}
)

func trimKeep(s string) string { return s[:len(s)-len("keep r0\n")] }

// str places strings 32 bytes apart.
func str(texts ...string) string {
	out := ""
	for i, s := range texts {
		for len(out) < 32*i {
			out += "\x00"
		}
		out += s
	}
	return out
}

const s0, s1, s2, s3, s4 = at(1024), at(1056), at(1088), at(1120), at(1152)

var bad = []any{0, uint64(0xffffc8ffffffff00), uint64(0x8000000000000000)}

var stringCases = func() []recorded {
	init := str("hello world", "world", "HELLO", "", "lo")
	var errs []string
	for _, b := range bad {
		errs = append(errs, k("bpf_strcmp", b, s0), k("bpf_strcmp", s0, b), k("bpf_strchr", b, 'a'), k("bpf_strchrnul", b, 'a'), k("bpf_strnchr", b, 5, 'a'), k("bpf_strrchr", b, 'a'), k("bpf_strlen", b), k("bpf_strnlen", b, 5), k("bpf_strspn", b, s0),
			k("bpf_strcspn", s0, b), k("bpf_strstr", s0, b), k("bpf_strnstr", b, s0, 5), k("bpf_strcasecmp", b, s0))
	}
	return []recorded{
		{name: "string errors", typ: tc, init: init, steps: errs},
		{name: "compare", typ: tc, init: init, steps: []string{k("bpf_strcmp", s0, s0), k("bpf_strcmp", s0, s1), k("bpf_strcmp", s1, s0), k("bpf_strcmp", s3, s0), k("bpf_strcmp", s0, s3), k("bpf_strcmp", s3, s3), k("bpf_strcasecmp", s0, s2), k("bpf_strcasecmp", s2, s2), k("bpf_strcasecmp", s4, s2)}},
		{name: "characters", typ: tc, init: init, steps: []string{k("bpf_strchr", s0, 'l'), k("bpf_strchr", s0, 'z'), k("bpf_strchr", s0, 0), k("bpf_strchrnul", s0, 'l'), k("bpf_strchrnul", s0, 'z'), k("bpf_strchrnul", s0, 0), k("bpf_strrchr", s0, 'l'), k("bpf_strrchr", s0, 'z'), k("bpf_strrchr", s0, 0),
			k("bpf_strnchr", s0, 3, 'l'), k("bpf_strnchr", s0, 2, 'l'), k("bpf_strnchr", s0, 0, 'h'), k("bpf_strnchr", s0, 100, 0), k("bpf_strnchr", s0, 11, 0), k("bpf_strnchr", s0, 12, 0), k("bpf_strnchr", s0, 100, 'z')}},
		{name: "lengths", typ: tc, init: init, steps: []string{k("bpf_strlen", s0), k("bpf_strlen", s3), k("bpf_strnlen", s0, 5), k("bpf_strnlen", s0, 11), k("bpf_strnlen", s0, 100), k("bpf_strnlen", s0, 0), k("bpf_strspn", s0, s0), k("bpf_strspn", s0, s4), k("bpf_strspn", s4, s0), k("bpf_strspn", s0, s3), k("bpf_strcspn", s0, s1), k("bpf_strcspn", s0, s3), k("bpf_strcspn", s3, s0), k("bpf_strcspn", s0, s4)}},
		{name: "search", typ: tc, init: init, steps: []string{k("bpf_strstr", s0, s1), k("bpf_strstr", s0, s4), k("bpf_strstr", s0, s3), k("bpf_strstr", s0, s2), k("bpf_strstr", s3, s0), k("bpf_strstr", s3, s3), k("bpf_strstr", s1, s0), k("bpf_strnstr", s0, s4, 5), k("bpf_strnstr", s0, s4, 4), k("bpf_strnstr", s0, s4, 0), k("bpf_strnstr", s0, s3, 0), k("bpf_strnstr", s0, s1, 11), k("bpf_strnstr", s0, s1, 10), k("bpf_strnstr", s0, s1, 100), k("bpf_strnstr", s0, s2, 100)}},
		{name: "long strings", typ: sys, ctx: noCtx, steps: []string{k("bpf_strlen", s0)}, init: str("\x01")},
	}
}()

// dyn is a call with the dynptr in the stack slot -16.
const dyn = onFP(-16)

var dynptrCases = []recorded{
	{name: "local", typ: tc, init: str("0123456789abcdef", "XYZ"), steps: []string{
		do("bpf_dynptr_from_mem", s0, 16, 0, dyn), do("bpf_dynptr_read", at(1200), 4, dyn, 2, 0), do("bpf_dynptr_read", at(1204), 16, dyn, 0, 0), do("bpf_dynptr_read", at(1204), 16, dyn, 1, 0), do("bpf_dynptr_read", at(1204), 4, dyn, 2, 1), do("bpf_dynptr_write", dyn, 3, s1, 3, 0), do("bpf_dynptr_write", dyn, 14, s1, 3, 0), do("bpf_dynptr_write", dyn, 3, s1, 3, 1),
		do("bpf_dynptr_data", dyn, 0, 16) + present, do("bpf_dynptr_data", dyn, 1, 16) + present, k("bpf_dynptr_size", dyn), k("bpf_dynptr_adjust", dyn, 4, 12), k("bpf_dynptr_size", dyn), do("bpf_dynptr_read", at(1220), 8, dyn, 0, 0), do("bpf_dynptr_read", at(1228), 8, dyn, 1, 0), k("bpf_dynptr_adjust", dyn, 5, 4), k("bpf_dynptr_adjust", dyn, 0, 9), k("bpf_dynptr_adjust", dyn, 9, 9), k("bpf_dynptr_is_null", dyn), k("bpf_dynptr_is_rdonly", dyn),
		k("bpf_dynptr_clone", dyn, onFP(-32)), k("bpf_dynptr_size", onFP(-32)), do("bpf_dynptr_write", onFP(-32), 0, s1, 2, 0), k("bpf_dynptr_copy", dyn, 4, onFP(-32), 0, 4), k("bpf_dynptr_copy", dyn, 5, onFP(-32), 0, 4), k("bpf_dynptr_memset", dyn, 6, 2, 0x41), k("bpf_dynptr_memset", dyn, 7, 2, 0x41),
	}, ignore: []int{8, 10}},
	{name: "refused", typ: tc, steps: []string{do("bpf_dynptr_from_mem", s0, 16, 1, dyn), k("bpf_dynptr_is_null", dyn), k("bpf_dynptr_size", dyn), do("bpf_dynptr_read", at(1200), 4, dyn, 0, 0), do("bpf_dynptr_write", dyn, 0, s0, 4, 0), do("bpf_dynptr_data", dyn, 0, 4), k("bpf_dynptr_adjust", dyn, 0, 0), k("bpf_dynptr_clone", dyn, onFP(-32)), k("bpf_dynptr_is_rdonly", dyn), k("bpf_dynptr_memset", dyn, 0, 1, 1), k("bpf_dynptr_memset", dyn, 0, 0, 1), k("bpf_dynptr_copy", dyn, 0, dyn, 0, 1), k("bpf_dynptr_copy", dyn, 0, dyn, 0, 0)}},
	{name: "ring buffer", typ: tc, maps: []maps.Spec{{Type: uapi.MapTypeRingbuf, MaxEntries: 4096}}, init: str("payload!"), steps: []string{
		do("bpf_ringbuf_reserve_dynptr", inMap(2), 16, 0, dyn), do("bpf_dynptr_write", dyn, 8, s0, 8, 0), do("bpf_dynptr_read", at(1200), 16, dyn, 0, 0), k("bpf_dynptr_size", dyn), trimKeep(do("bpf_ringbuf_submit_dynptr", dyn, 0)), do("bpf_ringbuf_query", inMap(2), 0),
		do("bpf_ringbuf_reserve_dynptr", inMap(2), 5000, 0, dyn), k("bpf_dynptr_is_null", dyn), trimKeep(do("bpf_ringbuf_discard_dynptr", dyn, 0)), do("bpf_ringbuf_reserve_dynptr", inMap(2), 8, 1, dyn), trimKeep(do("bpf_ringbuf_submit_dynptr", dyn, 0)), do("bpf_ringbuf_reserve_dynptr", inMap(2), 1<<24, 0, dyn), trimKeep(do("bpf_ringbuf_submit_dynptr", dyn, 0)),
		do("bpf_ringbuf_reserve_dynptr", inMap(2), 16, 0, dyn), trimKeep(do("bpf_ringbuf_discard_dynptr", dyn, 0)), do("bpf_ringbuf_query", inMap(2), 0), do("bpf_ringbuf_query", inMap(2), 3),
	}, ignore: []int{}},
	{name: "packet", typ: tc, init: str("ABCDEFGH"), steps: []string{
		k("bpf_dynptr_from_skb", ctx, 0, dyn), k("bpf_dynptr_size", dyn), k("bpf_dynptr_is_rdonly", dyn), do("bpf_dynptr_read", at(1200), 20, dyn, 14, 0), do("bpf_dynptr_read", at(1200), 20, dyn, 45, 0), do("bpf_dynptr_write", dyn, 0, s0, 6, 0), do("bpf_dynptr_write", dyn, 60, s0, 4, 0), do("bpf_dynptr_write", dyn, 61, s0, 4, 0), do("bpf_dynptr_write", dyn, 0, s0, 4, 4), do("bpf_dynptr_data", dyn, 0, 4),
		"r1 = r10\nr1 += -16\nr2 = 14\nr3 = r7\nr3 += 1300\nr4 = 20\ncall kfunc bpf_dynptr_slice\nr8 = 0\nif r0 == 0 goto +1\nr8 = *(u32 *)(r0 + 12)\nkeep r8",
		"r1 = r10\nr1 += -16\nr2 = 50\nr3 = r7\nr3 += 1300\nr4 = 20\ncall kfunc bpf_dynptr_slice\nr8 = 7\nif r0 == 0 goto +1\nr8 = *(u32 *)(r0 + 12)\nkeep r8",
		"r1 = r10\nr1 += -16\nr2 = 14\nr3 = r7\nr3 += 1300\nr4 = 20\ncall kfunc bpf_dynptr_slice_rdwr\nr8 = 0\nif r0 == 0 goto +2\nr8 = 0x77\n*(u8 *)(r0 + 8) = r8\nkeep r8",
		k("bpf_dynptr_adjust", dyn, 14, 34), do("bpf_dynptr_read", at(1240), 20, dyn, 0, 0), do("bpf_dynptr_write", dyn, 1, s0, 1, 0), k("bpf_dynptr_from_skb", ctx, 1, onFP(-32)),
	}},
	{name: "packet read-only", typ: uapi.ProgTypeCgroupSkb, init: str("ABCDEFGH"), steps: []string{
		k("bpf_dynptr_from_skb", ctx, 0, dyn), k("bpf_dynptr_size", dyn), k("bpf_dynptr_is_rdonly", dyn), do("bpf_dynptr_read", at(1200), 20, dyn, 0, 0), do("bpf_dynptr_write", dyn, 0, s0, 6, 0),
	}},
	{name: "frame", typ: xdp, init: str("ABCDEFGH"), steps: []string{
		k("bpf_dynptr_from_xdp", ctx, 0, dyn), k("bpf_dynptr_size", dyn), do("bpf_dynptr_read", at(1200), 20, dyn, 14, 0), do("bpf_dynptr_write", dyn, 0, s0, 6, 0), do("bpf_dynptr_write", dyn, 0, s0, 6, 1), do("bpf_dynptr_write", dyn, 62, s0, 6, 0), k("bpf_dynptr_memset", dyn, 20, 4, 9), k("bpf_dynptr_from_xdp", ctx, 1, onFP(-32)),
	}},
}

// iterate counts through a number iterator of which the values are added up in r8.
func iterate(start, end int) string {
	return fmt.Sprintf("r1 = r10\nr1 += -8\nr2 = %d\nr3 = %d\ncall kfunc bpf_iter_num_new\nkeep r0\nr8 = 0\nr1 = r10\nr1 += -8\ncall kfunc bpf_iter_num_next\nif r0 == 0 goto +4\nr0 = *(u32 *)(r0 + 0)\nr8 += r0\nr8 &= 0xfff\ngoto -8\nkeep r8\nr1 = r10\nr1 += -8\ncall kfunc bpf_iter_num_destroy", start, end)
}

var iterCases = []recorded{
	{name: "numbers", typ: tc, steps: []string{iterate(0, 10), iterate(5, 5), iterate(6, 5), iterate(-3, 3), iterate(0, 8<<20+1), iterate(-0x80000000, -0x7ffffffd)}},
	{name: "sections", typ: sys, ctx: noCtx, steps: []string{"call kfunc bpf_rcu_read_lock\ncall kfunc bpf_rcu_read_unlock\ncall kfunc bpf_preempt_disable\ncall kfunc bpf_preempt_enable"}},
	{name: "cpumask", typ: sys, ctx: noCtx, steps: []string{
		"call kfunc bpf_cpumask_create\nr0 = r0\nif r0 != 0 goto +2\nr0 = 0\nexit\nr9 = r0",
		k("bpf_cpumask_empty", raw("r9")), k("bpf_cpumask_set_cpu", 1, raw("r9")), k("bpf_cpumask_first", raw("r9")), k("bpf_cpumask_first_zero", raw("r9")), k("bpf_cpumask_test_cpu", 1, raw("r9")), k("bpf_cpumask_test_cpu", 0, raw("r9")), k("bpf_cpumask_test_and_set_cpu", 0, raw("r9")), k("bpf_cpumask_test_and_set_cpu", 0, raw("r9")),
		k("bpf_cpumask_test_and_clear_cpu", 1, raw("r9")), k("bpf_cpumask_test_and_clear_cpu", 1, raw("r9")), k("bpf_cpumask_weight", raw("r9")), k("bpf_cpumask_empty", raw("r9")), k("bpf_cpumask_equal", raw("r9"), raw("r9")), k("bpf_cpumask_intersects", raw("r9"), raw("r9")), k("bpf_cpumask_subset", raw("r9"), raw("r9")),
		k("bpf_cpumask_and", raw("r9"), raw("r9"), raw("r9")), k("bpf_cpumask_any_distribute", raw("r9")), k("bpf_cpumask_test_cpu", 100000, raw("r9")), "r1 = r9\ncall kfunc bpf_cpumask_clear", k("bpf_cpumask_weight", raw("r9")), k("bpf_cpumask_and", raw("r9"), raw("r9"), raw("r9")),
		"r1 = r9\ncall kfunc bpf_cpumask_release\nr0 = 0\nexit",
	}, ignore: []int{1}},
	{name: "tasks", typ: sys, ctx: noCtx, steps: []string{
		"r1 = 1\ncall kfunc bpf_task_from_pid\nr8 = 0\nif r0 == 0 goto +3\nr1 = r0\ncall kfunc bpf_task_release\nr8 = 1\nkeep r8", "r1 = -1\ncall kfunc bpf_task_from_pid\nr8 = 0\nif r0 == 0 goto +3\nr1 = r0\ncall kfunc bpf_task_release\nr8 = 1\nkeep r8",
		"r1 = 1 ll\ncall kfunc bpf_cgroup_from_id\nr8 = 0\nif r0 == 0 goto +3\nr1 = r0\ncall kfunc bpf_cgroup_release\nr8 = 1\nkeep r8",
	}, ignore: []int{0, 2}},
	{name: "user strings", typ: sys, ctx: noCtx, steps: []string{k("bpf_copy_from_user_str", at(1024), 8, 0, 0), k("bpf_copy_from_user_str", at(1024), 8, 0, 2), k("bpf_copy_from_user_str", at(1024), 8, 0, 1)}, init: str("preset")},
	{name: "frame metadata", typ: xdp, steps: []string{}},
}

func TestStringKfuncs(t *testing.T) { replay(t, "strings", stringCases) }

func TestDynptrs(t *testing.T) { replay(t, "dynptrs", dynptrCases) }

func TestIterKfuncs(t *testing.T) { replay(t, "kfuncs", iterCases) }

// TestIterBits is not recorded from a kernel.
func TestIterBits(t *testing.T) {
	r := newRig(t, newest)
	words := r.alloc([]byte{0x81, 0, 0, 0, 0, 0, 1, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0x80})
	for _, c := range []struct {
		n    uint64
		want []uint32
	}{{1, []uint32{0, 7, 48, 63}}, {2, []uint32{0, 7, 48, 63}}, {3, []uint32{0, 7, 48, 63, 129, 191}}} {
		it := r.space(16)
		require.Zero(t, r.kok("bpf_iter_bits_new", it, words, c.n))
		var got []uint32
		for p := r.kok("bpf_iter_bits_next", it); p != 0; p = r.kok("bpf_iter_bits_next", it) {
			got = append(got, r.u32(p))
		}
		assert.Equal(t, c.want, got)
		assert.Zero(t, r.kok("bpf_iter_bits_next", it), "stays at the end")
		r.kok("bpf_iter_bits_destroy", it)
	}
	for _, c := range []struct {
		addr, n uint64
		want    uapi.Errno
	}{{0, 1, uapi.EINVAL}, {words, 0, uapi.EINVAL}, {words, 512, uapi.E2BIG}, {8, 1, uapi.EFAULT}} {
		it := r.space(16)
		assert.Equal(t, uint64(uint32(neg(c.want))), r.kok("bpf_iter_bits_new", it, c.addr, c.n))
		assert.Zero(t, r.kok("bpf_iter_bits_next", it))
		r.kok("bpf_iter_bits_destroy", it)
	}
	it := r.space(16)
	assert.Zero(t, r.kok("bpf_iter_bits_new", it, r.space(8*511), 511), "the most words")
	r.kok("bpf_iter_bits_destroy", it)
}
