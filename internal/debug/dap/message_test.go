package dap

import (
	"fmt"
	"testing"

	"github.com/google/go-dap"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestMessagesAreGoDAPs: messages mean what they mean to go-dap, errors included.
func TestMessagesAreGoDAPs(t *testing.T) {
	for _, command := range []string{"next", "stepIn", "stepOut", "stepBack", "continue", "reverseContinue", "evaluate", "threads", "nonsense", ""} {
		for _, rest := range []string{
			``, `,"arguments":{}`, `,"arguments":null`, `,"arguments":{"threadId":3}`, `,"arguments":{"threadId":3,"singleThread":true,"granularity":"instruction"}`,
			`,"arguments":{"threadId":3,"targetId":7}`, `,"arguments":{"threadId":"3"}`, `,"arguments":{"granularity":5}`, `,"arguments":[]`, `,"arguments":{"threadId":3,"x":{"y":[1]}}`,
			`,"command":"threads"`, `,"type":"event","event":"stopped"`, `,"seq":"1"`, `,"seq":1.5`, `,`, `}`,
		} {
			data := []byte(fmt.Sprintf(`{"seq":12,"type":"request","command":%q%s}`, command, rest))
			requireSameDecoding(t, data)
		}
	}
}

func requireSameDecoding(t *testing.T, data []byte) {
	t.Helper()
	want, wantErr := dap.DecodeProtocolMessage(data)
	got, err := decodeMessage(data)
	require.Equal(t, wantErr, err, "%s", data)
	if wantErr == nil {
		assert.Equal(t, want, got, "%s", data)
	}
}

// FuzzMessage compares with go-dap.
func FuzzMessage(f *testing.F) {
	f.Add([]byte(`{"seq":1,"type":"request","command":"next","arguments":{"threadId":1,"granularity":"line"}}`))
	f.Add([]byte(`{"seq":1,"type":"request","command":"continue","arguments":{"threadId":1e0}}`))
	f.Fuzz(func(t *testing.T, data []byte) { requireSameDecoding(t, data) })
}
