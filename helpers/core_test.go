package helpers

import (
	"fmt"
	"testing"

	"github.com/bpfrun/bpfrun/internal/maps"
	"github.com/bpfrun/bpfrun/internal/uapi"
)

const rawTP = uapi.ProgTypeRawTracepoint

// hash is a small hash map of u32 to u64.
var hash = maps.Spec{Type: uapi.MapTypeHash, KeySize: 4, ValueSize: 8, MaxEntries: 2}

// present keeps whether r0 is NULL.
const present = "r8 = 0\nif r0 == 0 goto +1\nr8 = 1\nkeep r8"

// lookup keeps the value after the key at off, or -1.
func lookup(fn string, m, off int) string {
	return fmt.Sprintf("r1 = map_fd(%d)\nr2 = r7\nr2 += %d\ncall %s\nr8 = -1\nif r0 == 0 goto +1\nr8 = *(u64 *)(r0 + 0)\nkeep r8", m, off, fn)
}

// num is a call of a number parser with text at off.
func num(fn string, off, n int, flags any) string {
	return do(fn, at(off), n, flags, at(2040)) + "r8 = *(u64 *)(r7 + 2040)\nkeep r8"
}

func numbers(fn string, texts ...string) (steps []string, init string) {
	for i, s := range texts {
		for len(init) < 32*i {
			init += "\x00"
		}
		init += s
		for _, base := range []int{0, 8, 10, 16} {
			steps = append(steps, num(fn, dataAt+32*i, len(s), base))
		}
	}
	return steps, init
}

func numberCases() []recorded {
	var out []recorded
	for _, fn := range []string{"bpf_strtol", "bpf_strtoul"} {
		for i, texts := range [][]string{
			{"123", "-5", "+5", " 7", "\t\n8x", "0x1f", "0X1F", "0x", "0xg"}, {"017", "089", "08", "0", "00", "-0", "-", "- 5", ""},
			{"9223372036854775807", "9223372036854775808", "-9223372036854775808", "-9223372036854775809", "18446744073709551615", "18446744073709551616", "0xffffffffffffffff", "0x1ffffffffffffffff"},
			{"12\x0034", "ff", "FFz", "12 34", "1_000", "  -0x7f", "-0xz", "777", "9" + "\x80"},
		} {
			if texts[len(texts)-1] == "" {
				texts = texts[:len(texts)-1]
			}
			steps, init := numbers(fn, texts...)
			out = append(out, recorded{name: fmt.Sprintf("%s %d", fn, i), typ: uapi.ProgTypeSyscall, steps: steps, init: init, ctx: make([]byte, 8)})
		}
		out = append(out, recorded{name: fn + " flags and lengths", typ: uapi.ProgTypeSyscall, ctx: make([]byte, 8), init: "1234567890                                                               5", steps: []string{
			num(fn, 1024, 2, 0), num(fn, 1024, 10, 1), num(fn, 1024, 10, 7), num(fn, 1024, 10, 32), num(fn, 1024, 10, uint64(10|1<<32)), num(fn, 1034, 30, 0), num(fn, 1034, 64, 10), num(fn, 1033, 1, 0),
		}})
	}
	return out
}

var coreCases = append([]recorded{
	{name: "hash map", typ: tc, maps: []maps.Spec{hash}, init: "\x01\x00\x00\x00\x02\x00\x00\x00\x03\x00\x00\x00\x00\x00\x00\x00\x11\x22\x33\x44\x55\x66\x77\x00\x99\x00\x00\x00\x00\x00\x00\x00", steps: []string{
		lookup("bpf_map_lookup_elem", 2, 1024), do("bpf_map_update_elem", inMap(2), at(1024), at(1040), 0), lookup("bpf_map_lookup_elem", 2, 1024), do("bpf_map_update_elem", inMap(2), at(1024), at(1048), 1), do("bpf_map_update_elem", inMap(2), at(1028), at(1048), 2),
		do("bpf_map_update_elem", inMap(2), at(1028), at(1048), 1), do("bpf_map_update_elem", inMap(2), at(1032), at(1048), 0), do("bpf_map_update_elem", inMap(2), at(1024), at(1048), 2), lookup("bpf_map_lookup_elem", 2, 1024), do("bpf_map_update_elem", inMap(2), at(1024), at(1048), 4),
		do("bpf_map_update_elem", inMap(2), at(1024), at(1048), 3), do("bpf_map_update_elem", inMap(2), at(1024), at(1048), uint64(1)<<32), do("bpf_map_delete_elem", inMap(2), at(1024)), do("bpf_map_delete_elem", inMap(2), at(1024)), lookup("bpf_map_lookup_elem", 2, 1024), lookup("bpf_map_lookup_elem", 2, 1028),
	}},
	{name: "array map", typ: tc, maps: []maps.Spec{{Type: uapi.MapTypeArray, KeySize: 4, ValueSize: 8, MaxEntries: 3}}, init: "\x01\x00\x00\x00\x02\x00\x00\x00\x03\x00\x00\x00\x00\x00\x00\x00\x11\x22\x33\x44\x55\x66\x77\x00", steps: []string{
		lookup("bpf_map_lookup_elem", 2, 1024), do("bpf_map_update_elem", inMap(2), at(1024), at(1040), 0), do("bpf_map_update_elem", inMap(2), at(1024), at(1040), 1), do("bpf_map_update_elem", inMap(2), at(1032), at(1040), 0), do("bpf_map_update_elem", inMap(2), at(1032), at(1040), 1), do("bpf_map_update_elem", inMap(2), at(1024), at(1040), 5),
		lookup("bpf_map_lookup_elem", 2, 1024), lookup("bpf_map_lookup_elem", 2, 1032), do("bpf_map_delete_elem", inMap(2), at(1024)),
	}},
	{name: "percpu map", typ: tc, maps: []maps.Spec{{Type: uapi.MapTypePercpuArray, KeySize: 4, ValueSize: 8, MaxEntries: 3}, {Type: uapi.MapTypePercpuHash, KeySize: 4, ValueSize: 8, MaxEntries: 3}}, init: "\x01\x00\x00\x00\x09\x00\x00\x00\x03\x00\x00\x00\x00\x00\x00\x00\x11\x22\x33\x44\x55\x66\x77\x00", steps: []string{
		do("bpf_map_update_elem", inMap(2), at(1024), at(1040), 0), lookup("bpf_map_lookup_elem", 2, 1024), do("bpf_map_lookup_percpu_elem", inMap(2), at(1024), 99) + present, do("bpf_map_lookup_percpu_elem", inMap(2), at(1028), 0) + present,
		do("bpf_map_lookup_percpu_elem", inMap(3), at(1028), 0) + present, do("bpf_map_update_elem", inMap(3), at(1024), at(1040), 0), lookup("bpf_map_lookup_elem", 3, 1024), do("bpf_map_lookup_percpu_elem", inMap(3), at(1024), uint64(0xffffffff)) + present,
	}, ignore: []int{}},
	{name: "queue and stack", typ: tc, maps: []maps.Spec{{Type: uapi.MapTypeQueue, ValueSize: 8, MaxEntries: 2}, {Type: uapi.MapTypeStack, ValueSize: 8, MaxEntries: 2}}, init: "\x01\x00\x00\x00\x00\x00\x00\x00\x02\x00\x00\x00\x00\x00\x00\x00\x03\x00\x00\x00\x00\x00\x00\x00\xff\xff\xff\xff\xff\xff\xff\xff", steps: func() []string {
		var out []string
		for m := 2; m < 4; m++ {
			out = append(out, do("bpf_map_pop_elem", inMap(m), at(1048)), "r8 = *(u64 *)(r7 + 1048)\nkeep r8", do("bpf_map_push_elem", inMap(m), at(1024), 0), do("bpf_map_push_elem", inMap(m), at(1032), 0), do("bpf_map_push_elem", inMap(m), at(1040), 0), do("bpf_map_peek_elem", inMap(m), at(1048)),
				"r8 = *(u64 *)(r7 + 1048)\nkeep r8", do("bpf_map_push_elem", inMap(m), at(1040), 2), do("bpf_map_pop_elem", inMap(m), at(1048)), "r8 = *(u64 *)(r7 + 1048)\nkeep r8", do("bpf_map_push_elem", inMap(m), at(1040), 1), do("bpf_map_push_elem", inMap(m), at(1040), 4), do("bpf_map_pop_elem", inMap(m), at(1048)), "r8 = *(u64 *)(r7 + 1048)\nkeep r8",
				do("bpf_map_pop_elem", inMap(m), at(1048)), do("bpf_map_pop_elem", inMap(m), at(1048)), "r8 = *(u64 *)(r7 + 1048)\nkeep r8")
		}
		return out
	}()},
	{name: "bloom filter", typ: tc, maps: []maps.Spec{{Type: uapi.MapTypeBloomFilter, ValueSize: 8, MaxEntries: 64}}, init: "\x01\x00\x00\x00\x00\x00\x00\x00\x02", steps: []string{
		do("bpf_map_peek_elem", inMap(2), at(1024)), do("bpf_map_push_elem", inMap(2), at(1024), 0), do("bpf_map_peek_elem", inMap(2), at(1024)), do("bpf_map_push_elem", inMap(2), at(1024), 2), do("bpf_map_push_elem", inMap(2), at(1024), 1),
	}},
	{name: "ring buffer", typ: tc, maps: []maps.Spec{{Type: uapi.MapTypeRingbuf, MaxEntries: 4096}}, steps: []string{
		do("bpf_ringbuf_output", inMap(2), at(1024), 16, 0), do("bpf_ringbuf_output", inMap(2), at(1024), 16, 4), do("bpf_ringbuf_output", inMap(2), at(1024), 16, 3), do("bpf_ringbuf_query", inMap(2), 0), do("bpf_ringbuf_query", inMap(2), 1), do("bpf_ringbuf_query", inMap(2), 2), do("bpf_ringbuf_query", inMap(2), 3), do("bpf_ringbuf_query", inMap(2), 9),
		do("bpf_ringbuf_output", inMap(2), at(1024), 1000, 1), do("bpf_ringbuf_output", inMap(2), at(1024), 1000, 1), do("bpf_ringbuf_output", inMap(2), at(1024), 1000, 1), do("bpf_ringbuf_output", inMap(2), at(1024), 1000, 1), do("bpf_ringbuf_output", inMap(2), at(1024), 1000, 1), do("bpf_ringbuf_output", inMap(2), at(1024), 0, 0), do("bpf_ringbuf_query", inMap(2), 0),
		"r1 = map_fd(2)\nr2 = 8\nr3 = 1\ncall bpf_ringbuf_reserve\nr8 = 5\nif r0 == 0 goto +4\nr8 = 6\nr1 = r0\nr2 = 0\ncall bpf_ringbuf_discard\nkeep r8",
		"r1 = map_fd(2)\nr2 = 8\nr3 = 0\ncall bpf_ringbuf_reserve\nr8 = 5\nif r0 == 0 goto +4\nr8 = 6\nr1 = r0\nr2 = 0\ncall bpf_ringbuf_submit\nkeep r8",
	}},
	{name: "probe reads", typ: rawTP, init: "hello\x00world\x00\x11\x22\x33\x44", steps: []string{
		do("bpf_probe_read_kernel", at(1200), 8, at(1024)), do("bpf_probe_read_kernel", at(1208), 8, 0), do("bpf_probe_read_kernel", at(1208), 8, 0x1000), do("bpf_probe_read_kernel", at(1208), 8, uint64(0x8000000000000000)), do("bpf_probe_read_kernel", at(1024+12), 2, uint64(0xffffc8ffffffff00)), do("bpf_probe_read_kernel", at(1208), 0, 0),
		do("bpf_probe_read_kernel_str", at(1300), 16, at(1024)), do("bpf_probe_read_kernel_str", at(1320), 4, at(1024)), do("bpf_probe_read_kernel_str", at(1024+14), 2, 0), do("bpf_probe_read_kernel_str", at(1330), 1, at(1024)), do("bpf_probe_read_kernel_str", at(1330), 0, at(1024)), do("bpf_probe_read_kernel_str", at(1340), 16, at(1029)),
		do("bpf_probe_read", at(1400), 8, at(1024)), do("bpf_probe_read", at(1408), 8, 0), do("bpf_probe_read", at(1408), 8, uint64(0xffffc8ffffffff00)), do("bpf_probe_read", at(1408), 8, uint64(0x8000000000000000)), do("bpf_probe_read_str", at(1420), 16, at(1024)), do("bpf_probe_read_str", at(1440), 16, 0),
		do("bpf_probe_read_user", at(1460), 8, 0), do("bpf_probe_read_user", at(1460), 8, at(1024)), do("bpf_probe_read_user_str", at(1470), 8, 0), do("bpf_probe_read_user_str", at(1470), 8, at(1024)), do("bpf_probe_read_user", at(1460), 8, uint64(0x7ffffffff000)), do("bpf_probe_read_kernel", at(1480), 8, uint64(0x7fffffffffff)),
		do("bpf_probe_read_kernel", at(1480), 8, uint64(0xffff7fffffffffff)), do("bpf_probe_read_kernel_str", at(1500), 8, uint64(0x800000000000)), do("bpf_probe_read", at(1510), 8, uint64(0x00007fffffffe000)),
	}},
	{name: "strncmp", typ: tc, ro: "abc\x00abcdef\x00\x00\xff\x00", init: "abcdef\x00\x00\xffzz", steps: []string{
		do("bpf_strncmp", at(1024), 3, ro(0)), do("bpf_strncmp", at(1024), 4, ro(0)), do("bpf_strncmp", at(1024), 7, ro(4)), do("bpf_strncmp", at(1024), 2, ro(0)), do("bpf_strncmp", at(1024), 1, ro(11)), do("bpf_strncmp", at(1030), 1, ro(0)), do("bpf_strncmp", at(1030), 1, ro(11)), do("bpf_strncmp", at(1032), 3, ro(12)), do("bpf_strncmp", at(1024), 3, ro(12)),
	}},
	{name: "snprintf", typ: tc, ro: "%d %u %x %X %s|%5d|%-5d|%05d|%+d|% d\x00%c%%%lx %lld %llu\x00%pI4 %pi4 %pI6 %pi6\x00plain\x00%s\x00", init: "\xf9\xff\xff\xff\xff\xff\xff\xff\xf9\xff\xff\xff\x01\x00\x00\x00\xef\xbe\x00\x00\x00\x00\x00\x00\xef\xbe\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00*\x00\x00\x00\x00\x00\x00\x00*\x00\x00\x00\x00\x00\x00\x00*\x00\x00\x00\x00\x00\x00\x00*\x00\x00\x00\x00\x00\x00\x00*\x00\x00\x00\x00\x00\x00\x00", steps: []string{
		do("bpf_snprintf", at(1200), 100, ro(0), at(1024), 80), do("bpf_snprintf", at(1300), 10, ro(0), at(1024), 80), do("bpf_snprintf", at(1320), 60, ro(36), at(1024), 32), do("bpf_snprintf", at(1400), 0, ro(36), at(1024), 32), do("bpf_snprintf", at(1400), 60, ro(74), 0, 0), do("bpf_snprintf", 0, 0, ro(74), 0, 0), do("bpf_snprintf", at(1400), 3, ro(74), 0, 0), do("bpf_snprintf", at(1410), 1, ro(74), 0, 0),
	}},
	{name: "trace printk", typ: tc, init: "hello %d %x %s\x00abc\x00%d%d%d%d\x00%d %p\x00nope", steps: []string{
		do("bpf_trace_printk", at(1024), 15, 1, 2, 0), do("bpf_trace_printk", at(1024), 14, 1, 2, 0), do("bpf_trace_printk", at(1039), 4, 1, 2, 3), do("bpf_trace_printk", at(1043), 9, 1, 2, 3), do("bpf_trace_printk", at(1024), 5, 0, 0, 0), do("bpf_trace_printk", at(1039), 3, 0, 0, 0),
		do("bpf_trace_vprintk", at(1043), 9, at(1024), 32), do("bpf_trace_vprintk", at(1043), 9, at(1024), 24), do("bpf_trace_vprintk", at(1039), 4, 0, 0), do("bpf_trace_vprintk", at(1043), 9, at(1024), 96), do("bpf_trace_vprintk", at(1043), 9, at(1024), 104), do("bpf_trace_printk", at(1039), 1, 0, 0, 0),
	}},
	{name: "perf output errors", typ: tc, maps: []maps.Spec{{Type: uapi.MapTypePerfEventArray, KeySize: 4, ValueSize: 4, MaxEntries: 1}}, steps: []string{
		do("bpf_perf_event_output", ctx, inMap(2), 5, at(1024), 8), do("bpf_perf_event_output", ctx, inMap(2), uint64(1)<<52|5, at(1024), 8), do("bpf_perf_event_output", ctx, inMap(2), uint64(65)<<32|5, at(1024), 8), do("bpf_perf_event_output", ctx, inMap(2), uint64(64)<<32|5, at(1024), 8),
	}},
	{name: "scalars", typ: tc, steps: []string{do("bpf_get_numa_node_id"), do("bpf_get_prandom_u32"), do("bpf_ktime_get_ns"), do("bpf_ktime_get_boot_ns"), do("bpf_ktime_get_coarse_ns"), do("bpf_ktime_get_tai_ns"), do("bpf_jiffies64"), do("bpf_get_smp_processor_id")}, ignore: []int{1, 2, 3, 4, 5, 6, 7}},
	{name: "legacy tracing", typ: rawTP, maps: []maps.Spec{{Type: uapi.MapTypeStackTrace, KeySize: 4, ValueSize: 80, MaxEntries: 16}, {Type: uapi.MapTypePerfEventArray, KeySize: 4, ValueSize: 4, MaxEntries: 2}, {Type: uapi.MapTypeCgroupArray, KeySize: 4, ValueSize: 4, MaxEntries: 2}}, init: "\x5a\x5a\x5a\x5a\x5a\x5a\x5a\x5a\x5a\x5a\x5a\x5a\x5a\x5a\x5a\x5a\x5a\x5a\x5a\x5a\x5a\x5a\x5a\x5a\x5a\x5a\x5a\x5a\x5a\x5a\x5a\x5a\x5a\x5a\x5a\x5a\x5a\x5a\x5a\x5a\x5a\x5a\x5a\x5a\x5a\x5a\x5a\x5a\x5a\x5a\x5a\x5a\x5a\x5a\x5a\x5a\x5a\x5a\x5a\x5a\x5a\x5a\x5a\x5a", steps: []string{
		do("bpf_get_stackid", ctx, inMap(2), 1<<11), do("bpf_get_stackid", ctx, inMap(2), uint64(1)<<32), do("bpf_get_stack", ctx, at(1024), 15, 0), do("bpf_get_stack", ctx, at(1040), 16, 1<<9), do("bpf_get_stack", ctx, at(1040), 16, 1<<11), do("bpf_perf_event_read_value", inMap(3), 0, at(1056), 16), do("bpf_perf_event_read_value", inMap(3), 5, at(1056), 24),
		do("bpf_perf_event_read_value", inMap(3), uint64(1)<<32, at(1056), 24), do("bpf_perf_event_read", inMap(3), 7), do("bpf_perf_event_read", inMap(3), uint64(1)<<32), do("bpf_current_task_under_cgroup", inMap(4), 2), do("bpf_current_task_under_cgroup", inMap(4), 1), do("bpf_get_ns_current_pid_tgid", 1, 1, at(1024), 8),
		do("bpf_get_current_ancestor_cgroup_id", -1), do("bpf_get_current_ancestor_cgroup_id", 1000),
	}},
}, numberCases()...)

func TestCoreHelpers(t *testing.T) { replay(t, "core", coreCases) }
