package race

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
)

// BenchmarkOrders measures orders of two programs that access a shared map all the time.
func BenchmarkOrders(b *testing.B) {
	for _, p := range []string{"plain", "lengthy"} {
		b.Run(p, func(b *testing.B) {
			m := machineOf(b, "testdata/clang-14/lost.o", 0)
			orders, insns := 0, uint64(0)
			for b.Loop() {
				r, err := Run(context.Background(), m, twice(p), Config{Preemptions: 3})
				require.NoError(b, err)
				orders += r.Orders
				insns = r.Insns
			}
			b.ReportMetric(float64(orders)/b.Elapsed().Seconds(), "orders/s")
			b.ReportMetric(float64(insns), "insns/order")
		})
	}
}
