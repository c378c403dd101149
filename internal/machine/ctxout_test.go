package machine_test

import (
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// wire_len of the context that a test run of an sk_buff returns is the packet's length, also
// without a context to begin with (convert___skb_to_skb).
func TestContextsThatAreReturnedHaveTheLength(t *testing.T) {
	res := run(t, example(t, "nat"), "outbound")
	require.NotEmpty(t, res.DataOut)
	require.GreaterOrEqual(t, len(res.CtxOut), 164)
	assert.EqualValues(t, len(res.DataOut), binary.LittleEndian.Uint32(res.CtxOut[160:]))
}
