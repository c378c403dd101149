package guest

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/internal/kernel"
	"github.com/bpfrun/bpfrun/internal/mem"
)

// TestReadStringEndsBeforeAbsentPage: a string that ends in its page is read whole, however large
// the buffer, although the next page is not mapped.
func TestReadStringEndsBeforeAbsentPage(t *testing.T) {
	m, err := mem.New(mem.Config{})
	require.NoError(t, err)
	t.Cleanup(func() { m.Close() })
	k, err := kernel.New(kernel.Config{Mem: m})
	require.NoError(t, err)
	p := &Prober{Mem: m, World: k}
	const page = 0x7000_0000_0000
	text := "in the page"
	require.NoError(t, k.UserWrite(page+100, append([]byte(text), 0)))
	buf := make([]byte, 2*PageSize)
	n, errno, f := p.String((*Prober).User, page+100, buf)
	require.Nil(t, f)
	require.Zero(t, errno)
	assert.Equal(t, text+"\x00", string(buf[:n]))

	// Without a NUL in it the read continues into the absent page.
	require.NoError(t, k.UserWrite(page+PageSize-2, []byte("xy")))
	_, errno, f = p.String((*Prober).User, page+PageSize-2, buf)
	require.Nil(t, f)
	assert.NotZero(t, errno)
}
