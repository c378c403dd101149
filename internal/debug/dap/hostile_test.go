package dap

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/internal/testing/ceiling"
	"github.com/bpfrun/bpfrun/internal/testing/testsize"
)

var jsonValue = regexp.MustCompile(`-?\d+|"[^"]*"|true|false`)

// lies are values that no client sends.
var lies = []string{
	"-1", "0", "1e400", "9223372036854775807", "-9223372036854775808", "18446744073709551616", "2147483648", "null", "[]", "{}", `""`, `"0xffffffffffffffff"`,
	`"\ud800"`, `"\u0000"`, `"../../../../etc/passwd"`, `"/dev/zero"`, `"((((((((((((((((((((1"`, `"*****************task"`, "[[[[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]]]", "", "true",
}

// TestDamagedMessages: a client whose well-framed messages have wrong values, are missing, doubled
// or out of order, ends neither the server nor its memory.
func TestDamagedMessages(t *testing.T) {
	l := launcher(t)
	for seed := range uint64(testsize.Pick(1000, 10, 3)) {
		r := rand.New(rand.NewPCG(seed, 31))
		session := ""
		for i, m := range sessionRequests {
			switch r.IntN(12) {
			case 0:
				continue
			case 1:
				m = sessionRequests[r.IntN(len(sessionRequests))]
			}
			m = jsonValue.ReplaceAllStringFunc(m, func(value string) string {
				if i < 2 && r.IntN(20) > 0 || r.IntN(4) > 0 { // most sessions begin
					return value
				}
				return lies[r.IntN(len(lies))]
			})
			session += frame(fmt.Sprintf(`{"seq":%d,"type":"request","command":%s}`, i+1, m))
		}
		ctx, stop := context.WithTimeout(t.Context(), time.Minute)
		d := &deaf{Reader: bytes.NewReader([]byte(session))}
		ceiling.Check(t, 256<<20, func() { _ = l.Serve(ctx, d) })
		require.NoError(t, ctx.Err(), "seed %d: it does not end: %s", seed, session)
		stop()
		require.NotContains(t, d.out.String(), "This is a bug in bpfrun", "seed %d: %s", seed, session)
	}
}
