package machine_test

import (
	"encoding/binary"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf/embedded"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/maps"
)

// TestEventsComeInTheOrderTheyWereSent: through whichever maps.
func TestEventsComeInTheOrderTheyWereSent(t *testing.T) {
	m := compose(t, load(t, "../../testdata/objects/clang-14/senders.o", target(t, embedded.Name)), machine.Config{})
	res := run(t, m, "in_turn")
	var order []string
	for i, e := range res.Events {
		assert.EqualValues(t, i, binary.LittleEndian.Uint64(e.Data))
		order = append(order, e.Map)
	}
	assert.Equal(t, []string{"third", "first", "second", "third", "first", "second"}, order)
}

// TestManyEventsOfSeveralMapsTakeLinearTime: with two maps that send in turn, merging once took the
// square of their records.
func TestManyEventsOfSeveralMapsTakeLinearTime(t *testing.T) {
	m := compose(t, load(t, "../../testdata/objects/clang-14/senders.o", target(t, embedded.Name)), machine.Config{MaxInsns: 4_000_000, Consume: maps.ConsumeAtOnce, Uncovered: true, Unwatched: true})
	begin := time.Now()
	res := run(t, m, "alternate")
	require.NotNil(t, res.Fault)
	require.Greater(t, len(res.Events), 300_000)
	for i, e := range res.Events {
		if binary.LittleEndian.Uint64(e.Data) != uint64(i) {
			t.Fatalf("record %d is %x", i, e.Data)
		}
	}
	assert.Less(t, time.Since(begin), 20*time.Second, "it takes a second, and took minutes")
}
