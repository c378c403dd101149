package csource

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestSourceIsDeterminedBySeedAndNumber(t *testing.T) {
	assert.Equal(t, Source(1, 5, 10), Source(1, 5, 10))
	assert.NotEqual(t, Source(1, 5, 10), Source(1, 6, 10))
	assert.NotEqual(t, Source(1, 5, 10), Source(2, 5, 10))
}

// Every kind of statement is in the sources, and braces are balanced.
func TestSourcesHaveEveryKind(t *testing.T) {
	var all strings.Builder
	for n := range uint64(40) {
		s := Source(3, n, 25)
		assert.Equal(t, strings.Count(s, "{"), strings.Count(s, "}"), n)
		assert.Equal(t, 25, strings.Count(s, "SEC(\"?"))
		all.WriteString(s)
	}
	for _, want := range []string{
		"bpf_loop(", "bpf_for_each_map_elem(", "may_break", "bpf_iter_num_new", "bpf_iter_task_new", "bpf_iter_bits_new", "bpf_timer_init", "bpf_spin_lock", "bpf_kptr_xchg",
		"bpf_list_push_front_impl", "bpf_rbtree_add_impl", "bpf_arena_alloc_pages", "bpf_throw", "bpf_dynptr_slice", "bpf_ringbuf_reserve_dynptr", "bpf_tail_call", "data_end",
		`__arg("nonnull")`, `__arg("ctx")`, `__arg("trusted")`, `__arg("nullable")`, "_Pragma", "bpf_rcu_read_lock", "bpf_preempt_disable", "__sync_fetch_and_add", "bpf_xdp_adjust_head",
	} {
		assert.Contains(t, all.String(), want)
	}
	for i := range flavours {
		assert.Contains(t, all.String(), `SEC("?`+flavours[i].section+`")`)
	}
}
