package report

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestValuesOnPagesAreWrittenAsOnTheTerminal(t *testing.T) {
	for form, want := range map[string]string{
		`{"packets":"0x1","bytes":"0x40"}`:                    "{packets = 1, bytes = 64}",
		`[{"b":1,"a":"x\"y"},null,true,-3]`:                   `[{b = 1, a = "x\"y"}, null, true, -3]`,
		`"0xffff888000000000"`:                                "0xffff888000000000",
		`{"addr":"10.0.0.7","none":[],"empty":{},"n":"0xzz"}`: `{addr = "10.0.0.7", none = [], empty = {}, n = "0xzz"}`,
	} {
		assert.Equal(t, want, valueText(json.RawMessage(form)))
	}
}
