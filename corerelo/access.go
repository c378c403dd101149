package corerelo

import "math"

// maxSpecLen limits the raw steps and accessors of a spec (libbpf relo_core.h
// BPF_CORE_SPEC_MAX_LEN).
const maxSpecLen = 64

// parseAccess splits an access string into indices as libbpf does with sscanf("%d"): it accepts
// white space and a plus sign before a number, and requires a colon only where two numbers would
// run together.
func parseAccess(s string) ([]int, *fault) {
	if s == "" || s[0] == ':' {
		return nil, faultf(ErrInvalidRecord, eINVAL, "access string %q", s)
	}
	raw := make([]int, 0, 8)
	for i := 0; i < len(s); {
		if s[i] == ':' {
			i++
		}
		n, next, ok := scanInt(s, i)
		if !ok {
			return nil, faultf(ErrInvalidRecord, eINVAL, "access string %q has no number at %d", s, i)
		}
		if n < 0 {
			return nil, faultf(ErrInvalidRecord, eINVAL, "access string %q has a negative index", s)
		}
		if len(raw) == maxSpecLen {
			return nil, faultf(ErrInvalidRecord, e2BIG, "access string has more than %d steps", maxSpecLen)
		}
		raw = append(raw, n)
		i = next
	}
	return raw, nil
}

func scanInt(s string, i int) (n, next int, ok bool) {
	for i < len(s) && (s[i] == ' ' || s[i] >= '\t' && s[i] <= '\r') {
		i++
	}
	negative := false
	if i < len(s) && (s[i] == '+' || s[i] == '-') {
		negative = s[i] == '-'
		i++
	}
	first := i
	for i < len(s) && s[i] >= '0' && s[i] <= '9' {
		if n = n*10 + int(s[i]-'0'); n > math.MaxInt32 {
			return 0, i, false
		}
		i++
	}
	if negative {
		n = -n
	}
	return n, i, i > first
}
