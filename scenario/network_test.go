package scenario

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestNetworkOrderIsReadAndPrintedAlike: fields of kernel objects take addresses and ports as maps do, and expectations print them so.
func TestNetworkOrderIsReadAndPrintedAlike(t *testing.T) {
	const objects = `objects:
  s:
    type: sock
    __sk_common.skc_daddr: 10.0.0.1
    __sk_common: {skc_dport: htons(443), skc_rcv_saddr: htonl(0x7f000001)}
runs:
- prog: on_exec
`
	res := runText(t, "exec", objects+`  expect:
    kernel: {s.__sk_common.skc_daddr: 10.0.0.1, s.__sk_common.skc_dport: htons(443), s.__sk_common.skc_rcv_saddr: 127.0.0.1}
`)
	assert.Empty(t, failures(res["on_exec"]))
	res = runText(t, "exec", objects+"  expect:\n    kernel: {s.__sk_common.skc_daddr: 10.0.0.2, s.__sk_common.skc_dport: htons(80)}\n")
	assert.Contains(t, failures(res["on_exec"]), "want 10.0.0.2, got 10.0.0.1")
	assert.Contains(t, failures(res["on_exec"]), "want htons(80), got htons(443)")
}
