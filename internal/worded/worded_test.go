package worded

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestError(t *testing.T) {
	type inner struct {
		N uint8 `json:"n"`
	}
	type document struct {
		Name string   `json:"name"`
		On   *bool    `json:"on"`
		List []string `json:"list"`
		In   inner    `json:"in"`
		X    float64  `json:"x"`
	}
	decode := func(text string) error { return json.Unmarshal([]byte(text), &document{}) }
	_, notNumber := strconv.Atoi("ten")
	_, tooLarge := strconv.ParseUint("99999999999999999999", 10, 64)
	_, badEscape := strconv.Unquote(`"\q"`)
	_, badDigit := hex.DecodeString("0g")
	_, odd := hex.DecodeString("0")
	other := errors.New("anything else")
	for _, tt := range []struct {
		err  error
		want string
	}{
		{decode(`{"name": 1}`), "member name: a number, want a string"},
		{decode(`{"on": "yes"}`), "member on: a string, want true or false"},
		{decode(`{"list": {}}`), "member list: an object, want an array"},
		{decode(`{"in": [1]}`), "member in: an array, want an object"},
		{decode(`{"in": {"n": 300}}`), "member in.n: number 300 does not fit"},
		{decode(`{"in": {"n": true}}`), "member in.n: true or false, want a whole number"},
		{decode(`{"x": "1"}`), "member x: a string, want a number"},
		{decode(`[]`), "an array, want an object"},
		{decode(`{"x": 1`), "the JSON is truncated"},
		{decode(`bpf`), "not JSON at byte 1"},
		{notNumber, `"ten" is not a number`},
		{tooLarge, "99999999999999999999 is out of range"},
		{badEscape, "unknown escape sequence"},
		{badDigit, "'g' is not a hex digit"},
		{odd, "an odd number of hex digits"},
		{other, "anything else"},
	} {
		got := Error(tt.err)
		assert.EqualError(t, got, tt.want)
		assert.ErrorIs(t, got, tt.err)
	}
	assert.NoError(t, Error(nil))
}
