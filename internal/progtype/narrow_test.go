package progtype

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/bpfrun/bpfrun/internal/uapi"
)

// TestNarrowLoadsOfNarrowFields: a load that is as wide as what the kernel keeps yields all of it.
func TestNarrowLoadsOfNarrowFields(t *testing.T) {
	skb := Of(uapi.ProgTypeSchedCls).Context
	for name, least := range map[string]int{"mark": 4, "protocol": 2, "pkt_type": 1, "gso_size": 2, "tstamp": 8, "tstamp_type": 1} {
		f := skb.Field(name)
		for _, size := range []int{1, 2, 4, 8} {
			assert.Equal(t, size >= least, f.Whole(size), "%s, %d bytes", name, size)
		}
	}
}
